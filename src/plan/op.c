/* SPDX-License-Identifier: MIT */
#include "plan/op.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/network.h"
#include "plan/protected.h"

/* clang-format off */
static const char *const op_names[OP_KIND_COUNT_] = {
	[OP_ROOT] = "root",
	[OP_ROOT_BIND] = "root-bind",
	[OP_TMPFS] = "tmpfs",
	[OP_AUX] = "aux",
	[OP_SYMLINK] = "symlink",
	[OP_BIND] = "bind",
	[OP_PRIVATE] = "private",
	[OP_OVERLAY] = "overlay",
	[OP_STAGED] = "staged",
	[OP_WRITABLE] = "writable",
	[OP_PIN] = "pin",
	[OP_HIDE] = "hide",
	[OP_PROC] = "proc",
	[OP_DEVICE] = "device",
	[OP_DEVPTS] = "devpts",
	[OP_CGROUP_VIEW] = "cgroup-view",
	[OP_READONLY] = "readonly",
	[OP_LIMIT_USERNS] = "limit-userns",
	[OP_NOTE] = "note",
	[OP_PIVOT] = "pivot",
	[OP_LOOPBACK] = "loopback",
	[OP_EVERYWHERE] = "everywhere",
	[OP_HOSTNAME] = "hostname",
	[OP_KEYRING] = "keyring",
	[OP_NO_CORE] = "no-core",
	[OP_LIMIT_PIDS] = "limit-pids",
	[OP_LIMIT_FILE] = "limit-file",
	[OP_DROP_CAPS] = "drop-caps",
	[OP_NO_NEW_PRIVS] = "no-new-privs",
	[OP_SECCOMP] = "seccomp",
	[OP_SCRATCH] = "scratch",
	[OP_ALLOW] = "allow",
	[OP_LANDLOCK] = "landlock",
};
/* clang-format on */

static const char *const enforcement_names[] = {
	[ENFORCED] = "enforced",
	[DEGRADED] = "degraded",
	[UNENFORCED] = "unenforced",
};

static const char *const engine_names[] = {
	[ENGINE_NATIVE] = "native",
	[ENGINE_BWRAP] = "bwrap",
	[ENGINE_LANDLOCK] = "landlock",
};

const char *op_name(enum op_kind kind)
{
	return op_names[kind];
}

const char *engine_name(enum engine engine)
{
	return engine_names[engine];
}

const char *enforcement_name(enum enforcement state)
{
	return enforcement_names[state];
}

static struct op *grow(struct plan *plan)
{
	if (plan->ops_len == plan->ops_cap) {
		size_t cap = plan->ops_cap ? plan->ops_cap * 2 : 64;
		struct op *ops = reallocarray(plan->ops, cap, sizeof(*ops));

		if (!ops)
			return NULL;
		plan->ops = ops;
		plan->ops_cap = cap;
	}
	return &plan->ops[plan->ops_len];
}

static int add(struct plan *plan, struct op op, const char *src, const char *dst)
{
	struct op *slot = grow(plan);

	if (!slot)
		return -ENOMEM;
	op.src = src ? strdup(src) : NULL;
	op.dst = dst ? strdup(dst) : NULL;
	if ((src && !op.src) || (dst && !op.dst)) {
		free(op.src);
		free(op.dst);
		return -ENOMEM;
	}
	*slot = op;
	plan->ops_len++;
	return 0;
}

int plan_add(struct plan *plan, enum op_kind kind, const char *src, const char *dst, unsigned flags)
{
	return add(plan, (struct op){.kind = kind, .flags = flags}, src, dst);
}

int plan_add_bind(struct plan *plan, enum op_kind kind, const char *src, const char *dst,
		  unsigned flags, struct file_id id)
{
	return add(plan, (struct op){.kind = kind, .flags = flags, .id = id}, src, dst);
}

int plan_add_tmpfs_root(struct plan *plan, uint64_t size)
{
	return add(plan, (struct op){.kind = OP_ROOT, .size = size, .mode = 0755}, NULL, "/");
}

int plan_add_tmpfs(struct plan *plan, const char *dst, uint64_t size, mode_t mode)
{
	return add(plan, (struct op){.kind = OP_TMPFS, .size = size, .mode = mode}, NULL, dst);
}

