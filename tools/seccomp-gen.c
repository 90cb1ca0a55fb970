/* SPDX-License-Identifier: MIT */
/*
 * seccomp-gen - writes the seccomp filters as C, at build time.
 *
 * libseccomp compiles the lists of refused calls; at run time that would cost
 * more than the whole rest of a start. What it cannot say, "every value but
 * these", stands in a prologue of our own, in front of its program.
 *
 * A filter refuses what is named here and allows the rest, but for numbers past
 * NEWEST, which we cannot know: those answer ENOSYS like on an older kernel.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
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
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEWEST = 450 }; /* set_mempolicy_home_node */

/* Two bits with namespaces around; two filters of their own without any; and two for several
 * commands in one pid namespace. */
enum { VISIBLE = 1, NESTED = 2, BARE = 4, BARE_OFFLINE = 5, SHARED = 6, SHARED_NESTED, VARIANTS };

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define X32_BIT     0x40000000
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no seccomp filter for this architecture yet"
#endif

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
static const uint64_t namespaces[] = {
	CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
	CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWTIME,
};

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

static void die(const char *what, int r)
{
	fprintf(stderr, "seccomp-gen: %s: %s\n", what, strerror(-r));
	exit(1);
}

static void refuse(scmp_filter_ctx ctx, int call, int error, unsigned n,
		   const struct scmp_arg_cmp *args)
{
	int r;

	if (call < 0)
		return; /* not on this architecture */
	r = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint16_t)error), call, n, args);
	if (r < 0)
		die(seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call), r);
}

static void refuse_all(scmp_filter_ctx ctx, const int *calls, size_t len)
{
	for (size_t i = 0; i < len; i++)
		refuse(ctx, calls[i], EPERM, 0, NULL);
}
#define REFUSE_ALL(ctx, list) refuse_all(ctx, list, sizeof(list) / sizeof((list)[0]))

static void refuse_namespaces(scmp_filter_ctx ctx)
{
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		struct scmp_arg_cmp flag = SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i],
						   namespaces[i]);

		refuse(ctx, CALL(unshare), EPERM, 1, &flag);
		/* CLONE_NEWTIME is part of the exit signal in clone(2). */
		if (namespaces[i] != CLONE_NEWTIME)
			refuse(ctx, CALL(clone), EPERM, 1, &flag);
	}
	/* Its flags are behind a pointer; a library falls back to clone(2). */
	refuse(ctx, CALL(clone3), ENOSYS, 0, NULL);
}

static bool is_watched(int call)
{
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		if (watched[i] == call)
			return true;
	return call == opens[0].call || call == opens[1].call;
}

/* TOLD: somebody is told of the watched ones whatever their mode is. */
static void refuse_modes(scmp_filter_ctx ctx, bool told)
{
	static const uint64_t bits[] = {S_ISUID, S_ISGID};
	/* O_TMPFILE is two bits; the one of its own is enough. */
	static const uint64_t makes[] = {O_CREAT, O_TMPFILE & ~O_DIRECTORY};

	for (size_t i = 0; i < sizeof(with_mode) / sizeof(with_mode[0]); i++)
		for (size_t k = 0; k < 4; k++) {
			struct scmp_arg_cmp args[] = {
				SCMP_CMP64(with_mode[i].mode_arg, SCMP_CMP_MASKED_EQ, bits[k % 2],
					   bits[k % 2]),
				SCMP_CMP64((unsigned)with_mode[i].flags_arg, SCMP_CMP_MASKED_EQ,
					   makes[k / 2], makes[k / 2]),
			};

			if (told && is_watched(with_mode[i].call))
				continue;
			if (with_mode[i].flags_arg >= 0)
				refuse(ctx, with_mode[i].call, EPERM, 2, args);
			else if (k < 2)
				refuse(ctx, with_mode[i].call, EPERM, 1, args);
		}
	/* Its mode is behind a pointer; callers fall back to openat(2). */
	refuse(ctx, CALL(openat2), ENOSYS, 0, NULL);
}

