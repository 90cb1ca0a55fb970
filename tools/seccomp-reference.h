/* SPDX-License-Identifier: MIT */
/*
 * seccomp-reference - the same rules, compiled by libseccomp.
 *
 * Nobody loads these programs: they are long. The ones that are loaded must give
 * the same answers, for every number and for whatever arguments their conditions
 * are about. What libseccomp cannot say, "every value but these", is written here
 * by hand, in front of its program.
 */
#pragma once
#include <asm/unistd.h>
#include <linux/personality.h>
#include <seccomp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "../tests/unit/confine/bpf.h"
#include "seccomp-tree.h"

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

/* Goes before other rules about limits. */
static const struct sock_filter core_limits[] = {
	IF(JEQ, __NR_setrlimit, 0, 2),
	LOAD(args[0]),
	IF(JEQ, RLIMIT_CORE, 7, 8),
	IF(JEQ, __NR_prlimit64, 0, 8),
	LOAD(args[1]),
	IF(JEQ, RLIMIT_CORE, 0, 5),
	LOAD(args[2]), /* a null pointer sets nothing */
	IF(JEQ, 0, 0, 2),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]) + 4),
	IF(JEQ, 0, 1, 0),
	RETURN(ERROR(0)),
	LOAD(nr),
};

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

static const struct sock_filter pairs_bare[] = {
	IF(JEQ, __NR_socketpair, 0, 8),
	LOAD(args[0]),
	IF(JEQ, AF_UNIX, 0, 4),
	LOAD(args[1]),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
	IF(JEQ, SOCK_STREAM, 2, 0),
	IF(JEQ, SOCK_SEQPACKET, 1, 0),
	RETURN(ERROR(EPERM)),
	LOAD(nr),
};

static const struct sock_filter sockets_bare[] = {
	IF(JEQ, __NR_socket, 0, 7), LOAD(args[0]), IF(JEQ, AF_INET, 5, 0), IF(JEQ, AF_INET6, 4, 0),
	IF(JEQ, AF_NETLINK, 0, 2),  LOAD(args[2]), IF(JEQ, 0, 1, 0),       RETURN(ERROR(EPERM)),
};

static const struct sock_filter sockets_offline[] = {
	IF(JEQ, __NR_socket, 0, 1),
	RETURN(ERROR(EPERM)),
};

/* For whom a reference is made. */
struct place {
	bool bare, offline;
};

static inline bool is_by_hand(const struct rule *rule)
{
	return rule->error == 0 || rule->call == __NR_personality || rule->call == __NR_socket ||
	       rule->call == __NR_socketpair;
}

/* How many rules of libseccomp TERM takes, and the Nth of them: one for each bit. */
static inline size_t term_alternatives(const struct term *term)
{
	return term->what == ANY_BIT ? (size_t)__builtin_popcount(term->value) : 1;
}

static inline struct scmp_arg_cmp term_compare(const struct term *term, size_t n)
{
	uint32_t bits = term->value;

	if (term->what == NOT_NULL)
		return SCMP_CMP64(term->arg, SCMP_CMP_NE, 0);
	if (term->what == IS)
		return SCMP_CMP64(term->arg, SCMP_CMP_MASKED_EQ, 0xffffffff, term->value);
	if (term->what != ANY_BIT)
		die("a rule", -EINVAL);
	for (; n > 0; n--)
		bits &= bits - 1;
	bits &= -bits;
	return SCMP_CMP64(term->arg, SCMP_CMP_MASKED_EQ, bits, bits);
}

static inline void reference_add(scmp_filter_ctx ctx, const struct rule *rule)
{
	size_t first = rule->len > 0 ? term_alternatives(&rule->terms[0]) : 1;
	size_t second = rule->len > 1 ? term_alternatives(&rule->terms[1]) : 1;

	if (rule->len > 2)
		die("a rule", -E2BIG);
	for (size_t i = 0; i < first * second; i++) {
		struct scmp_arg_cmp args[2];
		int r;

		if (rule->len > 0)
			args[0] = term_compare(&rule->terms[0], i % first);
		if (rule->len > 1)
			args[1] = term_compare(&rule->terms[1], i / first);
		r = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint16_t)rule->error), rule->call,
					   (unsigned)rule->len, args);
		if (r < 0)
			die(seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, rule->call), r);
	}
}

static inline size_t append(struct sock_filter *ops, size_t at, const struct sock_filter *more,
			    size_t len)
{
	memcpy(ops + at, more, len * sizeof(*more));
	return at + len;
}
#define APPEND(ops, at, list) append(ops, at, list, sizeof(list) / sizeof((list)[0]))

/* Fills OPS, which has room for BPF_MAXINSNS; returns how many there are. */
static inline size_t reference_make(const struct rules *rules, struct place place,
				    struct sock_filter *ops)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	FILE *file = tmpfile();
	size_t len = APPEND(ops, 0, numbers);
	int r;

	if (!ctx || !file)
		die("libseccomp", -ENOMEM);
	for (size_t i = 0; i < rules->len; i++)
		if (!is_by_hand(&rules->items[i]))
			reference_add(ctx, &rules->items[i]);
	r = seccomp_export_bpf(ctx, fileno(file));
	if (r < 0)
		die("export", r);
	len = APPEND(ops, len, personalities);
	len = APPEND(ops, len, core_limits);
	if (place.bare)
		len = APPEND(ops, len, pairs_bare);
	if (!place.bare)
		len = APPEND(ops, len, sockets);
	else if (place.offline)
		len = APPEND(ops, len, sockets_offline);
	else
		len = APPEND(ops, len, sockets_bare);
	rewind(file);
	len += fread(ops + len, sizeof(*ops), BPF_MAXINSNS - len, file);
	fclose(file);
	seccomp_release(ctx);
	return len;
}

