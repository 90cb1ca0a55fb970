/* SPDX-License-Identifier: MIT */
/*
 * seccomp-tree - rules as a program for the kernel, as short as they allow.
 *
 * Installing a filter costs time for each instruction: the kernel translates it
 * twice, and runs it once for every number there is. So a program is a search
 * tree over the numbers that have rules, one block for each set of conditions,
 * and one return for each answer. Only instructions that the kernel can foresee
 * stand before the first look at an argument: calls without rules are not
 * filtered at all then.
 */
#pragma once
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "seccomp-rules.h"

#define LOAD(field)         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(op, value, t, f) BPF_JUMP(BPF_JMP | BPF_##op | BPF_K, (value), (t), (f))
#define RETURN(what)        BPF_STMT(BPF_RET | BPF_K, (what))
#define ERROR(error)        (SECCOMP_RET_ERRNO | ((error)&SECCOMP_RET_DATA))

enum { CODE_MAX = 512, LABELS_MAX = 256, LEAF_MAX = 4, NEXT = -1 };

/* Labels: the answers first, then blocks and branches as they come. */
enum { TOO_NEW, ALLOWED, KILLED, NOT_PERMITTED, BUSY, DONE, ANSWERS };
static const uint32_t answers[] = {
	[TOO_NEW] = ERROR(ENOSYS),
	[ALLOWED] = SECCOMP_RET_ALLOW,
	[KILLED] = SECCOMP_RET_KILL_PROCESS,
	[NOT_PERMITTED] = ERROR(EPERM),
	[BUSY] = ERROR(EBUSY),
	[DONE] = ERROR(0),
};

struct code {
	struct sock_filter op[CODE_MAX];
	int yes[CODE_MAX], no[CODE_MAX]; /* labels of a jump, or NEXT */
	size_t len;
	size_t labels[LABELS_MAX]; /* where each is */
	int labels_len;
};

static inline int label_new(struct code *code)
{
	if (code->labels_len == LABELS_MAX)
		die("labels", -E2BIG);
	return code->labels_len++;
}

static inline void label_here(struct code *code, int label)
{
	code->labels[label] = code->len;
}

static inline void emit(struct code *code, struct sock_filter op, int yes, int no)
{
	if (code->len == CODE_MAX)
		die("code", -E2BIG);
	code->op[code->len] = op;
	code->yes[code->len] = yes;
	code->no[code->len++] = no;
}

static inline void emit_if(struct code *code, unsigned op, uint32_t value, int yes, int no)
{
	emit(code, (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | op | BPF_K), value, 0, 0), yes,
	     no);
}

static inline void emit_load(struct code *code, size_t offset)
{
	emit(code, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset), NEXT,
	     NEXT);
}

static inline size_t half_of(unsigned arg, unsigned upper)
{
	return offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t) +
	       upper * sizeof(uint32_t);
}

static inline int answer_of(const struct rule *rule)
{
	for (int i = 0; i < ANSWERS; i++)
		if (answers[i] == ERROR((uint32_t)rule->error))
			return i;
	die("an answer", -EINVAL);
	return KILLED;
}

/* -- Conditions --------------------------------------------------------- */

/* LOADED: what is in the accumulator, or NULL. */
static inline void emit_term(struct code *code, const struct term *term, const struct term *loaded,
			     int yes, int no)
{
	bool is_there = loaded && loaded->what != NOT_NULL && loaded->arg == term->arg &&
			loaded->mask == term->mask;

	if (!is_there)
		emit_load(code, half_of(term->arg, 0));
	if (!is_there && term->mask)
		emit(code, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, term->mask),
		     NEXT, NEXT);
	if (term->what == NOT_NULL) {
		emit_if(code, BPF_JEQ, 0, NEXT, yes);
		emit_load(code, half_of(term->arg, 1));
	}
	if (term->what == ANY_BIT || term->what == IS)
		emit_if(code, term->what == IS ? BPF_JEQ : BPF_JSET, term->value, yes, no);
	else
		emit_if(code, BPF_JEQ, term->value, no, yes);
}

/* The next rule for the same call; NULL: that was the last one. */
static inline const struct rule *rule_after(const struct rules *rules, const struct rule *rule)
{
	for (const struct rule *next = rule + 1; next < rules->items + rules->len; next++)
		if (next->call == rule->call)
			return next;
	return NULL;
}

/* What is in the accumulator once RULE did not hold, whichever of its terms said so. */
static inline const struct term *left_by(const struct rule *rule)
{
	for (size_t i = 0; i < rule->len; i++)
		if (rule->terms[i].what == NOT_NULL || rule->terms[i].arg != rule->terms[0].arg ||
		    rule->terms[i].mask != rule->terms[0].mask)
			return NULL;
	return &rule->terms[0];
}

/* RULE, which has terms, and those that follow for its call. */
static inline void emit_block(struct code *code, const struct rules *rules, const struct rule *rule)
{
	const struct term *loaded = NULL;

	for (const struct rule *next; rule; rule = next) {
		int otherwise;

		next = rule_after(rules, rule);
		otherwise = next ? label_new(code) : ALLOWED;
		for (size_t i = 0; i < rule->len; i++) {
			bool is_last = i + 1 == rule->len;
			int then = is_last ? answer_of(rule) : label_new(code);

			emit_term(code, &rule->terms[i], loaded, then, otherwise);
			if (!is_last)
				label_here(code, then);
			loaded = &rule->terms[i];
		}
		if (next)
			label_here(code, otherwise);
		loaded = left_by(rule);
	}
}

/* -- Numbers ------------------------------------------------------------ */

