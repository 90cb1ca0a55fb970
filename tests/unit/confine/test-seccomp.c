/* SPDX-License-Identifier: MIT */
/*
 * The seccomp filters, judged without a kernel: judge.h runs each of the
 * programs over calls that never happen. What they should say is
 * written down here a second time, not taken from the generator.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/confine/judge.h"

/* -- Whole calls -------------------------------------------------------- */

/* clang-format off */
static const struct call refused[] = {
	CALL(add_key), CALL(request_key), CALL(keyctl), CALL(bpf), CALL(perf_event_open),
	CALL(userfaultfd), CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register),
	CALL(kexec_load), CALL(kexec_file_load), CALL(reboot), CALL(init_module),
	CALL(finit_module), CALL(delete_module), CALL(swapon), CALL(swapoff), CALL(settimeofday),
	CALL(clock_settime), CALL(clock_adjtime), CALL(adjtimex), CALL(syslog), CALL(acct),
	CALL(quotactl), CALL(quotactl_fd), CALL(vhangup), CALL(sethostname), CALL(setdomainname),
	CALL(lookup_dcookie), CALL(nfsservctl), CALL(fanotify_init), CALL(name_to_handle_at),
	CALL(open_by_handle_at),
#ifdef __x86_64__
	CALL(iopl), CALL(ioperm), CALL(modify_ldt), CALL(uselib), CALL(ustat), CALL(sysfs),
	CALL(_sysctl),
#endif
};

static const struct call refused_flat[] = {
	CALL(setns), CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(fsopen),
	CALL(fsconfig), CALL(open_tree), CALL(fsmount), CALL(fspick), CALL(move_mount),
	CALL(mount_setattr),
};

static const struct call refused_visible[] = {
	CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev), CALL(kcmp),
	CALL(pidfd_getfd), CALL(process_madvise), CALL(process_mrelease), CALL(migrate_pages),
	CALL(move_pages),
};

/* What only a namespace keeps from being the host's. */
static const struct call refused_bare[] = {
	CALL(shmget), CALL(shmat), CALL(shmctl), CALL(semget), CALL(semop), CALL(semtimedop),
	CALL(semctl), CALL(msgget), CALL(msgsnd), CALL(msgrcv), CALL(msgctl), CALL(mq_open),
	CALL(mq_unlink),
};

