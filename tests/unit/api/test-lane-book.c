/* SPDX-License-Identifier: MIT */
/* Checks of one workspace share its lanes; who is killed gives them back. */
#include "api/lane-book.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "config/workspace.h"
#include "scratch.h"
#include "tap.h"

static struct workspace workspace;
static const struct lane_limits limits = {.max_parallel = 3, .queue_capacity = 4};

static unsigned entries(void)
{
	char path[5000];
	unsigned n = 0;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/lanes", workspace.state_dir);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		n += str_starts(entry->d_name, "check-");
	if (dir)
		closedir(dir);
	return n;
}

static void check_sum(unsigned running, unsigned queued, const char *name)
{
	struct lane_book book = LANE_BOOK_CLOSED;
	unsigned r = 77, q = 77;
	struct err err = {0};

	tap_ok(lane_book_open(&workspace, false, &book, &err) == 0 &&
		       lane_book_sum(&book, &r, &q, &err) == 0 && r == running && q == queued,
	       "%s: %u run, %u wait (seen: %u, %u) %s", name, running, queued, r, q, err.message);
	lane_book_close(&book);
}

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void check_sharing(void)
{
	struct lane_book a = LANE_BOOK_CLOSED, b = LANE_BOOK_CLOSED;
	struct err err = {0};
	unsigned start = 77;

	tap_eq_int(lane_book_open(&workspace, false, &a, &err), -ENOENT, "nobody was here yet");
	tap_ok(!*err.message, "which is no error");
	tap_ok(lane_book_open(&workspace, true, &a, &err) == 0 &&
		       lane_book_open(&workspace, true, &b, &err) == 0,
	       "two checks %s", err.message);
	tap_ok(lane_book_enter(&a, 4, 2, &limits, &start, &err) == 0 && start == 2,
	       "the first gets what it wants");
	check_sum(2, 2, "the first");
	tap_ok(lane_book_enter(&b, 2, 3, &limits, &start, &err) == 0 && start == 1,
	       "the second what is left");
	check_sum(3, 3, "both");
	tap_eq_int(lane_book_claim(&b, &limits, &err), 0, "no lane for the second");
	lane_book_drain(&b);
	tap_ok(b.watch < 0 || !is_readable(b.watch), "nothing new");
	tap_eq_int(lane_book_tell(&a, 1, 2, &err), 0, "the first needs one lane less");
	tap_ok(b.watch < 0 || is_readable(b.watch), "the second hears of it");
	tap_eq_int(lane_book_claim(&b, &limits, &err), 0, "but it is the turn of the first");
	tap_eq_int(lane_book_claim(&a, &limits, &err), 1, "which gets it");
	check_sum(3, 2, "turns");
	lane_book_tell(&a, 0, 0, &err);
	tap_eq_int(lane_book_claim(&b, &limits, &err), 1, "at last the second");
	check_sum(2, 0, "at last");
	lane_book_close(&a);
	lane_book_close(&b);
	tap_eq_int(entries(), 0, "nothing is left behind");
}

static void check_full(void)
{
	struct lane_book a = LANE_BOOK_CLOSED, b = LANE_BOOK_CLOSED;
	struct err err = {0};
	unsigned start = 77;

	lane_book_open(&workspace, true, &a, &err);
	lane_book_open(&workspace, true, &b, &err);
	tap_eq_int(lane_book_enter(&a, 8, 9, &limits, &start, &err), -EBUSY, "eight are too many");
	tap_ok(strstr(err.message, "room for 4 more to wait") && err.code == ERR_USAGE &&
		       start == 77,
	       "and it is said: %s", err.message);
	tap_eq_int(entries(), 0, "it did not come in");
	tap_eq_int(lane_book_enter(&a, 7, 9, &limits, &start, &err), 0, "seven are not");
	tap_eq_int(lane_book_enter(&b, 1, 1, &limits, &start, &err), -EBUSY, "now one is too many");
	lane_book_close(&a);
	tap_eq_int(lane_book_enter(&b, 1, 1, &limits, &start, &err), 0, "it is not any more");
	lane_book_close(&b);
}

static void check_killed(void)
{
	struct lane_book book = LANE_BOOK_CLOSED;
	struct err err = {0};
	unsigned start = 77;
	int ready[2];
	pid_t pid;
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0)
		BUG("pipe");
	pid = fork();
	if (pid == 0) {
		struct lane_book own = LANE_BOOK_CLOSED;

		lane_book_open(&workspace, true, &own, &err);
		lane_book_enter(&own, 7, 3, &limits, &start, &err);
		(void)!write(ready[1], "x", 1);
		pause();
		_exit(0);
	}
	tap_ok(read(ready[0], &byte, 1) == 1, "another process has every lane and place");
	check_sum(3, 4, "the other");
	lane_book_open(&workspace, true, &book, &err);
	tap_eq_int(lane_book_enter(&book, 1, 1, &limits, &start, &err), -EBUSY, "none for us");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tap_eq_int(entries(), 1, "it was killed and could not clean up");
	tap_ok(book.watch < 0 || is_readable(book.watch), "we hear of it");
	tap_ok(lane_book_enter(&book, 3, 3, &limits, &start, &err) == 0 && start == 3,
	       "all of it is free");
	tap_eq_int(entries(), 1, "what it left is gone");
	lane_book_close(&book);
	fd_close(ready[0]);
	fd_close(ready[1]);
}

/* Torn or foreign files are nobody. */
static void check_foreign(void)
{
	static const char *const names[] = {"check-", "check-zz", "check-1", "other"};
	int fds[array_len(names)];
	char path[5000];

	for (size_t i = 0; i < array_len(names); i++) {
		snprintf(path, sizeof(path), "%s/lanes/%s", workspace.state_dir, names[i]);
		fds[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		flock(fds[i], LOCK_EX);
		(void)!write(fds[i], "12 x", 4);
	}
	check_sum(0, 0, "foreign files");
	for (size_t i = 0; i < array_len(names); i++)
		fd_close(fds[i]);
}

static void check_alone(void)
{
	struct lane_book book = LANE_BOOK_CLOSED;
	struct err err = {0};
	unsigned start = 77;

	tap_ok(lane_book_enter(&book, 5, 2, &limits, &start, &err) == 0 && start == 2,
	       "without a place for state: as many as asked for");
	tap_eq_int(lane_book_claim(&book, &limits, &err), 1, "up to the limit");
	tap_eq_int(lane_book_claim(&book, &limits, &err), 0, "and no more");
	tap_eq_int(lane_book_tell(&book, 2, 2, &err), 0, "one ends");
	tap_eq_int(lane_book_claim(&book, &limits, &err), 1, "and makes room");
	lane_book_close(&book);
}

int main(void)
{
	char dir[sizeof(scratch_path) + 8];

	scratch_enter();
	snprintf(dir, sizeof(dir), "%s/state", scratch_path);
	workspace.state_dir = dir;
	check_sharing();
	check_full();
	check_killed();
	check_foreign();
	check_alone();
	scratch_leave();
	return tap_done();
}