/* -- Comparing ---------------------------------------------------------- */

enum { VALUES_MAX = 512 };
struct values {
	uint64_t items[VALUES_MAX];
	size_t len;
};

static inline void values_add(struct values *values, uint64_t value)
{
	if (values->len == VALUES_MAX)
		die("values", -E2BIG);
	values->items[values->len++] = value;
}

/* Whatever is next to something that a condition on CALL's argument ARG is about, every bit by
 * itself, and all of it with a bit set that a condition may not see. */
static inline void values_collect(struct values *values, const struct rules *rules, int call,
				  unsigned arg)
{
	size_t len;

	*values = (struct values){.len = 0};
	values_add(values, 0);
	values_add(values, UINT32_MAX);
	for (int bit = 0; bit < 32; bit++)
		values_add(values, 1u << bit);
	for (size_t i = 0; i < rules->len; i++)
		for (size_t k = 0; k < rules->items[i].len && rules->items[i].call == call; k++) {
			const struct term *term = &rules->items[i].terms[k];

			if (term->arg != arg)
				continue;
			for (int off = -1; off <= 1; off++)
				values_add(values, (uint32_t)(term->value + (uint32_t)off));
			values_add(values, ~term->value);
			values_add(values, term->mask);
			values_add(values, term->value | ~term->mask);
		}
	len = values->len;
	for (size_t i = 0; i < len; i++)
		values_add(values, values->items[i] | 1ull << (32 + i % 32));
}

struct comparison {
	struct sock_fprog ours, theirs;
};

static inline void compare_one(const struct comparison *comparison, const struct seccomp_data *data)
{
	size_t steps;
	uint32_t ours = bpf_run(&comparison->ours, data, &steps);
	uint32_t theirs = bpf_run(&comparison->theirs, data, &steps);

	if (ours == theirs && ours != BPF_BROKEN)
		return;
	fprintf(stderr,
		"seccomp-gen: call %d (%#llx, %#llx, %#llx, %#llx, %#llx, %#llx): %#x, "
		"libseccomp has %#x\n",
		data->nr, (unsigned long long)data->args[0], (unsigned long long)data->args[1],
		(unsigned long long)data->args[2], (unsigned long long)data->args[3],
		(unsigned long long)data->args[4], (unsigned long long)data->args[5], ours, theirs);
	exit(1);
}

static inline bool is_looked_at(const struct rules *rules, int call, unsigned arg)
{
	for (size_t i = 0; i < rules->len; i++)
		for (size_t k = 0; k < rules->items[i].len && rules->items[i].call == call; k++)
			if (rules->items[i].terms[k].arg == arg)
				return true;
	return false;
}

static inline void compare_pair(const struct comparison *comparison, const struct rules *rules,
				int call, unsigned one, unsigned other)
{
	struct seccomp_data data = {.nr = call, .arch = NATIVE_ARCH};
	struct values first, second;

	values_collect(&first, rules, call, one);
	values_collect(&second, rules, call, other);
	for (size_t i = 0; i < first.len; i++)
		for (size_t k = 0; k < second.len; k++) {
			data.args[one] = first.items[i];
			data.args[other] = second.items[k];
			compare_one(comparison, &data);
		}
}

/* Each argument by itself, and any two that rules look at: none is about more. */
static inline void compare_call(const struct comparison *comparison, const struct rules *rules,
				int call)
{
	for (unsigned one = 0; one < 6; one++) {
		struct seccomp_data data = {.nr = call, .arch = NATIVE_ARCH};
		struct values values;

		values_collect(&values, rules, call, one);
		for (size_t i = 0; i < values.len; i++) {
			data.args[one] = values.items[i];
			compare_one(comparison, &data);
		}
		for (unsigned other = one + 1; other < 6; other++)
			if (is_looked_at(rules, call, one) && is_looked_at(rules, call, other))
				compare_pair(comparison, rules, call, one, other);
	}
}

static inline void compare_number(const struct comparison *comparison, int nr)
{
	static const uint32_t archs[] = {NATIVE_ARCH, AUDIT_ARCH_I386, AUDIT_ARCH_ARM, 0,
					 UINT32_MAX};

	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		compare_one(comparison, &(struct seccomp_data){.nr = nr, .arch = archs[i]});
}

/* Dies where OPS does not answer as libseccomp's program for RULES. */
static inline void reference_check(const struct rules *rules, struct place place,
				   struct sock_filter *ops, size_t len)
{
	static struct sock_filter theirs[BPF_MAXINSNS];
	struct comparison comparison = {
		.ours = {(unsigned short)len, ops},
		.theirs = {(unsigned short)reference_make(rules, place, theirs), theirs},
	};

	if (!bpf_loadable(&comparison.ours))
		die("a program", -EINVAL);
	for (int call = 0; call <= NEWEST; call++)
		compare_call(&comparison, rules, call);
	for (int64_t nr = INT32_MIN; nr <= INT32_MAX; nr += 65521)
		compare_number(&comparison, (int)nr);
	for (int nr = -64; nr <= 2 * NEWEST; nr++)
		compare_number(&comparison, nr);
#ifdef X32_BIT
	for (int nr = -64; nr <= 2 * NEWEST; nr++)
		compare_number(&comparison, (int)(X32_BIT + nr));
#endif
}