/* What ordinary programs cannot do without. */
static const struct call ordinary[] = {
	CALL(read), CALL(write), CALL(close), CALL(fstat), CALL(lseek), CALL(mmap),
	CALL(mprotect), CALL(munmap), CALL(brk), CALL(mremap), CALL(madvise), CALL(rt_sigaction),
	CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(sigaltstack), CALL(pread64),
	CALL(pwrite64), CALL(readv), CALL(writev), CALL(sched_yield), CALL(sched_getaffinity),
	CALL(nanosleep), CALL(clock_nanosleep), CALL(clock_gettime), CALL(timer_create),
	CALL(timerfd_create), CALL(getpid), CALL(gettid), CALL(getuid), CALL(setpgid),
	CALL(setsid), CALL(kill), CALL(tgkill), CALL(execve), CALL(execveat), CALL(exit),
	CALL(exit_group), CALL(wait4), CALL(waitid), CALL(uname), CALL(fcntl), CALL(flock),
	CALL(fsync), CALL(ftruncate), CALL(fallocate), CALL(getdents64), CALL(getcwd),
	CALL(chdir), CALL(fchdir), CALL(mkdirat), CALL(unlinkat), CALL(renameat2), CALL(linkat),
	CALL(symlinkat), CALL(readlinkat), CALL(faccessat), CALL(faccessat2), CALL(fchownat),
	CALL(utimensat), CALL(statx), CALL(statfs), CALL(copy_file_range), CALL(sendfile),
	CALL(splice), CALL(close_range), CALL(dup3), CALL(pipe2), CALL(eventfd2), CALL(signalfd4),
	CALL(inotify_init1), CALL(inotify_add_watch), CALL(epoll_create1), CALL(epoll_ctl),
	CALL(epoll_pwait), CALL(epoll_pwait2), CALL(ppoll), CALL(pselect6), CALL(futex),
	CALL(futex_waitv), CALL(set_robust_list), CALL(set_tid_address), CALL(rseq),
	CALL(membarrier), CALL(getrandom), CALL(memfd_create), CALL(mlock), CALL(msync),
	CALL(mincore), CALL(umask), CALL(getrlimit), CALL(setrlimit), CALL(getrusage),
	CALL(times), CALL(sysinfo), CALL(prctl), CALL(capget), CALL(getxattr), CALL(setxattr),
	CALL(connect), CALL(bind), CALL(listen), CALL(accept4), CALL(sendmsg), CALL(recvmsg),
	CALL(sendto), CALL(recvfrom), CALL(setsockopt), CALL(getsockopt), CALL(shutdown),
	CALL(pidfd_open),
	CALL(pidfd_send_signal), CALL(seccomp), CALL(landlock_create_ruleset),
	CALL(landlock_add_rule), CALL(landlock_restrict_self), CALL(rt_sigqueueinfo),
	CALL(getpriority), CALL(sched_getscheduler), CALL(ioprio_get),
#ifdef __x86_64__
	CALL(stat), CALL(lstat), CALL(access), CALL(pipe), CALL(select), CALL(poll), CALL(dup2),
	CALL(fork), CALL(vfork), CALL(rename), CALL(mkdir), CALL(rmdir), CALL(link), CALL(unlink),
	CALL(symlink), CALL(readlink), CALL(chown), CALL(arch_prctl), CALL(time), CALL(alarm),
	CALL(pause), CALL(getpgrp), CALL(epoll_wait), CALL(epoll_create), CALL(inotify_init),
#endif
};
/* clang-format on */

/* With whatever arguments: one line for each call, and one for its twin. */
static void whole(const struct call *calls, size_t len, unsigned variants, uint32_t want)
{
	static const uint64_t shapes[][6] = {
		{0},
		{1, 2, 3, 4, 5, 6},
		{~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull},
		{HIGH, HIGH, HIGH, HIGH, HIGH, HIGH},
	};

	for (size_t i = 0; i < len; i++) {
		bool good = true, twin = true;

		for (size_t k = 0; k < LEN(shapes); k++) {
			good &= all_say(variants, want, calls[i].name, calls[i].nr, shapes[k]);
			twin &= all_say(ALL & ~variants, ALLOWED, calls[i].name, calls[i].nr,
					shapes[k]);
		}
		tap_ok(good, "%s is %s%s", calls[i].name, want == ALLOWED ? "allowed" : "refused",
		       variants == ALL    ? ""
		       : variants == FLAT ? " unless nested"
		       : variants == BARE ? " without namespaces"
					  : " when visible");
		if (variants != ALL)
			tap_ok(twin, "twin: %s is allowed else", calls[i].name);
	}
}

static bool is_listed(const struct call *calls, size_t len, long nr)
{
	for (size_t i = 0; i < len; i++)
		if (calls[i].nr == nr)
			return true;
	return false;
}

/* A call that no list names must not be refused by accident. */
static void test_nothing_else(void)
{
	static const struct call special[] = {CALL(clone3), CALL(openat2), CALL(socket),
					      CALL(socketpair)};
	unsigned others = 0;
	bool good = true;

	for (long nr = 0; nr <= __NR_set_mempolicy_home_node; nr++) {
		char name[16];

		if (is_listed(refused, LEN(refused), nr) || is_listed(special, LEN(special), nr) ||
		    is_listed(refused_flat, LEN(refused_flat), nr) ||
		    is_listed(refused_visible, LEN(refused_visible), nr) ||
		    is_listed(refused_bare, LEN(refused_bare), nr))
			continue;
		others++;
		snprintf(name, sizeof(name), "call %ld", nr);
		good &= all_say(ALL, ALLOWED, name, nr, (const uint64_t[6]){0});
	}
	tap_ok(good && others > 250, "the other %u calls are allowed", others);
}

