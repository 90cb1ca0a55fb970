/* SPDX-License-Identifier: MIT */
/* Stages made by hand: what is a change, what a conflict, what is applied of it. */
#include "stage/apply.h"

#include <errno.h>
#include <limits.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "scratch.h"
#include "stage/record.h"
#include "stage/roots.h"
#include "stage/stage.h"
#include "tap.h"

static char top[PATH_MAX], state[PATH_MAX + 16];
static struct stage *stage;
static unsigned round_number;

static void wait_for_tick(void)
{
	struct timespec wait = {.tv_nsec = 12000000};

	nanosleep(&wait, NULL);
}

static void put(const char *layer, const char *name, const char *text)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", layer, name);
	scratch_write(path, text);
}

static const char *get(const char *layer, const char *name)
{
	static char text[256];
	char path[PATH_MAX + 64];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", layer, name);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return NULL;
	text[n] = '\0';
	return text;
}

/* A new workspace and stage; what is put into base before begin() was there first. */
static void fresh(void)
{
	if (chdir(top) < 0)
		exit(1);
	stage = stage_free(stage);
	scratch_remove(AT_FDCWD, "base");
	scratch_remove(AT_FDCWD, "state");
	unlink("upper");
	if (mkdir("base", 0755) < 0 || mkdir("state", 0700) < 0 ||
	    symlink("state/stages/default/roots/0/upper", "upper") < 0)
		exit(1);
}

static void begin(void)
{
	_cleanup_(fd_closep) int base = -1;
	char path[PATH_MAX + 16], run[16];
	struct err err = {0};
	struct timespec t0;
	unsigned root;

	snprintf(path, sizeof(path), "%s/base", top);
	wait_for_tick();
	if ((!stage && stage_open(state, "default", true, &stage, &err) < 0) ||
	    stage_add_root(stage, path, &root, &err) < 0 ||
	    root_open(stage, root, &base, &err) < 0 ||
	    stage_make_layers(stage, root, base, &err) < 0) {
		tap_ok(false, "begin: %s", err.message);
		exit(1);
	}
	clock_gettime(CLOCK_REALTIME, &t0);
	snprintf(run, sizeof(run), "run-%u", ++round_number);
	stage_begin(stage, run, getpid(), t0, "test", &err);
	wait_for_tick();
}

static size_t end(void)
{
	struct stage_summary summary = {0};
	struct err err = {0};
	char run[16];

	snprintf(run, sizeof(run), "run-%u", round_number);
	stage_end(stage, run, &err);
	tap_eq_int(stage_record(stage, run, &summary, &err), 0, "recorded %s", err.message);
	wait_for_tick();
	return summary.n_changes;
}

static unsigned flags_of(const char *path)
{
	_cleanup_(changes_freep) struct changes *changes = NULL;
	const struct change *change;
	struct err err = {0};

	if (changes_read(stage, &changes, &err) < 0)
		return tap_ok(false, "changes: %s", err.message), ~0u;
	change = changes_find(changes, 0, path);
	return change ? change->flags : ~0u;
}

static int outcome_of(const struct apply_choice *choice, const char *path)
{
	_cleanup_(apply_report_freep) struct apply_report *report = NULL;
	struct err err = {0};
	int r = stage_apply(stage, NULL, choice, NULL, &report, &err);

	if (r < 0)
		tap_note("%s", err.message);
	for (size_t i = 0; r == 0 && i < report->n; i++)
		if (str_eq(report->items[i].path, path))
			return report->items[i].outcome;
	return r < 0 ? r : -1;
}

static void test_conflicts(void)
{
	struct apply_choice take = {.take_staged = &(struct apply_path){.path = "f"},
				    .n_take_staged = 1};

	fresh();
	put("base", "f", "old\n");
	put("base", "g", "old\n");
	begin();
	put("upper", "f", "staged\n");
	put("upper", "g", "staged\n");
	put("base", "f", "saved while it ran\n");
	tap_eq_int((long long)end(), 2, "two files are staged");
	tap_eq_int(flags_of("f"), CHANGE_IS_CONFLICT, "saved during the run: a conflict (SW13)");
	tap_eq_int(flags_of("g"), 0, "twin: not saved, none");
	tap_eq_int(outcome_of(NULL, "f"), APPLY_CONFLICT, "it is left");
	tap_eq_str(get("base", "f"), "saved while it ran\n", "and what was saved is there");
	tap_eq_str(get("base", "g"), "staged\n", "the rest is applied");
	tap_eq_int(outcome_of(&take, "f"), APPLY_DONE, "unless the staged side is taken");
	tap_eq_str(get("base", "f"), "staged\n", "which is there then");
}

