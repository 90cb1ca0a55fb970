/* SPDX-License-Identifier: MIT */
/*
 * Does apply hold while the tree is changed under it?
 *
 * One thread exchanges a folder of the base and a link to a folder outside as fast
 * as it can, while changes below that folder are applied and taken back. Nothing
 * outside is ever written, and each call happens as a whole or not at all. The way
 * that people would do it instead, by name, must be seen to fail under the same
 * race. PALE_RACES says how many (300).
 */
#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "scratch.h"
#include "stage/apply.h"
#include "stage/roots.h"
#include "stage/stage.h"
#include "tap.h"

#define TWIN_TRIES 400000

static struct {
	int base;
	atomic_bool stop, pause, paused;
	atomic_ulong swaps;
	char top[PATH_MAX], state[PATH_MAX + 16];
} race;

static long exchange(void)
{
	return syscall(SYS_renameat2, race.base, "a", race.base, "swap", RENAME_EXCHANGE);
}

static void *swap_forever(void *unused)
{
	(void)unused;
	while (!atomic_load(&race.stop)) {
		bool pause = atomic_load(&race.pause);

		atomic_store(&race.paused, pause);
		if (pause) {
			sched_yield();
			continue;
		}
		if (exchange() == 0)
			atomic_fetch_add(&race.swaps, 1);
	}
	return NULL;
}

static void pause_race(bool pause)
{
	atomic_store(&race.pause, pause);
	while (atomic_load(&race.paused) != pause)
		sched_yield();
}

static struct stage *make(void)
{
	struct timespec t0, wait = {.tv_nsec = 12000000};
	_cleanup_(fd_closep) int base = -1;
	struct stage *stage = NULL;
	struct err err = {0};
	char path[PATH_MAX + 64];
	unsigned root;

