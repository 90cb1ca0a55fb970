/* SPDX-License-Identifier: MIT */
#include "stage/stage.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "scratch.h"
#include "stage/live.h"
#include "stage/slots.h"
#include "stage/text.h"
#include "tap.h"

static char state[4200];

static struct stage *open_stage(const char *name, bool create)
{
	struct stage *stage = NULL;
	struct err err = {0};
	int r = stage_open(state, name, create, &stage, &err);

	if (r < 0 && r != -ENOENT)
		tap_note("%s", err.message);
	return r < 0 ? NULL : stage;
}

static void test_names(void)
{
	static const char *const good[] = {"default", "a", "A.b_c-9", "0"};
	static const char *const bad[] = {"", ".", "..", ".x", "a/b", "a b", "\xc3\xa4", "a\n"};
	struct err err = {0};
	struct stage *stage;
	char longest[66];

	for (size_t i = 0; i < array_len(good); i++)
		tap_ok(stage_name_is_valid(good[i]), "a name: %s", good[i]);
	for (size_t i = 0; i < array_len(bad); i++)
		tap_ok(!stage_name_is_valid(bad[i]), "no name: %zu", i);
	memset(longest, 'x', 65);
	longest[65] = '\0';
	tap_ok(!stage_name_is_valid(longest) && stage_name_is_valid(longest + 1), "64 at most");
	tap_eq_int(stage_open(state, "../x", true, &stage, &err), -EINVAL, "and none is opened");
}

static void test_text(void)
{
	static const char *const texts[] = {"/plain",    "/a b",      "/new\nline", "/back\\slash",
					    "/\x7f\x01", "/\xff\xfe", "/\\x0a"};
	char broken[][8] = {"\\", "\\y00", "\\x0", "\\x00", "\\xzz"};

	for (size_t i = 0; i < array_len(texts); i++) {
		struct str out = {0};

		tap_ok(stage_text_put(&out, texts[i]) == 0 && !strpbrk(out.data, " \n\t") &&
			       stage_text_take(out.data) && str_eq(out.data, texts[i]),
		       "there and back: %zu", i);
		str_release(&out);
	}
	for (size_t i = 0; i < array_len(broken); i++)
		tap_ok(!stage_text_take(broken[i]), "not of ours: %zu", i);
}

static void test_roots(void)
{
	struct stage *stage, *again;
	struct err err = {0};
	unsigned index = 99;

	tap_ok(!open_stage("roots", false), "there is none yet");
	stage = open_stage("roots", true);
	tap_ok(stage && stage->n_roots == 0 && stage->created.tv_sec > 0, "a new one");
	tap_ok(stage_add_root(stage, "/w\n \\s", &index, &err) == 0 && index == 0, "root 0");
	tap_ok(stage_add_root(stage, "/w\n \\s", &index, &err) == 0 && index == 0, "once");
	tap_ok(stage_add_root(stage, "/srv/a", &index, &err) == 0 && index == 1, "root 1");
	tap_eq_int(stage_add_root(stage, "/srv", &index, &err), -EEXIST, "none around another");
	tap_eq_int(stage_add_root(stage, "/srv/a/b", &index, &err), -EEXIST, "none in another");
	tap_eq_int(stage_add_root(stage, "/w\n \\s/out", &index, &err), -EEXIST,
		   "none in the workspace");
	tap_ok(stage_add_root(stage, "/srv/ab", &index, &err) == 0 && index == 2, "beside it");
	again = open_stage("roots", false);
	tap_ok(again && again->n_roots == 3 && str_eq(again->roots[0].path, "/w\n \\s") &&
		       str_eq(again->roots[2].path, "/srv/ab") &&
		       again->created.tv_nsec == stage->created.tv_nsec,
	       "read back");
	stage_free(again);
	scratch_write("state/stages/roots/stage", "pale-stage 1\nroot 1 /x\n");
	tap_ok(!open_stage("roots", false), "a broken file is no stage");
	stage_free(stage);
}

static void test_runs(void)
{
	struct stage *stage = open_stage("runs", true);
	struct timespec t0 = {.tv_sec = 1234567890, .tv_nsec = 5};
	struct stage_run *runs;
	struct err err = {0};
	size_t n;
	int fd;

	tap_ok(stage_runs(stage, &runs, &n, &err) == 0 && n == 0, "no runs");
	tap_ok(stage_begin(stage, "r1", 77, t0, "make all", &err) == 0, "one begins");
	tap_ok(stage_begin(stage, "r2", 78, t0, NULL, &err) == 0, "and another");
	tap_ok(stage_end(stage, "r1", &err) == 0, "the first ends");
	fd = openat(stage->dir_fd, "runs", O_WRONLY | O_APPEND | O_CLOEXEC);
	tap_ok(fd_write_all(fd, "begin torn 12", 13) == 0, "a torn line");
	fd_close(fd);
	tap_ok(stage_begin(stage, "r3", 79, t0, "x", &err) == 0, "and one after it");
	tap_ok(stage_runs(stage, &runs, &n, &err) == 0 && n == 3, "all but the torn one");
	tap_ok(n == 3 && str_eq(runs[0].id, "r1") && runs[0].pid == 77 && runs[0].is_ended &&
		       runs[0].ended.tv_sec > 0 && runs[0].t0.tv_sec == t0.tv_sec &&
		       runs[0].t0.tv_nsec == 5 && str_eq(runs[0].command, "make all") &&
		       strlen(runs[0].boot) == 36,
	       "what was written");
	tap_ok(n == 3 && !runs[1].is_ended && str_eq(runs[2].id, "r3"), "the others go on");
	stage_runs_free(runs, n);
	stage_free(stage);
}

