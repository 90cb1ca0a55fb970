/* SPDX-License-Identifier: MIT */
#include "engine/staged.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "engine/mount.h"
#include "engine/namespace.h"
#include "plan/staging.h"
#include "warden/protocol.h"

/* The channel is 3; the locks come after it. */
enum { LOCK = 4, MOUNT_LOCK = 5, FIRST_JOINED = 6, MARK_WRITTEN = 'w', MARK_WAIT = 't' };
#define TICK_NS 200000

int staged_joined(const struct staging *staging, size_t index)
{
	int fd = FIRST_JOINED;

	for (size_t i = 0; i < index; i++)
		fd += staging->roots[i].joined >= 0;
	return fd;
}

static int copy_fd(int fd, int at_least, struct err *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, at_least);

	return copy < 0 ? err_sys(err, -errno, "keep a descriptor of the stage") : copy;
}

int staged_keep(const struct staging *staging, int next, struct err *err)
{
	int copies[STAGING_MAX + 2];
	size_t n = 0;

	if (!staging)
		return next;
	/* None is overwritten before it was copied. */
	for (size_t i = 0; i < staging->len + 2; i++) {
		int fd = i == 0   ? staging->lock
			 : i == 1 ? staging->mount_lock
				  : staging->roots[i - 2].joined;

		if (fd < 0)
			continue;
		copies[n] = copy_fd(fd, next + STAGING_MAX + 2, err);
		if (copies[n] < 0)
			return copies[n];
		n++;
	}
	for (size_t i = 0; i < n; i++)
		if (dup3(copies[i], next++, O_CLOEXEC) < 0)
			return err_sys(err, -errno, "keep a descriptor of the stage");
	return next;
}

int staged_report(const struct builder *b, int channel, struct err *err)
{
	int r = warden_send_fds(channel, WARDEN_MOUNTED, 0, b->staged, b->staged_len);

	for (size_t i = 0; i < b->staged_len; i++)
		fd_close(b->staged[i]);
	return r < 0 ? err_sys(err, r, "tell what was mounted") : 0;
}

static bool is_past(const struct timespec *t0)
{
	struct timespec now = clock_now(CLOCK_REALTIME_COARSE);

	return now.tv_sec > t0->tv_sec || (now.tv_sec == t0->tv_sec && now.tv_nsec > t0->tv_nsec);
}

int staged_wait(const struct staging *staging, int channel, struct err *err)
{
	const struct timespec pause = {.tv_nsec = TICK_NS};
	char mark;

	if (!staging)
		return 0;
	if (recv(channel, &mark, 1, 0) != 1 || (mark != MARK_WRITTEN && mark != MARK_WAIT))
		return err_set(err, ERR_SYSTEM, -EPIPE, "the supervisor is gone");
	fd_close(MOUNT_LOCK); /* what is mounted is written down */
	while (mark == MARK_WAIT && !is_past(&staging->t0))
		nanosleep(&pause, NULL);
	return 0;
}

int staged_prepare(pid_t child, int pidfd, int ret_namespaces[2], struct err *err)
{
	ret_namespaces[0] = namespace_open(child, pidfd, NAMESPACE_USER);
	if (ret_namespaces[0] >= 0)
		ret_namespaces[1] = namespace_open(child, pidfd, NAMESPACE_MOUNT);
	return ret_namespaces[0] < 0 || ret_namespaces[1] < 0
		       ? err_sys(err, -errno, "open the namespaces of the sandbox")
		       : 0;
}

/* Own or close what came, in FDS after the namespaces; let the child go on. */
static int answer(const struct staging *staging, int channel, int namespaces[2], int *fds, size_t n,
		  struct err *err)
{
	char mark;
	int r;

	if (n != staging->len) {
		while (n > 0)
			fd_close(fds[2 + --n]);
		return err_set(err, ERR_SYSTEM, -EPROTO, "the sandbox did not mount the stage");
	}
	fds[0] = take_fd(namespaces[0]);
	fds[1] = take_fd(namespaces[1]);
	r = staging->mounted(staging->data, fds, err);
	if (r < 0)
		return r;
	mark = r == 1 ? MARK_WAIT : MARK_WRITTEN;
	if (send(channel, &mark, 1, MSG_NOSIGNAL) != 1 && errno != EPIPE && errno != ECONNRESET)
		return err_sys(err, -errno, "let the sandbox go on");
	staging->started(staging->data);
	return 0;
}

int staged_serve(const struct staging *staging, int namespaces[2], int channel,
		 struct warden_report *ret_report, struct err *err)
{
	int fds[STAGING_MAX + 2];
	size_t n = STAGING_MAX;
	int r = staging->raised(staging->data, err);

	if (r < 0)
		return r;
	do {
		r = warden_receive_fds(channel, ret_report, fds + 2, &n);
	} while (r == -EINTR);
	if (r < 0 && r != -EPIPE)
		return err_sys(err, r, "hear of the stage's mounts");
	if (r < 0)
		return -EPIPE;
	return ret_report->kind == WARDEN_MOUNTED
		       ? answer(staging, channel, namespaces, fds, n, err)
		       : 1;
}