static void test_later_runs(void)
{
	fresh();
	put("base", "f", "old\n");
	begin();
	put("upper", "f", "first\n");
	end();
	put("base", "f", "saved between\n");
	begin();
	unlink("upper/f");
	put("upper", "f", "second\n"); /* as editors do: a new file */
	end();
	tap_eq_int(flags_of("f"), CHANGE_IS_CONFLICT, "saved between two runs: a conflict");
	put("base", "f", "second\n");
	tap_eq_int(outcome_of(NULL, "f"), APPLY_DROPPED, "the same on both sides: dropped");
	tap_eq_int(flags_of("f"), ~0u, "and not staged any more");
}

static void test_merge(void)
{
	fresh();
	put("base", "f", "1\n2\n3\n4\n5\n6\n7\n8\n");
	begin();
	put("upper", "f", "one\n2\n3\n4\n5\n6\n7\n8\n");
	end();
	put("base", "f", "1\n2\n3\n4\n5\n6\n7\nten\n");
	tap_eq_int(flags_of("f"), CHANGE_IS_CONFLICT | CHANGE_MERGES, "both sides changed, apart");
	tap_eq_int(outcome_of(NULL, "f"), APPLY_MERGED, "merged");
	tap_eq_str(get("base", "f"), "one\n2\n3\n4\n5\n6\n7\nten\n", "both changes are there");
}

static void test_touched(void)
{
	fresh();
	put("base", "f", "old\n");
	begin();
	put("upper", "f", "new\n");
	end();
	utimensat(AT_FDCWD, "base/f", NULL, 0);
	tap_eq_int(flags_of("f"), 0, "a base that was only touched is no conflict");
	unlink("base/f");
	tap_eq_int(flags_of("f"), CHANGE_IS_CONFLICT, "one that was deleted is");
}

