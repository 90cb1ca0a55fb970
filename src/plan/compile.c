/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/compiler.h"
#include "plan/domain.h"
#include "plan/environ.h"
#include "plan/host.h"
#include "plan/layout.h"
#include "plan/network.h"
#include "plan/op.h"
#include "plan/plan.h"
#include "policy/grade.h"
#include "policy/outer.h"
#include "policy/resolve.h"
#include "policy/spec-text.h"

#define DEFAULT_TMPFS (1ull << 30)
#define DEFAULT_STAGE "default"

/* By name, or the first rung of the ladder that this host has. */
static void choose_engine(struct compiler *c)
{
	const char *asked = c->resolved->engine;

	if (!c->plan->confined)
		return; /* nothing to enforce */
	for (enum engine e = ENGINE_NATIVE; e <= ENGINE_LANDLOCK; e++)
		if (str_eq(asked, engine_name(e)))
			c->plan->engine = e;
	if (!str_eq(asked, "auto") || !c->host->no_namespaces)
		return;
	c->plan->engine = c->host->bwrap ? ENGINE_BWRAP : ENGINE_LANDLOCK;
}

/* Where a tmpfs cannot hold the layer that is thrown away, a stage of the run's own does. */
static bool needs_disk(const struct compiler *c)
{
	return c->spec->ephemeral && c->host->no_tmpfs_xattr && c->plan->confined &&
	       c->plan->engine == ENGINE_NATIVE && !c->host->outer_staged &&
	       !str_eq(c->resolved->mode, "staged") &&
	       !(c->resolved->allow_degraded & DIM_BIT(DIM_EPHEMERAL));
}

/* In a sandbox whose writes are staged there is nothing left to stage. */
static int choose_stage(struct compiler *c)
{
	struct plan *plan = c->plan;

	plan->throws_away = needs_disk(c);
	if (!str_eq(c->resolved->mode, "staged") || c->host->outer_staged)
		return 0;
	plan->stage = strdup(c->resolved->stage ? c->resolved->stage : DEFAULT_STAGE);
	plan->stage_max = c->spec->disk;
	return plan->stage ? 0 : -ENOMEM;
}

/* Without a user namespace root can only become somebody else, and stays root
 * where there is nobody else to be. */
static void choose_bare_ids(struct compiler *c)
{
	struct plan *plan = c->plan;

	plan->idmap = IDMAP_NONE;
	if (c->host->uid != 0 || c->site->workspace_uid == 0 || layout_writes_root(c->spec))
		return;
	plan->idmap = IDMAP_SWITCH;
	plan->uid = c->site->workspace_uid;
	plan->gid = c->site->workspace_gid;
}

static void choose_ids(struct compiler *c)
{
	struct plan *plan = c->plan;

	plan->uid = c->host->uid;
	plan->gid = c->host->gid;
	if (!plan->confined) {
		plan->idmap = IDMAP_NONE;
	} else if (plan->engine == ENGINE_LANDLOCK) {
		choose_bare_ids(c);
	} else if (c->host->uid != 0) {
		plan->idmap = IDMAP_SELF;
	} else if (plan->engine == ENGINE_BWRAP) {
		/* Root becomes the owner before bwrap begins. */
		plan->idmap = IDMAP_SELF;
		plan->uid = c->site->workspace_uid;
		plan->gid = c->site->workspace_gid;
	} else if (layout_writes_root(c->spec)) {
		plan->idmap = IDMAP_IDENTITY;
	} else {
		plan->idmap = c->host->no_idmap ? IDMAP_OWNER : IDMAP_RANGE;
		plan->range_base = RANGE_BASE;
		plan->uid = c->site->workspace_uid;
		plan->gid = c->site->workspace_gid;
	}
}

static void choose_namespaces(struct compiler *c)
{
	struct plan *plan = c->plan;

	if (!plan->confined || plan->engine == ENGINE_LANDLOCK)
		return;
	plan->namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
	if (c->spec->processes == PROCESSES_ISOLATED)
		plan->namespaces |= CLONE_NEWPID;
	if (c->spec->network != NETWORK_UNRESTRICTED)
		plan->namespaces |= CLONE_NEWNET;
}

static unsigned seccomp_flags(const struct compiler *c)
{
	static const unsigned observe[] = {
		[OBSERVE_ATTEMPTS] = OP_OBSERVE, [OBSERVE_USES] = OP_OBSERVE | OP_PROFILE};
	const struct spec *spec = c->spec;
	unsigned flags = observe[c->resolved->observe];

	if (c->plan->engine == ENGINE_LANDLOCK)
		return flags | OP_BARE | (spec->network == NETWORK_NONE ? OP_OFFLINE : 0);
	/* A broker cannot do without being told, whether somebody wants to know or not. */
	if (c->plan->net.brokered)
		flags |= OP_OBSERVE | OP_BROKERED;
	return flags | (spec->processes == PROCESSES_VISIBLE ? OP_VISIBLE : 0) |
	       (spec->nested ? OP_NESTED : 0);
}