/* -- Numbers and architectures ------------------------------------------ */

static void test_numbers(void)
{
	static const uint64_t none[6];
	bool good = true;

	tap_ok(SAY(ALL, UNKNOWN, openat2), "openat2 does not exist");
	tap_ok(SAY(FLAT, UNKNOWN, clone3), "clone3 does not exist unless nested");
	tap_ok(SAY(NESTED, ALLOWED, clone3), "twin: clone3 is allowed when nested");
	for (long nr = 451; nr <= 1000; nr++)
		good &= all_say(ALL, UNKNOWN, "a newer call", nr, none);
	good &= all_say(ALL, UNKNOWN, "a newer call", 0x3fffffff, none);
	tap_ok(good, "calls newer than the filter do not exist");
	tap_ok(all_say(ALL, ALLOWED, "the newest", 450, none), "twin: the newest one does");
	/* A tracer sets it to skip the call; strace's fault injection does. */
	tap_ok(all_say(ALL, UNKNOWN, "call -1", -1, none),
	       "a call that its tracer skips (-1) does not exist, and kills nobody");
}

static void test_architectures(void)
{
	static const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64,
					   NATIVE_ARCH ^ 1, 0};
	bool good = true, twin = true;
	size_t steps;

	for (unsigned v = 0; v < VARIANTS; v++)
		for (long nr = 0; nr <= 500; nr++) {
			struct seccomp_data data = {.nr = (int)nr};

			for (size_t i = 0; i < LEN(foreign); i++) {
				data.arch = foreign[i];
				good &= bpf_run(&filters[v], &data, &steps) == KILLED;
			}
			data.arch = NATIVE_ARCH;
			twin &= bpf_run(&filters[v], &data, &steps) != KILLED;
		}
	tap_ok(good, "a call of a foreign architecture kills, whatever its number");
	tap_ok(twin, "twin: no call of ours does");
#ifdef __x86_64__
	good = true;
	for (long nr = 0; nr <= 1000; nr++)
		good &= all_say(ALL, KILLED, "x32", nr | 0x40000000, (const uint64_t[6]){0});
	tap_ok(good, "a call of x32 kills");
#endif
}

/* -- Namespaces ---------------------------------------------------------- */

static void test_namespaces(void)
{
	static const uint64_t kinds[] = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
					 CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
					 CLONE_NEWNET, CLONE_NEWTIME};
	static const uint64_t with[] = {
		0, 17, CLONE_FS | CLONE_FILES, CLONE_VM | CLONE_VFORK | 17, HIGH, ~0ull << 32};
	bool clone = true, clone_twin = true, unshare = true, unshare_twin = true;

	for (unsigned set = 1; set < 1u << LEN(kinds); set++) {
		uint64_t flags = 0;

		for (size_t i = 0; i < LEN(kinds); i++)
			flags |= set & 1u << i ? kinds[i] : 0;
		for (size_t i = 0; i < LEN(with); i++) {
			unshare &= SAY(FLAT, REFUSED, unshare, flags | with[i]);
			unshare_twin &= SAY(NESTED, ALLOWED, unshare, flags | with[i]);
			clone_twin &= SAY(NESTED, ALLOWED, clone, flags | with[i]);
			if (flags != CLONE_NEWTIME)
				clone &= SAY(FLAT, REFUSED, clone, flags | with[i]);
		}
	}
	tap_ok(unshare, "unshare of any set of namespaces is refused");
	tap_ok(unshare_twin, "twin: it is allowed when nested");
	tap_ok(clone, "clone into any set of namespaces is refused");
	tap_ok(clone_twin, "twin: it is allowed when nested");
}

