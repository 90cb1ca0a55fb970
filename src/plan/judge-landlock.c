/* SPDX-License-Identifier: MIT */
/*
 * The engine without namespaces: what it does not do at all, and what of the
 * rest it can claim.
 */
#include <errno.h>

#include "base/err.h"
#include "plan/compiler.h"
#include "plan/host.h"
#include "plan/layout.h"
#include "plan/op.h"
#include "plan/plan.h"
#include "policy/resolve.h"

static int cannot(const char *what, const char *fix, struct err *err)
{
	return err_hint(
		err,
		err_set(err, ERR_UNSUPPORTED, -ENOTSUP, "engine \"landlock\" cannot do %s", what),
		"%s", fix);
}

static int refuse_network(const struct compiler *c, const char *native, struct err *err)
{
	const struct spec *spec = c->spec;

	if ((spec->network != NETWORK_LOCALHOST && spec->network != NETWORK_ALLOWED_HOSTS) ||
	    c->given & DIM_BIT(DIM_NETWORK))
		return 0;
	if (c->host->outer)
		return cannot("this network: the command would reach all that the sandbox around "
			      "it opens (hosts, ports, expose, sockets)",
			      "ask for all of that, or for network = \"none\"", err);
	return cannot("this network: without a network of its own the command would reach "
		      "all of the host's",
		      native, err);
}

int judge_landlock_refuse(const struct compiler *c, struct err *err)
{
	static const char native[] = "use --engine native, which needs user namespaces";
	const struct spec *spec = c->spec;

	if (refuse_network(c, native, err) < 0)
		return -ENOTSUP;
	if (spec->expose.len && spec->network != NETWORK_UNRESTRICTED &&
	    !(c->given & DIM_BIT(DIM_EXPOSE)))
		return cannot("expose: its commands have no sockets", native, err);
	if (spec->sockets.len && !(c->given & DIM_BIT(DIM_SOCKETS)))
		return cannot("sockets: it could not hide all others", native, err);
	if (c->host->landlock_abi < LANDLOCK_REFER_ABI)
		return cannot("anything here: this kernel has no Landlock, or its first version",
			      "boot with Landlock among the security modules (lsm=landlock,...), "
			      "Linux 6.2 or newer",
			      err);
	if (spec->ephemeral && !(c->given & DIM_BIT(DIM_EPHEMERAL)))
		return cannot("ephemeral: it has no overlay to throw away",
			      "use --engine native, or filesystem = \"readonly\" without ephemeral",
			      err);
	if (spec->caches.len && !(c->given & DIM_BIT(DIM_CACHES)))
		return cannot("caches: without mounts it puts no folder in the place of another",
			      native, err);
	if (spec->nested)
		return cannot("nested: who is in a Landlock domain cannot mount", native, err);
	if (c->resolved->spec.tmpfs != SPEC_UNLIMITED && !(c->given & DIM_BIT(DIM_TMPFS)))
		return cannot("tmpfs: it has no private /tmp", native, err);
	if (!layout_writes_root(spec) && strv_has(&spec->paths_readable, "/"))
		return cannot("paths_readable = \"/\": /run, /tmp and /dev would be the host's",
			      "name the folders that are needed, or use --engine native", err);
	return 0;
}

/* Enforced, though names, modes and times outside stay in reach: the rung is for
 * hosts that have nothing better, it holds what people mean by the dimension, no
 * content of a file is read, changed or removed, and nothing is made, moved or
 * executed. The verdict names the rest, and SECURITY.md does. */
static int judge_files(struct compiler *c)
{
	if (layout_writes_root(c->spec)) {
		plan_verdict(c->plan, dim_name(DIM_FILESYSTEM), ENFORCED, "unrestricted");
		return 0;
	}
	if (c->host->landlock_abi < LANDLOCK_TRUNCATE_ABI)
		return judge_give_up(c, DIM_FILESYSTEM, DEGRADED,
				     "this kernel's Landlock does not keep files from being cut "
				     "to nothing");
	/* Root of a sandbox around us is nobody's root, unless it was given all. */
	if (c->host->uid == 0 && c->plan->uid == 0 &&
	    (!c->host->outer || c->host->outer->filesystem == FILESYSTEM_UNRESTRICTED))
		return judge_give_up(c, DIM_FILESYSTEM, DEGRADED,
				     "no ids of its own: the command is root, who may change the "
				     "mode of every file");
	plan_verdict(c->plan, dim_name(DIM_FILESYSTEM), ENFORCED,
		     "Landlock, for contents: names, modes and times stay in reach");
	return 0;
}

static int judge_processes(struct compiler *c)
{
	if (c->host->landlock_abi < LANDLOCK_SIGNAL_ABI)
		return judge_give_up(
			c, DIM_PROCESSES, DEGRADED,
			"no Landlock signal scope: the command could signal the user's processes");
	if (c->spec->processes == PROCESSES_ISOLATED)
		return judge_give_up(c, DIM_PROCESSES, DEGRADED,
				     "Landlock, seccomp: others are out of reach, but visible");
	plan_verdict(c->plan, dim_name(DIM_PROCESSES), ENFORCED, "Landlock signal scope, seccomp");
	return 0;
}

int judge_landlock(struct compiler *c)
{
	const struct spec *spec = c->spec;
	struct plan *plan = c->plan;
	int r;

	plan_verdict(plan, dim_name(DIM_NETWORK), ENFORCED,
		     spec->network == NETWORK_NONE           ? "seccomp: no sockets"
		     : spec->network == NETWORK_UNRESTRICTED ? "unrestricted"
							     : "the sandbox around it");
	r = judge_files(c);
	if (r < 0)
		return r;
	if (spec->paths_hidden.len)
		plan_verdict(plan, dim_name(DIM_PATHS_HIDDEN), ENFORCED,
			     "Landlock: no rule opens them");
	if (!c->host->outer && (spec->filesystem == FILESYSTEM_WORKSPACE_ONLY ||
				spec->filesystem == FILESYSTEM_SCOPED_WRITE))
		plan_verdict(plan, "protected", DEGRADED,
			     "not at all: hooks, settings and pale.toml can be changed");
	r = judge_processes(c);
	plan_verdict(plan, dim_name(DIM_ENV), ENFORCED,
		     spec->env == ENV_INHERIT ? "unrestricted" : "built environment");
	plan_verdict(plan, dim_name(DIM_NESTED), ENFORCED, "seccomp");
	return r;
}