/* The kernel looks at 32 bits of an ioctl's number, and so do we. */
static void refuse_terminal(scmp_filter_ctx ctx)
{
	/* The last one has the kernel load drivers of old for what is said on a terminal. */
	static const uint64_t requests[] = {TIOCSTI, TIOCLINUX, TIOCSETD};

	for (size_t i = 0; i < 3; i++) {
		struct scmp_arg_cmp request = SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, requests[i]);

		refuse(ctx, CALL(ioctl), EPERM, 1, &request);
	}
}

/* The kernel looks at 32 bits of a command, and so do we. A lease on a program lets whoever
 * executes it wait, and that is the warden. */
static void refuse_leases(scmp_filter_ctx ctx)
{
	refuse(ctx, CALL(fcntl), EPERM, 1, &SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, F_SETLEASE));
}

/* Nobody in particular is everybody of that user. */
static void refuse_users(scmp_filter_ctx ctx)
{
	refuse(ctx, CALL(setpriority), EPERM, 1,
	       &SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, PRIO_USER));
	refuse(ctx, CALL(ioprio_set), EPERM, 1,
	       &SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, IOPRIO_WHO_USER));
}

/* In a pid namespace of ours 1 is the warden. Other numbers stay free, for threads are named
 * by theirs, and parents set the limits of children. */
static void refuse_warden(scmp_filter_ctx ctx)
{
	for (size_t i = 0; i < sizeof(about_a_pid) / sizeof(about_a_pid[0]); i++) {
		struct scmp_arg_cmp args[] = {
			SCMP_CMP64(about_a_pid[i].pid_arg, SCMP_CMP_MASKED_EQ, 0xffffffff, 1),
			SCMP_A2(SCMP_CMP_NE, 0), /* prlimit64: it sets something */
		};

		refuse(ctx, about_a_pid[i].call, EPERM,
		       about_a_pid[i].call == CALL(prlimit64) ? 2 : 1, args);
	}
	refuse_users(ctx);
}

/* A limit can end a command, and one that is another's. */
static void refuse_limits_of_others(scmp_filter_ctx ctx)
{
	refuse(ctx, CALL(prlimit64), EPERM, 2,
	       (struct scmp_arg_cmp[]){SCMP_A0(SCMP_CMP_NE, 0), SCMP_A2(SCMP_CMP_NE, 0)});
}

static void refuse_other_pids(scmp_filter_ctx ctx)
{
	REFUSE_ALL(ctx, refused_visible);
	for (size_t i = 0; i < sizeof(about_a_pid) / sizeof(about_a_pid[0]); i++) {
		struct scmp_arg_cmp args[] = {
			SCMP_CMP64(about_a_pid[i].pid_arg, SCMP_CMP_NE, 0),
			SCMP_A2(SCMP_CMP_NE, 0), /* prlimit64: it sets something */
		};

		refuse(ctx, about_a_pid[i].call, EPERM,
		       about_a_pid[i].call == CALL(prlimit64) ? 2 : 1, args);
	}
	refuse_users(ctx);
}

/* Who listens: nobody, or an observer. That is told of refusals, too, and answers what the
 * plain filter would. */
enum { PLAIN, OBSERVED, BROKERED, PROFILED, AUDIENCES };
static const char *const audiences[] = {"filters", "observed_filters", "brokered_filters",
					"profiled_filters"};