static void test_no_namespaces(void)
{
	static const uint64_t plain[] = {
		0,
		17,                                             /* SIGCHLD: a bare fork */
		CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | 17, /* fork(3) */
		CLONE_VM | CLONE_VFORK | 17,                    /* posix_spawn(3) */
		CLONE_PIDFD | CLONE_PARENT | 17,
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID, /* a thread */
		CLONE_UNTRACED | CLONE_IO | CLONE_DETACHED | 255, /* the exit signal is 8 bits */
	};
	bool good = true;

	for (size_t i = 0; i < LEN(plain); i++)
		good &= SAY(ALL, ALLOWED, clone, plain[i]) &&
			SAY(ALL, ALLOWED, clone, plain[i] | HIGH);
	tap_ok(good, "twin: forks and threads are allowed");
	tap_ok(SAY(ALL, ALLOWED, unshare, 0) && SAY(ALL, ALLOWED, unshare, CLONE_FILES) &&
		       SAY(ALL, ALLOWED, unshare, CLONE_FS | CLONE_SYSVSEM | HIGH),
	       "twin: so is unshare of what is no namespace");
}

/* -- Arguments ------------------------------------------------------------ */

static void test_terminal(void)
{
	static const uint64_t fine[] = {TCGETS,    TCSETS,   TIOCSCTTY, TIOCNOTTY, TIOCGWINSZ,
					TIOCSPGRP, TIOCGPTN, FIONREAD,  FIONBIO,   0};
	bool good = true;

	tap_ok(SAY(ALL, REFUSED, ioctl, 0, TIOCSTI), "TIOCSTI is refused");
	tap_ok(SAY(ALL, REFUSED, ioctl, 0, TIOCLINUX), "TIOCLINUX is refused");
	tap_ok(SAY(ALL, REFUSED, ioctl, 0, TIOCSTI | HIGH) &&
		       SAY(ALL, REFUSED, ioctl, 0, TIOCLINUX | 1ull << 32) &&
		       SAY(ALL, REFUSED, ioctl, ~0ull, TIOCSTI | ~0ull << 32, ~0ull),
	       "also with bits that the kernel does not look at");
	for (size_t i = 0; i < LEN(fine); i++)
		good &= SAY(ALL, ALLOWED, ioctl, 0, fine[i]) &&
			SAY(ALL, ALLOWED, ioctl, TIOCSTI, fine[i] | HIGH, TIOCSTI);
	tap_ok(good, "twin: what programs ask of a terminal is allowed");
}

static void test_sockets(void)
{
	for (unsigned family = 0; family <= 50; family++) {
		bool net = family == AF_UNIX || family == AF_INET || family == AF_INET6;
		uint32_t want = net || family == AF_NETLINK ? ALLOWED : REFUSED;

		tap_ok(SAY(SPACED, want, socket, family, SOCK_STREAM, 0) &&
			       SAY(SPACED, want, socket, family | HIGH, SOCK_STREAM | HIGH, HIGH) &&
			       SAY(SPACED, net ? ALLOWED : REFUSED, socket, family, SOCK_RAW, 6),
		       "sockets of family %u are %s", family,
		       want == ALLOWED ? "allowed" : "refused");
	}
	/* It makes sockets too: TIPC has pairs, and any family's module gets loaded. */
	tap_ok(SAY(SPACED, ALLOWED, socketpair, AF_UNIX, SOCK_STREAM),
	       "pairs of AF_UNIX are allowed");
	tap_ok(SAY(SPACED, REFUSED, socketpair, AF_TIPC, SOCK_STREAM),
	       "pairs of AF_TIPC are refused");
	tap_ok(SAY(SPACED, REFUSED, socketpair, AF_VSOCK, SOCK_STREAM), "and those of AF_VSOCK");
}

static void test_netlink(void)
{
	bool good = true;

	tap_ok(SAY(SPACED, ALLOWED, socket, AF_NETLINK, SOCK_RAW, 0) &&
		       SAY(SPACED, ALLOWED, socket, AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, HIGH),
	       "netlink about routes is allowed");
	for (unsigned protocol = 1; protocol <= 64; protocol++)
		good &= SAY(SPACED, REFUSED, socket, AF_NETLINK, SOCK_RAW, protocol) &&
			SAY(SPACED, REFUSED, socket, AF_NETLINK | HIGH, SOCK_RAW, protocol | HIGH);
	tap_ok(good, "netlink about anything else is refused");
}

