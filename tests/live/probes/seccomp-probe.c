/* SPDX-License-Identifier: MIT */
/*
 * seccomp-probe - calls that a seccomp filter should answer.
 *
 * Most are made with a bad pointer, descriptor or number, so that the kernel
 * itself gives another answer than the filter, and nothing happens to the host
 * where there is no filter. Prints "NAME WHO ERRNO" for each.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAD    8L          /* no pointer */
#define NOBODY 0x7ffffff0L /* no pid */

enum { KEY_READ = 11, KEY_UNLINK = 9, KEY_SETPERM = 5, KEY_TIMEOUT = 15, USER_KEYRING = -4 };

/* Who gets an answer of the kernel that differs from the filter's. */
enum who { ANYBODY = 'a', ROOT = 'r' };

struct attempt {
	const char *name;
	enum who who;
	long nr;
	long args[5];
};

/* clang-format off */
static const struct attempt refused[] = {
	{"add_key", ANYBODY, SYS_add_key, {BAD, BAD, BAD, 1, 0}},
	{"request_key", ANYBODY, SYS_request_key, {BAD, BAD, BAD, 0}},
	{"keyctl", ANYBODY, SYS_keyctl, {9999}},
	{"bpf", ANYBODY, SYS_bpf, {9999, BAD, 0}},
	{"perf_event_open", ANYBODY, SYS_perf_event_open, {BAD, 0, -1, -1, 0}},
	{"userfaultfd", ANYBODY, SYS_userfaultfd, {-1}},
	{"io_uring_setup", ANYBODY, SYS_io_uring_setup, {1, BAD}},
	{"io_uring_enter", ANYBODY, SYS_io_uring_enter, {-1, 0, 0, 0}},
	{"io_uring_register", ANYBODY, SYS_io_uring_register, {-1, 9999}},
	{"kexec_load", ROOT, SYS_kexec_load, {0, 9999, 0, 0}},
	{"kexec_file_load", ROOT, SYS_kexec_file_load, {-1, -1, 0, 0, 0xffff}},
	{"reboot", ROOT, SYS_reboot, {0, 0, 0, 0}},
	{"init_module", ROOT, SYS_init_module, {BAD, 0, BAD}},
	{"finit_module", ROOT, SYS_finit_module, {-1, BAD, -1}},
	{"delete_module", ROOT, SYS_delete_module, {BAD, 0}},
	{"swapon", ROOT, SYS_swapon, {BAD, -1}},
	{"swapoff", ROOT, SYS_swapoff, {BAD}},
	{"settimeofday", ANYBODY, SYS_settimeofday, {BAD, BAD}},
	{"clock_settime", ANYBODY, SYS_clock_settime, {9999, BAD}},
	{"clock_adjtime", ANYBODY, SYS_clock_adjtime, {9999, BAD}},
	{"adjtimex", ANYBODY, SYS_adjtimex, {BAD}},
	{"syslog", ROOT, SYS_syslog, {9999, BAD, -1}},
	{"acct", ROOT, SYS_acct, {BAD}},
	{"quotactl", ANYBODY, SYS_quotactl, {-1, BAD, 0, BAD}},
	{"quotactl_fd", ANYBODY, SYS_quotactl_fd, {-1, -1, 0, BAD}},
	{"sethostname", ROOT, SYS_sethostname, {BAD, -1}},
	{"setdomainname", ROOT, SYS_setdomainname, {BAD, -1}},
	{"lookup_dcookie", ANYBODY, SYS_lookup_dcookie, {0, BAD, 0}},
	{"fanotify_init", ROOT, SYS_fanotify_init, {-1, -1}},
	{"name_to_handle_at", ANYBODY, SYS_name_to_handle_at, {-1, BAD, BAD, BAD, 0}},
	{"open_by_handle_at", ROOT, SYS_open_by_handle_at, {-1, BAD, 0}},
#ifdef __x86_64__
	{"iopl", ANYBODY, SYS_iopl, {9999}},
	{"ioperm", ANYBODY, SYS_ioperm, {-1, -1, 0}},
	{"modify_ldt", ANYBODY, SYS_modify_ldt, {9999, BAD, 0}},
	{"uselib", ANYBODY, SYS_uselib, {BAD}},
	{"ustat", ANYBODY, SYS_ustat, {-1, BAD}},
	{"sysfs", ANYBODY, SYS_sysfs, {9999}},
#endif
	{"ioctl-TIOCSTI", ANYBODY, SYS_ioctl, {-1, TIOCSTI, BAD}},
	{"ioctl-TIOCSTI-wide", ANYBODY, SYS_ioctl, {-1, TIOCSTI | 1L << 32, BAD}},
	{"ioctl-TIOCLINUX", ANYBODY, SYS_ioctl, {-1, TIOCLINUX, BAD}},
	{"ioctl-TIOCLINUX-wide", ANYBODY, SYS_ioctl, {-1, TIOCLINUX | 7L << 40, BAD}},
	{"ioctl-TIOCSETD", ANYBODY, SYS_ioctl, {-1, TIOCSETD, BAD}},
	{"fchmod-suid", ANYBODY, SYS_fchmod, {-1, 04755}},
	{"fchmodat-sgid", ANYBODY, SYS_fchmodat, {-1, BAD, 02755}},
	{"mknodat-suid", ANYBODY, SYS_mknodat, {-1, BAD, S_IFREG | 04755, 0}},
	{"openat-suid", ANYBODY, SYS_openat, {-1, BAD, O_CREAT | O_WRONLY, 04755}},
	{"openat-tmpfile-suid", ANYBODY, SYS_openat, {-1, BAD, O_TMPFILE | O_WRONLY, 04755}},
	{"fcntl-lease", ANYBODY, SYS_fcntl, {-1, F_SETLEASE, F_WRLCK}},
	{"fcntl-delegation", ANYBODY, SYS_fcntl, {-1, 1040, BAD}}, /* F_SETDELEG */
	{"ioctl-snapshot", ANYBODY, SYS_ioctl, {-1, BTRFS_IOC_SNAP_CREATE, BAD}},
	{"ioctl-snapshot_v2", ANYBODY, SYS_ioctl, {-1, BTRFS_IOC_SNAP_CREATE_V2, BAD}},
	{"ioctl-snapshot_destroy", ANYBODY, SYS_ioctl, {-1, BTRFS_IOC_SNAP_DESTROY, BAD}},
	{"ioctl-snapshot_destroy_v2", ANYBODY, SYS_ioctl, {-1, BTRFS_IOC_SNAP_DESTROY_V2, BAD}},
	{"ioctl-subvolume", ANYBODY, SYS_ioctl, {-1, BTRFS_IOC_SUBVOL_CREATE, BAD}},
	{"ioctl-subvolume_v2", ANYBODY, SYS_ioctl, {-1, BTRFS_IOC_SUBVOL_CREATE_V2, BAD}},
	{"ioctl-subvolume_flags", ANYBODY, SYS_ioctl, {-1, BTRFS_IOC_SUBVOL_SETFLAGS, BAD}},
};

