/* SPDX-License-Identifier: MIT */
#include "stage/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/sys.h"
#include "stage/access.h"
#include "stage/roots.h"
#include "stage/slots.h"
#include "stage/stage.h"

enum { RUNS_KEPT = 8192, PATIENCE_MS = 3000, PAUSE_US = 3000 };

/* What a slot says. */
struct holder {
	char run[STAGE_RUN_MAX];
	bool is_mounted; /* else nothing below is known */
	int pid;
	int userns_fd, mntns_fd; /* numbers there */
	uint64_t userns, mntns;  /* inodes */
	int root_fd;             /* of the root in question; -1: it has none */
	uint64_t dev, ino;
};

static void pause_a_little(void)
{
	usleep(PAUSE_US);
}

static int lock_wait(int fd)
{
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

void stage_mount_unlock(struct stage *stage)
{
	if (stage->has_mount_lock)
		(void)flock(stage->mount_lock_fd, LOCK_UN);
	stage->has_mount_lock = false;
}

/* --- reading --- */

/* N numbers, in one line. False: there are others, or fewer. */
static bool take_numbers(const char *line, uint64_t *ret, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *end;

		if (*line < '0' || *line > '9')
			return false;
		errno = 0;
		ret[i] = strtoull(line, &end, 10);
		if (errno || *end != (i + 1 < n ? ' ' : '\n'))
			return false;
		line = end + 1;
	}
	return true;
}

/* What slot NUMBER says of ROOT. 0: nobody has it; -ENOENT: there are no more. */
static int read_holder(const struct stage *stage, unsigned number, unsigned root,
		       struct holder *ret, struct err *err)
{
	char text[SLOT_SIZE], *line;
	int r = slots_read(stage, number, text, err);
	uint64_t n[5];
	size_t len;

	if (r <= 0)
		return r;
	len = strcspn(text, " \n");
	*ret = (struct holder){.root_fd = -1};
	memcpy(ret->run, text, len < sizeof(ret->run) ? len : sizeof(ret->run) - 1);
	line = text + len;
	if (*line++ != ' ' || !take_numbers(line, n, 5))
		return 1; /* it had not mounted to the end, or has no more */
	ret->is_mounted = true;
	ret->pid = (int)n[0];
	ret->userns_fd = (int)n[1];
	ret->mntns_fd = (int)n[2];
	ret->userns = n[3];
	ret->mntns = n[4];
	while ((line = strchr(line, '\n')) && *++line)
		if (take_numbers(line, n, 4) && n[0] == root) {
			ret->root_fd = (int)n[1];
			ret->dev = n[2];
			ret->ino = n[3];
		}
	return 1;
}

/* FD of process PID, opened anew; it must be what was written down. */
static int open_theirs(int pid, int fd, int flags, uint64_t dev, uint64_t ino)
{
	char path[64];
	struct stat st;
	int own;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	own = open(path, flags | O_CLOEXEC);
	if (own < 0)
		return -errno;
	if (fstat(own, &st) < 0 || st.st_ino != ino || (dev && st.st_dev != dev)) {
		fd_close(own);
		return -ESTALE;
	}
	return own;
}

/* --- taking a copy --- */