int plan_add_mode(struct plan *plan, enum op_kind kind, const char *dst, mode_t mode)
{
	return add(plan, (struct op){.kind = kind, .mode = mode}, NULL, dst);
}

int plan_add_apart(struct plan *plan, const char *dst, uint64_t size, mode_t mode)
{
	if (plan->engine == ENGINE_BWRAP)
		return plan_add_tmpfs(plan, dst, size, mode);
	return add(plan, (struct op){.kind = OP_PRIVATE, .flags = OP_APART, .mode = mode}, NULL,
		   dst);
}

int plan_add_size(struct plan *plan, enum op_kind kind, uint64_t size)
{
	return add(plan, (struct op){.kind = kind, .size = size}, NULL, NULL);
}

const char *plan_guarded_dir(struct plan *plan, const char *dir)
{
	struct strv *dirs = &plan->guarded_dirs;

	return strv_add(dirs, dir) < 0 ? NULL : dirs->items[dirs->len - 1];
}

static int grow_guards(struct plan *plan)
{
	size_t cap = plan->guards_cap ? plan->guards_cap * 2 : 64;
	struct guarded *guards = reallocarray(plan->guards, cap, sizeof(*guards));

	if (!guards)
		return -ENOMEM;
	plan->guards = guards;
	plan->guards_cap = cap;
	return 0;
}

/* Copy *TEXT to *TO, which moves on. NULL stays NULL. */
static void move_text(const char **text, char **to, size_t size)
{
	if (size)
		*text = memcpy(*to, *text, size);
	*to += size;
}

int plan_add_guard(struct plan *plan, const char *dir, const struct protected_path *what,
		   const char *dst)
{
	struct guarded guard = {
		.dir = dir, .name = what->name, .dst = dst, .link = what->link, .id = what->id};

	if (plan->guards_len == plan->guards_cap && grow_guards(plan) < 0)
		return -ENOMEM;
	if (what->text || dst) {
		size_t name = what->text ? strlen(what->name) + 1 : 0;
		size_t link = what->link ? strlen(what->link) + 1 : 0;
		size_t inside = dst ? strlen(dst) + 1 : 0;
		char *to = guard.text = malloc(name + link + inside);

		if (!to)
			return -ENOMEM;
		move_text(&guard.name, &to, name);
		move_text(&guard.link, &to, link);
		move_text(&guard.dst, &to, inside);
	}
	plan->guards[plan->guards_len++] = guard;
	return 0;
}

void plan_verdict(struct plan *plan, const char *dimension, enum enforcement state, const char *by)
{
	if (plan->verdicts_len == PLAN_VERDICTS_MAX)
		BUG("more verdicts than dimensions");
	plan->verdicts[plan->verdicts_len++] = (struct verdict){
		.dimension = dimension, .state = state, .by = by};
}

void plan_share(struct plan *plan)
{
	for (size_t i = 0; i < plan->ops_len; i++)
		if (plan->ops[i].kind == OP_SECCOMP || plan->ops[i].kind == OP_LANDLOCK)
			plan->ops[i].flags |= OP_SHARED;
}

bool plan_is_offline(const struct plan *plan)
{
	bool offline = plan->namespaces & CLONE_NEWNET;

	for (size_t i = 0; i < plan->ops_len; i++)
		offline |= plan->ops[i].kind == OP_SECCOMP && plan->ops[i].flags & OP_OFFLINE;
	return offline;
}

struct plan *plan_free(struct plan *plan)
{
	if (!plan)
		return NULL;
	for (size_t i = 0; i < plan->ops_len; i++) {
		free(plan->ops[i].src);
		free(plan->ops[i].dst);
	}
	for (size_t i = 0; i < plan->guards_len; i++)
		free(plan->guards[i].text);
	free(plan->guards);
	strv_release(&plan->guarded_dirs);
	free(plan->quarantine);
	free(plan->ops);
	strv_release(&plan->env);
	strv_release(&plan->argv);
	free(plan->cwd);
	free(plan->note);
	free(plan->stage);
	cgroup_site_release(&plan->limits.site);
	network_release(plan);
	free(plan);
	return NULL;
}