static const struct attempt refused_flat[] = {
	{"setns", ANYBODY, SYS_setns, {-1, 0}},
	{"mount", ANYBODY, SYS_mount, {BAD, BAD, BAD, 0, BAD}},
	{"umount2", ANYBODY, SYS_umount2, {BAD, -1}},
	{"pivot_root", ROOT, SYS_pivot_root, {BAD, BAD}},
	{"chroot", ANYBODY, SYS_chroot, {BAD}},
	{"open_tree", ANYBODY, SYS_open_tree, {-1, BAD, 0xffffffff}},
	{"move_mount", ROOT, SYS_move_mount, {-1, BAD, -1, BAD, 0xffffffff}},
	{"fsopen", ROOT, SYS_fsopen, {BAD, -1}},
	{"fsconfig", ANYBODY, SYS_fsconfig, {-1, 9999, 0, 0, 0}},
	{"fsmount", ROOT, SYS_fsmount, {-1, 0xffffffff, 0}},
	{"fspick", ROOT, SYS_fspick, {-1, BAD, 0xffffffff}},
	{"mount_setattr", ANYBODY, SYS_mount_setattr, {-1, BAD, 0xffffffff, BAD, 0}},
	/* sets of flags that the kernel takes for a mistake */
	{"unshare-user", ANYBODY, SYS_unshare, {CLONE_NEWUSER | 1}},
	{"unshare-net-wide", ANYBODY, SYS_unshare, {CLONE_NEWNET | 1 | 1L << 40}},
	{"clone-user", ANYBODY, SYS_clone, {CLONE_NEWUSER | CLONE_FS | SIGCHLD, 0}},
	{"clone-mnt", ANYBODY, SYS_clone, {CLONE_NEWNS | CLONE_FS | SIGCHLD, 0}},
};