/* Calls FIRST to LAST, which continue at LABEL. */
struct span {
	int first, last, label;
};

static inline void emit_leaf(struct code *code, const struct span *spans, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int other = i + 1 < len ? NEXT : ALLOWED;

		if (spans[i].first == spans[i].last) {
			emit_if(code, BPF_JEQ, (uint32_t)spans[i].first, spans[i].label, other);
			continue;
		}
		emit_if(code, BPF_JGE, (uint32_t)spans[i].first, NEXT, ALLOWED);
		emit_if(code, BPF_JGT, (uint32_t)spans[i].last, other, spans[i].label);
	}
}

static inline void emit_tree(struct code *code, const struct span *spans, size_t len)
{
	size_t half = len / 2;
	int right;

	if (len <= LEAF_MAX) {
		emit_leaf(code, spans, len);
		return;
	}
	right = label_new(code);
	emit_if(code, BPF_JGE, (uint32_t)spans[half].first, right, NEXT);
	emit_tree(code, spans, half);
	label_here(code, right);
	emit_tree(code, spans + half, len - half);
}

static inline bool same_terms(const struct rule *a, const struct rule *b)
{
	if (a->error != b->error || a->len != b->len)
		return false;
	for (size_t i = 0; i < a->len; i++)
		if (a->terms[i].what != b->terms[i].what || a->terms[i].arg != b->terms[i].arg ||
		    a->terms[i].value != b->terms[i].value || a->terms[i].mask != b->terms[i].mask)
			return false;
	return true;
}

static inline const struct rule *rule_for(const struct rules *rules, int call, bool unconditional)
{
	for (size_t i = 0; i < rules->len; i++)
		if (rules->items[i].call == call && (!unconditional || rules->items[i].len == 0))
			return &rules->items[i];
	return NULL;
}

/* Two calls with the same conditions share a block. */
static inline bool same_block(const struct rules *rules, const struct rule *a, const struct rule *b)
{
	while (a && b && same_terms(a, b)) {
		a = rule_after(rules, a);
		b = rule_after(rules, b);
	}
	return !a && !b;
}

struct blocks {
	const struct rule *first[RULES_MAX];
	int label[RULES_MAX];
	size_t len;
};

static inline int label_of(struct code *code, struct blocks *blocks, const struct rules *rules,
			   int call)
{
	const struct rule *rule = rule_for(rules, call, true);

	if (rule)
		return answer_of(rule);
	rule = rule_for(rules, call, false);
	if (!rule)
		return ALLOWED;
	for (size_t i = 0; i < blocks->len; i++)
		if (same_block(rules, rule, blocks->first[i]))
			return blocks->label[i];
	blocks->first[blocks->len] = rule;
	blocks->label[blocks->len] = label_new(code);
	return blocks->label[blocks->len++];
}

static inline void emit_numbers(struct code *code, struct blocks *blocks, const struct rules *rules)
{
	struct span spans[NEWEST + 1] = {{0}};
	size_t len = 0;

	for (int call = 0; call <= NEWEST; call++) {
		int label = label_of(code, blocks, rules, call);

		if (label == ALLOWED)
			continue;
		if (len > 0 && spans[len - 1].last == call - 1 && spans[len - 1].label == label)
			spans[len - 1].last = call;
		else
			spans[len++] = (struct span){call, call, label};
	}
	emit_tree(code, spans, len);
}

/* -- The whole ---------------------------------------------------------- */

static inline void emit_start(struct code *code, int newer)
{
	emit_load(code, offsetof(struct seccomp_data, arch));
	emit_if(code, BPF_JEQ, NATIVE_ARCH, NEXT, KILLED);
	emit_load(code, offsetof(struct seccomp_data, nr));
	emit_if(code, BPF_JGT, NEWEST, newer, NEXT);
}

static inline void emit_newer(struct code *code, int newer)
{
	label_here(code, newer);
#ifdef X32_BIT
	emit_if(code, BPF_JEQ, 0xffffffff, TOO_NEW, NEXT); /* skipped by its tracer */
	emit_if(code, BPF_JGE, X32_BIT, KILLED, NEXT);
#endif
}

static inline uint8_t distance(const struct code *code, size_t from, int label)
{
	size_t to = label == NEXT ? from + 1 : code->labels[label];

	if (to <= from || to - from - 1 > UINT8_MAX)
		die("a jump", -ERANGE);
	return (uint8_t)(to - from - 1);
}

/* Fills OPS, which has room for CODE_MAX; returns how many there are. */
static inline size_t program_make(const struct rules *rules, struct sock_filter *ops)
{
	struct code code = {.labels_len = ANSWERS};
	struct blocks blocks = {.len = 0};
	int newer = label_new(&code);

	emit_start(&code, newer);
	emit_numbers(&code, &blocks, rules);
	for (size_t i = 0; i < blocks.len; i++) {
		label_here(&code, blocks.label[i]);
		emit_block(&code, rules, blocks.first[i]);
	}
	emit_newer(&code, newer);
	/* What is newer falls into its answer, which is the first. */
	for (int answer = 0; answer < ANSWERS; answer++) {
		label_here(&code, answer);
		emit(&code, (struct sock_filter)RETURN(answers[answer]), NEXT, NEXT);
	}
	for (size_t i = 0; i < code.len; i++) {
		ops[i] = code.op[i];
		if (BPF_CLASS(ops[i].code) == BPF_JMP) {
			ops[i].jt = distance(&code, i, code.yes[i]);
			ops[i].jf = distance(&code, i, code.no[i]);
		}
	}
	return code.len;
}
