/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/apply-report.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/stage-verb.h"
#include "view/table.h"

static int list_json(const struct apply_entry *entries, size_t n)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_array(&json, NULL);
	for (size_t i = 0; i < n; i++) {
		json_begin_object(&json, NULL);
		json_add_string(&json, "id", entries[i].id);
		json_add_string(&json, "what", entries[i].is_discard ? "discard" : "apply");
		json_add_string(&json, "stage", entries[i].stage);
		json_add_uint(&json, "changes", entries[i].n_items);
		json_add_bool(&json, "undone", entries[i].is_undone);
		json_end_object(&json);
	}
	json_end_array(&json);
	return emit_json(&json);
}

static int list_text(const struct apply_entry *entries, size_t n)
{
	static const char *const heads[] = {"APPLY", "WHAT", "CHANGES", "STAGE", "STATE", NULL};
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = 5};
	_cleanup_(str_release) struct str out = {0};
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const char *cells[] = {entries[i].id, entries[i].is_discard ? "discard" : "apply",
				       NULL, entries[i].stage,
				       entries[i].is_undone ? "taken back" : "done"};
		char count[32];

		snprintf(count, sizeof(count), "%zu", entries[i].n_items);
		cells[2] = count;
		for (size_t k = 0; k < array_len(cells) && r == 0; k++)
			r = table_add(&table, cells[k]);
	}
	if (r == 0)
		r = n > 0 ? table_print(&table, &out)
			  : str_append(&out, "nothing was applied or discarded yet\n");
	return r < 0 ? report_oom() : emit(&out);
}

static int list(const struct staged *staged, bool json, struct err *err)
{
	_cleanup_(freep) struct apply_entry *entries = NULL;
	size_t n = 0;
	int r = staged->workspace.state_dir
			? applies_list(staged->workspace.state_dir, &entries, &n, err)
			: 0;

	if (r < 0)
		return report(err);
	return json ? list_json(entries, n) : list_text(entries, n);
}

static int no_apply(const char *id, struct err *err)
{
	if (!*err->message && !id)
		err_set(err, ERR_USAGE, -ENOENT, "there is nothing to take back");
	if (!id)
		return -ENOENT;
	if (!*err->message)
		err_set(err, ERR_USAGE, -ENOENT, "there is no apply %s", id);
	return err_hint(err, -ENOENT, "`pale undo --list` lists them");
}

/* Why it waits, if it is for a session. */
static int busy(const struct staged *staged, const char *id, int r, struct err *err)
{
	_cleanup_(freep) struct apply_entry *entries = NULL;
	size_t n = 0;

	if (r != -EBUSY || applies_list(staged->workspace.state_dir, &entries, &n, NULL) < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (id ? str_eq(entries[i].id, id) : !entries[i].is_undone)
			return staged_busy(staged, entries[i].stage, r, err);
	return r;
}

int cmd_undo(int argc, char **argv)
{
	_cleanup_(stage_args_release) struct stage_args args = {0};
	_cleanup_(staged_release) struct staged staged = {0};
	_cleanup_(apply_report_freep) struct apply_report *done = NULL;
	struct progress progress;
	struct err err = {0};
	const char *id;
	int r = stage_args_parse(VERB_UNDO, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0 && args.values[OPT_LIST] && args.len > 0)
		r = err_set(&err, ERR_USAGE, -EINVAL, "undo: --list takes no operand");
	if (r == 0)
		r = staged_find(args.values[OPT_WORKSPACE], &staged, &err);
	if (r < 0)
		return report(&err);
	say_recovered(&staged.recovered);
	if (args.values[OPT_LIST])
		return list(&staged, args.values[OPT_JSON] != NULL, &err);
	id = args.len > 0 ? args.operands[0] : NULL;
	progress_begin(&progress, "taking back", false);
	r = staged.workspace.state_dir
		    ? stage_undo(staged.workspace.state_dir, id,
				 &(struct apply_progress){progress_step, &progress}, &done, &err)
		    : -ENOENT;
	progress_end(&progress);
	if (r == -ECANCELED) {
		say("stopped: nothing was taken back");
		return 128 + progress_signal();
	}
	if (r == -ENOENT)
		r = no_apply(id, &err);
	if (busy(&staged, id, r, &err) < 0)
		return report(&err);
	return apply_report_print(&staged, done, DEED_UNDO, args.values[OPT_JSON] != NULL);
}
