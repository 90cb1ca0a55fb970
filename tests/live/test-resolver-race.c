/* SPDX-License-Identifier: MIT */
/*
 * Does the resolver hold while the tree is changed under it?
 *
 * One thread exchanges a folder and a link to a folder outside as fast as it
 * can. path_open_beneath() must never open the file outside; the check that
 * people write instead, realpath() and then open(), must be seen to fail under
 * the same race, or the race proves nothing.
 */
#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "scratch.h"
#include "tap.h"

#define TRIES       500000
#define TWIN_TRIES  400000
#define TWIN_ENOUGH 3
#define PATH        "a/b/file"

static struct {
	int dirfd;
	atomic_bool stop;
	atomic_ulong swaps;
	char root[PATH_MAX]; /* its real name */
} race;

static bool make_tree(void)
{
	if (mkdir("root", 0755) < 0 || mkdir("root/a", 0755) < 0 || mkdir("root/a/b", 0755) < 0 ||
	    mkdir("outside", 0755) < 0 || mkdir("outside/b", 0755) < 0 ||
	    symlink("../outside", "root/swap") < 0 || !realpath("root", race.root))
		return false;
	scratch_write("root/a/b/file", "inside");
	scratch_write("outside/b/file", "OUTSIDE");
	race.dirfd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return race.dirfd >= 0;
}

/* musl has no wrapper. */
static long exchange(const char *a, const char *b)
{
	return syscall(SYS_renameat2, race.dirfd, a, race.dirfd, b, RENAME_EXCHANGE);
}

static void *swap_forever(void *unused)
{
	(void)unused;
	while (!atomic_load(&race.stop))
		if (exchange("a", "swap") == 0)
			atomic_fetch_add(&race.swaps, 1);
	return NULL;
}

struct tally {
	unsigned long tries, inside, outside, denied, strange;
};

/* Judge by what was read, not by any name. */
static void judge(int fd, struct tally *tally)
{
	char text[16] = "";

	tally->tries++;
	if (fd < 0) {
		if (fd == -EXDEV || fd == -EAGAIN)
			tally->denied++;
		else
			tally->strange++;
		return;
	}
	if (read(fd, text, sizeof(text) - 1) > 0 && strcmp(text, "inside") == 0)
		tally->inside++;
	else if (strcmp(text, "OUTSIDE") == 0)
		tally->outside++;
	else
		tally->strange++;
}

/* What must not be done. -EXDEV when the check refuses. */
static int open_checked(const char *path)
{
	char real[PATH_MAX];
	int fd;

	if (!realpath(path, real))
		return -EXDEV;
	if (!path_covers(race.root, real))
		return -EXDEV;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void report(const char *what, const struct tally *t, uint64_t start, unsigned long swaps)
{
	tap_note("%s: %lu tries, %lu inside, %lu outside, %lu denied, %lu strange, %lu swaps, "
		 "%llu ms",
		 what, t->tries, t->inside, t->outside, t->denied, t->strange, swaps,
		 (unsigned long long)((clock_mono_ns() - start) / 1000000));
}

static void test_resolver(void)
{
	unsigned long swaps = atomic_load(&race.swaps);
	uint64_t start = clock_mono_ns();
	struct tally tally = {0};

	for (int i = 0; i < TRIES; i++) {
		_cleanup_(fd_closep) int fd = path_open_beneath(race.dirfd, PATH, O_RDONLY, 0);

		judge(fd, &tally);
	}
	swaps = atomic_load(&race.swaps) - swaps;
	report("path_open_beneath", &tally, start, swaps);
	tap_eq_int(tally.outside, 0, "path_open_beneath never left the tree");
	tap_eq_int(tally.strange, 0, "and had no other outcome than to open or to deny");
	tap_ok(tally.tries >= 50000, "in at least 50000 tries (ME04)");
	tap_ok(tally.inside > 0 && tally.denied > 0 && swaps > 0,
	       "of which some were opened and some denied: the race was on");
}

static void test_twin(void)
{
	unsigned long swaps = atomic_load(&race.swaps);
	uint64_t start = clock_mono_ns();
	struct tally tally = {0};

	while (tally.tries < TWIN_TRIES && tally.outside < TWIN_ENOUGH) {
		_cleanup_(fd_closep) int fd = open_checked("root/" PATH);

		judge(fd, &tally);
	}
	report("realpath, then open", &tally, start, atomic_load(&race.swaps) - swaps);
	tap_ok(tally.outside > 0, "twin: the same race leads realpath-then-open outside");
}

int main(void)
{
	pthread_t thread;

	scratch_enter();
	if (!tap_ok(make_tree(), "the tree is made")) {
		scratch_leave();
		return tap_done();
	}
	if (tap_ok(pthread_create(&thread, NULL, swap_forever, NULL) == 0, "the swapper runs")) {
		while (atomic_load(&race.swaps) == 0)
			sched_yield();
		test_resolver();
		test_twin();
		atomic_store(&race.stop, true);
		pthread_join(thread, NULL);
	}
	close(race.dirfd);
	scratch_leave();
	return tap_done();
}
