/* SPDX-License-Identifier: MIT */
#include "api/lane-book.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "config/state-dir.h"

#define LOCK_NAME "lock"
#define PREFIX    "check-"

enum { ENTRY_MAX = 96, USERS_MAX = 4096, LOCK_TRIES = 500, LOCK_PAUSE_NS = 10000000 };

struct users {
	struct lane_user *items;
	size_t len;
};

static void users_release(struct users *users)
{
	free(users->items);
}

/* --- the lock --- */

static int lock(struct lane_book *book, struct err *err)
{
	static const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(book->lock, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(err, -errno, "lock the lanes");
		nanosleep(&pause, NULL);
	}
	err_set(err, ERR_SYSTEM, -EBUSY, "another pale has locked the lanes and does not go on");
	return err_hint(err, -EBUSY, "is one stopped? `fg` or `kill -CONT` lets it go on");
}

static void unlock(struct lane_book *book)
{
	flock(book->lock, LOCK_UN);
}

/* --- entries --- */

static int write_own(struct lane_book *book, struct err *err)
{
	const struct lane_user *self = &book->self;
	char text[ENTRY_MAX];
	int len = snprintf(text, sizeof(text), "%010u %010u %010u\n", self->running, self->queued,
			   self->jobs);

	/* Of one length always: there is never less or more than one line. */
	if (pwrite(book->own, text, (size_t)len, 0) != len)
		return err_sys(err, -errno, "write to lanes/%s", book->name);
	return 0;
}

/* "NUMBER" and what follows it; nobody but pale writes here, but files can be torn. */
static bool take_number(const char **text, int base, uint64_t *ret)
{
	char *end;

	*ret = strtoull(*text, &end, base);
	if (end == *text)
		return false;
	*text = end;
	return true;
}

static bool parse(const char *name, const char *text, struct lane_user *ret)
{
	uint64_t order, running, queued, jobs;

	name += strlen(PREFIX);
	if (!take_number(&name, 16, &order) || !take_number(&text, 10, &running) ||
	    !take_number(&text, 10, &queued) || !take_number(&text, 10, &jobs))
		return false;
	*ret = (struct lane_user){order, (unsigned)running, (unsigned)queued, (unsigned)jobs};
	return true;
}

/* False: it is gone, or left behind and now removed. */
static bool read_entry(struct lane_book *book, const char *name, struct lane_user *ret)
{
	_cleanup_(fd_closep) int fd = openat(book->dir, name,
					     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[ENTRY_MAX];
	ssize_t n;

	if (fd < 0)
		return false;
	if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
		unlinkat(book->dir, name, 0);
		return false;
	}
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return parse(name, text, ret);
}

static int add_user(struct users *users, const struct lane_user *user)
{
	struct lane_user *items = reallocarray(users->items, users->len + 1, sizeof(*users->items));

	if (!items)
		return -ENOMEM;
	users->items = items;
	items[users->len++] = *user;
	return 0;
}

/* All entries but our own. */
static int read_others(struct lane_book *book, struct users *users, struct err *err)
{
	int fd = openat(book->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		r = err_sys(err, -errno, "read the folder of lanes");
		fd_close(fd);
		return r;
	}
	while (r == 0 && users->len < USERS_MAX && (entry = readdir(dir))) {
		struct lane_user user;

		if (!str_starts(entry->d_name, PREFIX) || str_eq(entry->d_name, book->name))
			continue;
		if (read_entry(book, entry->d_name, &user))
			r = add_user(users, &user);
	}
	closedir(dir);
	return r < 0 ? err_oom(err) : 0;
}

/* --- opening --- */

