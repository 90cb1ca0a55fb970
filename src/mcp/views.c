/* SPDX-License-Identifier: MIT */
#include "mcp/views.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "config/keys.h"
#include "mcp/tools.h"

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* --- runs --- */

/* In one line, whatever is in it: names are chosen by commands. */
int view_line(const char *head, const char *text, struct str *out)
{
	int r = str_append(out, head);

	if (r == 0)
		r = str_append_escaped(out, text ? text : "", text ? strlen(text) : 0);
	return r;
}

bool error_is(json_t *error, enum err_code code)
{
	return str_eq(text_of(error, "code"), err_code_name(code));
}

int view_message(const char *head, json_t *error, struct str *out)
{
	const char *text = text_of(error, "message");
	bool has_lines = error_is(error, ERR_TRUST);
	int r = str_append(out, head);

	for (size_t len; r == 0 && text && *text; text += len) {
		len = has_lines ? strcspn(text, "\n") : strlen(text);
		r = str_append_escaped(out, text, len);
		if (r == 0 && text[len]) {
			r = str_append_char(out, '\n');
			len++;
		}
	}
	return r;
}

static int put_error(json_t *error, struct str *out)
{
	const char *message = text_of(error, "message"), *hint = text_of(error, "hint");
	/* Who is told that it did not run will do it again. */
	const char *head = error_is(error, ERR_LOST) ? "it may have run: " : "not run: ";
	int r = message ? view_message(head, error, out)
			: str_append(out, "not run: no reason is known");

	if (r == 0 && hint)
		r = view_line("\nhint: ", hint, out);
	return r < 0 ? r : str_append_char(out, '\n');
}

static int put_begun(json_t *answer, struct str *out)
{
	return str_appendf(out, "it runs in the background, as run %s: output takes that id\n",
			   text_of(answer, "run"));
}

static int put_outcome(json_t *answer, struct str *out)
{
	json_t *code = json_object_get(answer, "exit_code");
	json_t *sig = json_object_get(answer, "signal");
	json_t *ms = json_object_get(answer, "duration_ms");
	const char *limit = text_of(answer, "limit"), *outcome = text_of(answer, "outcome");
	int r = str_append(out, outcome ? outcome : "unknown");

	if (r == 0 && json_is_integer(code))
		r = str_appendf(out, ", exit code %" PRId64, (int64_t)json_integer_value(code));
	if (r == 0 && json_is_integer(sig))
		r = str_appendf(out, ", signal %" PRId64, (int64_t)json_integer_value(sig));
	if (r == 0 && limit)
		r = str_appendf(out, ", the limit of %s was reached", limit);
	if (r == 0 && json_is_integer(ms))
		r = str_appendf(out, ", %" PRId64 " ms", (int64_t)json_integer_value(ms));
	if (r == 0 && text_of(answer, "run"))
		r = str_appendf(out, ", run %s", text_of(answer, "run"));
	return r < 0 ? r : str_append_char(out, '\n');
}

int view_marked(const char *what, const char *data, struct str *out)
{
	unsigned char seed[4] = {0};
	char mark[2 * sizeof(seed) + 1];
	size_t len = strlen(data);
	int r;

	(void)!getrandom(seed, sizeof(seed), 0);
	snprintf(mark, sizeof(mark), "%02x%02x%02x%02x", seed[0], seed[1], seed[2], seed[3]);
	r = str_appendf(out, "--- %s, untrusted data [%s] ---\n%s", what, mark, data);
	if (r == 0 && len > 0 && data[len - 1] != '\n')
		r = str_append_char(out, '\n');
	return r < 0 ? r : str_appendf(out, "--- end of %s [%s] ---\n", what, mark);
}

/* What programs try as a matter of course is no news. The rest is the kernel's word, but for its
 * names: a command says what it likes by attempting to open it. */
static int put_violations(json_t *list, struct str *out)
{
	_cleanup_(str_release) struct str lines = {0};
	size_t i, shown = 0;
	json_t *item;
	int r = 0;

	json_array_foreach(list, i, item)
	{
		const char *path = text_of(item, "path"), *fix = text_of(item, "fix");

		if (json_is_true(json_object_get(item, "probe")) || r < 0 || shown++ >= 8)
			continue;
		path = path ? path : text_of(item, "target");
		r = str_append(&lines, text_of(item, "op"));
		if (r == 0)
			r = view_line(" ", path, &lines);
		if (r == 0 && fix)
			r = view_line("; what would allow it: ", fix, &lines);
		if (r == 0)
			r = str_append_char(&lines, '\n');
	}
	return r < 0 || lines.len == 0
		       ? r
		       : view_marked("attempts that the sandbox refused", str_text(&lines), out);
}

