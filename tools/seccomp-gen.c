/* SPDX-License-Identifier: MIT */
/*
 * seccomp-gen - writes the seccomp filters as C, at build time.
 *
 * A filter refuses what is named here and allows the rest, but for numbers past
 * NEWEST, which we cannot know: those answer ENOSYS like on an older kernel.
 *
 * Each one is compiled twice: into the short program that is loaded, and by
 * libseccomp. They must agree, or there is no filter.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/personality.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "seccomp-reference.h"
#include "seccomp-rules.h"
#include "seccomp-tree.h"

/* Two bits with namespaces around; two filters of their own without any; and two for several
 * commands in one pid namespace. */
enum { VISIBLE = 1, NESTED = 2, BARE = 4, BARE_OFFLINE = 5, SHARED = 6, SHARED_NESTED, VARIANTS };

#define CALL(name) SCMP_SYS(name)

/* Refused whatever their arguments are. */
static const int refused[] = {
	/* keys, programs in the kernel, faults and rings handled by somebody else */
	CALL(add_key),
	CALL(request_key),
	CALL(keyctl),
	CALL(bpf),
	CALL(perf_event_open),
	CALL(userfaultfd),
	CALL(io_uring_setup),
	CALL(io_uring_enter),
	CALL(io_uring_register),
	/* the machine itself */
	CALL(kexec_load),
	CALL(kexec_file_load),
	CALL(reboot),
	CALL(init_module),
	CALL(finit_module),
	CALL(delete_module),
	CALL(swapon),
	CALL(swapoff),
	CALL(settimeofday),
	CALL(clock_settime),
	CALL(clock_adjtime),
	CALL(adjtimex),
	CALL(syslog),
	CALL(acct),
	CALL(quotactl),
	CALL(quotactl_fd),
	CALL(vhangup),
	CALL(sethostname),
	CALL(setdomainname),
	CALL(iopl),
	CALL(ioperm),
	CALL(modify_ldt),
	CALL(lookup_dcookie),
	CALL(nfsservctl),
	CALL(uselib),
	CALL(ustat),
	CALL(sysfs),
	CALL(_sysctl),
	CALL(fanotify_init),
	/* files by handle instead of by name */
	CALL(name_to_handle_at),
	CALL(open_by_handle_at),
};

/* Namespaces and both generations of mount: refused unless `nested`. */
static const int refused_flat[] = {
	CALL(setns),   CALL(mount),     CALL(umount),        CALL(umount2), CALL(pivot_root),
	CALL(chroot),  CALL(open_tree), CALL(move_mount),    CALL(fsopen),  CALL(fsconfig),
	CALL(fsmount), CALL(fspick),    CALL(mount_setattr),
};
static const uint32_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
				   CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWTIME;

/* What reaches into processes that are not ours, where those can be seen. */
static const int refused_visible[] = {
	CALL(ptrace),      CALL(process_vm_readv), CALL(process_vm_writev), CALL(kcmp),
	CALL(pidfd_getfd), CALL(process_madvise),  CALL(process_mrelease),  CALL(migrate_pages),
	CALL(move_pages),
};
static const struct {
	int call;
	unsigned pid_arg;
} about_a_pid[] = {
	{CALL(prlimit64), 0},     {CALL(sched_setscheduler), 0}, {CALL(sched_setparam), 0},
	{CALL(sched_setattr), 0}, {CALL(sched_setaffinity), 0},  {CALL(setpriority), 1},
	{CALL(ioprio_set), 1},
};

/* What a namespace keeps apart: without one, it is the host's. */
static const int refused_bare[] = {
	CALL(shmget),     CALL(shmat),   CALL(shmctl),    CALL(semget), CALL(semop),
	CALL(semtimedop), CALL(semctl),  CALL(msgget),    CALL(msgsnd), CALL(msgrcv),
	CALL(msgctl),     CALL(mq_open), CALL(mq_unlink),
};

/* A file that runs as its owner would do so on the host. */
static const struct {
	int call;
	unsigned mode_arg;
	int flags_arg; /* that must hold O_CREAT, or -1 */
} with_mode[] = {
	{CALL(chmod), 1, -1}, {CALL(fchmod), 1, -1},  {CALL(fchmodat), 2, -1}, {CALL(creat), 1, -1},
	{CALL(mknod), 1, -1}, {CALL(mknodat), 2, -1}, {CALL(open), 2, 1},      {CALL(openat), 3, 2},
};

