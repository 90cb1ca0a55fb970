/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/deed.h"
#include "cli/history-verb.h"
#include "cli/stage-verb.h"
#include "view/table.h"
#include "view/units.h"

struct stage_row {
	char *name;
	struct staged staged; /* its workspace is empty */
	size_t count;
	uint64_t size;
	struct err err; /* why it cannot be read */
};

struct stage_rows {
	struct stage_row *items;
	size_t n;
};

static void rows_release(struct stage_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		free(rows->items[i].name);
		staged_release(&rows->items[i].staged);
	}
	free(rows->items);
}

/* One that is broken must not hide the others. */
static void row_read(struct stage_row *row, const char *state_dir)
{
	int r = stage_open(state_dir, row->name, false, &row->staged.stage, &row->err);

	if (r == 0)
		r = staged_read(&row->staged, &row->err);
	if (r == 0)
		r = stage_size(row->staged.stage, &row->size, &row->err);
	row->count = staged_count(row->staged.changes);
}

static int rows_read(const struct staged *staged, struct stage_rows *rows, struct err *err)
{
	struct strv names = {0};
	int r = 0;

	if (!staged->workspace.state_dir)
		return 0;
	r = stage_list(staged->workspace.state_dir, &names.items, err);
	if (r < 0)
		return r;
	while (names.items[names.len])
		names.len++;
	rows->items = calloc(names.len + 1, sizeof(*rows->items));
	if (!rows->items)
		r = err_oom(err);
	for (size_t i = 0; i < names.len && r == 0; i++) {
		struct stage_row *row = &rows->items[rows->n++];

		row->name = take_ptr(names.items[i]);
		row_read(row, staged->workspace.state_dir);
	}
	for (size_t i = 0; i < names.len; i++)
		free(names.items[i]);
	free(names.items);
	return r;
}

static bool is_living(const struct stage_run *run)
{
	char boot[STAGE_BOOT_MAX];

	return !run->is_ended && stage_boot_id(boot, NULL) == 0 && str_eq(boot, run->boot) &&
	       (kill(run->pid, 0) == 0 || errno == EPERM);
}

/* "make (pid 12), …" */
static int put_users(const struct staged *staged, struct str *out)
{
	int r = 0;

	for (size_t i = 0; i < staged->n_runs && r == 0; i++)
		if (is_living(&staged->runs[i]))
			r = str_appendf(out, "%s%s (pid %d)", out->len ? ", " : "",
					staged->runs[i].command ? staged->runs[i].command : "",
					(int)staged->runs[i].pid);
	return r;
}

static int add_row(struct table *table, const struct stage_row *row)
{
	_cleanup_(str_release) struct str age = {0};
	_cleanup_(str_release) struct str users = {0};
	char count[32], size[UNITS_MAX];
	int r = table_add(table, row->name);

	snprintf(count, sizeof(count), "%zu", row->count);
	if (r == 0)
		r = row->staged.stage ? put_age(&age, row->staged.stage->created) : 0;
	if (r == 0)
		r = put_users(&row->staged, &users);
	if (r == 0)
		r = table_add(table, *row->err.message ? "broken" : count);
	if (r == 0)
		r = table_add(table, units_bytes(row->size, size));
	if (r == 0)
		r = table_add(table, age.len ? str_text(&age) : NULL);
	return r < 0 ? r : table_add(table, users.len ? str_text(&users) : NULL);
}

static int print_text(const struct stage_rows *rows)
{
	static const char *const heads[] = {"STAGE", "CHANGES", "SIZE", "MADE", "IN USE BY", NULL};
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = 5};
	_cleanup_(str_release) struct str out = {0};
	int r = 0;

	for (size_t i = 0; i < rows->n && r == 0; i++)
		r = add_row(&table, &rows->items[i]);
	if (r == 0)
		r = rows->n > 0
			    ? table_print(&table, &out)
			    : str_append(&out, "there is no stage: pale run --staged makes one\n");
	return r < 0 ? report_oom() : emit(&out);
}

static void add_runs(struct json *json, const struct staged *staged)
{
	json_begin_array(json, "runs");
	for (size_t i = 0; i < staged->n_runs; i++) {
		const struct stage_run *run = &staged->runs[i];

		json_begin_object(json, NULL);
		json_add_string(json, "id", run->id);
		json_add_string(json, "command", run->command);
		json_add_int(json, "pid", run->pid);
		json_add_int(json, "began", run->t0.tv_sec);
		if (run->is_ended)
			json_add_int(json, "ended", run->ended.tv_sec);
		else
			json_add_null(json, "ended");
		json_add_bool(json, "living", is_living(run));
		json_end_object(json);
	}
	json_end_array(json);
}

