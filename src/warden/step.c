/* SPDX-License-Identifier: MIT */
#include "warden/step.h"

#include <sys/resource.h>

#include "base/err.h"
#include "confine/confine.h"
#include "warden/allow.h"

bool step_is_known(enum op_kind kind)
{
	return kind == OP_KEYRING || kind == OP_NO_CORE || kind == OP_LIMIT_PIDS ||
	       kind == OP_LIMIT_FILE || kind == OP_DROP_CAPS || kind == OP_NO_NEW_PRIVS ||
	       kind == OP_SECCOMP || kind == OP_ALLOW || kind == OP_LANDLOCK ||
	       kind == OP_SCRATCH || kind == OP_EVERYWHERE;
}

unsigned step_seccomp(const struct op *op)
{
	if (op->flags & OP_BARE)
		return op->flags & OP_OFFLINE ? SECCOMP_BARE_OFFLINE : SECCOMP_BARE;
	if (op->flags & OP_SHARED && !(op->flags & OP_VISIBLE))
		return op->flags & OP_NESTED ? SECCOMP_SHARED_NESTED : SECCOMP_SHARED;
	return (op->flags & OP_VISIBLE ? SECCOMP_VISIBLE : 0) |
	       (op->flags & OP_NESTED ? SECCOMP_NESTED : 0);
}

enum seccomp_audience step_audience(const struct op *op)
{
	if (op->flags & OP_PROFILE)
		return SECCOMP_PROFILED;
	return op->flags & OP_BROKERED ? SECCOMP_BROKERED : SECCOMP_OBSERVED;
}

const struct op *step_observed(const struct op *ops, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (ops[i].kind == OP_SECCOMP && ops[i].flags & OP_OBSERVE)
			return &ops[i];
	return NULL;
}

static int apply_no_new_privs(struct err *err)
{
	int r = confine_no_priority(err);

	if (r == 0)
		r = confine_spare_queues(err);
	return r < 0 ? r : confine_no_new_privs(err);
}

int step_apply(const struct op *op, const struct landlock *landlock, struct err *err)
{
	switch ((int)op->kind) {
	case OP_KEYRING:
		return confine_fresh_keyring(err);
	case OP_NO_CORE:
		return confine_no_core(err);
	case OP_LIMIT_PIDS:
		return confine_limit(RLIMIT_NPROC, op->size, err);
	case OP_LIMIT_FILE:
		return confine_limit(RLIMIT_FSIZE, op->size, err);
	case OP_DROP_CAPS:
		return op->flags & OP_BARE ? confine_clear_caps(err) : confine_drop_caps(err);
	case OP_NO_NEW_PRIVS:
		return apply_no_new_privs(err);
	case OP_SECCOMP:
		return op->flags & OP_OBSERVE ? 0 : confine_seccomp(step_seccomp(op), err);
	case OP_ALLOW:
		return allow_apply(landlock, op, err);
	case OP_LANDLOCK: /* entered by the command alone */
	case OP_SCRATCH:  /* the supervisor did */
		return 0;
	default:
		BUG("no step of a process");
	}
}