static const struct attempt refused_visible[] = {
	{"ptrace", ANYBODY, SYS_ptrace, {PTRACE_ATTACH, NOBODY, 0, 0}},
	{"process_vm_readv", ANYBODY, SYS_process_vm_readv, {NOBODY, BAD, 0, BAD, 0}},
	{"process_vm_writev", ANYBODY, SYS_process_vm_writev, {NOBODY, BAD, 0, BAD, 0}},
	{"kcmp", ANYBODY, SYS_kcmp, {NOBODY, NOBODY, 0, 0, 0}},
	{"pidfd_getfd", ANYBODY, SYS_pidfd_getfd, {-1, 0, 0}},
	{"process_madvise", ANYBODY, SYS_process_madvise, {-1, BAD, 0, 0, 0}},
	{"process_mrelease", ANYBODY, SYS_process_mrelease, {-1, 0}},
	{"prlimit64", ANYBODY, SYS_prlimit64, {NOBODY, RLIMIT_CPU, BAD, 0}},
	{"setpriority", ANYBODY, SYS_setpriority, {PRIO_PROCESS, NOBODY, 0}},
	{"ioprio_set", ANYBODY, SYS_ioprio_set, {1, NOBODY, 2 << 13}},
	{"sched_setaffinity", ANYBODY, SYS_sched_setaffinity, {NOBODY, 8, BAD}},
	{"sched_setscheduler", ANYBODY, SYS_sched_setscheduler, {NOBODY, 0, BAD}},
	{"sched_setparam", ANYBODY, SYS_sched_setparam, {NOBODY, BAD}},
	{"sched_setattr", ANYBODY, SYS_sched_setattr, {NOBODY, BAD, 0}},
};

/* Answered ENOSYS. The numbers are newer than some headers. */
static const struct attempt unknown[] = {
	{"clone3", ANYBODY, SYS_clone3, {BAD, 0}},
	{"openat2", ANYBODY, SYS_openat2, {-1, BAD, BAD, 0}},
	{"cachestat", ANYBODY, 451, {-1, BAD, BAD, 0}},
	{"fchmodat2", ANYBODY, 452, {-1, BAD, 04755, -1}},
	{"statmount", ANYBODY, 457, {BAD, BAD, 0, -1}},
	{"listmount", ANYBODY, 458, {BAD, BAD, 0, -1}},
	{"lsm_list_modules", ANYBODY, 461, {BAD, BAD, -1}},
	{"mseal", ANYBODY, 462, {1, 1, -1}},
	{"setxattrat", ANYBODY, 463, {-1, BAD, -1, BAD, BAD}},
	{"open_tree_attr", ANYBODY, 467, {-1, BAD, 0xffffffff, BAD, 0}},
};
/* clang-format on */