int view_run(json_t *answer, struct str *out)
{
	json_t *error = json_object_get(answer, "error");
	json_t *stage = json_object_get(answer, "stage");
	json_t *changes = json_object_get(stage, "changes");
	int r = json_is_object(error)                                 ? put_error(error, out)
		: json_is_true(json_object_get(answer, "background")) ? put_begun(answer, out)
								      : put_outcome(answer, out);

	if (r == 0)
		r = put_violations(json_object_get(answer, "violations"), out);
	if (r == 0 && json_integer_value(changes) == 1)
		r = str_append(out, "1 changed file waits for the user's review\n");
	else if (r == 0 && json_integer_value(changes) > 0)
		r = str_appendf(out, "%" PRId64 " changed files wait for the user's review\n",
				(int64_t)json_integer_value(changes));
	return r;
}

int view_output(const char *output, uint64_t dropped, struct str *out)
{
	int r = 0;

	if (!*output)
		return str_append(out, "it printed nothing\n");
	if (dropped > 0)
		r = str_appendf(out,
				"the first %" PRIu64
				" bytes of its output are left out; to see all "
				"of it, have it written to a file, and read that\n",
				dropped);
	return r < 0 ? r : view_marked("output of the command", output, out);
}

/* --- sandbox_info --- */

/* Does VALUE of DIM hold a command back, or give it something? */
static bool is_active(enum dim dim, json_t *value)
{
	const struct key *key = &spec_keys[dim];

	if (!value || json_is_null(value))
		return false;
	if (key->type == KEY_CHOICE) {
		int at = key_choice(key, json_string_value(value));

		return at >= 0 && key->choices[at + 1];
	}
	if (json_is_array(value))
		return json_array_size(value) > 0;
	if (json_is_boolean(value))
		return json_is_true(value) != (dim == DIM_NESTED);
	return true;
}

static void number_json(struct json *json, const char *key, json_t *value, int64_t factor)
{
	if (json_is_integer(value))
		json_add_int(json, key, (int64_t)json_integer_value(value) * factor);
	else
		json_add_null(json, key);
}

static void observed(json_t *data, struct json *json)
{
	json_t *seen = json_object_get(data, "observed");

	json_begin_object(json, "observed");
	json_add_int(json, "run_count", (int64_t)json_integer_value(json_object_get(seen, "runs")));
	number_json(json, "max_memory_bytes", json_object_get(seen, "memory_peak"), 1);
	number_json(json, "max_cpu_usec", json_object_get(seen, "cpu_ms_peak"), 1000);
	number_json(json, "avg_duration_ms", json_object_get(seen, "duration_ms_average"), 1);
	json_end_object(json);
}

static int add_dump(struct json *json, const char *key, json_t *value)
{
	_cleanup_(freep) char *dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	if (value && !dump)
		return -ENOMEM;
	json_add_raw(json, key, dump);
	return 0;
}

int view_info(json_t *data, struct str *out)
{
	struct json json = {.out = out};
	json_t *spec = json_object_get(data, "spec");
	bool command = str_eq(text_of(data, "kind"), "command");
	int r;

	json_begin_object(&json, NULL);
	json_add_string(&json, "command", command ? text_of(data, "name") : NULL);
	json_add_string(&json, "preset", text_of(data, "sandbox"));
	r = add_dump(&json, "grade", json_object_get(data, "grade"));
	if (r == 0)
		r = add_dump(&json, "spec", spec);
	json_begin_array(&json, "active");
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		if (is_active((enum dim)dim, json_object_get(spec, dim_name((enum dim)dim))))
			json_add_string(&json, NULL, dim_name((enum dim)dim));
	json_end_array(&json);
	observed(data, &json);
	json_end_object(&json);
	return r < 0 ? r : json_finish(&json);
}

/* --- files --- */

static int64_t number_of(json_t *object, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(object, key));
}

/* Of a large file nobody knows how many lines it has. */
static int put_range(json_t *data, struct str *out)
{
	int64_t first = number_of(data, "offset"), lines = number_of(data, "lines");
	json_t *total = json_object_get(data, "total_lines");
	int r;

	if (lines == 0)
		return str_append(out, " is empty\n");
	r = str_appendf(out, ": lines %" PRId64 " to %" PRId64, first, first + lines - 1);
	if (r == 0 && json_is_integer(total))
		r = str_appendf(out, " of %" PRId64, (int64_t)json_integer_value(total));
	return r < 0 ? r : str_append_char(out, '\n');
}

