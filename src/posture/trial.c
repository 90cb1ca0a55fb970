/* SPDX-License-Identifier: MIT */
#include "posture/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"
#include "plan/plan.h"

enum { TRIAL_MS = 3000, NOT_REACHED = -1 };

static int write_file(int dir, const char *name, const char *text)
{
	_cleanup_(fd_closep) int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

static int map_self(uid_t uid, gid_t gid)
{
	_cleanup_(fd_closep) int proc = fd_open("/proc/self", O_PATH | O_DIRECTORY);
	char map[64];
	int r;

	if (proc < 0)
		return -errno;
	r = write_file(proc, "setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	if (r == 0)
		r = write_file(proc, "uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	return r < 0 ? r : write_file(proc, "gid_map", map);
}

/* A new filesystem, not attached anywhere; its descriptor or -errno. */
static int new_fs(const char *type)
{
	_cleanup_(fd_closep) int fs = sys_fsopen(type);
	int r = fs < 0 ? fs : sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);

	return r < 0 ? r : sys_fsmount(fs, 0);
}

/* A tmpfs somewhere in our own mount namespace. Any folder will do. */
static int attach_tmpfs(void)
{
	static const char *const places[] = {"/tmp", "/run", "/var", "/usr"};
	_cleanup_(fd_closep) int mount = new_fs("tmpfs");
	int r = -ENOENT;

	if (mount < 0)
		return mount;
	for (size_t i = 0; i < array_len(places) && r < 0; i++) {
		_cleanup_(fd_closep) int point = fd_open(places[i], O_PATH | O_DIRECTORY);

		r = point < 0 ? -errno : sys_move_mount(mount, point);
	}
	return r < 0 ? r : take_fd(mount);
}

static int layer(int fs, const char *key, int dir, const char *name)
{
	_cleanup_(fd_closep) int fd = -1;
	char path[64];

	if (mkdirat(dir, name, 0755) < 0)
		return -errno;
	fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return sys_fsconfig(fs, FSCONFIG_SET_STRING, key, path);
}

static int try_overlay(int dir)
{
	_cleanup_(fd_closep) int fs = sys_fsopen("overlay");
	_cleanup_(fd_closep) int mount = -1;
	int r = fs < 0 ? fs : layer(fs, "lowerdir", dir, "lower");

	if (r == 0)
		r = layer(fs, "upperdir", dir, "upper");
	if (r == 0)
		r = layer(fs, "workdir", dir, "work");
	if (r == 0)
		r = sys_fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL);
	if (r == 0)
		r = sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
	if (r == 0)
		r = mount = sys_fsmount(fs, 0);
	return r < 0 ? r : 0;
}

static void try_mounts(struct trial *trial)
{
	_cleanup_(fd_closep) int tmpfs = -1;
	_cleanup_(fd_closep) int root = -1;
	_cleanup_(fd_closep) int proc = -1;
	int r = sys_make_private("/");

	trial->errnum[TRIAL_PRIVATE] = -r;
	if (r < 0)
		return;
	/* Before the tmpfs covers what may hold it open. */
	proc = new_fs("proc");
	trial->errnum[TRIAL_PROC] = proc < 0 ? -proc : 0;
	tmpfs = attach_tmpfs();
	trial->errnum[TRIAL_TMPFS] = tmpfs < 0 ? -tmpfs : 0;
	if (tmpfs < 0)
		return;
	root = openat(tmpfs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	trial->errnum[TRIAL_XATTR] = fsetxattr(root, "user.pale", "", 0, 0) < 0 ? errno : 0;
	trial->errnum[TRIAL_OVERLAY] = -try_overlay(tmpfs);
}

/* Between clone and exit: nothing here allocates. */
_Noreturn static void child(int channel, uid_t uid, gid_t gid, struct trial *trial)
{
	char go;
	int r = 0;

	if (uid != 0)
		r = map_self(uid, gid);
	else if (recv(channel, &go, 1, 0) != 1)
		_exit(1);
	if (uid == 0 &&
	    (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0))
		r = -errno;
	trial->errnum[TRIAL_MAPS] = -r;
	if (r == 0)
		try_mounts(trial);
	_exit(send(channel, trial, sizeof(*trial), MSG_NOSIGNAL) < 0);
}

static int try_idmap(int proc, const char *workspace)
{
	_cleanup_(fd_closep) int userns = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);
	_cleanup_(fd_closep) int tree = -1;
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP};

	if (userns < 0)
		return -errno;
	tree = sys_open_tree(AT_FDCWD, workspace, OPEN_TREE_CLONE);
	if (tree < 0)
		return tree;
	attr.userns_fd = (uint64_t)userns;
	return sys_mount_setattr(tree, 0, &attr);
}

/* What only the parent may do. */
static int serve(pid_t pid, int channel, const char *workspace, struct trial *trial)
{
	_cleanup_(fd_closep) int proc = -1;
	char path[32], map[64], go = 1;
	int r;

	snprintf(map, sizeof(map), "0 %u 65536\n", RANGE_BASE); /* as a run by root gets */
	snprintf(path, sizeof(path), "/proc/%d", pid);
	proc = fd_open(path, O_PATH | O_DIRECTORY);
	r = proc < 0 ? -errno : write_file(proc, "uid_map", map);
	if (r == 0)
		r = write_file(proc, "gid_map", map);
	trial->errnum[TRIAL_MAPS] = -r;
	if (r < 0)
		return r;
	trial->errnum[TRIAL_IDMAP] = -try_idmap(proc, workspace);
	return send(channel, &go, 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static void await(pid_t pid, int pidfd, int channel, struct trial *trial)
{
	struct pollfd answer = {.fd = channel, .events = POLLIN};
	int idmap = trial->errnum[TRIAL_IDMAP];

	if (poll(&answer, 1, TRIAL_MS) <= 0)
		trial->errnum[TRIAL_MAPS] = ETIMEDOUT;
	else if (recv(channel, trial, sizeof(*trial), MSG_DONTWAIT) != (ssize_t)sizeof(*trial))
		trial->errnum[TRIAL_MAPS] = EPROTO;
	trial->errnum[TRIAL_IDMAP] = idmap;
	(void)sys_pidfd_send_signal(pidfd, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void trial_run(const char *workspace, struct trial *ret)
{
	struct trial trial;
	int pidfd = -1, pair[2], r;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	struct sys_clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWNET | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};

	for (int i = 0; i < TRIAL_COUNT_; i++)
		trial.errnum[i] = NOT_REACHED;
	*ret = trial;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		ret->errnum[TRIAL_CLONE] = errno;
		return;
	}
	trial.errnum[TRIAL_CLONE] = 0;
	r = sys_clone3(&args);
	if (r == 0)
		child(pair[1], uid, gid, &trial);
	fd_close(pair[1]);
	if (r < 0) {
		trial.errnum[TRIAL_CLONE] = -r;
	} else if (uid == 0 && serve(r, pair[0], workspace, &trial) < 0) {
		(void)sys_pidfd_send_signal(pidfd, SIGKILL);
		while (waitpid(r, NULL, 0) < 0 && errno == EINTR)
			;
	} else {
		await(r, pidfd, pair[0], &trial);
	}
	fd_close(pair[0]);
	fd_close(pidfd);
	*ret = trial;
}
