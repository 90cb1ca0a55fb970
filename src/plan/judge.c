/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "plan/compiler.h"
#include "plan/domain.h"
#include "plan/host.h"
#include "plan/layout.h"
#include "plan/network.h"
#include "plan/op.h"
#include "plan/plan.h"
#include "policy/lattice.h"
#include "policy/resolve.h"

#define AROUND "the sandbox around it"
#define UNDONE "mounts, which nested namespaces can undo"

int judge_give_up(struct compiler *c, enum dim dim, enum enforcement state, const char *why)
{
	if (c->given & DIM_BIT(dim)) {
		plan_verdict(c->plan, dim_name(dim), ENFORCED, AROUND);
		return 0;
	}
	plan_verdict(c->plan, dim_name(dim), state, why);
	c->weak |= DIM_BIT(dim);
	if (c->resolved->is_surveyed || c->resolved->allow_degraded & DIM_BIT(dim))
		return 0;
	return strv_add(&c->missing, dim_name(dim));
}

static const char *files_by(const struct compiler *c)
{
	if (c->spec->filesystem == FILESYSTEM_UNRESTRICTED)
		return "unrestricted";
	if (c->plan->stage)
		return domain_flags(c->spec, c->host) & OP_FILES ? "mounts, staged writes, Landlock"
								 : "mounts, staged writes";
	return domain_flags(c->spec, c->host) & OP_FILES ? "mounts, Landlock" : "mounts";
}

static const char *nested_by(const struct compiler *c)
{
	if (!c->spec->nested)
		return "limit on user namespaces";
	/* Who is in a domain that is about files cannot mount. */
	return c->host->landlock_abi ? "unrestricted, and no Landlock for files" : "unrestricted";
}

/* Started by root: whose rights does the command have underneath? */
static int judge_ids(struct compiler *c)
{
	if (c->plan->idmap != IDMAP_OWNER)
		return 0;
	if (c->plan->uid == 0)
		return judge_give_up(c, DIM_FILESYSTEM, DEGRADED,
				     "mounts; this filesystem cannot be id-mapped, so the command "
				     "is root underneath, without capabilities");
	plan_verdict(c->plan, "ids", DEGRADED,
		     "the owner of the workspace: this filesystem cannot be id-mapped");
	return 0;
}

/* Who can mount can take the sandbox's mounts off a tree, by a descriptor from
 * before; where that tree is writable, names can be moved from under them. */
static bool mounts_can_be_undone(const struct compiler *c)
{
	const struct spec *spec = c->spec;

	return spec->nested &&
	       (spec->filesystem == FILESYSTEM_WORKSPACE_ONLY || spec->paths_writable.len > 0);
}

/* Where a path of the spec really is; NULL: nowhere. */
static const char *real_of(const struct site *site, const char *path)
{
	for (size_t i = 0; i < site->paths_len; i++)
		if (str_eq(site->paths[i].path, path))
			return site->paths[i].real;
	return NULL;
}

static bool is_written_around(const struct compiler *c, const char *path)
{
	const struct strv *rules = &c->spec->paths_writable;
	const char *common = c->site->protection.git_common;

	for (size_t i = 0; i < rules->len; i++) {
		const char *real = real_of(c->site, rules->items[i]);

		if (real && path_covers(real, path))
			return true;
	}
	return c->spec->filesystem == FILESYSTEM_WORKSPACE_ONLY &&
	       (path_covers(c->site->workspace, path) || (common && path_covers(common, path)));
}

/* What is hidden elsewhere can be neither moved nor removed, whatever happens to its cover. */
static bool hides_where_it_writes(const struct compiler *c)
{
	const struct strv *rules = &c->spec->paths_hidden, *more = &c->site->ignored;

	for (size_t i = 0; i < rules->len; i++) {
		const char *real = real_of(c->site, rules->items[i]);

		if (real && is_written_around(c, real))
			return true;
	}
	for (size_t i = 0; i < more->len; i++)
		if (is_written_around(c, more->items[i]))
			return true;
	return false;
}

static int judge_hidden(struct compiler *c)
{
	const struct spec *spec = c->spec;
	bool undone = mounts_can_be_undone(c);

	if (undone && !c->plan->stage)
		plan_verdict(c->plan, "protected", DEGRADED, UNDONE);
	if (spec->paths_hidden.len == 0 && c->site->ignored.len == 0)
		return 0;
	if (undone && hides_where_it_writes(c))
		return judge_give_up(c, DIM_PATHS_HIDDEN, DEGRADED, UNDONE);
	plan_verdict(c->plan, dim_name(DIM_PATHS_HIDDEN), ENFORCED, "mounts");
	return 0;
}