static int put_read(json_t *data, struct str *out)
{
	json_t *next = json_object_get(data, "next_offset");
	int64_t cut = number_of(data, "cut_lines");
	const char *text = text_of(data, "text");
	int r = view_line("", text_of(data, "path"), out);

	if (r == 0)
		r = put_range(data, out);
	if (r == 0 && text && *text)
		r = view_marked("content of the file", text, out);
	if (r == 0 && cut > 0)
		r = str_appendf(out, "of %" PRId64 " long line%s only the beginning is shown\n",
				cut, cut == 1 ? "" : "s");
	if (r == 0 && json_is_false(json_object_get(data, "utf8")))
		r = str_append(out,
			       "it is no UTF-8: what is not stands here as U+FFFD, and an edit "
			       "of that does not match\n");
	if (r == 0 && json_is_integer(next))
		r = str_appendf(out, "there is more: go on with offset %" PRId64 "\n",
				(int64_t)json_integer_value(next));
	return r;
}

static int put_grep(json_t *data, struct str *out)
{
	_cleanup_(str_release) struct str lines = {0};
	size_t i;
	json_t *item;
	int r = 0;

	json_array_foreach(json_object_get(data, "matches"), i, item)
	{
		bool context = json_is_true(json_object_get(item, "context"));

		if (r == 0)
			r = str_appendf(&lines, "%s%c%" PRId64 "%c%s\n", text_of(item, "path"),
					context ? '-' : ':', number_of(item, "line"),
					context ? '-' : ':', text_of(item, "text"));
	}
	if (r == 0 && lines.len == 0)
		return str_append(out, "nothing matches\n");
	return r < 0 ? r : view_marked("lines that match", str_text(&lines), out);
}

static int put_glob(json_t *data, struct str *out)
{
	_cleanup_(str_release) struct str lines = {0};
	size_t i;
	json_t *item;
	int r = 0;

	json_array_foreach(json_object_get(data, "paths"), i, item) if (r == 0)
		r = str_appendf(&lines, "%s\n", json_string_value(item));
	if (r == 0 && lines.len == 0)
		return str_append(out, "nothing matches\n");
	return r < 0 ? r : view_marked("names of files", str_text(&lines), out);
}

static int put_changed(const struct tool *tool, json_t *data, struct str *out)
{
	bool created = json_is_true(json_object_get(data, "created"));
	const char *diff = text_of(data, "diff");
	int r = view_line("", text_of(data, "path"), out);

	if (r == 0 && tool - tools == TOOL_WRITE)
		return str_appendf(out, ": %s, %" PRId64 " bytes\n",
				   created ? "created" : "replaced", number_of(data, "bytes"));
	if (r == 0)
		r = str_appendf(out, ": replaced in %" PRId64 " place%s\n",
				number_of(data, "count"), number_of(data, "count") == 1 ? "" : "s");
	return r < 0 || !diff ? r : view_marked("what changed", diff, out);
}

int view_file(const struct tool *tool, json_t *data, struct str *out)
{
	int r;

	switch ((int)(tool - tools)) {
	case TOOL_READ:
		return put_read(data, out);
	case TOOL_GREP:
		r = put_grep(data, out);
		break;
	case TOOL_GLOB:
		r = put_glob(data, out);
		break;
	default:
		return put_changed(tool, data, out);
	}
	if (r == 0 && json_is_true(json_object_get(data, "more")))
		r = str_append(out, "there is more than this: ask for less, or raise max\n");
	return r;
}

/* --- the rest --- */

int view_patch(const char *patch, bool is_cut, struct str *out)
{
	int r = view_marked("staged changes", patch, out);

	return r < 0 || !is_cut ? r
				: str_append(out, "there is more: name paths, or ask for stat\n");
}

/* How it did is known before all of its output was read. */
static int put_background(json_t *data, struct str *out)
{
	const char *output = text_of(data, "output");
	int64_t from = number_of(data, "from"), next = number_of(data, "next");
	bool all = json_is_true(json_object_get(data, "ended"));
	int r = put_outcome(data, out);

	if (r == 0 && !all)
		r = str_appendf(out, "there %s more: go on with from %" PRId64 "\n",
				next < number_of(data, "total") ? "is" : "may be", next);
	if (r == 0 && number_of(data, "dropped") > 0)
		r = str_appendf(out,
				"%" PRId64
				" bytes in the middle were not kept; these are from byte "
				"%" PRId64 " on\n",
				number_of(data, "dropped"), from);
	if (r == 0 && output && !*output)
		return str_append(out, from > 0 ? "it printed nothing more\n"
						: "it printed nothing so far\n");
	return r < 0 || !output ? r : view_output(output, 0, out);
}

/* Names, descriptions and paths in it are the project's. */
int view_data(const char *structured, struct str *out)
{
	return view_marked("data, with texts of the project", structured, out);
}

int view_text(const struct tool *tool, json_t *data, const char *structured, struct str *out)
{
	if (tool - tools == TOOL_OUTPUT)
		return put_background(data, out);
	if (tool - tools == TOOL_WAIT)
		return view_run(data, out);
	return view_data(structured, out);
}