static const struct {
	const char *name;
	const struct attempt *list;
	size_t len;
} groups[] = {
	{"refused", refused, sizeof(refused) / sizeof(refused[0])},
	{"flat", refused_flat, sizeof(refused_flat) / sizeof(refused_flat[0])},
	{"visible", refused_visible, sizeof(refused_visible) / sizeof(refused_visible[0])},
	{"unknown", unknown, sizeof(unknown) / sizeof(unknown[0])},
};

static void say(const char *name, enum who who, long r)
{
	printf("%s %c %s\n", name, who, r < 0 ? strerrorname_np(errno) : "ok");
	fflush(stdout);
}

static int attempt_all(const char *group)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (size_t k = 0; k < groups[i].len && !strcmp(groups[i].name, group); k++) {
			const struct attempt *a = &groups[i].list[k];

			say(a->name, a->who,
			    syscall(a->nr, a->args[0], a->args[1], a->args[2], a->args[3],
				    a->args[4]));
		}
	return 0;
}

static int sockets(void)
{
	char name[32];

	for (int family = 0; family < 46; family++) {
		int type = family == AF_PACKET || family == AF_NETLINK ? SOCK_DGRAM : SOCK_STREAM;

		snprintf(name, sizeof(name), "%d", family);
		say(name, ANYBODY, socket(family, family == AF_ALG ? SOCK_SEQPACKET : type, 0));
	}
	say("netlink-audit", ANYBODY, socket(AF_NETLINK, SOCK_RAW, 9));
	say("netlink-uevent", ANYBODY, socket(AF_NETLINK, SOCK_RAW, 15));
	return 0;
}

/* Calls of other tables: the one who makes them is not there afterwards. */
static int foreign(const char *how)
{
#ifdef __x86_64__
	long r = 20; /* getpid of i386 */

	if (!strcmp(how, "x32"))
		r = syscall(0x40000000 | SYS_getpid);
	else if (!strcmp(how, "minus-one"))
		r = syscall(-1);
	else
		__asm__ volatile("int $0x80" : "+a"(r) : : "memory");
	printf("%s answered %s\n", how, r > 0 ? "a pid" : "an error");
#endif
	return 0;
}

/* -- Set-uid files, one for each way to make them ------------------------ */

static int plain(const char *name)
{
	return open(name, O_CREAT | O_WRONLY, 0755);
}

static long tmpfile_link(const char *name)
{
	char from[64];
	int fd = open(".", O_TMPFILE | O_WRONLY, 04755);

	if (fd < 0)
		return -1;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static long open2(const char *name)
{
	uint64_t how[3] = {O_CREAT | O_WRONLY, 04755, 0};

	return syscall(SYS_openat2, AT_FDCWD, name, how, sizeof(how));
}

static int set_uid(void)
{
	umask(0);
	plain("suid-chmod");
	say("chmod", ANYBODY, chmod("suid-chmod", 04755));
	plain("sgid-chmod");
	say("chmod-sgid", ANYBODY, chmod("sgid-chmod", 02755));
	say("fchmod", ANYBODY, fchmod(plain("suid-fchmod"), 04755));
	plain("suid-fchmodat");
	say("fchmodat", ANYBODY, syscall(SYS_fchmodat, AT_FDCWD, "suid-fchmodat", 04755));
	plain("suid-fchmodat2");
	say("fchmodat2", ANYBODY, syscall(452, AT_FDCWD, "suid-fchmodat2", 04755, 0));
	say("open", ANYBODY, open("suid-open", O_CREAT | O_WRONLY, 04755));
	say("open2", ANYBODY, open2("suid-open2"));
	say("creat", ANYBODY, creat("suid-creat", 04755));
	say("mknod", ANYBODY, mknod("suid-mknod", S_IFREG | 04755, 0));
	say("tmpfile", ANYBODY, tmpfile_link("suid-tmpfile"));
	return 0;
}

/* -- Other processes -------------------------------------------------------- */

static int cripple(pid_t pid)
{
	struct rlimit limit = {9, 9};
	struct sched_param param = {0};
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	say("prlimit", ANYBODY, prlimit(pid, RLIMIT_NOFILE, &limit, NULL));
	say("setpriority", ANYBODY, setpriority(PRIO_PROCESS, (id_t)pid, 17));
	say("affinity", ANYBODY, sched_setaffinity(pid, sizeof(first), &first));
	say("scheduler", ANYBODY, sched_setscheduler(pid, SCHED_BATCH, &param));
	say("ioprio", ANYBODY, syscall(SYS_ioprio_set, 1, pid, 2 << 13 | 7));
	return 0;
}

/* A call that is harmless when the filter would see it, and another one when
 * the kernel makes it. */
static int rewrite(void)
{
#ifdef __x86_64__
	struct user_regs_struct regs;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		say("rewrite", ANYBODY, syscall(SYS_getppid, 9999));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	while (ptrace(PTRACE_SYSCALL, pid, 0, 0) == 0 && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status)) {
		ptrace(PTRACE_GETREGS, pid, 0, &regs);
		if (regs.orig_rax != SYS_getppid)
			continue;
		regs.orig_rax = SYS_keyctl;
		ptrace(PTRACE_SETREGS, pid, 0, &regs);
	}
#endif
	return 0;
}