static void test_locks(void)
{
	struct stage *a = open_stage("locks", true), *b = open_stage("locks", false);
	struct err err = {0};

	tap_ok(stage_lock(a, false, &err) == 0 && stage_lock(b, false, &err) == 0, "two share it");
	tap_ok(stage_begin(a, "r", getpid(), (struct timespec){1, 0}, "x", &err) == 0, "a run");
	stage_unlock(b);
	tap_eq_int(stage_lock(b, true, &err), -EBUSY, "nobody else has it alone");
	tap_ok(strstr(err.message, "process ") &&
		       atoi(strstr(err.message, "process ") + 8) == getpid(),
	       "the error says who has it");
	stage_unlock(a);
	tap_ok(stage_lock(b, true, &err) == 0, "now one has");
	tap_eq_int(stage_lock(a, false, &err), -EBUSY, "and nobody shares it");
	stage_unlock(b);
	tap_ok(stage_enter(a, &err) == 0 && a->is_alone, "a run comes in alone");
	stage_mount_unlock(a);
	tap_ok(stage_enter(b, &err) == 0 && !b->is_alone, "the second is not");
	stage_free(a);
	stage_free(b);
}

#define WORK "state/stages/layers/roots/0/work/"

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void test_layers(void)
{
	struct stage *stage = open_stage("layers", true);
	int base = open("base", O_PATH | O_DIRECTORY | O_CLOEXEC), upper = -1;
	struct err err = {0};
	uint64_t bytes = 99;
	unsigned index;
	struct stat st;

	tap_ok(stage_add_root(stage, "/base", &index, &err) == 0, "a root");
	tap_eq_int(stage_upper(stage, index, &upper, &err), -ENOENT, "without layers");
	if (stage_make_layers(stage, index, base, &err) == -ENOTSUP) {
		tap_skip("%s", err.message);
	} else {
		tap_ok(stage_make_layers(stage, index, base, &err) == 0, "made once");
		tap_ok(stage_upper(stage, index, &upper, &err) == 0 && fstat(upper, &st) == 0 &&
			       (st.st_mode & 07777) == 0751,
		       "the upper one looks like the base");
		tap_ok(stage_size(stage, &bytes, &err) == 0 && bytes == 0, "it holds nothing");
		scratch_write("state/stages/layers/roots/0/upper/f", "text");
		tap_ok(stage_size(stage, &bytes, &err) == 0 && bytes >= 512, "now it does");
		tap_ok(stage_clear_mark(stage, index, &err) == 0, "no mark, nothing to clear");
		mkdir(WORK "work", 0700);
		mkdir(WORK "work/incompat", 0700);
		mkdir(WORK "spent", 0700);
		scratch_write(WORK "spent/left", "text");
		tap_ok(stage_clear_mark(stage, index, &err) == 0 && !is_there(WORK "work") &&
			       is_there(WORK "spent/incompat"),
		       "the folder of the mount before is put aside, in place of one that was left");
		stage_drop_mark(stage, index);
		tap_ok(is_there(WORK) && !is_there(WORK "spent"), "and goes");
	}
	fd_close(upper);
	fd_close(base);
	stage_free(stage);
}

/* What a killed run leaves. */
static void test_left(void)
{
	struct stage *stage = open_stage("left", true);
	struct stage_run *runs;
	char text[SLOT_SIZE];
	struct err err = {0};
	size_t n;
	int mount;

	(void)stage_begin(stage, "dead", 99999999, (struct timespec){1, 0}, "x", &err);
	(void)stage_begin(stage, "torn", 99999999, (struct timespec){1, 0}, "x", &err);
	tap_ok(slots_open(stage, &err) == 0 &&
		       slots_write(stage, 0, "dead", " 99999999 5 6 1 1\n0 7 1 1") == 0 &&
		       slots_write(stage, 2, "torn", " 9999") == 0,
	       "two that were killed");
	tap_ok(slots_read(stage, 0, text, &err) == 1 && slots_read(stage, 1, text, &err) == 0 &&
		       slots_read(stage, 2, text, &err) == 1 &&
		       slots_read(stage, 3, text, &err) == -ENOENT,
	       "they are read");
	tap_ok(stage_enter(stage, &err) == 0 && stage->is_alone, "nobody is there");
	tap_ok(stage_join(stage, 0, &mount, &err) == 0 && mount == -1, "nothing to join");
	tap_ok(slots_read(stage, 0, text, &err) == 0 && slots_read(stage, 2, text, &err) == -ENOENT,
	       "what is written of them is gone");
	tap_ok(stage_runs(stage, &runs, &n, &err) == 0 && n == 2 && runs[0].is_ended &&
		       runs[1].is_ended,
	       "and they have ended");
	stage_runs_free(runs, n);
	stage_free(stage);
}

