/* SPDX-License-Identifier: MIT */
/* Decisions about a hand-made stage: what they amount to, and how they are kept. */
#include "review/review.h"

#include <errno.h>

#include "base/err.h"
#include "base/fd.h"
#include "scratch.h"
#include "tap.h"

#define UPPER "state/stages/default/roots/0/upper/"

static struct staged staged;
static struct err err;

/* Sixty lines; those in CHANGED are other ones. */
static void write_lines(const char *path, const char *changed)
{
	struct str text = {0};

	for (int i = 1; i <= 60; i++) {
		char word[16];

		snprintf(word, sizeof(word), " %d ", i);
		str_appendf(&text, strstr(changed, word) ? "other %d\n" : "line %d\n", i);
	}
	scratch_write(path, str_text(&text));
	str_release(&text);
}

static bool make_stage(void)
{
	char path[4300];
	unsigned root;
	int base;

	if (mkdir("ws", 0755) < 0 || mkdir("ws/sub", 0755) < 0)
		return false;
	snprintf(path, sizeof(path), "%s/state", scratch_path);
	staged.workspace.state_dir = strdup(path);
	snprintf(path, sizeof(path), "%s/ws", scratch_path);
	staged.workspace.root = strdup(path);
	staged.workspace.cwd = strdup(path);
	write_lines("ws/a", "");
	scratch_write("ws/gone", "a file that moves\n");
	base = open("ws", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (stage_open(staged.workspace.state_dir, "default", true, &staged.stage, &err) < 0 ||
	    stage_add_root(staged.stage, path, &root, &err) < 0 ||
	    stage_make_layers(staged.stage, root, base, &err) < 0) {
		tap_skip("%s", err.message);
		fd_close(base);
		return false;
	}
	fd_close(base);
	write_lines(UPPER "a", " 5 7 50 ");
	scratch_write(UPPER "new", "new\n");
	scratch_write(UPPER "moved", "a file that moves\n");
	if (mkdir(UPPER "dir", 0755) < 0)
		return false;
	scratch_write(UPPER "dir/x", "x\n");
	scratch_write(UPPER "dir/y", "y\n");
	return mknod(UPPER "gone", S_IFCHR, 0) == 0 && staged_read(&staged, &err) == 0;
}

/* "a:1,0,1 new dir/+": edits, paths by themselves, paths with all below. */
static const char *choice_text(struct staged_choice *choice)
{
	const struct apply_choice *c = staged_choice_finish(choice);
	static char text[512];
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < c->n_edits; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s:", c->edits[i].path);
		for (size_t k = 0; k < c->edits[i].n; k++)
			text[at++] = c->edits[i].chosen[k] ? '1' : '0';
		text[at++] = ' ';
		text[at] = '\0';
	}
	for (size_t i = 0; i < c->n_paths; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s ", c->paths[i].path,
				       c->paths[i].is_alone ? "" : "+");
	return text;
}

static const char *accepted(const struct review *review)
{
	_cleanup_(staged_choice_release) struct staged_choice choice = {0};

	return review_accepted(review, &choice, &err) < 0 ? "failed" : choice_text(&choice);
}

static const char *rejected(const struct review *review, const struct apply_report *done)
{
	_cleanup_(staged_choice_release) struct staged_choice choice = {0};

	return review_rejected(review, done, &choice, &err) < 0 ? "failed" : choice_text(&choice);
}

static size_t item(const struct review *review, const char *name)
{
	for (size_t i = 0; i < review->n; i++)
		if (str_eq(review->items[i].entry->name, name))
			return i;
	return 0;
}

static void go(struct review *review, const char *name, size_t part)
{
	if (review_go(review, item(review, name), part, &err) < 0)
		tap_ok(false, "go to %s: %s", name, err.message);
}

