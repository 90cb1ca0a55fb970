/* SPDX-License-Identifier: MIT */
/*
 * bpf - runs a seccomp program over a call that never happens.
 *
 * Only the instructions that libseccomp and our prologue are made of: another
 * one is a reason to look at the filter again, not to guess.
 */
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BPF_BROKEN 0xdeaddeadu /* no program that the kernel would load */

static bool bpf_load(const struct seccomp_data *data, uint32_t offset, uint32_t *ret_word)
{
	if (offset % 4 || offset >= sizeof(*data))
		return false;
	memcpy(ret_word, (const char *)data + offset, 4);
	return true;
}

static bool bpf_holds(const struct sock_filter *op, uint32_t a)
{
	switch (BPF_OP(op->code)) {
	case BPF_JEQ:
		return a == op->k;
	case BPF_JGT:
		return a > op->k;
	case BPF_JGE:
		return a >= op->k;
	default:
		return a & op->k;
	}
}

/* The verdict on DATA, and how many instructions it took. */
static inline uint32_t bpf_run(const struct sock_fprog *program, const struct seccomp_data *data,
			       size_t *ret_steps)
{
	uint32_t a = 0;

	*ret_steps = 0;
	for (size_t pc = 0; pc < program->len; pc++) {
		const struct sock_filter *op = &program->filter[pc];

		++*ret_steps;
		switch (op->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (!bpf_load(data, op->k, &a))
				return BPF_BROKEN;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= op->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += op->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += bpf_holds(op, a) ? op->jt : op->jf;
			break;
		case BPF_RET | BPF_K:
			return op->k;
		default:
			return BPF_BROKEN;
		}
	}
	return BPF_BROKEN;
}

/* The kernel's own checks: jumps stay inside, and the end is a return. */
static inline bool bpf_loadable(const struct sock_fprog *program)
{
	if (!program->len || program->len > BPF_MAXINSNS)
		return false;
	for (size_t pc = 0; pc < program->len; pc++) {
		const struct sock_filter *op = &program->filter[pc];
		size_t left = program->len - pc - 1;

		if (BPF_CLASS(op->code) != BPF_JMP)
			continue;
		if (BPF_OP(op->code) == BPF_JA ? op->k >= left : op->jt >= left || op->jf >= left)
			return false;
	}
	return program->filter[program->len - 1].code == (BPF_RET | BPF_K);
}