static void test_sockets_bare(void)
{
	bool good = SAY(ONLINE, REFUSED, socket, AF_NETLINK, SOCK_RAW, 9 | HIGH), pairs = true;

	for (unsigned family = 0; family <= 50; family++) {
		bool net = family == AF_INET || family == AF_INET6 || family == AF_NETLINK;

		good &= SAY(ONLINE, net ? ALLOWED : REFUSED, socket, family | HIGH, HIGH, HIGH) &&
			SAY(OFFLINE, REFUSED, socket, family | HIGH, SOCK_DGRAM | HIGH, HIGH);
	}
	tap_ok(good, "bare: no local sockets; offline: none at all");
	for (unsigned type = 0; type <= 15; type++) {
		uint32_t want = type == SOCK_STREAM || type == SOCK_SEQPACKET ? ALLOWED : REFUSED;

		pairs &= SAY(BARE, want, socketpair, AF_UNIX, type | SOCK_CLOEXEC | HIGH) &&
			 SAY(BARE, REFUSED, socketpair, AF_TIPC, type) &&
			 SAY(SPACED, ALLOWED, socketpair, AF_UNIX, type);
	}
	tap_ok(pairs, "bare: pairs are of streams and packets; a datagram could go to anybody");
}

static void test_personality(void)
{
	static const uint64_t fine[] = {0, 8, 0x20000, 0x20008, 0xffffffff};
	static const uint64_t bad[] = {
		ADDR_NO_RANDOMIZE, READ_IMPLIES_EXEC,     MMAP_PAGE_ZERO, ADDR_COMPAT_LAYOUT,
		PER_BSD,           8 | ADDR_NO_RANDOMIZE, 0xfffffffe,     1};
	bool good = true;

	for (size_t i = 0; i < LEN(fine); i++)
		good &= SAY(ALL, ALLOWED, personality, fine[i]) &&
			SAY(ALL, ALLOWED, personality, fine[i] | HIGH);
	tap_ok(good, "personalities that programs ask for are allowed");
	good = true;
	for (size_t i = 0; i < LEN(bad); i++)
		good &= SAY(ALL, REFUSED, personality, bad[i]) &&
			SAY(ALL, REFUSED, personality, bad[i] | HIGH);
	tap_ok(good, "those that weaken memory are refused");
}

/* -- Modes ----------------------------------------------------------------- */

static void mode_of(const char *name, long nr, unsigned at)
{
	static const uint64_t bad[] = {04755, 02755, 06755, 04000, 02000, 07777, 0104755};
	static const uint64_t fine[] = {0, 0755, 0644, 01777, 0100644, 0777};
	bool good = true, twin = true;

	for (size_t i = 0; i < LEN(bad); i++)
		for (unsigned k = 0; k < 2; k++) {
			uint64_t args[6] = {0};

			args[at] = bad[i] | (k ? HIGH : 0);
			good &= all_say(ALL, REFUSED, name, nr, args);
		}
	for (size_t i = 0; i < LEN(fine); i++)
		for (unsigned k = 0; k < 2; k++) {
			/* what would be a bad mode, were it one */
			uint64_t args[6] = {04755, 04755, 04755, 04755, 04755, 04755};

			args[at] = fine[i] | (k ? HIGH : 0);
			twin &= all_say(ALL, ALLOWED, name, nr, args);
		}
	tap_ok(good, "%s with a set-uid or set-gid mode is refused", name);
	tap_ok(twin, "twin: %s with another is allowed", name);
}

/* FLAGS are in the argument before the mode. */
static bool opening(const char *name, long nr, unsigned at, uint32_t want, uint64_t flags,
		    uint64_t mode)
{
	uint64_t args[6] = {0};

	args[at - 1] = flags;
	args[at] = mode;
	return all_say(ALL, want, name, nr, args);
}