	if (!realpath(".", race.top) || mkdir("base", 0755) < 0 || mkdir("base/a", 0755) < 0 ||
	    mkdir("base/a/b", 0755) < 0 || mkdir("outside", 0755) < 0 ||
	    mkdir("outside/b", 0755) < 0 || symlink("../outside", "base/swap") < 0 ||
	    mkdir("state", 0700) < 0)
		return NULL;
	scratch_write("base/a/b/file", "old");
	scratch_write("base/a/b/gone", "gone");
	scratch_write("outside/b/file", "OUTSIDE");
	scratch_write("outside/b/gone", "OUTSIDE");
	race.base = open("base", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(race.state, sizeof(race.state), "%s/state", race.top);
	snprintf(path, sizeof(path), "%s/base", race.top);
	if (stage_open(race.state, "default", true, &stage, &err) < 0 ||
	    stage_add_root(stage, path, &root, &err) < 0 ||
	    root_open(stage, root, &base, &err) < 0 ||
	    stage_make_layers(stage, root, base, &err) < 0) {
		tap_note("%s", err.message);
		return stage_free(stage);
	}
	nanosleep(&wait, NULL);
	clock_gettime(CLOCK_REALTIME, &t0);
	nanosleep(&wait, NULL);
	stage_begin(stage, "run-1", getpid(), t0, "test", &err);
	if (chdir("state/stages/default/roots/0/upper") < 0 || mkdir("a", 0755) < 0 ||
	    mkdir("a/b", 0755) < 0)
		return stage_free(stage);
	scratch_write("a/b/file", "new");
	scratch_write("a/b/added", "added");
	if (mknod("a/b/gone", S_IFCHR, 0) < 0 || chdir(race.top) < 0)
		return stage_free(stage);
	return stage;
}

static bool is_untouched(void)
{
	char text[16] = "";
	int fd = open("outside/b/file", O_RDONLY | O_CLOEXEC), n = 0;
	DIR *dir = opendir("outside/b");

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return strcmp(text, "OUTSIDE") == 0 && n == 4;
}

/* Wherever the folder is now: 1 new, 0 old, -1 torn. */
static int look(void)
{
	char text[16] = "";
	bool added, gone;
	struct stat st;
	int dir, fd;

	dir = openat(race.base, "a", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		dir = openat(race.base, "swap", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd = openat(dir, "b/file", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	added = fstatat(dir, "b/added", &st, 0) == 0;
	gone = fstatat(dir, "b/gone", &st, 0) < 0;
	close(dir);
	if (strcmp(text, "new") == 0 && added && gone)
		return 1;
	return strcmp(text, "old") == 0 && !added && !gone ? 0 : -1;
}

static struct {
	unsigned long applied, refused, torn, outside, undone, lost;
} tally;

/* Where a run under prove shows it, too. */
static void complain(const char *verb, int r, const struct err *err)
{
	fprintf(stderr, "# test-stage-race: %s said %d: %s\n", verb, r, err->message);
}

/* While a link is there nothing can be ended or taken back, and all of it stays begun. */
static void put_in_place(void)
{
	struct stat st;

	if (fstatat(race.base, "a", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		exchange();
}

static void take_back(void)
{
	_cleanup_(apply_report_freep) struct apply_report *report = NULL;
	struct err err = {0};
	int r;

	r = stage_undo(race.state, NULL, NULL, &report, &err);
	tally.undone++;
	if (r == 0 && look() == 0)
		return;
	tally.torn++;
	complain("undo", r, &err);
	for (size_t i = 0; report && i < report->n; i++)
		fprintf(stderr, "# %s: %d %s\n", report->items[i].path, report->items[i].outcome,
			report->items[i].why);
}

static void try_apply(struct stage *stage)
{
	_cleanup_(apply_report_freep) struct apply_report *report = NULL;
	struct recover_report recovered;
	struct err err = {0};
	int r = stage_apply(stage, NULL, NULL, NULL, &report, &err), now;

	tally.outside += !is_untouched();
	pause_race(true);
	put_in_place();
	if (stage_recover(race.state, &recovered, &err) < 0)
		tally.lost++;
	now = look();
	/* What was a link when it was looked at is left; the rest is whole. */
	if (now < 0 && (r < 0 || report->n_left == 0)) {
		tally.torn++;
		complain("apply", r, &err);
	}
	if (r == 0 && now == 1)
		tally.applied++;
	else
		tally.refused++;
	if (now == 1 || (r == 0 && report->id[0]))
		take_back();
	pause_race(false);
}

static void test_apply(struct stage *stage, unsigned long tries)
{
	for (unsigned long i = 0; i < tries && !tally.torn && !tally.outside; i++)
		try_apply(stage);
	tap_note("%lu tries: %lu applied, %lu undone, %lu refused, %lu swaps", tries, tally.applied,
		 tally.undone, tally.refused, atomic_load(&race.swaps));
	tap_eq_int((long long)tally.outside, 0, "nothing outside was written (SW01, SW02)");
	tap_eq_int((long long)tally.torn, 0, "and nothing was torn");
	tap_eq_int((long long)tally.lost, 0, "and what was begun was always ended");
	tap_ok(tally.applied + tally.undone > 0 && tally.refused > 0,
	       "some were applied, in part at least, and some were not: the race was on");
	tap_ok(tally.undone > 0, "and taken back");
}

/* What must not be done: look, and then write by name. */
static void test_twin(void)
{
	unsigned long tries = 0;
	struct stat st;

	while (is_untouched() && tries++ < TWIN_TRIES) {
		if (lstat("base/a", &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		if (stat("base/a/b/twin", &st) < 0)
			close(open("base/a/b/twin", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		unlink("base/a/b/twin");
		if (stat("outside/b/twin", &st) == 0)
			break;
		if (lstat("base/a", &st) == 0 && S_ISDIR(st.st_mode) &&
		    rename("base/a/b/file", "base/a/b/other") == 0) {
			if (stat("outside/b/other", &st) == 0)
				break;
			rename("base/a/b/other", "base/a/b/file");
			if (stat("outside/b/other", &st) == 0 || stat("outside/b/file", &st) < 0)
				break;
		}
	}
	tap_ok(tries < TWIN_TRIES, "twin: the same race leads a check by name outside (%lu tries)",
	       tries);
}

int main(void)
{
	const char *count = getenv("PALE_RACES");
	struct stage *stage;
	pthread_t thread;

	scratch_enter();
	stage = make();
	if (tap_ok(stage != NULL, "the stage is made") &&
	    tap_ok(pthread_create(&thread, NULL, swap_forever, NULL) == 0, "the swapper runs")) {
		while (atomic_load(&race.swaps) == 0)
			sched_yield();
		test_apply(stage, count ? strtoul(count, NULL, 10) : 300);
		test_twin();
		atomic_store(&race.stop, true);
		pthread_join(thread, NULL);
	}
	stage_free(stage);
	scratch_leave();
	return tap_done();
}
