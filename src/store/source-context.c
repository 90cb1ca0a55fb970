/* SPDX-License-Identifier: MIT */
#include "store/source-context.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "config/ignore.h"
#include "config/workspace.h"
#include "policy/rule-set.h"
#include "policy/sensitive.h"
#include "store/source-function.h"
#include "store/source-refs.h"

enum {
	FILE_MAX_BYTES = 1 << 20,
	LINES_AROUND = 2,
	LINE_SHOWN_MAX = 200,
	ANSWER_MAX = 48 * 1024, /* with room for the last place */
};

struct search {
	const char *workspace;
	const struct spec *spec;
	int root;
	struct ignore ignore;
	bool has_ignore;
	struct json *json;
};

/* PATH relative to the workspace, a new string; NULL: it lies elsewhere. */
static char *inside(const char *workspace, const char *path)
{
	_cleanup_(freep) char *full = NULL;
	size_t len = strlen(workspace);

	if (path_normalize(workspace, path, &full) < 0 || !path_covers(workspace, full) ||
	    full[len] != '/')
		return NULL;
	return strdup(full + len + 1);
}

/* Could the command know of it? Whether a file is there that it could not read is not
 * told either. */
static bool was_visible(const struct search *search, const char *relative)
{
	_cleanup_(freep) char *full = path_join(search->workspace, relative);
	struct rule_set readable;

	if (!full || (search->has_ignore && ignore_hides(&search->ignore, relative, false)))
		return false;
	if (!search->spec)
		return true;
	readable = rules_readable(search->spec);
	return rule_set_covers(&readable, full);
}

/* A regular file with one name: another name may be hidden. */
static int open_source(const struct search *search, const char *relative)
{
	_cleanup_(fd_closep) int fd = path_open_nolink(search->root, relative,
						       O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1 || st.st_size > FILE_MAX_BYTES)
		return -EINVAL;
	return take_fd(fd);
}

/* What is quoted lasts longer than the output, and a command may print any name: the lines of
 * such files stay where they are. */
static bool holds_secrets(const char *relative)
{
	static const char *const names[] = {
		"*.env",     "*.env.*",     "*.pem",     "*.key",        "*.p12",      "*.jks",
		"*.tfstate", "*.tfstate.*", "*.tfvars*", "*credential*", "*password*", "*secret*",
	};
	static const struct user anybody = {0};
	_cleanup_(freep) char *path = path_join("/workspace", relative);

	for (size_t i = 0; i < array_len(names); i++)
		if (fnmatch(names[i], path_basename(relative), FNM_CASEFOLD) == 0)
			return true;
	return !path || path_is_sensitive(path, &anybody, NULL);
}

static void put_source(const struct search *search, const struct source_ref *ref,
		       const char *relative, const struct str *text)
{
	struct source_lines lines;
	char name[SOURCE_FUNCTION_MAX];
	size_t first, last;

	if (source_lines_init(&lines, str_text(text), text->len) < 0) {
		search->json->error = -ENOMEM;
		return;
	}
	json_add_string(search->json, "function",
			source_function(&lines, relative, ref->line, name));
	first = ref->line > LINES_AROUND ? ref->line - LINES_AROUND : 1;
	last = ref->line + LINES_AROUND < lines.len ? ref->line + LINES_AROUND : lines.len;
	json_begin_array(search->json, "source");
	for (size_t i = first; i <= last; i++) {
		size_t len = lines.lens[i - 1];
		_cleanup_(freep) char *line = strndup(lines.items[i - 1],
						      len < LINE_SHOWN_MAX ? len : LINE_SHOWN_MAX);

		json_begin_object(search->json, NULL);
		json_add_uint(search->json, "line", i);
		json_add_string(search->json, "text", line);
		json_end_object(search->json);
	}
	json_end_array(search->json);
	source_lines_release(&lines);
}

static bool has_line(const struct str *text, unsigned number)
{
	unsigned lines = text->len > 0 && text->data[text->len - 1] != '\n';

	for (size_t i = 0; i < text->len && lines < number; i++)
		lines += text->data[i] == '\n';
	return number > 0 && lines >= number;
}

/* One place, if there is such a file and line. */
static bool put_ref(const struct search *search, const struct source_ref *ref)
{
	_cleanup_(freep) char *relative = inside(search->workspace, ref->path);
	_cleanup_(fd_closep) int fd = -1;
	_cleanup_(str_release) struct str text = {0};
	bool shown;

	if (!relative || !was_visible(search, relative))
		return false;
	fd = open_source(search, relative);
	if (fd < 0 || fd_read_all(fd, FILE_MAX_BYTES, &text) < 0 || !has_line(&text, ref->line))
		return false;
	shown = search->spec && !memchr(str_text(&text), '\0', text.len) &&
		!holds_secrets(relative);
	json_begin_object(search->json, NULL);
	json_add_string(search->json, "path", relative);
	json_add_uint(search->json, "line", ref->line);
	if (ref->column > 0)
		json_add_uint(search->json, "column", ref->column);
	json_add_string(search->json, "tool", ref->tool);
	if (shown)
		put_source(search, ref, relative, &text);
	json_end_object(search->json);
	return true;
}

static size_t put_refs(const struct search *search, const struct source_refs *refs)
{
	size_t found = 0;

	json_begin_object(search->json, NULL);
	json_add_string(search->json, "type", "source_context");
	json_add_string(search->json, "display", "detail");
	json_begin_object(search->json, "data");
	json_begin_array(search->json, "places");
	for (size_t i = 0; i < refs->len && search->json->out->len < ANSWER_MAX; i++)
		found += put_ref(search, &refs->items[i]);
	json_end_array(search->json);
	json_end_object(search->json);
	json_end_object(search->json);
	return found;
}

int source_context(const char *workspace, const struct spec *spec, const char *output, size_t len,
		   struct str *answer, struct err *err)
{
	_cleanup_(source_refs_release) struct source_refs refs = {0};
	_cleanup_(fd_closep) int root = fd_open(workspace, O_PATH | O_DIRECTORY);
	struct json json = {.out = answer};
	struct search search = {.workspace = workspace, .spec = spec, .root = root, .json = &json};
	size_t before = answer->len, found;
	int r;

	if (root < 0)
		return err_sys(err, -errno, "open %s", workspace);
	r = ignore_load(workspace, &search.ignore, err);
	if (r < 0)
		return r;
	search.has_ignore = r > 0;
	r = source_refs_find(output, len, &refs);
	found = r < 0 ? 0 : put_refs(&search, &refs);
	ignore_release(&search.ignore);
	if (r == 0)
		r = json_finish(&json);
	if (r < 0)
		return err_oom(err);
	if (found == 0)
		str_truncate(answer, before);
	return 0;
}