static void open_of(const char *name, long nr, unsigned at)
{
	static const uint64_t makes[] = {O_CREAT,
					 O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
					 O_CREAT | HIGH,
					 O_TMPFILE | O_RDWR,
					 O_TMPFILE | O_WRONLY,
					 O_TMPFILE | O_EXCL | O_RDWR | HIGH,
					 O_TMPFILE | O_CREAT | O_RDWR};
	static const uint64_t opens[] = {O_RDONLY, O_RDWR | O_TRUNC, O_DIRECTORY | O_CLOEXEC,
					 O_PATH | O_NOFOLLOW, O_APPEND | O_WRONLY | HIGH};
	bool good = true, plain = true, twin = true;

	for (size_t i = 0; i < LEN(makes); i++) {
		good &= opening(name, nr, at, REFUSED, makes[i], 04755) &&
			opening(name, nr, at, REFUSED, makes[i], 02644) &&
			opening(name, nr, at, REFUSED, makes[i], 06777 | HIGH);
		plain &= opening(name, nr, at, ALLOWED, makes[i], 0755) &&
			 opening(name, nr, at, ALLOWED, makes[i], 01666 | HIGH);
	}
	/* The mode is then whatever is in that register. */
	for (size_t i = 0; i < LEN(opens); i++)
		twin &= opening(name, nr, at, ALLOWED, opens[i], 0644) &&
			opening(name, nr, at, ALLOWED, opens[i], 06777) &&
			opening(name, nr, at, ALLOWED, opens[i], ~0ull);
	tap_ok(good, "%s that makes a set-uid or set-gid file is refused, O_TMPFILE too", name);
	tap_ok(plain, "twin: %s that makes another is allowed", name);
	tap_ok(twin, "twin: %s that makes none is allowed, whatever its mode", name);
}

static void test_modes(void)
{
	mode_of("fchmod", __NR_fchmod, 1);
	mode_of("fchmodat", __NR_fchmodat, 2);
	mode_of("mknodat", __NR_mknodat, 2);
	open_of("openat", __NR_openat, 3);
#ifdef __x86_64__
	mode_of("chmod", __NR_chmod, 1);
	mode_of("creat", __NR_creat, 1);
	mode_of("mknod", __NR_mknod, 1);
	open_of("open", __NR_open, 2);
#endif
	tap_ok(all_say(ALL, UNKNOWN, "fchmodat2", 452, (const uint64_t[6]){0, 0, 04755}),
	       "fchmodat2 does not exist");
}

/* -- Their shape --------------------------------------------------------------- */

static void test_shape(void)
{
	for (unsigned v = 0; v < VARIANTS; v++) {
		struct seccomp_data data = {.nr = __NR_read, .arch = NATIVE_ARCH};
		size_t steps, longest = 0;
		uint32_t verdict;

		tap_ok(bpf_loadable(&filters[v]), "%s: a program that the kernel loads",
		       variant_names[v]);
		verdict = bpf_run(&filters[v], &data, &steps);
		tap_ok(verdict == ALLOWED && steps <= 32,
		       "%s: read(2) costs %zu of %u instructions", variant_names[v], steps,
		       filters[v].len);
		for (int nr = 0; nr <= 450; nr++) {
			size_t n;

			data.nr = nr;
			bpf_run(&filters[v], &data, &n);
			longest = n > longest ? n : longest;
		}
		tap_note("%s: the longest path, without arguments, is %zu", variant_names[v],
			 longest);
	}
}

int main(void)
{
	tap_ok(VARIANTS == 8, "there are eight filters");
	test_shape();
	test_architectures();
	test_numbers();
	whole(refused, LEN(refused), ALL, REFUSED);
	whole(refused_flat, LEN(refused_flat), FLAT, REFUSED);
	whole(refused_visible, LEN(refused_visible), VISIBLE, REFUSED);
	whole(refused_bare, LEN(refused_bare), BARE, REFUSED);
	whole(ordinary, LEN(ordinary), ALL, ALLOWED);
	test_nothing_else();
	test_namespaces();
	test_no_namespaces();
	test_terminal();
	test_sockets();
	test_sockets_bare();
	test_netlink();
	test_personality();
	test_modes();
	return tap_done();
}