/* What a process does to itself, after the root is in place. */
static int add_confinement(struct compiler *c)
{
	struct plan *plan = c->plan;
	int r = 0;

	if (plan->namespaces & CLONE_NEWNET)
		r = plan_add(plan, plan->net.brokered ? OP_EVERYWHERE : OP_LOOPBACK, NULL, NULL, 0);
	if (r == 0 && plan->namespaces & CLONE_NEWUTS)
		r = plan_add(plan, OP_HOSTNAME, "pale", NULL, 0);
	if (r == 0)
		r = plan_add(plan, OP_KEYRING, NULL, NULL, 0);
	if (r == 0)
		r = plan_add(plan, OP_NO_CORE, NULL, NULL, 0);
	if (r == 0)
		r = limits_emit(c);
	if (r == 0)
		r = plan_add(plan, OP_DROP_CAPS, NULL, NULL,
			     plan->namespaces || (c->host->uid == 0 && !c->host->outer) ? 0
											: OP_BARE);
	if (r == 0)
		r = plan_add(plan, OP_NO_NEW_PRIVS, NULL, NULL, 0);
	if (r == 0)
		r = plan_add(plan, OP_SECCOMP, NULL, NULL, seccomp_flags(c));
	if (r == 0 && domain_flags(c->spec, c->host))
		r = plan_add(plan, OP_LANDLOCK, NULL, NULL, domain_flags(c->spec, c->host));
	return r;
}

/* What is not held counts as open: a sandbox inside must not rely on it. */
static void loosen(struct spec *spec, dim_set weak)
{
	for (enum dim dim = 0; dim < DIM_COUNT_; dim++)
		if (weak & DIM_BIT(dim) && spec_limit(spec, dim))
			*spec_limit(spec, dim) = SPEC_UNLIMITED;
	if (weak & DIM_BIT(DIM_FILESYSTEM))
		spec->filesystem = FILESYSTEM_UNRESTRICTED;
	if (weak & DIM_BIT(DIM_PROCESSES))
		spec->processes = PROCESSES_VISIBLE;
	if (weak & DIM_BIT(DIM_EPHEMERAL))
		spec->ephemeral = false;
}

/* For a pale inside. A spec that no text can hold gets none: the sandbox inside is
 * then made as if there were none around it. */
static int make_note(struct compiler *c)
{
	struct spec spec = *c->spec; /* only scalars are changed */
	struct str text = {0};
	int r;

	loosen(&spec, c->weak);
	r = c->plan->stage || c->host->outer_staged ? str_append(&text, OUTER_STAGED) : 0;
	if (r == 0)
		r = spec_print(&spec, &text, NULL);
	if (r < 0)
		str_release(&text);
	c->plan->note = text.data;
	return r;
}

static int compile(struct compiler *c, char *const *argv, struct err *err)
{
	const struct site *site = c->site;
	struct plan *plan = c->plan;
	struct grade grade;
	int r;

	plan->confined = spec_is_confined(&c->resolved->spec);
	plan->given = plan->confined && judge_is_given(c);
	plan->confined &= !plan->given;
	choose_engine(c);
	r = choose_stage(c);
	if (r < 0)
		return err_oom(err);
	plan->timeout_ms = c->spec->timeout;
	plan->max_output = c->spec->max_output;
	r = judge_refuse(c, err);
	if (r < 0)
		return r;
	choose_ids(c);
	choose_namespaces(c);
	r = network_compile(c, err);
	if (r == 0)
		r = judge(c, err);
	if (r < 0)
		return r;
	for (; *argv; argv++)
		if (strv_add(&plan->argv, *argv) < 0)
			return err_oom(err);
	if (!plan->confined && !plan->given && limits_emit(c) < 0)
		return err_oom(err);
	if (plan->confined && plan->engine == ENGINE_NATIVE && make_note(c) == -ENOMEM)
		return err_oom(err);
	if (plan->confined) {
		r = layout_compile(plan, c->spec, c->host, site, err);
		if (r < 0)
			return r;
		if (add_confinement(c) < 0)
			return err_oom(err);
	} else {
		plan->cwd = strdup(site->cwd);
	}
	if (!plan->cwd || environ_compile(plan, c->resolved, site) < 0)
		return err_oom(err);
	grade = spec_grade(c->spec, c->weak);
	plan->world = world_name(grade.world);
	plan->ceiling = grade.ceiling;
	return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Half of the memory, a gigabyte at most, unless it was given. */
static uint64_t tmpfs_size(const struct spec *spec)
{
	if (spec->tmpfs != SPEC_UNLIMITED)
		return least(spec->tmpfs, spec->disk);
	return least(least(spec->memory / 2, DEFAULT_TMPFS), spec->disk);
}

int plan_compile(const struct resolved *resolved, const struct host *host, const struct site *site,
		 char *const *argv, struct plan **ret_plan, struct err *err)
{
	_cleanup_(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));
	struct spec spec = resolved->spec;
	struct compiler c = {
		.plan = plan, .resolved = resolved, .spec = &spec, .host = host, .site = site};
	int r;

	if (!plan)
		return err_oom(err);
	spec.tmpfs = tmpfs_size(&spec);
	r = compile(&c, argv, err);
	strv_release(&c.missing);
	if (r < 0)
		return r;
	*ret_plan = take_ptr(plan);
	return 0;
}