/* What one says of itself is nobody else's to remove while it lives. */
static void test_slots(void)
{
	struct stage *a = open_stage("slots", true), *b = open_stage("slots", false);
	char text[SLOT_SIZE];
	struct err err = {0};
	int mount;

	tap_ok(stage_enter(a, &err) == 0 && stage_announce(a, "a", &err) == 0 && a->slot == 0,
	       "a run has the first slot");
	stage_leave(a, "a");
	tap_ok(stage_enter(b, &err) == 0 && !b->is_alone, "another comes");
	tap_ok(stage_join(b, 0, &mount, &err) == 0 && mount == -1, "has nothing to join");
	tap_ok(stage_announce(b, "b", &err) == 0 && b->slot == 1, "and gets the second");
	tap_ok(stage_finish(a, "a", &err) == 0 && slots_read(b, 0, text, &err) == 0,
	       "the first ends");
	tap_ok(slots_take(b, "c", &err) == 0 && b->slot == 2,
	       "one whose run is not quite gone is passed over");
	tap_ok(slots_clear(b, 2) == 0 && slots_read(b, 1, text, &err) == 1 && str_eq(text, "b\n"),
	       "the second goes on");
	b->slot = 1;
	tap_ok(slots_is_held(a, 1), "which can be told");
	stage_free(b);
	tap_ok(!slots_is_held(a, 1) && slots_read(a, 1, text, &err) == 1, "so can its death");
	stage_free(a);
}

static void test_old(void)
{
	struct stage *stage = open_stage("old", true);
	struct stage_run *runs;
	struct err err = {0};
	unsigned index;
	size_t n;

	(void)stage_add_root(stage, "/base", &index, &err);
	tap_ok(stage_begin(stage, "run", 1, (struct timespec){0}, "make", &err) == 0, "a run");
	stage_free(stage);
	scratch_write("state/stages/old/stage",
		      "pale-stage 1\ncreated 5.000000006\nroot 0 /base\n");
	tap_ok(mkdir("state/stages/old/live", 0700) == 0, "as an earlier version had it");
	scratch_write("state/stages/old/live/run", "");
	stage = open_stage("old", false);
	tap_ok(stage && stage->is_old && stage->n_roots == 1, "it is read");
	tap_ok(stage_enter(stage, &err) == 0 && !stage->is_old && stage->created.tv_sec == 5 &&
		       access("state/stages/old/live", F_OK) < 0,
	       "and brought up to date");
	tap_ok(stage_runs(stage, &runs, &n, &err) == 0 && n == 1 && runs[0].is_ended,
	       "the run that was killed has ended");
	stage_runs_free(runs, n);
	stage_free(stage);
}

static void test_list_and_remove(void)
{
	struct stage *stage = open_stage("zz", true);
	struct err err = {0};
	char **names = NULL;
	size_t n = 0;

	(void)mkdir("state/stages/.hidden", 0700);
	tap_ok(stage_list(state, &names, &err) == 0, "all stages");
	for (; names && names[n]; n++)
		;
	tap_ok(n > 2 && str_eq(names[n - 1], "zz"), "in order, and no others");
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
	(void)mkdir("state/stages/zz/roots/a", 0700);
	(void)mkdir("state/stages/zz/roots/a/b", 0700);
	scratch_write("state/stages/zz/roots/a/b/c", "x");
	(void)chmod("state/stages/zz/roots/a/b", 0);
	(void)chmod("state/stages/zz/roots/a", 0500);
	tap_ok(symlink("/etc", "state/stages/zz/roots/link") == 0, "a link in it");
	tap_ok(stage_lock(stage, true, &err) == 0 && stage_remove(stage, &err) == 0, "removed: %s",
	       err.message);
	tap_ok(access("state/stages/zz", F_OK) < 0 && access("/etc/passwd", F_OK) == 0,
	       "all of it, and nothing else");
	stage_free(stage);
	tap_ok(stage_list("nowhere-at-all", &names, &err) == 0 && !names[0], "no state, no stages");
	free(names);
}

int main(void)
{
	scratch_enter();
	snprintf(state, sizeof(state), "%s/state", scratch_path);
	if (mkdir("base", 0751) < 0 || chmod("base", 0751) < 0)
		return 1;
	test_names();
	test_text();
	if (tap_on_valgrind()) {
		tap_skip("valgrind has no openat2");
	} else {
		test_roots();
		test_runs();
		test_locks();
		test_layers();
		test_left();
		test_slots();
		test_old();
		test_list_and_remove();
	}
	scratch_leave();
	return tap_done();
}
