/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/environ.h"
#include "plan/host.h"
#include "plan/layout.h"
#include "plan/op.h"
#include "plan/plan.h"
#include "policy/grade.h"
#include "policy/resolve.h"

/* Ids that no user, container manager or directory service hands out. */
#define RANGE_BASE          0x70000000u
#define LANDLOCK_SIGNAL_ABI 6
#define DEFAULT_TMPFS       (1ull << 30)

struct compiler {
	struct plan *plan;
	const struct resolved *resolved;
	const struct spec *spec;
	const struct host *host;
	dim_set weak;        /* not enforced as asked */
	struct strv missing; /* dimensions that stop the run */
};

/* A dimension that cannot be held: fatal unless the operator named it. */
static int give_up(struct compiler *c, enum dim dim, enum enforcement state, const char *why)
{
	plan_verdict(c->plan, dim_name(dim), state, why);
	c->weak |= DIM_BIT(dim);
	if (c->resolved->allow_degraded & DIM_BIT(dim))
		return 0;
	return strv_add(&c->missing, dim_name(dim));
}

static int judge_limits(struct compiler *c)
{
	static const enum dim unbuilt[] = {DIM_CPU, DIM_MEMORY, DIM_PIDS, DIM_DISK, DIM_MAX_OUTPUT};
	int r = 0;

	if (c->spec->timeout != SPEC_UNLIMITED)
		plan_verdict(c->plan, dim_name(DIM_TIMEOUT), ENFORCED, "timer of the supervisor");
	for (size_t i = 0; i < array_len(unbuilt) && r == 0; i++)
		if (*spec_limit_const(c->spec, unbuilt[i]) != SPEC_UNLIMITED)
			r = give_up(c, unbuilt[i], UNENFORCED,
				    "nothing: this engine has no limits yet");
	return r;
}

static int judge_boundary(struct compiler *c, const struct site *site)
{
	const struct spec *spec = c->spec;
	struct plan *plan = c->plan;
	int r = 0;

	plan_verdict(plan, dim_name(DIM_NETWORK), ENFORCED,
		     spec->network == NETWORK_NONE ? "network namespace" : "unrestricted");
	plan_verdict(plan, dim_name(DIM_FILESYSTEM), ENFORCED,
		     spec->filesystem == FILESYSTEM_UNRESTRICTED ? "unrestricted" : "mounts");
	if (spec->paths_hidden.len || site->ignored.len)
		plan_verdict(plan, dim_name(DIM_PATHS_HIDDEN), ENFORCED, "mounts");
	if (spec->ephemeral)
		plan_verdict(plan, dim_name(DIM_EPHEMERAL), ENFORCED, "overlay");
	if (spec->filesystem != FILESYSTEM_UNRESTRICTED)
		plan_verdict(plan, dim_name(DIM_TMPFS), ENFORCED, "size of the tmpfs");
	if (spec->processes == PROCESSES_ISOLATED)
		plan_verdict(plan, dim_name(DIM_PROCESSES), ENFORCED, "pid namespace");
	else if (!plan->confined)
		plan_verdict(plan, dim_name(DIM_PROCESSES), ENFORCED, "unrestricted");
	else if (c->host->landlock_abi >= LANDLOCK_SIGNAL_ABI)
		plan_verdict(plan, dim_name(DIM_PROCESSES), ENFORCED, "Landlock signal scope");
	else
		r = give_up(
			c, DIM_PROCESSES, DEGRADED,
			"no Landlock signal scope: the command could signal the user's processes");
	plan_verdict(plan, dim_name(DIM_ENV), ENFORCED,
		     spec->env == ENV_INHERIT ? "unrestricted" : "built environment");
	if (plan->confined)
		plan_verdict(plan, dim_name(DIM_NESTED), ENFORCED,
			     spec->nested ? "unrestricted" : "limit on user namespaces");
	return r;
}

/* What this version does not do at all, whoever allows it. */
static int refuse_unbuilt(const struct compiler *c, struct err *err)
{
	const struct spec *spec = c->spec;
	const char *what = NULL;

	if (spec->network == NETWORK_LOCALHOST || spec->network == NETWORK_ALLOWED_HOSTS)
		return err_hint(err,
				err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
					"network = \"%s\" cannot be enforced by this version",
					spec_keys[DIM_NETWORK].choices[spec->network]),
				"use --network none, or --network unrestricted if you must");
	if (spec->expose.len)
		what = "expose (ports that are served to the host)";
	else if (spec->sockets.len)
		what = "sockets (unix sockets of the host)";
	else if (spec->caches.len)
		what = "caches (private copies that are kept)";
	else if (!str_eq(c->resolved->mode, "direct"))
		what = "mode = \"staged\"";
	else if (!str_eq(c->resolved->backend, "local") && !str_eq(c->resolved->backend, "auto"))
		what = "a backend other than \"local\"";
	else if (!str_eq(c->resolved->engine, "auto") && !str_eq(c->resolved->engine, "native"))
		what = "an engine other than \"native\"";
	if (what)
		return err_hint(
			err,
			err_set(err, ERR_UNSUPPORTED, -ENOTSUP, "this version does not offer %s",
				what),
			"leave it out; `pale config show --origin` says where it is asked for");
	if (spec->ephemeral && spec->filesystem != FILESYSTEM_READONLY)
		return err_hint(err,
				err_set(err, ERR_CONFIG, -EINVAL,
					"ephemeral works with filesystem = \"readonly\" only"),
				"with %s it would change nothing: leave it out",
				spec_keys[DIM_FILESYSTEM].choices[spec->filesystem]);
	return 0;
}