static int open_lock(struct lane_book *book, bool create, struct err *err)
{
	book->lock = openat(book->dir, LOCK_NAME,
			    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
	if (book->lock >= 0)
		return 0;
	return errno == ENOENT && !create ? -ENOENT : err_sys(err, -errno, "open lanes/lock");
}

/* Without a watch changes are found by looking now and then. */
static void open_watch(struct lane_book *book)
{
	char path[32];

	book->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", book->dir);
	if (book->watch >= 0 &&
	    inotify_add_watch(book->watch, path, IN_CLOSE_WRITE | IN_MODIFY | IN_DELETE) < 0)
		book->watch = fd_close(book->watch);
}

int lane_book_open(const struct workspace *workspace, bool create, struct lane_book *ret,
		   struct err *err)
{
	struct lane_book book = LANE_BOOK_CLOSED;
	_cleanup_(fd_closep) int state = state_dir_open(workspace, create, err);
	int r = state < 0 ? state : 0;

	if (r == 0 && create && mkdirat(state, "lanes", 0700) < 0 && errno != EEXIST)
		r = err_sys(err, -errno, "make the folder of lanes");
	if (r == 0) {
		book.dir = openat(state, "lanes", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (book.dir < 0)
			r = errno == ENOENT && !create
				    ? -ENOENT
				    : err_sys(err, -errno, "open the folder of lanes");
	}
	if (r == 0)
		r = open_lock(&book, create, err);
	if (r < 0) {
		lane_book_close(&book);
		return r;
	}
	if (create)
		open_watch(&book);
	*ret = book;
	return 0;
}

void lane_book_close(struct lane_book *book)
{
	if (book->own >= 0)
		unlinkat(book->dir, book->name, 0);
	fd_close(book->own);
	fd_close(book->watch);
	fd_close(book->lock);
	fd_close(book->dir);
	*book = (struct lane_book)LANE_BOOK_CLOSED;
}

/* --- use --- */

/* With the lock held, so that a later order is a larger one. */
static int make_own(struct lane_book *book, struct err *err)
{
	uint64_t now = clock_mono_ns();

	snprintf(book->name, sizeof(book->name), PREFIX "%016llx-%d", (unsigned long long)now,
		 (int)getpid());
	book->self.order = now;
	book->own = openat(book->dir, book->name,
			   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (book->own < 0 || flock(book->own, LOCK_EX | LOCK_NB) < 0)
		return err_sys(err, -errno, "make lanes/%s", book->name);
	return write_own(book, err);
}

static int queue_full(size_t len, unsigned places, struct err *err)
{
	err_set(err, ERR_USAGE, -EBUSY,
		"the queue is full: there is room for %u more to wait, too little for %zu "
		"command%s; nothing was run",
		places, len, len == 1 ? "" : "s");
	return err_hint(err, -EBUSY,
			"name fewer commands, wait for the checks that go on, or raise [lanes] "
			"queue_capacity");
}

int lane_book_enter(struct lane_book *book, size_t len, unsigned jobs,
		    const struct lane_limits *limits, unsigned *ret_start, struct err *err)
{
	_cleanup_(users_release) struct users users = {0};
	unsigned start = 0, places = 0;
	int r = book->dir < 0 ? 0 : lock(book, err);

	if (r < 0)
		return r;
	if (book->dir >= 0)
		r = read_others(book, &users, err);
	if (r == 0 && !lanes_admit(users.items, users.len, len, jobs, limits->max_parallel,
				   limits->queue_capacity, &start, &places))
		r = queue_full(len, places, err);
	if (r == 0) {
		book->self = (struct lane_user){
			.running = start, .queued = (unsigned)(len - start), .jobs = jobs};
		*ret_start = start;
	}
	if (book->dir < 0)
		return r;
	if (r == 0)
		r = make_own(book, err);
	unlock(book);
	return r;
}

int lane_book_claim(struct lane_book *book, const struct lane_limits *limits, struct err *err)
{
	_cleanup_(users_release) struct users users = {0};
	struct lane_user *self = &book->self;
	bool shared = book->own >= 0;
	unsigned room = 0;
	int r = shared ? lock(book, err) : 0;

	if (r < 0)
		return r;
	if (shared)
		r = read_others(book, &users, err);
	if (r == 0 && add_user(&users, self) < 0)
		r = err_oom(err);
	if (r == 0)
		room = lanes_room(users.items, users.len, self->order, limits->max_parallel);
	if (r == 0 && room > 0) {
		self->running++;
		self->queued -= self->queued > 0;
		if (shared)
			r = write_own(book, err);
	}
	if (shared)
		unlock(book);
	return r < 0 ? r : room > 0;
}

int lane_book_tell(struct lane_book *book, unsigned running, unsigned queued, struct err *err)
{
	int r;

	book->self.running = running;
	book->self.queued = queued;
	if (book->own < 0)
		return 0;
	r = lock(book, err);
	if (r < 0)
		return r;
	r = write_own(book, err);
	unlock(book);
	return r;
}

int lane_book_sum(struct lane_book *book, unsigned *ret_running, unsigned *ret_queued,
		  struct err *err)
{
	_cleanup_(users_release) struct users users = {0};
	unsigned running = 0, queued = 0;
	int r = lock(book, err);

	if (r < 0)
		return r;
	r = read_others(book, &users, err);
	unlock(book);
	for (size_t i = 0; i < users.len; i++) {
		running += users.items[i].running;
		queued += users.items[i].queued;
	}
	if (r == 0) {
		*ret_running = running;
		*ret_queued = queued;
	}
	return r;
}

void lane_book_drain(struct lane_book *book)
{
	char buf[4096];

	while (book->watch >= 0 && read(book->watch, buf, sizeof(buf)) > 0)
		;
}