static int send_fd(int channel, int fd)
{
	char mark = 'm';
	struct iovec iov = {.iov_base = &mark, .iov_len = 1};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
	return sendmsg(channel, &msg, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static int receive_fd(int channel)
{
	char mark;
	struct iovec iov = {.iov_base = &mark, .iov_len = 1};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *cmsg;
	int fd;

	if (recvmsg(channel, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -ECHILD;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return -ECHILD;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

/* In a child of its own: there is no way back out of a namespace. */
static int copy_there(int userns, int mntns, int root, int channel)
{
	int mount;

	if (setns(userns, CLONE_NEWUSER) < 0 || setns(mntns, CLONE_NEWNS) < 0)
		return -errno;
	mount = sys_open_tree(root, "", OPEN_TREE_CLONE | AT_EMPTY_PATH);
	return mount < 0 ? mount : send_fd(channel, mount);
}

static int copy_mount(int userns, int mntns, int root, struct err *err)
{
	int pair[2], status = 0, mount;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, -errno, "socketpair");
	pid = fork();
	if (pid == 0)
		_exit(-copy_there(userns, mntns, root, pair[1]) & 0xff);
	fd_close(pair[1]);
	mount = pid < 0 ? -errno : receive_fd(pair[0]);
	fd_close(pair[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (mount < 0 && WIFEXITED(status) && WEXITSTATUS(status))
		mount = -WEXITSTATUS(status);
	return mount < 0 ? err_sys(err, mount, "share the mount of another run") : mount;
}

/* One that nobody has reaped is gone as well, and a number that somebody else's
 * process has by now is nobody's. */
static bool is_ours(int pid)
{
	_cleanup_(fd_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = {.fd = fd, .events = POLLIN};
	char path[32];
	struct stat st;

	if (fd < 0)
		return errno != ESRCH;
	if (poll(&ended, 1, 0) != 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) == 0 && st.st_uid == geteuid();
}

/* -ESRCH: it is gone. -EAGAIN: it cannot be looked at, as one that is going. */
static int join_holder(const struct holder *holder, struct err *err)
{
	_cleanup_(fd_closep) int userns = open_theirs(holder->pid, holder->userns_fd, O_RDONLY, 0,
						      holder->userns);
	_cleanup_(fd_closep) int mntns = -1;
	_cleanup_(fd_closep) int root = -1;

	if ((userns == -EACCES || userns == -EPERM) && is_ours(holder->pid))
		return -EAGAIN;
	if (userns < 0)
		return -ESRCH;
	mntns = open_theirs(holder->pid, holder->mntns_fd, O_RDONLY, 0, holder->mntns);
	root = open_theirs(holder->pid, holder->root_fd, O_PATH, holder->dev, holder->ino);
	return mntns < 0 || root < 0 ? -ESRCH : copy_mount(userns, mntns, root, err);
}

/* --- what is left of killed runs --- */

/* Does a process live in mount namespace MNTNS? One that is being killed has none. */
static bool is_inhabited(uint64_t mntns)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char want[32], path[300], link[64];
	bool found = false;

	snprintf(want, sizeof(want), "mnt:[%" PRIu64 "]", mntns);
	while (dir && !found && (entry = readdir(dir))) {
		ssize_t n;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/ns/mnt", entry->d_name);
		n = readlink(path, link, sizeof(link) - 1);
		link[n < 0 ? 0 : n] = '\0';
		found = str_eq(link, want);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* A line in `runs`, and then the slot is free. Else the next one ends it. */
static int end_run(struct stage *stage, unsigned slot, const char *run_id, struct err *err)
{
	int r = stage_end(stage, run_id, err);

	if (r == 0)
		(void)slots_clear(stage, slot);
	return r;
}

static int end_lost(struct stage *stage, unsigned slot, const char *run_id, struct err *err)
{
	int r = stage_note_lost(stage, run_id, err);

	return r < 0 ? r : end_run(stage, slot, run_id, err);
}

/* It was killed, and took along what it had started: that may take a moment. */
static int bury(struct stage *stage, unsigned slot, const struct holder *holder, struct err *err)
{
	uint64_t end = clock_mono_ns() + PATIENCE_MS * 1000000ull;

	while (holder->is_mounted && is_inhabited(holder->mntns) && clock_mono_ns() < end)
		pause_a_little();
	return end_lost(stage, slot, holder->run, err);
}

int stage_settle(struct stage *stage, struct err *err)
{
	struct holder holder;
	int r = stage_modernize(stage, err);

	if (r == 0)
		r = slots_open(stage, err);
	for (unsigned slot = 0; r >= 0; slot++) {
		r = read_holder(stage, slot, 0, &holder, err);
		if (r == -ENOENT)
			return 0;
		if (r == 1)
			r = bury(stage, slot, &holder, err);
	}
	return r;
}

/* --- the run's side --- */

int stage_enter(struct stage *stage, struct err *err)
{
	int r = slots_open(stage, err);

	if (r < 0)
		return r;
	r = lock_wait(stage->mount_lock_fd);
	if (r < 0)
		return err_sys(err, r, "lock stage %s", stage->name);
	stage->has_mount_lock = true;
	r = stage_reload(stage, err);
	if (r < 0)
		return r;
	r = stage_try_lock(stage, true, err);
	stage->is_alone = r == 0;
	if (r == -EBUSY)
		r = stage_check_version(stage, err);
	return r < 0 ? r : stage_lock(stage, false, err);
}

/* 1: joined. 0: it has no ROOT; or *DYING. */
static int try_holder(struct stage *stage, unsigned slot, const struct holder *holder,
		      int *ret_mount, bool *dying, struct err *err)
{
	int r;

	if (!holder->is_mounted) /* one that lives is at its end */
		return slots_is_held(stage, slot) ? 0 : end_lost(stage, slot, holder->run, err);
	if (holder->root_fd < 0)
		return 0;
	r = join_holder(holder, err);
	if (r >= 0) {
		*ret_mount = r;
		return 1;
	}
	if (r != -ESRCH && r != -EAGAIN)
		return r;
	/* Who lives is about to write that it has it no more. */
	if (r == -ESRCH && !slots_is_held(stage, slot) && !is_inhabited(holder->mntns))
		return end_lost(stage, slot, holder->run, err);
	*dying = true;
	return 0;
}

/* 1: joined. 0: nobody has ROOT. -EAGAIN: somebody who was killed still does. */
static int try_join(struct stage *stage, unsigned root, int *ret_mount, struct err *err)
{
	bool dying = false;
	int r = 0;

	for (unsigned slot = 0; r == 0; slot++) {
		struct holder holder;

		r = read_holder(stage, slot, root, &holder, err);
		if (r == -ENOENT)
			return dying ? -EAGAIN : 0;
		if (r == 1)
			r = try_holder(stage, slot, &holder, ret_mount, &dying, err);
	}
	return r;
}

int stage_join(struct stage *stage, unsigned root, int *ret_mount, struct err *err)
{
	uint64_t end = clock_mono_ns() + PATIENCE_MS * 1000000ull;
	int r;

	*ret_mount = -1;
	if (stage->is_alone)
		return 0;
	while ((r = try_join(stage, root, ret_mount, err)) == -EAGAIN && clock_mono_ns() < end)
		pause_a_little();
	if (r != -EAGAIN)
		return r < 0 ? r : 0;
	err_set(err, ERR_SYSTEM, -EBUSY,
		"stage %s: a run has it mounted that can neither be joined nor is gone",
		stage->name);
	return err_hint(err, -EBUSY, "end its processes, or use another --stage");
}

/* What FDS are, for who wants to be sure that they are still there. */
static int describe(const unsigned *roots, size_t n, const int *fds, struct str *out)
{
	struct stat st[2];
	int r;

	if (fstat(fds[0], &st[0]) < 0 || fstat(fds[1], &st[1]) < 0)
		return -errno;
	r = str_appendf(out, " %d %d %d %llu %llu", getpid(), fds[0], fds[1],
			(unsigned long long)st[0].st_ino, (unsigned long long)st[1].st_ino);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (fstat(fds[2 + i], &st[0]) < 0)
			return -errno;
		r = str_appendf(out, "\n%u %d %llu %llu", roots[i], fds[2 + i],
				(unsigned long long)st[0].st_dev, (unsigned long long)st[0].st_ino);
	}
	return r;
}

int stage_announce(struct stage *stage, const char *run_id, struct err *err)
{
	return slots_take(stage, run_id, err);
}

int stage_publish(struct stage *stage, const char *run_id, const unsigned *roots, size_t n,
		  const int *fds, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	int r;

	stage->held = calloc(n + 2, sizeof(*stage->held));
	if (!stage->held) {
		for (size_t i = 0; i < n + 2; i++)
			fd_close(fds[i]);
		return err_oom(err);
	}
	memcpy(stage->held, fds, (n + 2) * sizeof(*fds));
	stage->held_len = n + 2;
	r = describe(roots, n, fds, &text);
	if (r == 0)
		r = slots_write(stage, (unsigned)stage->slot, run_id, text.data);
	if (r < 0)
		return err_sys(err, r, "stage %s: write down what is mounted", stage->name);
	stage_mount_unlock(stage);
	return 0;
}

void stage_leave(struct stage *stage, const char *run_id)
{
	/* First the mount: who reads of none must find none. */
	for (size_t i = 0; i < stage->held_len; i++)
		fd_close(stage->held[i]);
	free(stage->held);
	stage->held = NULL;
	stage->held_len = 0;
	if (stage->slot >= 0)
		(void)slots_write(stage, (unsigned)stage->slot, run_id, "");
	stage_mount_unlock(stage);
}

static bool holds_nothing(const struct stage *stage)
{
	for (unsigned i = 0; i < stage->n_roots; i++)
		if (!root_holds_nothing(stage, i))
			return false;
	return true;
}

/* The mount lock first: who waits for it would take the other for that of an apply. */
void stage_tidy(struct stage *stage)
{
	struct stat st;

	if (stage->mount_lock_fd < 0 || stage->runs_fd < 0 || fstat(stage->runs_fd, &st) < 0 ||
	    st.st_size < RUNS_KEPT || flock(stage->mount_lock_fd, LOCK_EX | LOCK_NB) < 0)
		return;
	stage->has_mount_lock = true;
	if (holds_nothing(stage) && stage_try_lock(stage, true, NULL) == 0)
		(void)unlinkat(stage->dir_fd, "runs", 0);
	stage_mount_unlock(stage);
}

int stage_finish(struct stage *stage, const char *run_id, struct err *err)
{
	int r = stage->slot < 0 ? 0 : end_run(stage, (unsigned)stage->slot, run_id, err);

	stage->slot = -1;
	return r;
}
