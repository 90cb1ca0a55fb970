/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/diff.h"

static int check_args(const struct stage_args *args, struct err *err)
{
	static const enum opt_id forms[] = {OPT_STAT, OPT_NAME_STATUS, OPT_JSON, OPT_CONFLICT};
	int n = 0;

	for (size_t i = 0; i < array_len(forms); i++)
		n += args->values[forms[i]] != NULL;
	if (n > 1)
		return err_set(err, ERR_USAGE, -EINVAL,
			       "diff: --stat, --name-status, --json and --conflict exclude each "
			       "other");
	if (args->values[OPT_CONFLICT] && args->len > 0)
		return err_set(err, ERR_USAGE, -EINVAL,
			       "diff: --conflict PATH takes no further paths");
	return 0;
}

static int find_conflict(const struct entries *entries, const char *name, const struct entry **ret,
			 struct err *err)
{
	int r;

	for (size_t i = 0; i < entries->n; i++)
		if (entries->items[i].change->flags & CHANGE_IS_CONFLICT) {
			*ret = &entries->items[i];
			return 0;
		}
	r = err_set(err, ERR_USAGE, -ENOENT, "%s: there is no conflict", name);
	return err_hint_word(err, r, "`pale diff ", name, "` shows what is staged");
}

static int write_form(struct diff_job *job, const struct stage_args *args, struct err *err)
{
	const struct entry *entry = NULL;
	int r;

	if (args->values[OPT_CONFLICT]) {
		r = find_conflict(job->entries, args->values[OPT_CONFLICT], &entry, err);
		return r < 0 ? r : diff_conflict(job, entry, err);
	}
	if (args->values[OPT_JSON])
		return diff_json(job, err);
	if (args->values[OPT_STAT])
		return diff_stat(job, err);
	if (args->values[OPT_NAME_STATUS])
		return diff_name_status(job, err);
	return diff_patch(job, err);
}

static int show(struct diff_job *job, const struct stage_args *args, struct err *err)
{
	int r, closed;

	output_open(&job->out, !args->values[OPT_JSON] && job->entries->n > 0);
	/* On the terminal itself what is printed is progress enough. */
	progress_begin(&job->progress, "comparing", job->out.on_terminal);
	r = write_form(job, args, err);
	progress_end(&job->progress);
	closed = output_close(&job->out, r == 0 || r == -EPIPE ? err : NULL);
	if (r == -ECANCELED)
		return 128 + progress_signal();
	if (r == -EPIPE)
		r = closed;
	if (r < 0 || closed < 0)
		return report(err);
	return job->is_partial ? STATUS_ERROR : STATUS_OK;
}

int cmd_diff(int argc, char **argv)
{
	_cleanup_(stage_args_release) struct stage_args args = {0};
	_cleanup_(staged_release) struct staged staged = {0};
	_cleanup_(staged_paths_release) struct staged_paths paths = {0};
	_cleanup_(entries_release) struct entries entries = {0};
	struct diff_job job = {.staged = &staged, .entries = &entries};
	struct err err = {0};
	int r = stage_verb_begin(VERB_DIFF, argc, argv, &args, &staged, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = check_args(&args, &err);
	if (r == 0)
		r = stage_verb_paths(&staged, &args, &paths, &err);
	if (r == 0 && args.values[OPT_CONFLICT])
		r = staged_paths_add(&staged, args.values[OPT_CONFLICT], &paths, &err);
	progress_wait("looking for renames ");
	if (r == 0)
		r = entries_make(&staged, &paths, !args.values[OPT_CONFLICT], &entries, &err);
	progress_wait_end();
	if (r < 0)
		return report(&err);
	job.is_chosen = paths.n > 0;
	if (entries.n == 0 && isatty(STDERR_FILENO) && !args.values[OPT_JSON])
		say("nothing is staged");
	r = show(&job, &args, &err);
	return r == STATUS_OK && args.values[OPT_EXIT_CODE] && entries.n > 0 ? STATUS_ERROR : r;
}