/* A mount, as the root of namespaces of its own. */
static int mount_own(void)
{
	say("unshare", ANYBODY, unshare(CLONE_NEWUSER | CLONE_NEWNS));
	say("mount", ANYBODY, mount("none", "/tmp", "tmpfs", 0, NULL));
	return 0;
}

/* -- Keys, and the terminal --------------------------------------------------- */

static int plant_key(const char *name, const char *secret)
{
	long id = syscall(SYS_add_key, "user", name, secret, strlen(secret), USER_KEYRING);

	/* for everybody of this uid, possessed or not */
	syscall(SYS_keyctl, KEY_SETPERM, id, 0x3f3f0000);
	syscall(SYS_keyctl, KEY_TIMEOUT, id, 120);
	printf("%ld\n", id);
	return id < 0;
}

static int read_key(const char *id)
{
	char secret[64] = "";
	long r = syscall(SYS_keyctl, KEY_READ, strtol(id, NULL, 10), secret, sizeof(secret) - 1);

	say("read", ANYBODY, r);
	puts(secret);
	return 0;
}

/* Take the terminal on descriptor 0, which is nobody's, and type into it. */
static int type(void)
{
	if (fork() == 0) {
		setsid();
		say("ctty", ANYBODY, ioctl(0, TIOCSCTTY, 0));
		say("type", ANYBODY, ioctl(0, TIOCSTI, "x"));
		say("type-wide", ANYBODY, syscall(SYS_ioctl, 0, TIOCSTI | 1L << 32, "x"));
		/* the queue is lost with the one who took the terminal */
		usleep(200000);
		_exit(0);
	}
	return wait(NULL) < 0;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "";

	if (!strcmp(word, "calls"))
		return attempt_all(arg);
	if (!strcmp(word, "sockets"))
		return sockets();
	if (!strcmp(word, "foreign"))
		return foreign(arg);
	if (!strcmp(word, "set-uid"))
		return set_uid();
	if (!strcmp(word, "cripple"))
		return cripple(atoi(arg));
	if (!strcmp(word, "cripple-user"))
		return say("user", ANYBODY, setpriority(PRIO_USER, 0, 17)), 0;
	if (!strcmp(word, "mount"))
		return mount_own();
	if (!strcmp(word, "rewrite"))
		return rewrite();
	if (!strcmp(word, "plant-key"))
		return plant_key(arg, argc > 3 ? argv[3] : "x");
	if (!strcmp(word, "unlink-key"))
		return syscall(SYS_keyctl, KEY_UNLINK, strtol(arg, NULL, 10), USER_KEYRING) < 0;
	if (!strcmp(word, "read-key"))
		return read_key(arg);
	if (!strcmp(word, "type"))
		return type();
	return 2;
}