static bool is_weak(const struct compiler *c, enum dim dim)
{
	return c->weak & DIM_BIT(dim);
}

static void judge_network(struct compiler *c)
{
	struct plan *plan = c->plan;

	plan_verdict(plan, dim_name(DIM_NETWORK), ENFORCED, network_by(c));
	if (c->spec->expose.len)
		plan_verdict(plan, dim_name(DIM_EXPOSE), ENFORCED,
			     plan->net.brokered ? "broker" : "unrestricted");
	if (!plan->confined && c->spec->sockets.len)
		plan_verdict(plan, dim_name(DIM_SOCKETS), ENFORCED, "unrestricted");
	else if (plan->confined && c->site->bound.len && mounts_can_be_undone(c))
		plan_verdict(plan, dim_name(DIM_SOCKETS), DEGRADED, UNDONE);
	else if (plan->confined && (c->site->bound.len || c->spec->sockets.len))
		plan_verdict(plan, dim_name(DIM_SOCKETS), ENFORCED, "mounts");
}

static int judge_boundary(struct compiler *c)
{
	const struct spec *spec = c->spec;
	struct plan *plan = c->plan;
	int r = 0;

	judge_network(c);
	r = judge_ids(c);
	if (!is_weak(c, DIM_FILESYSTEM))
		plan_verdict(plan, dim_name(DIM_FILESYSTEM), ENFORCED, files_by(c));
	if (r == 0)
		r = judge_hidden(c);
	if (spec->caches.len)
		plan_verdict(plan, dim_name(DIM_CACHES), ENFORCED, "mounts");
	if (plan->throws_away)
		plan_verdict(plan, dim_name(DIM_EPHEMERAL), ENFORCED,
			     "overlay; its layer is on the disk");
	else if (spec->ephemeral && c->host->no_tmpfs_xattr)
		r = judge_give_up(c, DIM_EPHEMERAL, DEGRADED,
				  "overlay; before Linux 6.6 folders cannot be removed in it");
	else if (spec->ephemeral)
		plan_verdict(plan, dim_name(DIM_EPHEMERAL), ENFORCED, "overlay");
	if (spec->filesystem != FILESYSTEM_UNRESTRICTED)
		plan_verdict(plan, dim_name(DIM_TMPFS), ENFORCED,
			     plan->engine == ENGINE_BWRAP ? "size of each private folder's tmpfs"
							  : "size of the tmpfs");
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
	if (plan->confined && c->host->has_groups)
		plan_verdict(plan, "groups", DEGRADED,
			     "kept: only root can drop supplementary groups");
	plan_verdict(plan, dim_name(DIM_ENV), ENFORCED,
		     spec->env == ENV_INHERIT ? "unrestricted" : "built environment");
	if (plan->confined)
		plan_verdict(plan, dim_name(DIM_NESTED), ENFORCED, nested_by(c));
	return r;
}

/* What the plan would need and bubblewrap does not have. */
static int refuse_bwrap(const struct compiler *c, struct err *err)
{
	const char *why = NULL;

	if (c->spec->ephemeral)
		why = "it makes no overlay, which ephemeral needs";
	else if (c->host->uid == 0 && layout_writes_root(c->spec))
		why = "started by root, it would leave the whole filesystem to the real root";
	else if (c->host->uid == 0 && c->site->workspace_uid == 0)
		why = "started by root, it runs as the owner of the workspace, and that is root";
	else if (c->host->uid == 0 && c->spec->caches.len)
		why = "started by root, it runs as the owner of the workspace, who cannot enter "
		      "root's state, where caches are kept";
	if (!why)
		return 0;
	return err_hint(
		err,
		err_set(err, ERR_UNSUPPORTED, -ENOTSUP, "engine bwrap cannot do this: %s", why),
		"use --engine native where user namespaces are allowed");
}