static void test_decide(void)
{
	_cleanup_(review_release) struct review review = {0};
	struct review_tally tally;
	struct apply_item left = {.path = "a", .outcome = APPLY_CONFLICT};
	struct apply_report done = {.items = &left, .n = 1};

	tap_ok(review_open(&staged, NULL, &review, &err) == 0 && review.n == 5, "five items: %zu",
	       review.n);
	tap_eq_str(accepted(&review), "", "nothing is accepted");
	go(&review, "a", 0);
	tap_ok(review.n_parts == 2 && review_can_split(&review), "two hunks");
	tap_ok(review_split(&review, &err) == 0 && review.n_parts == 3 &&
		       !review_can_split(&review),
	       "one is split");
	review_decide(&review, VERDICT_YES);
	tap_ok(review_next_open(&review, &err) == 1 && review.part == 1, "on to the next");
	review_decide(&review, VERDICT_NO);
	tap_eq_str(accepted(&review), "a:100 a ", "one edit of it");
	tap_eq_str(rejected(&review, NULL), "", "not rejected while something is open");
	go(&review, "a", 2);
	review_decide(&review, VERDICT_YES);
	tap_eq_str(accepted(&review), "a:101 a ", "two");
	tap_eq_str(rejected(&review, NULL), "a+ ", "the rest of it is rejected");
	tap_eq_str(rejected(&review, &done), "", "unless what was accepted is left");
	go(&review, "moved", 0);
	tap_ok(review.items[review.at].entry->kind == ENTRY_RENAMED && review.n_parts == 1,
	       "a rename is one");
	review_decide(&review, VERDICT_YES);
	tap_eq_str(accepted(&review), "a:101 a gone+ moved+ ", "both ends of it");
	go(&review, "dir/x", 0);
	review_decide(&review, VERDICT_YES);
	tap_eq_str(accepted(&review), "a:101 a dir/x+ gone+ moved+ ", "one file of a folder");
	go(&review, "dir/y", 0);
	review_decide(&review, VERDICT_YES);
	tap_eq_str(accepted(&review), "a:101 a dir+ gone+ moved+ ", "all: the folder");
	go(&review, "a", 0);
	review_decide_all(&review, VERDICT_YES);
	tap_eq_str(accepted(&review), "a+ dir+ gone+ moved+ ",
		   "all of a file is no choice of edits");
	review_count(&review, &tally);
	tap_ok(tally.yes == 4 && tally.no == 0 && tally.open == 1, "counted");
	tap_ok(review_next_open(&review, &err) == 1 && review.at == item(&review, "new"),
	       "the last open one");
	review_decide(&review, VERDICT_NO);
	tap_eq_int(review_next_open(&review, &err), 0, "none is open");
	tap_ok(review_save(&review, &err) == 0, "kept");
}

static void test_kept(void)
{
	_cleanup_(review_release) struct review review = {0};
	_cleanup_(review_release) struct review some = {0};
	_cleanup_(review_release) struct review again = {0};
	_cleanup_(staged_paths_release) struct staged_paths paths = {0};

	tap_ok(review_open(&staged, NULL, &review, &err) == 0, "opened again");
	tap_eq_str(accepted(&review), "a+ dir+ gone+ moved+ ", "decisions are there");
	tap_eq_str(rejected(&review, NULL), "new+ ", "of both kinds");
	tap_eq_int((long long)review.at, (long long)item(&review, "new"), "and the place");
	write_lines(UPPER "a", " 5 ");
	changes_free(staged.changes);
	stage_runs_free(staged.runs, staged.n_runs);
	tap_ok(staged_read(&staged, &err) == 0, "a file changes");
	tap_ok(staged_paths_add(&staged, "dir", &paths, &err) == 0 &&
		       review_open(&staged, &paths, &some, &err) == 0 && some.n == 2,
	       "a review of some");
	review_decide(&some, VERDICT_NO);
	tap_ok(review_save(&some, &err) == 0, "kept");
	tap_ok(review_open(&staged, NULL, &again, &err) == 0, "and all again");
	go(&again, "a", 0);
	tap_ok(review_verdict(&again) == VERDICT_OPEN, "what changed is open");
	tap_eq_str(rejected(&again, NULL), "dir/x+ new+ ", "the others are as they were");
}

/* A file that anybody could have damaged. */
static void test_damaged(void)
{
	static const char *const texts[] = {"", "\n", "garbage\n", "\xff\xff file 0 a x y z\n"};

	for (size_t i = 0; i < array_len(texts); i++) {
		_cleanup_(review_release) struct review review = {0};

		scratch_write("state/stages/default/review", texts[i]);
		tap_ok(review_open(&staged, NULL, &review, &err) == 0 && !*accepted(&review),
		       "damaged, number %zu: nothing is decided", i);
	}
}

int main(void)
{
	scratch_enter();
	umask(022);
	if (tap_on_valgrind()) {
		tap_skip("valgrind has no openat2");
	} else if (make_stage()) {
		test_decide();
		test_kept();
		test_damaged();
	} else if (*err.message) {
		tap_note("%s", err.message);
	}
	staged_release(&staged);
	scratch_leave();
	return tap_done();
}