static int report_missing(const struct compiler *c, struct err *err)
{
	struct str names = {0}, options = {0};

	if (c->missing.len == 0)
		return 0;
	for (size_t i = 0; i < c->missing.len; i++) {
		str_appendf(&names, "%s%s", i ? ", " : "", c->missing.items[i]);
		str_appendf(&options, " --allow-degraded %s", c->missing.items[i]);
	}
	err_set(err, ERR_UNSUPPORTED, -ENOTSUP, "this version cannot enforce here: %s",
		str_text(&names));
	err_hint(err, -ENOTSUP,
		 "to run without:%s, or allow_degraded in [sandbox] of your own pale.toml",
		 str_text(&options));
	str_release(&names);
	str_release(&options);
	return -ENOTSUP;
}

static void choose_ids(struct compiler *c, const struct site *site)
{
	struct plan *plan = c->plan;

	plan->uid = c->host->uid;
	plan->gid = c->host->gid;
	if (!plan->confined) {
		plan->idmap = IDMAP_NONE;
	} else if (c->host->uid != 0) {
		plan->idmap = IDMAP_SELF;
	} else if (layout_writes_root(c->spec)) {
		plan->idmap = IDMAP_IDENTITY;
	} else {
		plan->idmap = IDMAP_RANGE;
		plan->range_base = RANGE_BASE;
		plan->uid = site->workspace_uid;
		plan->gid = site->workspace_gid;
	}
}

static void choose_namespaces(struct compiler *c)
{
	struct plan *plan = c->plan;

	if (!plan->confined)
		return;
	plan->namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
	if (c->spec->processes == PROCESSES_ISOLATED)
		plan->namespaces |= CLONE_NEWPID;
	if (c->spec->network != NETWORK_UNRESTRICTED)
		plan->namespaces |= CLONE_NEWNET;
}

static unsigned seccomp_flags(const struct spec *spec)
{
	return (spec->processes == PROCESSES_VISIBLE ? OP_VISIBLE : 0) |
	       (spec->nested ? OP_NESTED : 0);
}

/* What a process does to itself, after the root is in place. */
static int add_confinement(struct compiler *c)
{
	struct plan *plan = c->plan;
	int r = 0;

	if (plan->namespaces & CLONE_NEWNET)
		r = plan_add(plan, OP_LOOPBACK, NULL, NULL, 0);
	if (r == 0)
		r = plan_add(plan, OP_HOSTNAME, "pale", NULL, 0);
	if (r == 0)
		r = plan_add(plan, OP_KEYRING, NULL, NULL, 0);
	if (r == 0)
		r = plan_add(plan, OP_NO_CORE, NULL, NULL, 0);
	if (r == 0)
		r = plan_add(plan, OP_DROP_CAPS, NULL, NULL, 0);
	if (r == 0)
		r = plan_add(plan, OP_NO_NEW_PRIVS, NULL, NULL, 0);
	if (r == 0)
		r = plan_add(plan, OP_SECCOMP, NULL, NULL, seccomp_flags(c->spec));
	if (r == 0 && c->spec->processes == PROCESSES_VISIBLE &&
	    c->host->landlock_abi >= LANDLOCK_SIGNAL_ABI)
		r = plan_add(plan, OP_SIGNAL_SCOPE, NULL, NULL, 0);
	return r;
}

static int compile(struct compiler *c, const struct site *site, char *const *argv, struct err *err)
{
	struct plan *plan = c->plan;
	struct grade grade;
	int r;

	plan->engine = "native";
	plan->confined = spec_is_confined(&c->resolved->spec);
	plan->timeout_ms = c->spec->timeout;
	r = refuse_unbuilt(c, err);
	if (r < 0)
		return r;
	choose_ids(c, site);
	choose_namespaces(c);
	if (judge_boundary(c, site) < 0 || judge_limits(c) < 0)
		return err_oom(err);
	r = report_missing(c, err);
	if (r < 0)
		return r;
	for (; *argv; argv++)
		if (strv_add(&plan->argv, *argv) < 0)
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

/* Half of the memory, a gigabyte at most, unless it was given. */
static uint64_t tmpfs_size(const struct spec *spec)
{
	if (spec->tmpfs != SPEC_UNLIMITED)
		return spec->tmpfs;
	return spec->memory / 2 < DEFAULT_TMPFS ? spec->memory / 2 : DEFAULT_TMPFS;
}

int plan_compile(const struct resolved *resolved, const struct host *host, const struct site *site,
		 char *const *argv, struct plan **ret_plan, struct err *err)
{
	_cleanup_(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));
	struct spec spec = resolved->spec;
	struct compiler c = {.plan = plan, .resolved = resolved, .spec = &spec, .host = host};
	int r;

	if (!plan)
		return err_oom(err);
	spec.tmpfs = tmpfs_size(&spec);
	r = compile(&c, site, argv, err);
	strv_release(&c.missing);
	if (r < 0)
		return r;
	*ret_plan = take_ptr(plan);
	return 0;
}
