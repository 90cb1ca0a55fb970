/* SPDX-License-Identifier: MIT */
/*
 * sys - kernel calls that a C library does not wrap, and constants that the
 * oldest supported headers (Linux 6.1) do not name. Each returns a value of 0
 * or more, or -errno.
 */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_ACCESS_FS_RESOLVE_UNIX
#define LANDLOCK_ACCESS_FS_RESOLVE_UNIX (1ULL << 16)
#endif
#ifndef LANDLOCK_SCOPE_SIGNAL
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL               (1ULL << 1)
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#define SYS_CLONE_PIDFD    0x1000
#define SYS_AT_RECURSIVE   0x8000
#define SYS_MNT_DETACH     2
#define SYS_MS_REC         16384
#define SYS_MS_PRIVATE     (1 << 18)
#define SYS_LANDLOCK_QUIET 1 /* LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF */

/* The extensible structs in the shape that we use: the kernel takes the size. */
struct sys_clone_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
		set_tid_size, cgroup;
};
struct sys_landlock_ruleset {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

struct sys_sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
	uint32_t util_min, util_max;
};

static inline int sys_result(long r)
{
	return r < 0 ? -errno : (int)r;
}
static inline int sys_clone3(const struct sys_clone_args *args)
{
	return sys_result(syscall(SYS_clone3, args, sizeof(*args)));
}
/* A plain child by the older call: containers refuse clone3 as a whole. */
static inline int sys_fork(int *ret_pidfd)
{
	return sys_result(
		syscall(SYS_clone, (long)(SYS_CLONE_PIDFD | SIGCHLD), NULL, ret_pidfd, NULL, NULL));
}
static inline int sys_open_tree(int dirfd, const char *path, unsigned flags)
{
	return sys_result(syscall(SYS_open_tree, dirfd, path, flags | OPEN_TREE_CLOEXEC));
}
/* Both ends by descriptor: names are resolved once, when they are opened. */
static inline int sys_move_mount(int from, int to)
{
	return sys_result(syscall(SYS_move_mount, from, "", to, "",
				  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
}
/* Onto NAME in the folder DIRFD; were it a link, that would not be followed. */
static inline int sys_move_mount_to(int from, int dirfd, const char *name)
{
	return sys_result(syscall(SYS_move_mount, from, "", dirfd, name, MOVE_MOUNT_F_EMPTY_PATH));
}
static inline int sys_mount_setattr(int fd, unsigned flags, const struct mount_attr *attr)
{
	return sys_result(
		syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | flags, attr, sizeof(*attr)));
}
static inline int sys_fsopen(const char *type)
{
	return sys_result(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
}
static inline int sys_fsconfig(int fd, unsigned cmd, const char *key, const char *value)
{
	return sys_result(syscall(SYS_fsconfig, fd, cmd, key, value, 0));
}
static inline int sys_fsmount(int fd, unsigned attr)
{
	return sys_result(syscall(SYS_fsmount, fd, FSMOUNT_CLOEXEC, attr));
}
static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
	return sys_result(syscall(SYS_pivot_root, new_root, put_old));
}
static inline int sys_umount(const char *path, int flags)
{
	return sys_result(syscall(SYS_umount2, path, flags));
}
static inline int sys_make_private(const char *path)
{
	return sys_result(
		syscall(SYS_mount, "none", path, NULL, SYS_MS_REC | SYS_MS_PRIVATE, NULL));
}
#define SYS_PIDFD_THREAD O_EXCL /* Linux 6.9 */
static inline int sys_pidfd_open(int pid, unsigned flags)
{
	return sys_result(syscall(SYS_pidfd_open, pid, flags));
}
static inline int sys_pidfd_getfd(int pidfd, int fd)
{
	return sys_result(syscall(SYS_pidfd_getfd, pidfd, fd, 0));
}
static inline int sys_pidfd_send_signal(int pidfd, int sig)
{
	return sys_result(syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0));
}
/* Of the calling thread. */
static inline int sys_sched_getattr(struct sys_sched_attr *ret)
{
	return sys_result(syscall(SYS_sched_getattr, 0, ret, sizeof(*ret), 0));
}
static inline int sys_sched_setattr(const struct sys_sched_attr *attr)
{
	return sys_result(syscall(SYS_sched_setattr, 0, attr, 0));
}
static inline int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	return sys_result(syscall(SYS_close_range, first, last, flags));
}
#define SYS_NO_STATMOUNT  457 /* Linux 6.8 */
#define SYS_NO_LISTMOUNT  458
#define SYS_STATMOUNT_SB  1 /* STATMOUNT_SB_BASIC */
#define SYS_LISTMOUNT_ALL UINT64_MAX
struct sys_mnt_id_req {
	uint32_t size, spare;
	uint64_t id, param;
};
struct sys_statmount {
	uint32_t size, spare;
	uint64_t mask;
	uint32_t dev_major, dev_minor;
	uint64_t magic;
};
/* The ids of what is mounted below our root, from the one after AFTER on: how many. No id is ever
 * given twice. */
static inline int sys_listmount(uint64_t after, uint64_t *ids, size_t len)
{
	struct sys_mnt_id_req req = {.size = sizeof(req), .id = SYS_LISTMOUNT_ALL, .param = after};

	return sys_result(syscall(SYS_NO_LISTMOUNT, &req, ids, len, 0));
}
static inline int sys_statmount(uint64_t id, struct sys_statmount *ret)
{
	struct sys_mnt_id_req req = {.size = sizeof(req), .id = id, .param = SYS_STATMOUNT_SB};

	return sys_result(syscall(SYS_NO_STATMOUNT, &req, ret, sizeof(*ret), 0));
}
/* musl has no statx() in all versions: the kernel's struct, in the part that we use. */
#define SYS_STATX_BASIC 0x7ff
#define SYS_STATX_BTIME 0x800
struct sys_stat_time {
	int64_t sec;
	uint32_t nsec;
	int32_t unused;
};
struct sys_stat {
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, unused;
	uint64_t ino, size, blocks, attributes_mask;
	struct sys_stat_time atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t more[14];
};
static inline int sys_statx(int dirfd, const char *name, int flags, struct sys_stat *ret)
{
	return sys_result(
		syscall(SYS_statx, dirfd, name, flags, SYS_STATX_BASIC | SYS_STATX_BTIME, ret));
}
/* As the kernel gives it; the name ends in NUL. */
struct sys_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type; /* DT_* */
	char name[];
};
static inline int sys_getdents(int fd, void *buf, size_t size)
{
	return sys_result(syscall(SYS_getdents64, fd, buf, size));
}
static inline int sys_landlock_create_ruleset(const struct sys_landlock_ruleset *attr, size_t size,
					      unsigned flags)
{
	return sys_result(syscall(SYS_landlock_create_ruleset, attr, size, flags));
}
static inline int sys_landlock_add_rule(int ruleset, const struct landlock_path_beneath_attr *rule)
{
	return sys_result(
		syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, 0));
}
static inline int sys_landlock_restrict_self(int ruleset, unsigned flags)
{
	return sys_result(syscall(SYS_landlock_restrict_self, ruleset, flags));
}
