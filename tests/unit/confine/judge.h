/* SPDX-License-Identifier: MIT */
/* judge - what each of the filters says of a call that never happens. */
#pragma once
#include <asm/unistd.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "confine/filters.h"
#include "tap.h"
#include "tests/unit/confine/bpf.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#else
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

enum { VARIANTS = sizeof(filters) / sizeof(filters[0]) };

/* Sets of variants: bit V stands for filters[V]. */
enum { ALL = 0xff, ISOLATED = 0xc5, VISIBLE = 0x3a, FLAT = 0x73, NESTED = 0x8c };
enum { ALONE = 0x5, SHARED = 0xc0 }; /* isolated, with one command or with several */
enum { SPACED = 0xcf, BARE = 0x30, ONLINE = 0x10, OFFLINE = 0x20 }; /* with namespaces or without */
static const char *const variant_names[] = {"isolated", "visible",      "nested", "visible nested",
					    "bare",     "bare offline", "shared", "shared nested"};

#define ERROR(error) (SECCOMP_RET_ERRNO | (error))
#define ALLOWED      SECCOMP_RET_ALLOW
#define REFUSED      ERROR(EPERM)
#define UNKNOWN      ERROR(ENOSYS)
#define KILLED       SECCOMP_RET_KILL_PROCESS

#define HIGH      0xdeadbeef00000000ull /* what the kernel does not look at */
#define LEN(list) (sizeof(list) / sizeof((list)[0]))

struct call {
	const char *name;
	long nr;
};
#define CALL(name)                                                                                 \
	{                                                                                          \
#name, __NR_##name                                                                 \
	}

static inline uint32_t judge(unsigned variant, long nr, const uint64_t args[6])
{
	struct seccomp_data data = {.nr = (int)nr, .arch = NATIVE_ARCH};
	size_t steps;

	memcpy(data.args, args, sizeof(data.args));
	return bpf_run(&filters[variant], &data, &steps);
}

/* Whether each of VARIANTS gives WANT; says which one does not. */
static inline bool all_say(unsigned variants, uint32_t want, const char *name, long nr,
			   const uint64_t args[6])
{
	bool good = true;

	for (unsigned v = 0; v < VARIANTS; v++) {
		uint32_t got = judge(v, nr, args);

		if (!(variants & 1u << v) || got == want)
			continue;
		good = false;
		tap_note("%s: %s(%#llx, %#llx, %#llx, %#llx): %#x, not %#x", variant_names[v], name,
			 (unsigned long long)args[0], (unsigned long long)args[1],
			 (unsigned long long)args[2], (unsigned long long)args[3], got, want);
	}
	return good;
}
#define SAY(variants, want, name, ...)                                                             \
	all_say(variants, want, #name, __NR_##name, (const uint64_t[6]){__VA_ARGS__})