/* A call to tell of looks like a refusal up to the end: print() knows. */
static void watch(scmp_filter_ctx ctx, unsigned audience)
{
	static const uint64_t writes[] = {O_WRONLY, O_RDWR, O_CREAT, O_TRUNC,
					  O_TMPFILE & ~O_DIRECTORY};

	REFUSE_ALL(ctx, watched);
	if (audience == PROFILED)
		REFUSE_ALL(ctx, watched_profile);
	for (size_t i = 0; i < sizeof(opens) / sizeof(opens[0]); i++)
		for (size_t k = 0; k < sizeof(writes) / sizeof(writes[0]); k++) {
			struct scmp_arg_cmp flag = SCMP_CMP64(
				opens[i].flags_arg, SCMP_CMP_MASKED_EQ, writes[k], writes[k]);

			if (audience != PROFILED || k == 0)
				refuse(ctx, opens[i].call, EPERM, audience != PROFILED, &flag);
		}
	if (audience >= BROKERED) /* something to somebody: the address is no null pointer */
		refuse(ctx, CALL(sendto), EPERM, 1, &SCMP_A4(SCMP_CMP_NE, 0));
	/* The kernel refuses a second listener while ours is there. Should it go before the
	 * command does (somebody killed the supervisor), the command's own would be asked
	 * first, and could let pass what we refuse. */
	refuse(ctx, CALL(seccomp), EBUSY, 1,
	       &SCMP_A1(SCMP_CMP_MASKED_EQ, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			SECCOMP_FILTER_FLAG_NEW_LISTENER));
}

/* -- The prologue ------------------------------------------------------ */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_HIGH(field)                                                                           \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + 4)
#define IF(op, value, t, f) BPF_JUMP(BPF_JMP | BPF_##op | BPF_K, (value), (t), (f))
#define RETURN(what)        BPF_STMT(BPF_RET | BPF_K, (what))
#define ERROR(error)        (SECCOMP_RET_ERRNO | ((error)&SECCOMP_RET_DATA))

/* Ends with the number loaded, and with no jump beyond it. */
static const struct sock_filter numbers[] = {
	LOAD(arch),
	IF(JEQ, NATIVE_ARCH, 1, 0),
	RETURN(SECCOMP_RET_KILL_PROCESS),
	LOAD(nr),
#ifdef X32_BIT
	IF(JGT, NEWEST, 0, 4),
	IF(JEQ, 0xffffffff, 2, 0), /* skipped by its tracer */
	IF(JGE, X32_BIT, 0, 1),
	RETURN(SECCOMP_RET_KILL_PROCESS),
#else
	IF(JGT, NEWEST, 0, 1),
#endif
	RETURN(ERROR(ENOSYS)),
};

/* what programs ask for, and no weaker memory */
static const struct sock_filter personalities[] = {
	IF(JEQ, __NR_personality, 0, 8),
	LOAD(args[0]),
	IF(JEQ, PER_LINUX, 5, 0),
	IF(JEQ, PER_LINUX32, 4, 0),
	IF(JEQ, UNAME26, 3, 0),
	IF(JEQ, UNAME26 | PER_LINUX32, 2, 0),
	IF(JEQ, 0xffffffff, 1, 0),
	RETURN(ERROR(EPERM)),
	LOAD(nr),
};

/* Past a limit of 1 no core is dumped at all; with 0 the kernel still hands one to a program
 * that core_pattern names, which is root's and outside. Many turn cores off by themselves, and
 * end if they cannot: they are told that it is done. */
static const struct sock_filter core_limits[] = {
	IF(JEQ, __NR_setrlimit, 0, 2),
	LOAD(args[0]),
	IF(JEQ, RLIMIT_CORE, 7, 8),
	IF(JEQ, __NR_prlimit64, 0, 8),
	LOAD(args[1]),
	IF(JEQ, RLIMIT_CORE, 0, 5),
	LOAD(args[2]), /* a null pointer sets nothing */
	IF(JEQ, 0, 0, 2),
	LOAD_HIGH(args[2]),
	IF(JEQ, 0, 1, 0),
	RETURN(ERROR(0)),
	LOAD(nr),
};