/* What an observer is told: attempts to change something, or to reach somebody. */
static const int watched[] = {
	CALL(creat),    CALL(mkdir),    CALL(mkdirat),  CALL(rename),  CALL(renameat),
	CALL(unlink),   CALL(unlinkat), CALL(rmdir),    CALL(link),    CALL(renameat2),
	CALL(linkat),   CALL(symlink),  CALL(mknod),    CALL(mknodat), CALL(symlinkat),
	CALL(truncate), CALL(chmod),    CALL(fchmodat), CALL(chown),   CALL(lchown),
	CALL(fchownat), CALL(connect),
};

/* Further ones for a profile, which finds whatever was used or touched. */
static const int watched_profile[] = {
	CALL(execve),    CALL(execveat), CALL(utime),     CALL(utimes),      CALL(futimesat),
	CALL(utimensat), CALL(setxattr), CALL(lsetxattr), CALL(removexattr), CALL(lremovexattr),
};

/* Told when it is about writing, or, for a profile, always. */
static const struct {
	int call;
	unsigned flags_arg;
} opens[] = {{CALL(open), 1}, {CALL(openat), 2}};

static void refuse_all(struct rules *rules, const int *calls, size_t len)
{
	for (size_t i = 0; i < len; i++)
		refuse_with(rules, calls[i], EPERM, NULL, 0);
}
#define REFUSE_ALL(rules, list) refuse_all(rules, list, sizeof(list) / sizeof((list)[0]))

static void refuse_namespaces(struct rules *rules)
{
	REFUSE(rules, CALL(unshare), {ANY_BIT, 0, namespaces});
	/* CLONE_NEWTIME is part of the exit signal in clone(2). */
	REFUSE(rules, CALL(clone), {ANY_BIT, 0, namespaces & ~(uint32_t)CLONE_NEWTIME});
	/* Its flags are behind a pointer; a library falls back to clone(2). */
	refuse_with(rules, CALL(clone3), ENOSYS, NULL, 0);
}

static bool is_watched(int call)
{
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		if (watched[i] == call)
			return true;
	return call == opens[0].call || call == opens[1].call;
}

/* O_TMPFILE is two bits; the one of its own is enough. */
static const uint32_t makes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);

/* TOLD: somebody is told of the watched ones whatever their mode is. */
static void refuse_modes(struct rules *rules, bool told)
{
	for (size_t i = 0; i < sizeof(with_mode) / sizeof(with_mode[0]); i++) {
		const struct term terms[] = {
			{ANY_BIT, with_mode[i].mode_arg, S_ISUID | S_ISGID, 0},
			{ANY_BIT, (unsigned)with_mode[i].flags_arg, makes, 0},
		};

		if (!told || !is_watched(with_mode[i].call))
			refuse_with(rules, with_mode[i].call, EPERM, terms,
				    with_mode[i].flags_arg < 0 ? 1 : 2);
	}
	/* Its mode is behind a pointer; callers fall back to openat(2). */
	refuse_with(rules, CALL(openat2), ENOSYS, NULL, 0);
}

/* Of btrfs, for every owner of a file: a snapshot has what is hidden, and on older kernels all
 * that lies in the same subvolume; one can be removed by its number, wherever it is; and made
 * read-only, under whoever works in it. */
static const uint32_t of_subvolumes[] = {
	BTRFS_IOC_SNAP_CREATE,     BTRFS_IOC_SNAP_CREATE_V2,   BTRFS_IOC_SUBVOL_CREATE,
	BTRFS_IOC_SNAP_DESTROY,    BTRFS_IOC_SUBVOL_CREATE_V2, BTRFS_IOC_SUBVOL_SETFLAGS,
	BTRFS_IOC_SNAP_DESTROY_V2,
};

#ifndef F_SETDELEG
#define F_SETDELEG 1040 /* Linux 6.19 */
#endif

/* The kernel looks at 32 bits of an ioctl's number and of a command of fcntl, and so do we. A
 * lease on a program lets whoever executes it wait, and that is the warden; a delegation of a
 * folder whoever makes or removes something in it. */
static void refuse_requests(struct rules *rules)
{
	for (size_t i = 0; i < sizeof(of_subvolumes) / sizeof(of_subvolumes[0]); i++)
		REFUSE(rules, CALL(ioctl), {IS, 1, of_subvolumes[i]});
	REFUSE(rules, CALL(ioctl), {IS, 1, TIOCSTI});
	REFUSE(rules, CALL(ioctl), {IS, 1, TIOCLINUX});
	/* has the kernel load drivers of old for what is said on a terminal */
	REFUSE(rules, CALL(ioctl), {IS, 1, TIOCSETD});
	REFUSE(rules, CALL(fcntl), {IS, 1, F_SETLEASE});
	REFUSE(rules, CALL(fcntl), {IS, 1, F_SETDELEG});
}

