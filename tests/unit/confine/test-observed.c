/* SPDX-License-Identifier: MIT */
/*
 * The observed filters against the plain ones, call by call: what is refused is told and
 * never allowed, what does not exist or kills stays so, and nothing else is told but what
 * stands here a second time. And what the supervisor answers is what the plain one says.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "confine/confine.h"
#include "confine/filters.h"
#include "tap.h"
#include "tests/unit/confine/bpf.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#else
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

#define LEN(list) (sizeof(list) / sizeof((list)[0]))
enum { VARIANTS = LEN(filters), ROUNDS = 200000 };

/* clang-format off */
static const int watched[] = {
	__NR_mkdirat, __NR_renameat2, __NR_unlinkat, __NR_linkat, __NR_symlinkat, __NR_mknodat,
	__NR_truncate, __NR_fchmodat, __NR_fchownat, __NR_connect,
#ifdef __x86_64__
	__NR_creat, __NR_mkdir, __NR_rename, __NR_renameat, __NR_unlink, __NR_rmdir, __NR_link,
	__NR_symlink, __NR_mknod, __NR_chmod, __NR_chown, __NR_lchown,
#endif
};

static const int profiled[] = {
	__NR_execve, __NR_execveat, __NR_utimensat, __NR_setxattr, __NR_lsetxattr,
	__NR_removexattr, __NR_lremovexattr, __NR_openat,
#ifdef __x86_64__
	__NR_open, __NR_utime, __NR_utimes, __NR_futimesat,
#endif
};
/* clang-format on */

static bool is_in(int nr, const int *list, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (list[i] == nr)
			return true;
	return false;
}

enum { OBSERVED, BROKERED, PROFILED };
static const char *const audiences[] = {"observed", "brokered", "profiled"};

static bool is_told(const struct seccomp_data *data, unsigned audience)
{
	bool profile = audience == PROFILED;
	uint64_t writes = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);

	if (is_in(data->nr, watched, LEN(watched)))
		return true;
	if (profile && is_in(data->nr, profiled, LEN(profiled)))
		return true;
	if (audience >= BROKERED && data->nr == __NR_sendto)
		return data->args[4] != 0;
#ifdef __NR_open
	if (data->nr == __NR_open)
		return data->args[1] & writes;
#endif
	return data->nr == __NR_openat && data->args[2] & writes;
}

static unsigned wrong;

static void compare(unsigned v, const struct seccomp_data *data)
{
	const struct sock_fprog *const told[] = {&observed_filters[v], &brokered_filters[v],
						 &profiled_filters[v]};
	size_t steps;
	uint32_t plain = bpf_run(&filters[v], data, &steps);
	int answer = seccomp_answer(v, data);

	for (unsigned i = 0; i < LEN(told); i++) {
		uint32_t got, want = plain;

		if (!told[i]->len) /* no namespaces, no broker */
			continue;
		got = bpf_run(told[i], data, &steps);
		if (plain == (SECCOMP_RET_ERRNO | EPERM) ||
		    (plain == SECCOMP_RET_ALLOW && is_told(data, i)))
			want = SECCOMP_RET_USER_NOTIF;
		/* Nobody but the supervisor may listen. */
		if (data->nr == __NR_seccomp && plain == SECCOMP_RET_ALLOW &&
		    data->args[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER)
			want = SECCOMP_RET_ERRNO | EBUSY;
		if (got != want && wrong++ < 10)
			tap_note("variant %u, %s: call %d(%#llx, %#llx, %#llx, %#llx, %#llx): %#x, "
				 "not %#x",
				 v, audiences[i], data->nr, (unsigned long long)data->args[0],
				 (unsigned long long)data->args[1],
				 (unsigned long long)data->args[2],
				 (unsigned long long)data->args[3],
				 (unsigned long long)data->args[4], got, want);
	}
	if (answer != (plain == SECCOMP_RET_ALLOW ? 0
		       : (plain & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO
			       ? -(int)(plain & SECCOMP_RET_DATA)
			       : -EPERM) &&
	    wrong++ < 10)
		tap_note("variant %u, call %d: the answer is %d", v, data->nr, answer);
}

/* Values that some rule is about, in any of the arguments. */
static uint64_t value(void)
{
	static const uint64_t known[] = {
		0,
		1,
		2,
		3,
		10,
		16,
		38,
		O_CREAT,
		O_TRUNC,
		O_RDWR,
		O_TMPFILE,
		O_PATH,
		O_CLOEXEC,
		04755,
		02755,
		0644,
		0x10000000,
		0x20000000,
		0x20000,
		0x40000000,
		0x5412,
		0x541c,
		0xffffffff,
		0x80,
		0x02000000,
		0x04000000,
		0x08000000,
		17,
		O_WRONLY | O_CREAT | O_EXCL,
	};
	uint64_t v = known[(size_t)rand() % LEN(known)];

	if (rand() % 4 == 0)
		v |= known[(size_t)rand() % LEN(known)];
	return rand() % 8 ? v : v | 0xdeadbeef00000000ull;
}

int main(void)
{
	unsigned calls = 0, told = 0;
	size_t steps;

	tap_ok(LEN(observed_filters) == VARIANTS && LEN(profiled_filters) == VARIANTS &&
		       LEN(brokered_filters) == VARIANTS,
	       "each filter has its observed ones");
	for (unsigned v = 0; v < VARIANTS; v++) {
		bool bare = v == SECCOMP_BARE || v == SECCOMP_BARE_OFFLINE;

		tap_ok(bpf_loadable(&observed_filters[v]) && bpf_loadable(&profiled_filters[v]) &&
			       (bare ? !brokered_filters[v].len
				     : bpf_loadable(&brokered_filters[v])),
		       "variant %u: programs that the kernel loads", v);
		for (int nr = -1; nr <= 1000; nr++)
			compare(v, &(struct seccomp_data){.nr = nr, .arch = NATIVE_ARCH});
		compare(v, &(struct seccomp_data){.nr = 1, .arch = AUDIT_ARCH_I386});
		compare(v, &(struct seccomp_data){.nr = 0x40000001, .arch = NATIVE_ARCH});
	}
	tap_ok(wrong == 0, "every call without arguments");
	srand(20261116);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct seccomp_data data = {.nr = rand() % 460, .arch = NATIVE_ARCH};

		for (size_t k = 0; k < 6; k++)
			data.args[k] = value();
		compare(i % VARIANTS, &data);
		calls++;
		told += bpf_run(&observed_filters[i % VARIANTS], &data, &steps) ==
			SECCOMP_RET_USER_NOTIF;
	}
	tap_ok(wrong == 0 && told > calls / 20 && told < calls / 2,
	       "%u calls with arguments, %u of them told", calls, told);
	tap_ok(bpf_run(&observed_filters[0],
		       &(struct seccomp_data){
			       .nr = __NR_openat, .arch = NATIVE_ARCH, .args = {0, 0, O_CLOEXEC}},
		       &steps) == SECCOMP_RET_ALLOW &&
		       steps < 40,
	       "an open for reading is told to nobody, and costs %zu instructions", steps);
	tap_eq_str(seccomp_call_name(__NR_unshare), "unshare", "a call by its name");
	tap_eq_str(seccomp_call_name(100000), "?", "one that nobody knows");
	return tap_done();
}