static int print_json(const struct stage_rows *rows)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_array(&json, NULL);
	for (size_t i = 0; i < rows->n; i++) {
		const struct stage_row *row = &rows->items[i];
		const struct stage *stage = row->staged.stage;

		json_begin_object(&json, NULL);
		json_add_string(&json, "stage", row->name);
		json_add_uint(&json, "changes", row->count);
		json_add_uint(&json, "size", row->size);
		if (stage)
			json_add_int(&json, "created", stage->created.tv_sec);
		else
			json_add_null(&json, "created");
		json_begin_array(&json, "roots");
		for (size_t k = 0; stage && k < stage->n_roots; k++)
			json_add_string(&json, NULL, stage->roots[k].path);
		json_end_array(&json);
		add_runs(&json, &row->staged);
		json_add_string(&json, "error", *row->err.message ? row->err.message : NULL);
		json_end_object(&json);
	}
	json_end_array(&json);
	return emit_json(&json);
}

/* Asked for behind the user's back, to complete a word: what a crash left half done is not ended
 * here, where nobody would hear of it. */
static int print_names(const char *asked, struct err *err)
{
	_cleanup_(staged_release) struct staged staged = {0};
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(str_release) struct str out = {0};
	int r = user_probe(&staged.user, err);

	if (r == 0)
		r = workspace_find(asked, &staged.user, &staged.workspace, err);
	if (r == 0 && staged.workspace.state_dir)
		r = stage_list(staged.workspace.state_dir, &names.items, err);
	for (; r == 0 && names.items && names.items[names.len]; names.len++)
		if (str_appendf(&out, "%s\n", names.items[names.len]) < 0)
			r = err_oom(err);
	return r < 0 ? report(err) : emit(&out);
}

int cmd_stages_list(int argc, char **argv)
{
	_cleanup_(stage_args_release) struct stage_args args = {0};
	_cleanup_(staged_release) struct staged staged = {0};
	_cleanup_(rows_release) struct stage_rows rows = {0};
	struct err err = {0};
	int r = stage_args_parse(VERB_STAGES_LIST, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0 && args.values[OPT_NAMES])
		return print_names(args.values[OPT_WORKSPACE], &err);
	if (r == 0)
		r = staged_find(args.values[OPT_WORKSPACE], &staged, &err);
	if (r == 0) {
		say_recovered(&staged.recovered);
		r = rows_read(&staged, &rows, &err);
	}
	if (r < 0)
		return report(&err);
	return args.values[OPT_JSON] ? print_json(&rows) : print_text(&rows);
}

static int remove_one(struct staged *staged, const char *name, bool force, struct err *err)
{
	_cleanup_(str_release) struct str apply = {0}, discard = {0};
	size_t count;
	char id[96];
	int r = staged_open(staged, name, err);

	if (r == 0)
		r = staged_busy(staged, name, stage_lock(staged->stage, true, err), err);
	if (r == 0 && !force)
		r = staged_read(staged, err);
	if (r < 0)
		return r;
	count = staged_count(staged->changes);
	if (count > 0) {
		r = err_set(err, ERR_USAGE, -ENOTEMPTY, "stage %s holds %zu change%s", name, count,
			    count == 1 ? "" : "s");
		if (put_pale(&apply, "apply", staged->asked, name) < 0 ||
		    put_pale(&discard, "discard", staged->asked, name) < 0)
			return err_oom(err);
		return err_hint(err, r, "first %s, or %s; or --force, which has no undo",
				str_text(&apply), str_text(&discard));
	}
	snprintf(id, sizeof(id), "%s-%llu", name, (unsigned long long)clock_wall_ms());
	r = stage_remove(staged->stage, err);
	if (r == 0)
		deed_remember(&staged->workspace, &staged->user, "stage.remove", id, name, count);
	return r;
}

int cmd_stages_rm(int argc, char **argv)
{
	_cleanup_(stage_args_release) struct stage_args args = {0};
	struct err err = {0};
	int r = stage_args_parse(VERB_STAGES_RM, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	for (int i = 0; i < args.len && r == 0; i++) {
		_cleanup_(staged_release) struct staged staged = {0};

		r = staged_find(args.values[OPT_WORKSPACE], &staged, &err);
		say_recovered(&staged.recovered);
		if (r == 0)
			r = remove_one(&staged, args.operands[i], args.values[OPT_FORCE] != NULL,
				       &err);
	}
	return r < 0 ? report(&err) : STATUS_OK;
}
