/* SPDX-License-Identifier: MIT */
#include "engine/sentry.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/guard.h"
#include "plan/plan.h"

enum { LOOK_MS = 2 }; /* between two looks, without inotify, and between two calls */

static bool is_in_order(const struct guard *g, const struct guard_item *item)
{
	int dir = g->dirs[item->dir].fd;
	struct file_id now = {0};
	struct stat st;
	int r = name_look_behind(dir, item->what->name, &st);

	if (item->what->link)
		return name_is_link(dir, item->what->name, item->what->link);
	if (r == 1)
		now = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	return r >= 0 && name_is(&item->id, &now);
}

static bool all_is_in_order(const struct guard *g)
{
	for (size_t i = 0; i < g->items_len; i++)
		if (!is_in_order(g, &g->items[i]))
			return false;
	return true;
}

static int open_eyes(const struct guard *g)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	for (size_t i = 0; i < g->dirs_len && fd >= 0; i++) {
		char name[64];

		snprintf(name, sizeof(name), "/proc/self/fd/%d", g->dirs[i].fd);
		if (inotify_add_watch(fd, name, IN_CREATE | IN_MOVE | IN_DELETE | IN_ONLYDIR) < 0)
			fd = fd_close(fd);
	}
	return fd;
}

/* In a session of its own: it must not stop with those whom it is to wake. */
_Noreturn static void look(const struct guard *g, pid_t supervisor, int call)
{
	struct pollfd eyes = {.fd = -1, .events = POLLIN};
	char events[4096];

	(void)setsid();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != supervisor)
		_exit(1);
	eyes.fd = open_eyes(g);
	while (all_is_in_order(g)) {
		(void)poll(&eyes, 1, eyes.fd < 0 ? LOOK_MS : -1);
		while (eyes.fd >= 0 && read(eyes.fd, events, sizeof(events)) > 0)
			;
	}
	(void)fd_write_all(call, "!", 1);
	/* Until we are relieved: it may be about to stop, which makes it forget. */
	for (;;) {
		(void)kill(supervisor, SIGCONT);
		(void)poll(NULL, 0, LOOK_MS);
	}
}

bool sentry_post(struct sentry *ret, const struct guard *g)
{
	pid_t self = getpid();
	int call[2];

	*ret = (struct sentry){.call = -1};
	if (g->items_len == 0)
		return true;
	if (!all_is_in_order(g) || pipe2(call, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	ret->call = call[0];
	ret->pid = fork();
	if (ret->pid == 0)
		look(g, self, call[1]);
	fd_close(call[1]);
	return ret->pid > 0;
}

bool sentry_relieve(struct sentry *sentry)
{
	const struct timespec at_once = {0};
	sigset_t cont;
	bool woken = false;
	char byte;

	if (sentry->pid > 0) {
		(void)kill(sentry->pid, SIGKILL);
		while (waitpid(sentry->pid, NULL, 0) < 0 && errno == EINTR)
			;
		woken = read(sentry->call, &byte, 1) == 1;
	}
	sentry->call = fd_close(sentry->call);
	sigemptyset(&cont);
	sigaddset(&cont, SIGCONT);
	if (woken)
		(void)sigtimedwait(&cont, NULL, &at_once);
	return woken;
}
