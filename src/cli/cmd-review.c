/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/apply-report.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/review-screen.h"
#include "cli/stage-verb.h"
#include "review/review.h"

/* How the screen was left. */
enum ending {
	END_NOT,
	END_QUIT,
	END_APPLY,      /* what is accepted */
	END_APPLY_DROP, /* and throw away what is rejected */
};

struct session {
	struct screen screen;
	struct review review;
	struct review_view view;
	struct err *err;
};

static const struct change *change_at(const struct session *session)
{
	return session->review.items[session->review.at].entry->change;
}

/* To the next open one; when there is none, the question. */
static enum ending ask_end(struct session *session);

static int go_on(struct session *session)
{
	int r = review_next_open(&session->review, session->err);

	return r == 0 ? (int)ask_end(session) : r < 0 ? r : END_NOT;
}

static int accept(struct session *session, bool all, bool take_staged)
{
	unsigned flags = change_at(session)->flags;

	if (flags & CHANGE_IS_UNSUPPORTED) {
		session->view.message = "this cannot be applied, only rejected";
		return END_NOT;
	}
	if ((flags & CHANGE_IS_CONFLICT) && !(flags & CHANGE_MERGES) && !take_staged) {
		session->view.message =
			"you changed it as well: t overwrites your change, n drops the staged one";
		return END_NOT;
	}
	if (all)
		review_decide_all(&session->review, VERDICT_YES);
	else
		review_decide(&session->review, VERDICT_YES);
	return go_on(session);
}

static int reject(struct session *session, bool all)
{
	if (all)
		review_decide_all(&session->review, VERDICT_NO);
	else
		review_decide(&session->review, VERDICT_NO);
	return go_on(session);
}

static int split(struct session *session)
{
	if (review_can_split(&session->review))
		return review_split(&session->review, session->err);
	session->view.message = "there is nothing to split";
	return END_NOT;
}

static int move(struct session *session, int direction)
{
	int r = review_move(&session->review, direction, session->err);

	if (r == 0)
		session->view.message = direction > 0 ? "this is the last one; e ends the review"
						      : "this is the first one";
	return r < 0 ? r : END_NOT;
}

static int move_file(struct session *session, int direction)
{
	struct review *review = &session->review;

	if (direction > 0 ? review->at + 1 < review->n : review->at > 0)
		return review_go(review, direction > 0 ? review->at + 1 : review->at - 1, 0,
				 session->err);
	session->view.message = direction > 0 ? "this is the last file; e ends the review"
					      : "this is the first file";
	return END_NOT;
}

static enum ending ask_end(struct session *session)
{
	struct review_tally tally;

	review_count(&session->review, &tally);
	for (;;) {
		int key;

		review_draw_end(&session->screen, &session->review);
		key = screen_key(&session->screen);
		switch (key) {
		case KEY_NONE:
			continue;
		case 'y':
			if (tally.yes + tally.no == 0)
				continue;
			return END_APPLY_DROP;
		case 'k':
			if (tally.yes + tally.no == 0)
				continue;
			return END_APPLY;
		case 'q':
		case 3: /* Ctrl-C */
		case KEY_HANG_UP:
			return END_QUIT;
		default:
			return END_NOT;
		}
	}
}

static int show_help(struct session *session)
{
	int key;

	do {
		review_draw_help(&session->screen);
		key = screen_key(&session->screen);
	} while (key == KEY_NONE);
	return key == KEY_HANG_UP ? END_QUIT : END_NOT;
}

static bool scroll(struct session *session, int key)
{
	long page = (long)session->view.page, all = (long)session->view.rows.n;

	switch (key) {
	case KEY_UP:
		review_scroll(&session->view, -1);
		return true;
	case KEY_DOWN:
		review_scroll(&session->view, 1);
		return true;
	case ' ':
	case KEY_PAGE_DOWN:
		review_scroll(&session->view, page);
		return true;
	case 'b':
	case KEY_PAGE_UP:
		review_scroll(&session->view, -page);
		return true;
	case 'g':
	case KEY_HOME:
		review_scroll(&session->view, -all);
		return true;
	case 'G':
	case KEY_END:
		review_scroll(&session->view, all);
		return true;
	default:
		return false;
	}
}

/* An ending, or -errno. */
static int obey(struct session *session, int key)
{
	if (scroll(session, key))
		return END_NOT;
	switch (key) {
	case KEY_NONE:
		return END_NOT;
	case 'y':
		return accept(session, false, false);
	case 'a':
		return accept(session, true, false);
	case 't':
		return accept(session, true, true);
	case 'n':
		return reject(session, false);
	case 'd':
		return reject(session, true);
	case 'u':
		review_decide(&session->review, VERDICT_OPEN);
		return move(session, 1);
	case 's':
		return split(session);
	case 'f':
	case 'J':
		return move_file(session, 1);
	case 'K':
		return move_file(session, -1);
	case 'j':
		return move(session, 1);
	case 'k':
		return move(session, -1);
	case 'e':
	case '\r':
		return (int)ask_end(session);
	case '?':
	case 'h':
		return show_help(session);
	case 'q':
	case 3: /* Ctrl-C */
	case KEY_HANG_UP:
		return END_QUIT;
	default:
		session->view.message = "unknown key; ? lists them";
		return END_NOT;
	}
}