/* what programs ask for, and no weaker memory */
static void refuse_personalities(struct rules *rules)
{
	REFUSE(rules, CALL(personality), {IS_NOT, 0, PER_LINUX}, {IS_NOT, 0, PER_LINUX32},
	       {IS_NOT, 0, UNAME26}, {IS_NOT, 0, UNAME26 | PER_LINUX32}, {IS_NOT, 0, 0xffffffff});
}

/* local, internet, and netlink about routes */
static void refuse_sockets(struct rules *rules, int call)
{
	REFUSE(rules, call, {IS_NOT, 0, AF_UNIX}, {IS_NOT, 0, AF_INET}, {IS_NOT, 0, AF_INET6},
	       {IS_NOT, 0, AF_NETLINK});
	REFUSE(rules, call, {IS, 0, AF_NETLINK}, {IS_NOT, 2, 0});
}

/* Without namespaces no local sockets: nothing else would keep them from the host's. A pair is
 * one of streams: a datagram can be sent from it to anybody by name. */
static void refuse_sockets_bare(struct rules *rules, bool offline)
{
	enum { KIND = 0xf }; /* without SOCK_CLOEXEC and its like */

	REFUSE(rules, CALL(socketpair), {IS_NOT, 0, AF_UNIX});
	REFUSE(rules, CALL(socketpair), {IS_NOT, 1, SOCK_STREAM, KIND},
	       {IS_NOT, 1, SOCK_SEQPACKET, KIND});
	if (offline) {
		refuse_with(rules, CALL(socket), EPERM, NULL, 0);
		return;
	}
	REFUSE(rules, CALL(socket), {IS_NOT, 0, AF_INET}, {IS_NOT, 0, AF_INET6},
	       {IS_NOT, 0, AF_NETLINK});
	REFUSE(rules, CALL(socket), {IS, 0, AF_NETLINK}, {IS_NOT, 2, 0});
}

/* FIRST is about the process; prlimit64 is refused where it sets something. */
static void refuse_about_a_pid(struct rules *rules, struct term first)
{
	for (size_t i = 0; i < sizeof(about_a_pid) / sizeof(about_a_pid[0]); i++) {
		const struct term terms[] = {{first.what, about_a_pid[i].pid_arg, first.value, 0},
					     {NOT_NULL, 2, 0, 0}};

		refuse_with(rules, about_a_pid[i].call, EPERM, terms,
			    about_a_pid[i].call == CALL(prlimit64) ? 2 : 1);
	}
	/* Nobody in particular is everybody of that user. */
	REFUSE(rules, CALL(setpriority), {IS, 0, PRIO_USER});
	REFUSE(rules, CALL(ioprio_set), {IS, 0, IOPRIO_WHO_USER});
}

/* In a pid namespace of ours 1 is the warden. Other numbers stay free, for threads are named
 * by theirs, and parents set the limits of children. */
static void refuse_warden(struct rules *rules)
{
	refuse_about_a_pid(rules, (struct term){.what = IS, .value = 1});
}

/* A limit can end a command, and one that is another's. */
static void refuse_limits_of_others(struct rules *rules)
{
	REFUSE(rules, CALL(prlimit64), {NOT_NULL, 0, 0}, {NOT_NULL, 2, 0});
}

static void refuse_other_pids(struct rules *rules)
{
	REFUSE_ALL(rules, refused_visible);
	refuse_about_a_pid(rules, (struct term){.what = NOT_NULL});
}

/* Who listens: nobody, or an observer. That is told of refusals, too, and answers what the
 * plain filter would. */
enum { PLAIN, OBSERVED, BROKERED, PROFILED, AUDIENCES };
static const char *const audiences[] = {"filters", "observed_filters", "brokered_filters",
					"profiled_filters"};

/* A call to tell of looks like a refusal up to the end: print() knows. */
static void watch(struct rules *rules, unsigned audience)
{
	const uint32_t writes = O_WRONLY | O_RDWR | O_TRUNC | makes;

	REFUSE_ALL(rules, watched);
	if (audience == PROFILED)
		REFUSE_ALL(rules, watched_profile);
	for (size_t i = 0; i < sizeof(opens) / sizeof(opens[0]); i++) {
		const struct term flags = {ANY_BIT, opens[i].flags_arg, writes, 0};

		refuse_with(rules, opens[i].call, EPERM, &flags, audience != PROFILED);
	}
	if (audience >= BROKERED) /* something to somebody: the address is no null pointer */
		REFUSE(rules, CALL(sendto), {NOT_NULL, 4, 0});
	/* The kernel refuses a second listener while ours is there. Should it go before the
	 * command does (somebody killed the supervisor), the command's own would be asked
	 * first, and could let pass what we refuse. */
	refuse_with(rules, CALL(seccomp), EBUSY,
		    &(struct term){ANY_BIT, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0}, 1);
}

