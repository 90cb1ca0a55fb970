/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/cleanup.h"
#include "cli/apply-report.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/stage-verb.h"
#include "review/staged-choice.h"

static int add_all(const struct staged *staged, const struct strv *operands,
		   struct staged_paths *paths, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < operands->len && r == 0; i++)
		r = staged_paths_add(staged, operands->items[i], paths, err);
	return r;
}

static int choose(const struct staged *staged, const struct stage_args *args,
		  struct staged_choice *choice, struct err *err)
{
	int r = stage_verb_paths(staged, args, &choice->paths, err);

	for (size_t i = 0; i < args->hunks.len && r == 0; i++)
		r = staged_choice_hunk(staged, args->hunks.items[i], choice, err);
	if (r == 0)
		r = add_all(staged, &args->include_protected, &choice->include_protected, err);
	if (r == 0)
		r = add_all(staged, &args->take_staged, &choice->take_staged, err);
	choice->accept_unsynced = args->values[OPT_ACCEPT_UNSYNCED] != NULL;
	return r;
}

int cmd_apply(int argc, char **argv)
{
	_cleanup_(stage_args_release) struct stage_args args = {0};
	_cleanup_(staged_release) struct staged staged = {0};
	_cleanup_(staged_choice_release) struct staged_choice choice = {0};
	_cleanup_(apply_report_freep) struct apply_report *done = NULL;
	struct progress progress;
	struct err err = {0};
	int r = stage_verb_begin(VERB_APPLY, argc, argv, &args, &staged, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = choose(&staged, &args, &choice, &err);
	if (r < 0)
		return report(&err);
	if (!staged.stage)
		return apply_report_print(&staged, &(struct apply_report){0}, DEED_APPLY,
					  args.values[OPT_JSON] != NULL);
	progress_begin(&progress, "applying", false);
	r = stage_apply(staged.stage, staged.changes, staged_choice_finish(&choice),
			&(struct apply_progress){progress_step, &progress}, &done, &err);
	progress_end(&progress);
	if (r == -EUCLEAN)
		err_hint(&err, r,
			 "look at them with pale diff, then: pale apply --accept-unsynced");
	if (r == -ECANCELED) {
		say("stopped: nothing was applied");
		return 128 + progress_signal();
	}
	if (r < 0)
		return report(&err);
	return apply_report_print(&staged, done, DEED_APPLY, args.values[OPT_JSON] != NULL);
}