/* Where writes cannot be kept apart, they are not let through either. */
static int refuse_staged(const struct compiler *c, struct err *err)
{
	const char *why = NULL, *fix = "name the folders in paths_writable, or use --direct";

	if (!c->plan->stage)
		return 0;
	if (c->plan->given) {
		why = "the sandbox around this one writes directly";
		fix = "run that one with --staged, or this one with --direct";
	} else if (!c->plan->confined) {
		why = "there is no boundary";
		fix = "use a preset that has one, or --direct";
	} else if (layout_writes_root(c->spec)) {
		why = "the whole filesystem is writable";
	} else if (c->plan->engine != ENGINE_NATIVE) {
		why = "it needs the native engine";
		fix = "use --engine native where user namespaces are allowed, or --direct";
	}
	if (!why)
		return 0;
	return err_hint(err,
			err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
				"mode = \"staged\" is not possible here: %s", why),
			"%s", fix);
}

int judge_refuse(const struct compiler *c, struct err *err)
{
	const struct spec *spec = c->spec;
	const char *what = NULL;

	if (!str_eq(c->resolved->backend, "local") && !str_eq(c->resolved->backend, "auto"))
		what = "a backend other than \"local\"";
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
	if (refuse_staged(c, err) < 0)
		return -ENOTSUP;
	if (c->plan->engine == ENGINE_BWRAP)
		return refuse_bwrap(c, err);
	return c->plan->confined && c->plan->engine == ENGINE_LANDLOCK
		       ? judge_landlock_refuse(c, err)
		       : 0;
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

/* Whoever has sockets reaches all that the sandbox around it opens, and nobody here would
 * tell what was asked for from the rest. */
static bool is_network_wider(dim_set excess, const struct spec *asked)
{
	const dim_set lists = DIM_BIT(DIM_HOSTS) | DIM_BIT(DIM_PORTS) | DIM_BIT(DIM_EXPOSE) |
			      DIM_BIT(DIM_SOCKETS);

	return excess & lists &&
	       (asked->network == NETWORK_LOCALHOST || asked->network == NETWORK_ALLOWED_HOSTS);
}

bool judge_is_given(struct compiler *c)
{
	/* These the supervisor sees to by itself, wherever it runs. */
	const dim_set own = DIM_BIT(DIM_TIMEOUT) | DIM_BIT(DIM_ENV) | DIM_BIT(DIM_ENV_PASS) |
			    DIM_BIT(DIM_MAX_OUTPUT);
	dim_set excess;

	if (!c->host->outer)
		return false;
	excess = spec_excess(c->host->outer, &c->resolved->spec);
	if (is_network_wider(excess, &c->resolved->spec))
		excess |= DIM_BIT(DIM_NETWORK);
	c->given = ~excess & ~own;
	/* A .paleignore is of this workspace, and not of the one around it. */
	return (excess & ~own) == 0 && c->site->ignored.len == 0;
}

/* Nothing is added here, so nothing can be missing. */
static void judge_given(struct compiler *c)
{
	c->plan->limits = (struct limits){
		.memory = SPEC_UNLIMITED, .pids = SPEC_UNLIMITED, .cpu_ms = SPEC_UNLIMITED};
	for (enum dim dim = 0; dim < DIM_COUNT_; dim++)
		if (c->given & DIM_BIT(dim) &&
		    (!spec_dim_is_default(c->spec, dim) || dim == DIM_NETWORK ||
		     dim == DIM_FILESYSTEM || dim == DIM_PROCESSES || dim == DIM_NESTED))
			plan_verdict(c->plan, dim_name(dim), ENFORCED, AROUND);
	plan_verdict(c->plan, dim_name(DIM_ENV), ENFORCED,
		     c->spec->env == ENV_INHERIT ? "unrestricted" : "built environment");
	if (c->spec->timeout != SPEC_UNLIMITED)
		plan_verdict(c->plan, dim_name(DIM_TIMEOUT), ENFORCED, "timer of the supervisor");
}

int judge(struct compiler *c, struct err *err)
{
	bool bare = c->plan->confined && c->plan->engine == ENGINE_LANDLOCK;
	int r = 0;

	if (c->plan->given)
		judge_given(c);
	else
		r = bare ? judge_landlock(c) : judge_boundary(c);
	if (r == 0 && !c->plan->given)
		r = limits_compile(c);
	if (r == 0 && !c->plan->given)
		r = network_judge_limits(c);
	if (c->spec->max_output != SPEC_UNLIMITED)
		plan_verdict(c->plan, dim_name(DIM_MAX_OUTPUT), ENFORCED, "pump of the supervisor");
	if (r < 0)
		return err_oom(err);
	return report_missing(c, err);
}