static bool is_bare(unsigned variant)
{
	return variant == BARE || variant == BARE_OFFLINE;
}

/* Past a limit of 1 no core is dumped at all; with 0 the kernel still hands one to a program
 * that core_pattern names, which is root's and outside. Many turn cores off by themselves, and
 * end if they cannot: they are told that it is done. */
static void pretend_core_limits(struct rules *rules)
{
	const struct term prlimit[] = {{IS, 1, RLIMIT_CORE, 0}, {NOT_NULL, 2, 0, 0}};

	refuse_with(rules, CALL(setrlimit), 0, &(struct term){IS, 0, RLIMIT_CORE, 0}, 1);
	refuse_with(rules, CALL(prlimit64), 0, prlimit, 2);
}

static void list(unsigned variant, unsigned audience, struct rules *rules)
{
	pretend_core_limits(rules);
	REFUSE_ALL(rules, refused);
	refuse_requests(rules);
	refuse_personalities(rules);
	refuse_modes(rules, audience != PLAIN);
	if (audience != PLAIN)
		watch(rules, audience);
	if (is_bare(variant) || variant == VISIBLE || variant == (VISIBLE | NESTED))
		refuse_other_pids(rules);
	else
		refuse_warden(rules);
	if (variant >= SHARED)
		refuse_limits_of_others(rules);
	if (is_bare(variant)) {
		REFUSE_ALL(rules, refused_bare);
		refuse_sockets_bare(rules, variant == BARE_OFFLINE);
	} else {
		refuse_sockets(rules, CALL(socket));
		refuse_sockets(rules, CALL(socketpair));
	}
	if (variant != NESTED && variant != (VISIBLE | NESTED) && variant != SHARED_NESTED) {
		REFUSE_ALL(rules, refused_flat);
		refuse_namespaces(rules);
	}
}

static void print(const struct sock_filter *code, size_t len, unsigned audience)
{
	for (size_t i = 0; i < len; i++) {
		uint32_t k = code[i].k;

		if (audience != PLAIN && code[i].code == (BPF_RET | BPF_K) && k == ERROR(EPERM))
			k = SECCOMP_RET_USER_NOTIF;
		printf("\t{0x%02x, %u, %u, 0x%08x},\n", code[i].code, code[i].jt, code[i].jf, k);
	}
}

static void print_variant(unsigned variant, unsigned audience)
{
	const struct place place = {.bare = is_bare(variant), .offline = variant == BARE_OFFLINE};
	struct sock_filter ops[CODE_MAX];
	static struct rules rules;
	size_t len;

	rules.len = 0;
	list(variant, audience, &rules);
	len = program_make(&rules, ops);
	reference_check(&rules, place, ops, len);
	printf("static const struct sock_filter %s_%u[] = {\n", audiences[audience], variant);
	print(ops, len, audience);
	printf("};\n\n");
}

/* A broker takes a network namespace. */
static bool is_made(unsigned variant, unsigned audience)
{
	return audience != BROKERED || !is_bare(variant);
}

static void print_table(unsigned audience)
{
	const char *name = audiences[audience];

	printf("static const struct sock_fprog %s[] = {\n", name);
	for (unsigned variant = 0; variant < VARIANTS; variant++)
		if (is_made(variant, audience))
			printf("\t[%u] = {sizeof(%s_%u) / sizeof(%s_%u[0]), "
			       "(struct sock_filter *)%s_%u},\n",
			       variant, name, variant, name, variant, name, variant);
	printf("};\n\n");
}

static void print_names(void)
{
	printf("static const char *const call_names[] = {\n");
	for (int nr = 0; nr <= NEWEST; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr);

		if (name)
			printf("\t[%d] = \"%s\",\n", nr, name);
		free(name);
	}
	printf("};\n");
}

int main(void)
{
	printf("/* Made by tools/seccomp-gen.c. */\n#include <linux/filter.h>\n\n");
	for (unsigned audience = 0; audience < AUDIENCES; audience++) {
		for (unsigned variant = 0; variant < VARIANTS; variant++)
			if (is_made(variant, audience))
				print_variant(variant, audience);
		print_table(audience);
	}
	print_names();
	return 0;
}
