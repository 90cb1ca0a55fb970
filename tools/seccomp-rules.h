/* SPDX-License-Identifier: MIT */
/* seccomp-rules - what a filter refuses, as the generator lists it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define X32_BIT     0x40000000
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no seccomp filter for this architecture yet"
#endif

enum { NEWEST = 450 }; /* set_mempolicy_home_node */

/* About the lower 32 bits of an argument, where the kernel looks at no more; NOT_NULL about all. */
enum what { ANY_BIT, IS, IS_NOT, NOT_NULL };
struct term {
	enum what what;
	unsigned arg;
	uint32_t value;
	uint32_t mask; /* of IS_NOT: what is compared; 0: everything */
};

/* CALL is answered with ERROR where all terms hold. */
enum { TERMS_MAX = 5, RULES_MAX = 256 };
struct rule {
	int call, error;
	struct term terms[TERMS_MAX];
	size_t len;
};
struct rules {
	struct rule items[RULES_MAX];
	size_t len;
};

static inline void die(const char *what, int r)
{
	fprintf(stderr, "seccomp-gen: %s: %s\n", what, strerror(-r));
	exit(1);
}

static inline void refuse_with(struct rules *rules, int call, int error, const struct term *terms,
			       size_t len)
{
	struct rule *rule = &rules->items[rules->len];

	if (call < 0)
		return; /* not on this architecture */
	if (rules->len == RULES_MAX || len > TERMS_MAX || call > NEWEST)
		die("rules", -E2BIG);
	*rule = (struct rule){.call = call, .error = error, .len = len};
	for (size_t i = 0; i < len; i++)
		rule->terms[i] = terms[i];
	rules->len++;
}

#define REFUSE(rules, call, ...)                                                                   \
	refuse_with(rules, call, EPERM, (const struct term[]){__VA_ARGS__},                        \
		    sizeof((const struct term[]){__VA_ARGS__}) / sizeof(struct term))