/* local, internet, and netlink about routes */
static const struct sock_filter sockets[] = {
	IF(JEQ, __NR_socket, 1, 0),
	IF(JEQ, __NR_socketpair, 0, 9),
	LOAD(args[0]),
	IF(JEQ, AF_UNIX, 6, 0),
	IF(JEQ, AF_INET, 5, 0),
	IF(JEQ, AF_INET6, 4, 0),
	IF(JEQ, AF_NETLINK, 0, 2),
	LOAD(args[2]),
	IF(JEQ, 0, 1, 0),
	RETURN(ERROR(EPERM)),
	LOAD(nr),
};

/* Without namespaces. A pair is one of streams: a datagram can be sent from it
 * to anybody by name. */
static const struct sock_filter pairs_bare[] = {
	IF(JEQ, __NR_socketpair, 0, 8),
	LOAD(args[0]),
	IF(JEQ, AF_UNIX, 0, 4),
	LOAD(args[1]),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf), /* without SOCK_CLOEXEC and its like */
	IF(JEQ, SOCK_STREAM, 2, 0),
	IF(JEQ, SOCK_SEQPACKET, 1, 0),
	RETURN(ERROR(EPERM)),
	LOAD(nr),
};

/* No local sockets: nothing else would keep them from the host's. */
static const struct sock_filter sockets_bare[] = {
	IF(JEQ, __NR_socket, 0, 7), LOAD(args[0]), IF(JEQ, AF_INET, 5, 0), IF(JEQ, AF_INET6, 4, 0),
	IF(JEQ, AF_NETLINK, 0, 2),  LOAD(args[2]), IF(JEQ, 0, 1, 0),       RETURN(ERROR(EPERM)),
};

static const struct sock_filter sockets_offline[] = {
	IF(JEQ, __NR_socket, 0, 1),
	RETURN(ERROR(EPERM)),
};

static bool is_bare(unsigned variant)
{
	return variant == BARE || variant == BARE_OFFLINE;
}

static scmp_filter_ctx compile(unsigned variant, unsigned audience)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	if (!ctx)
		die("init", -ENOMEM);
	REFUSE_ALL(ctx, refused);
	refuse_terminal(ctx);
	refuse_leases(ctx);
	refuse_modes(ctx, audience != PLAIN);
	if (audience != PLAIN)
		watch(ctx, audience);
	if (is_bare(variant) || variant == VISIBLE || variant == (VISIBLE | NESTED))
		refuse_other_pids(ctx);
	else
		refuse_warden(ctx);
	if (variant >= SHARED)
		refuse_limits_of_others(ctx);
	if (is_bare(variant))
		REFUSE_ALL(ctx, refused_bare);
	if (variant != NESTED && variant != (VISIBLE | NESTED) && variant != SHARED_NESTED) {
		REFUSE_ALL(ctx, refused_flat);
		refuse_namespaces(ctx);
	}
	/* A tree by number: a call costs a handful of comparisons. */
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	return ctx;
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

#define PRINT(list, audience) print(list, sizeof(list) / sizeof((list)[0]), audience)

static void print_variant(unsigned variant, unsigned audience)
{
	static struct sock_filter code[4096];
	scmp_filter_ctx ctx = compile(variant, audience);
	FILE *file = tmpfile();
	size_t len;
	int r;

	if (!file)
		die("tmpfile", -errno);
	r = seccomp_export_bpf(ctx, fileno(file));
	if (r < 0)
		die("export", r);
	rewind(file);
	len = fread(code, sizeof(code[0]), sizeof(code) / sizeof(code[0]), file);
	printf("static const struct sock_filter %s_%u[] = {\n", audiences[audience], variant);
	PRINT(numbers, audience);
	PRINT(personalities, audience);
	PRINT(core_limits, audience);
	if (is_bare(variant))
		PRINT(pairs_bare, audience);
	if (variant == BARE)
		PRINT(sockets_bare, audience);
	else if (variant == BARE_OFFLINE)
		PRINT(sockets_offline, audience);
	else
		PRINT(sockets, audience);
	print(code, len, audience);
	printf("};\n\n");
	fclose(file);
	seccomp_release(ctx);
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