static int run_screen(struct session *session)
{
	int r = screen_open(&session->screen, session->err);

	if (r < 0)
		return err_hint(session->err, r,
				"pale diff shows what is staged, pale apply applies it");
	while (r == END_NOT) {
		int key;

		if (review_draw(&session->screen, &session->review, &session->view) < 0) {
			r = err_oom(session->err);
			break;
		}
		key = screen_key(&session->screen);
		if (key != KEY_NONE)
			session->view.message = NULL;
		r = obey(session, key);
	}
	screen_close(&session->screen);
	return r;
}

/* --- afterwards --- */

static int stopped(const struct progress *progress, const char *what)
{
	(void)progress;
	say("stopped: nothing was %s; decisions are kept", what);
	return 128 + progress_signal();
}

static int apply_accepted(struct session *session, const struct stage_args *args,
			  struct staged *staged, struct apply_report **ret)
{
	_cleanup_(staged_choice_release) struct staged_choice choice = {0};
	struct progress progress;
	int r = review_accepted(&session->review, &choice, session->err);

	if (r < 0)
		return report(session->err);
	if (choice.paths.n == 0)
		return STATUS_OK;
	choice.accept_unsynced = args->values[OPT_ACCEPT_UNSYNCED] != NULL;
	progress_begin(&progress, "applying", false);
	r = stage_apply(staged->stage, staged->changes, staged_choice_finish(&choice),
			&(struct apply_progress){progress_step, &progress}, ret, session->err);
	progress_end(&progress);
	if (r == -ECANCELED)
		return stopped(&progress, "applied");
	if (r == -EUCLEAN)
		err_hint(session->err, r, "pale review --accept-unsynced applies them anyway");
	if (staged_busy(staged, staged->stage->name, r, session->err) < 0)
		return report(session->err);
	return apply_report_print(staged, *ret, DEED_APPLY, false);
}

static int drop_rejected(struct session *session, struct staged *staged,
			 const struct apply_report *done)
{
	_cleanup_(staged_choice_release) struct staged_choice choice = {0};
	_cleanup_(apply_report_freep) struct apply_report *dropped = NULL;
	struct progress progress;
	int r = review_rejected(&session->review, done, &choice, session->err);

	if (r < 0)
		return report(session->err);
	if (choice.paths.n == 0)
		return STATUS_OK;
	progress_begin(&progress, "discarding", false);
	r = stage_discard(staged->stage, staged->changes, staged_choice_finish(&choice),
			  &(struct apply_progress){progress_step, &progress}, &dropped,
			  session->err);
	progress_end(&progress);
	if (r == -ECANCELED)
		return stopped(&progress, "thrown away");
	if (staged_busy(staged, staged->stage->name, r, session->err) < 0)
		return report(session->err);
	return apply_report_print(staged, dropped, DEED_DISCARD, false);
}

static int finish(struct session *session, const struct stage_args *args, struct staged *staged,
		  int ending)
{
	_cleanup_(apply_report_freep) struct apply_report *done = NULL;
	struct review_tally tally;
	int status, dropped = STATUS_OK;

	/* Also when something goes wrong from here on. */
	if (review_save(&session->review, session->err) < 0)
		report(session->err);
	if (ending == END_QUIT) {
		review_count(&session->review, &tally);
		say("nothing was applied; %zu accepted, %zu rejected, %zu open: pale review goes "
		    "on from here",
		    tally.yes, tally.no, tally.open);
		return screen_signal() ? 128 + screen_signal() : STATUS_OK;
	}
	status = apply_accepted(session, args, staged, &done);
	if (ending == END_APPLY_DROP && (status == STATUS_OK || done))
		dropped = drop_rejected(session, staged, done);
	return status != STATUS_OK ? status : dropped;
}

static int review_all(struct session *session, const struct stage_args *args, struct staged *staged,
		      const struct staged_paths *paths)
{
	int r;

	progress_wait("looking for renames ");
	r = review_open(staged, paths, &session->review, session->err);
	progress_wait_end();
	if (r < 0)
		return report(session->err);
	if (session->review.n == 0) {
		say("nothing is staged");
		return STATUS_OK;
	}
	r = run_screen(session);
	if (r < 0) {
		review_save(&session->review, NULL);
		return report(session->err);
	}
	return finish(session, args, staged, r);
}

int cmd_review(int argc, char **argv)
{
	_cleanup_(stage_args_release) struct stage_args args = {0};
	_cleanup_(staged_release) struct staged staged = {0};
	_cleanup_(staged_paths_release) struct staged_paths paths = {0};
	struct err err = {0};
	struct session session = {.err = &err};
	int r = stage_verb_begin(VERB_REVIEW, argc, argv, &args, &staged, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = stage_verb_paths(&staged, &args, &paths, &err);
	if (r < 0)
		return report(&err);
	r = review_all(&session, &args, &staged, &paths);
	review_view_release(&session.view);
	review_release(&session.review);
	return r;
}