static void test_edits(void)
{
	static const bool chosen[] = {false, true};
	struct apply_edits edits = {.path = "f", .chosen = chosen, .n = 2};
	struct apply_choice choice = {.edits = &edits, .n_edits = 1};

	fresh();
	put("base", "f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
	begin();
	put("upper", "f", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
	end();
	tap_eq_int(outcome_of(&choice, "f"), APPLY_DONE, "one of two edits");
	tap_eq_str(get("base", "f"), "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "is applied");
	tap_eq_int(flags_of("f"), 0, "the other is staged, and no conflict");
	tap_eq_int(outcome_of(NULL, "f"), APPLY_DONE, "and applied later");
	tap_eq_str(get("base", "f"), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n", "both are there");
}

static void test_marks(void)
{
	struct apply_choice named = {.include_protected = &(struct apply_path){.path = ".envrc"},
				     .n_include_protected = 1};

	fresh();
	begin();
	put("upper", ".envrc", "evil\n");
	put("upper", ".ENVRC", "evil\n");
	put("upper", "Makefile", "all:\n");
	put("upper", "setuid", "x\n");
	chmod("upper/setuid", 04755);
	end();
	tap_eq_int(flags_of(".envrc"), CHANGE_IS_PROTECTED, "a protected name");
	tap_eq_int(flags_of(".ENVRC"), CHANGE_IS_PROTECTED, "in any case");
	tap_eq_int(flags_of("Makefile"), CHANGE_RUNS_LATER, "a file that runs later");
	tap_eq_int(flags_of("setuid"), CHANGE_IS_STRIPPED | CHANGE_RUNS_LATER,
		   "a set-id bit is not applied");
	tap_eq_int(outcome_of(NULL, ".envrc"), APPLY_PROTECTED, "the protected one is left");
	tap_ok(!get("base", ".envrc"), "not there");
	tap_ok(get("base", "Makefile") != NULL, "twin: others are");
	{
		struct stat st;

		tap_ok(stat("base/setuid", &st) == 0 && (st.st_mode & 07777) == 0755,
		       "the set-id bit is gone");
	}
	tap_eq_int(outcome_of(&named, ".envrc"), APPLY_DONE, "named, it is applied");
	tap_eq_str(get("base", ".envrc"), "evil\n", "and there");
}

static void test_git_lock(void)
{
	fresh();
	if (mkdir("base/.git", 0755) < 0)
		exit(1);
	put("base", ".git/HEAD", "ref: refs/heads/main\n");
	begin();
	mkdir("upper/.git", 0755);
	put("upper", ".git/HEAD", "ref: refs/heads/other\n");
	end();
	put("base", ".git/index.lock", "");
	tap_eq_int(outcome_of(NULL, ".git/HEAD"), APPLY_HELD, "git is at work: left (SW29)");
	unlink("base/.git/index.lock");
	tap_eq_int(outcome_of(NULL, ".git/HEAD"), APPLY_DONE, "twin: when it is not, applied");
}

/* A link in the upper layer where the base has a folder, and what is below it. */
static void test_link(void)
{
	fresh();
	mkdir("outside", 0755);
	mkdir("base/d", 0755);
	put("base", "d/f", "inner\n");
	begin();
	if (symlink("../outside", "upper/d") < 0)
		exit(1);
	end();
	tap_eq_int(outcome_of(NULL, "d"), APPLY_DONE, "a link in the place of a folder (SW01)");
	tap_eq_int(access("outside/f", F_OK), -1, "nothing was written where it leads");
	tap_ok(!get("base", "d/f"), "and the folder's file is gone");
	scratch_remove(AT_FDCWD, "outside");
}

static void test_foreign_xattrs(void)
{
	_cleanup_(fd_closep) int fd = -1;

	fresh();
	begin();
	put("upper", "f", "x\n");
	fd = open("upper/f", O_RDWR | O_CLOEXEC);
	if (fsetxattr(fd, "user.mine", "1", 1, 0) < 0) {
		tap_skip("no user xattrs here");
		return;
	}
	fsetxattr(fd, "user.overlay.overlay.opaque", "y", 1, 0);
	fsetxattr(fd, "user.overlay.redirect", "/etc", 4, 0);
	end();
	outcome_of(NULL, "f");
	tap_eq_int(getxattr("base/f", "user.mine", NULL, 0), 1, "the user's attribute is kept");
	tap_eq_int(getxattr("base/f", "user.overlay.redirect", NULL, 0), -1,
		   "those of the overlay are stripped (SW04)");
	tap_eq_int(getxattr("base/f", "user.overlay.overlay.opaque", NULL, 0), -1, "escaped, too");
}

static void test_holes(void)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat st = {0};

	fresh();
	begin();
	put("upper", "sparse", "begin");
	fd = open("upper/sparse", O_RDWR | O_CLOEXEC);
	if (ftruncate(fd, (off_t)1 << 30) < 0 || pwrite(fd, "end", 3, ((off_t)1 << 30) - 3) != 3)
		exit(1);
	end();
	tap_eq_int(outcome_of(NULL, "sparse"), APPLY_DONE, "a sparse file of 1 GiB (SW09)");
	tap_ok(stat("base/sparse", &st) == 0 && st.st_size == (off_t)1 << 30 && st.st_blocks < 4096,
	       "has its size and its holes: %lld blocks", (long long)st.st_blocks);
}

int main(void)
{
	/* Undo and the rest need overlays, many seeds and strace: see tests/live. */
	scratch_enter();
	if (!realpath(".", top))
		return 1;
	snprintf(state, sizeof(state), "%s/state", top);
	test_conflicts();
	test_later_runs();
	test_merge();
	test_touched();
	test_edits();
	test_marks();
	test_git_lock();
	test_link();
	test_foreign_xattrs();
	test_holes();
	stage_free(stage);
	scratch_leave();
	return tap_done();
}
