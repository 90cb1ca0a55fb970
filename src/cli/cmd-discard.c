/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/cleanup.h"
#include "cli/apply-report.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/stage-verb.h"
#include "review/staged-choice.h"

/* The answer is about what was there then. */
static bool is_asked(const struct stage_args *args)
{
	return args->len == 0 && !args->values[OPT_ALL];
}

/* All of it is much at once. 1: the answer is no. */
static int confirm(const struct staged *staged, const struct stage_args *args, struct err *err)
{
	_cleanup_(str_release) struct str way = {0};
	_cleanup_(freep) char *question = NULL;
	size_t count = staged_count(staged->changes);
	int r;

	if (args->values[OPT_ALL] && args->len > 0)
		return err_set(err, ERR_USAGE, -EINVAL, "discard: --all takes no paths");
	if (!is_asked(args) || !staged->changes || staged->changes->n == 0)
		return 0;
	if (!has_terminal()) {
		r = err_set(err, ERR_USAGE, -EINVAL,
			    "discard: there is no terminal to ask on, and no path was named");
		if (put_pale(&way, "discard", staged->asked, args->values[OPT_STAGE]) < 0)
			return err_oom(err);
		return err_hint(err, r, "%s --all throws %s%zu change%s away", str_text(&way),
				count == 1 ? "the " : "all ", count, count == 1 ? "" : "s");
	}
	question = str_printf(count == 1 ? "Throw the %zu staged change away? [y/N] "
					 : "Throw all %zu staged changes away? [y/N] ",
			      count);
	if (!question)
		return err_oom(err);
	return ask_yes(question) ? 0 : 1;
}

int cmd_discard(int argc, char **argv)
{
	_cleanup_(stage_args_release) struct stage_args args = {0};
	_cleanup_(staged_release) struct staged staged = {0};
	_cleanup_(staged_choice_release) struct staged_choice choice = {0};
	_cleanup_(apply_report_freep) struct apply_report *done = NULL;
	struct progress progress;
	struct err err = {0};
	int r = stage_verb_begin(VERB_DISCARD, argc, argv, &args, &staged, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = stage_verb_paths(&staged, &args, &choice.paths, &err);
	if (r == 0)
		r = confirm(&staged, &args, &err);
	if (r < 0)
		return report(&err);
	if (r > 0) {
		say("nothing was thrown away");
		return STATUS_ERROR;
	}
	if (!staged.stage)
		return apply_report_print(&staged, &(struct apply_report){0}, DEED_DISCARD,
					  args.values[OPT_JSON] != NULL);
	progress_begin(&progress, "discarding", false);
	r = stage_discard(staged.stage, is_asked(&args) ? staged.changes : NULL,
			  staged_choice_finish(&choice),
			  &(struct apply_progress){progress_step, &progress}, &done, &err);
	progress_end(&progress);
	if (r == -ECANCELED) {
		say("stopped: nothing was thrown away");
		return 128 + progress_signal();
	}
	if (staged_busy(&staged, staged.stage->name, r, &err) < 0)
		return report(&err);
	return apply_report_print(&staged, done, DEED_DISCARD, args.values[OPT_JSON] != NULL);
}
