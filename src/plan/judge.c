/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/compiler.h"
#include "plan/host.h"
#include "plan/op.h"
#include "plan/plan.h"
#include "policy/resolve.h"

int judge_give_up(struct compiler *c, enum dim dim, enum enforcement state, const char *why)
{
	plan_verdict(c->plan, dim_name(dim), state, why);
	c->weak |= DIM_BIT(dim);
	if (c->resolved->allow_degraded & DIM_BIT(dim))
		return 0;
	return strv_add(&c->missing, dim_name(dim));
}

static int judge_boundary(struct compiler *c)
{
	const struct spec *spec = c->spec;
	struct plan *plan = c->plan;
	int r = 0;

	plan_verdict(plan, dim_name(DIM_NETWORK), ENFORCED,
		     spec->network == NETWORK_NONE ? "network namespace" : "unrestricted");
	plan_verdict(plan, dim_name(DIM_FILESYSTEM), ENFORCED,
		     spec->filesystem == FILESYSTEM_UNRESTRICTED ? "unrestricted" : "mounts");
	if (spec->paths_hidden.len || c->site->ignored.len)
		plan_verdict(plan, dim_name(DIM_PATHS_HIDDEN), ENFORCED, "mounts");
	if (spec->caches.len)
		plan_verdict(plan, dim_name(DIM_CACHES), ENFORCED, "mounts");
	if (spec->ephemeral && c->host->no_tmpfs_xattr)
		r = judge_give_up(c, DIM_EPHEMERAL, DEGRADED,
				  "overlay; before Linux 6.6 folders cannot be removed in it");
	else if (spec->ephemeral)
		plan_verdict(plan, dim_name(DIM_EPHEMERAL), ENFORCED, "overlay");
	if (spec->filesystem != FILESYSTEM_UNRESTRICTED)
		plan_verdict(plan, dim_name(DIM_TMPFS), ENFORCED, "size of the tmpfs");
	if (spec->processes == PROCESSES_ISOLATED)
		plan_verdict(plan, dim_name(DIM_PROCESSES), ENFORCED, "pid namespace");
	else if (!plan->confined)
		plan_verdict(plan, dim_name(DIM_PROCESSES), ENFORCED, "unrestricted");
	else if (c->host->landlock_abi >= LANDLOCK_SIGNAL_ABI)
		plan_verdict(plan, dim_name(DIM_PROCESSES), ENFORCED, "Landlock signal scope");
	else if (r == 0)
		r = judge_give_up(
			c, DIM_PROCESSES, DEGRADED,
			"no Landlock signal scope: the command could signal the user's processes");
	plan_verdict(plan, dim_name(DIM_ENV), ENFORCED,
		     spec->env == ENV_INHERIT ? "unrestricted" : "built environment");
	if (plan->confined)
		plan_verdict(plan, dim_name(DIM_NESTED), ENFORCED,
			     spec->nested ? "unrestricted" : "limit on user namespaces");
	return r;
}

int judge_refuse(const struct compiler *c, struct err *err)
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
	else if (!str_eq(c->resolved->mode, "direct"))
		what = "mode = \"staged\"";
	else if (!str_eq(c->resolved->backend, "local") && !str_eq(c->resolved->backend, "auto"))
		what = "a backend other than \"local\"";
	else if (c->plan->engine != ENGINE_NATIVE)
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

/* What the verdict on DIMENSION rests on, or why it is weak. */
static const char *reason(const struct plan *plan, const char *dimension)
{
	for (size_t i = 0; i < plan->verdicts_len; i++)
		if (str_eq(plan->verdicts[i].dimension, dimension))
			return plan->verdicts[i].by;
	return "";
}

static int report_missing(const struct compiler *c, struct err *err)
{
	struct str names = {0}, options = {0};

	if (c->missing.len == 0)
		return 0;
	for (size_t i = 0; i < c->missing.len; i++) {
		str_appendf(&names, "%s%s (%s)", i ? ", " : "", c->missing.items[i],
			    reason(c->plan, c->missing.items[i]));
		str_appendf(&options, " --allow-degraded %s", c->missing.items[i]);
	}
	err_set(err, ERR_UNSUPPORTED, -ENOTSUP, "cannot be enforced here: %s", str_text(&names));
	err_hint(err, -ENOTSUP,
		 "`pale doctor` says what is missing; to run without:%s, or allow_degraded in "
		 "[sandbox] of your own pale.toml",
		 str_text(&options));
	str_release(&names);
	str_release(&options);
	return -ENOTSUP;
}

int judge(struct compiler *c, struct err *err)
{
	int r = judge_boundary(c);

	if (r == 0)
		r = limits_compile(c);
	/* The terminal's part is not there yet. */
	if (r == 0 && c->spec->max_output != SPEC_UNLIMITED)
		r = judge_give_up(c, DIM_MAX_OUTPUT, UNENFORCED, "nothing: output is not kept yet");
	if (r < 0)
		return err_oom(err);
	return report_missing(c, err);
}
