/* SPDX-License-Identifier: MIT */
/* The filters themselves are made by tools/seccomp-gen.c at build time. */
#include <linux/seccomp.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/sys.h"
#include "confine/confine.h"
#include "confine/filters.h"

int confine_seccomp(unsigned variant, struct err *err)
{
	/* SPEC_ALLOW: without it the kernel slows every program down against
	 * speculation, which is a matter of the machine's own settings. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		    &filters[variant]) < 0)
		return err_sys(err, -errno, "install the seccomp filter");
	return 0;
}

int confine_seccomp_observed(unsigned variant, enum seccomp_audience audience)
{
	/* WAIT_KILLABLE_RECV: a signal must not make a call that was told once be told
	 * again; Linux 5.19. */
	unsigned flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_NEW_LISTENER |
			 SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	static const struct sock_fprog *const tables[] = {[SECCOMP_OBSERVED] = observed_filters,
							  [SECCOMP_BROKERED] = brokered_filters,
							  [SECCOMP_PROFILED] = profiled_filters};

	return sys_result(
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &tables[audience][variant]));
}

static bool holds(const struct sock_filter *op, uint32_t a)
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

/* The instructions that the generator's programs are made of. */
static uint32_t run(const struct sock_fprog *program, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < program->len; pc++) {
		const struct sock_filter *op = &program->filter[pc];

		if (op->code == (BPF_RET | BPF_K))
			return op->k;
		if (op->code == (BPF_LD | BPF_W | BPF_ABS) && op->k <= sizeof(*data) - sizeof(a))
			memcpy(&a, (const char *)data + op->k, sizeof(a));
		else if (op->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= op->k;
		else if (op->code == (BPF_JMP | BPF_JA))
			pc += op->k;
		else if (BPF_CLASS(op->code) == BPF_JMP && BPF_SRC(op->code) == BPF_K)
			pc += holds(op, a) ? op->jt : op->jf;
		else
			break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}

int seccomp_answer(unsigned variant, const struct seccomp_data *data)
{
	uint32_t answer = run(&filters[variant], data);

	if (answer == SECCOMP_RET_ALLOW)
		return 0;
	/* The kernel kills by itself, and tells nobody before. */
	return (answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO
		       ? -(int)(answer & SECCOMP_RET_DATA)
		       : -EPERM;
}

const char *seccomp_call_name(int nr)
{
	return nr >= 0 && (size_t)nr < array_len(call_names) && call_names[nr] ? call_names[nr]
									       : "?";
}
