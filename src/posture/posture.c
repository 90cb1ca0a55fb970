/* SPDX-License-Identifier: MIT */
#include "posture/posture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "plan/host.h"
#include "policy/lattice.h"
#include "policy/outer.h"
#include "posture/posture-ask.h"

#define BWRAP "/usr/bin/bwrap"

/* Would bubblewrap get what we do not? With privileges of its own, or under an
 * AppArmor profile of its own. */
static bool bwrap_is_likely(const struct facts *facts)
{
	struct stat st;

	if (stat(BWRAP, &st) < 0 || access(BWRAP, X_OK) < 0)
		return false;
	return facts->max_userns != 0 && !facts->is_chrooted &&
	       (st.st_mode & S_ISUID || facts->apparmor_userns > 0);
}

int posture_adapt_host(const struct facts *facts, struct host *host, struct err *err)
{
	const char *why;

	host->no_namespaces = facts_userns(facts, &why) == PROMISE_REFUSED;
	if (!host->no_namespaces || host->bwrap || !bwrap_is_likely(facts))
		return 0;
	host->bwrap = strdup(BWRAP);
	return host->bwrap ? 0 : err_oom(err);
}

/* The first thing that stops a run is what is told. */
static void refuse(struct posture *posture, const struct err *why)
{
	if (posture->refused)
		return;
	posture->refused = true;
	posture->refusal = *why;
}

static int look_at_trust(const struct context *context, struct posture *posture, struct err *err)
{
	_cleanup_(trust_ask_release) struct trust_ask asked = {0};
	struct err why = {0};
	int r = trust_ask_compute(&context->config, &context->workspace, &context->user, &asked,
				  err);

	if (r < 0)
		return r;
	if (trust_read(&asked, &context->workspace, &posture->trust, &why) < 0) {
		posture->trust = TRUST_NONE;
		refuse(posture, &why);
	} else if (trust_check(&context->config, &context->workspace, &context->user, &why) < 0) {
		refuse(posture, &why);
	}
	return 0;
}

/* No spec could be made: then every dimension is looked at as if asked for. */
static int resolve_nothing(const struct context *context, struct resolved *resolved,
			   struct err *err)
{
	spec_init_bottom(&resolved->spec);
	resolved->spec.workspace = strdup(context->workspace.root);
	resolved->mode = "direct";
	resolved->backend = "local";
	resolved->engine = "auto";
	return resolved->spec.workspace ? 0 : err_oom(err);
}

/* Inside of a sandbox nobody gets more than that allows. */
static int apply_outer(const struct spec *outer, struct posture *posture, struct err *err)
{
	struct spec meet;
	int r = outer ? spec_meet(&posture->resolved.spec, outer, &meet, err) : 0;

	if (r < 0 || !outer)
		return r;
	posture->is_inside = true;
	spec_release(&posture->resolved.spec);
	posture->resolved.spec = meet;
	return 0;
}

static int resolve(const struct context *context, const struct ask *ask, struct posture *posture,
		   struct err *err)
{
	struct err why = {0};
	int r = spec_resolve(&context->config, NULL, ask, &context->workspace, &context->user,
			     &posture->resolved, &why);

	if (r == 0)
		return 0;
	if (why.code != ERR_POLICY) {
		*err = why;
		return r;
	}
	refuse(posture, &why);
	posture->resolved = (struct resolved){0};
	return resolve_nothing(context, &posture->resolved, err);
}

static void no_namespaces(struct posture *posture)
{
	struct err why = {0};

	err_set(&why, ERR_UNSUPPORTED, -ENOTSUP, "user namespaces are refused here: %s",
		posture->userns_why);
	err_hint(&why, 0, "`pale doctor` says what would help");
	refuse(posture, &why);
}

/* Nobody asked for the engine that was refused: it is what was left. */
static bool is_for_want_of_namespaces(const struct asker *asker)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;
	struct host host = *asker->host;
	struct asker other = *asker;
	struct err err;

	if (!host.no_namespaces || !str_eq(asker->resolved->engine, "auto"))
		return false;
	host.no_namespaces = false;
	other.host = &host;
	return asker_plan(&other, &plan, &err) == 0;
}

/* That would have been taken if nothing were refused. */
static enum engine engine_meant(const struct asker *asker)
{
	for (enum engine e = ENGINE_NATIVE; e <= ENGINE_LANDLOCK; e++)
		if (str_eq(asker->resolved->engine, engine_name(e)))
			return e;
	if (!asker->host->no_namespaces)
		return ENGINE_NATIVE;
	return asker->host->bwrap ? ENGINE_BWRAP : ENGINE_LANDLOCK;
}

static int look_at_plan(struct asker *asker, struct posture *posture)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;
	struct err why = {0};
	int r = asker_plan(asker, &plan, &why);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		if (is_for_want_of_namespaces(asker))
			no_namespaces(posture);
		posture->engine = engine_meant(asker);
		refuse(posture, &why);
		return 0;
	}
	posture->engine = plan->engine;
	if (plan->engine == ENGINE_NATIVE && plan->namespaces && asker->host->no_namespaces)
		no_namespaces(posture);
	if (!posture->refused) {
		posture->world = plan->world;
		posture->ceiling = plan->ceiling;
	}
	return 0;
}

static struct posture_backend *add_backend(struct posture *posture, const char *name)
{
	struct posture_backend *backend = &posture->backends[posture->backends_len];

	for (size_t i = 0; i < posture->backends_len; i++)
		if (str_eq(posture->backends[i].name, name))
			return NULL;
	if (posture->backends_len == POSTURE_BACKENDS_MAX)
		return NULL;
	posture->backends_len++;
	*backend = (struct posture_backend){.name = name};
	return backend;
}

static int look_at_backends(const struct context *context, struct asker *asker,
			    struct posture *posture)
{
	static const char *const path[] = {"sandbox", "backend", NULL};
	struct posture_backend *local = add_backend(posture, "local");
	struct err why = {0};
	int r = asker_least(asker, &why);

	if (r == -ENOMEM)
		return r;
	local->ready = local->background = r == 0; /* in a session */
	if (r < 0)
		snprintf(local->reason, sizeof(local->reason), "%.250s", why.message);
	for (int layer = 0; layer < LAYER_COUNT_; layer++) {
		struct posture_backend *other = NULL;
		struct setting set;

		if (config_get_at(&context->config, layer, path, &set) &&
		    !str_eq(set.value->string.bytes, "auto"))
			other = add_backend(posture, set.value->string.bytes);
		if (other)
			snprintf(other->reason, sizeof(other->reason), "not in this version");
	}
	return 0;
}

static int compute(const struct context *context, const struct ask *ask, const struct host *host,
		   struct posture *posture, struct err *err)
{
	_cleanup_(asker_release) struct asker asker = {
		.context = context, .host = host, .resolved = &posture->resolved};
	int r = look_at_trust(context, posture, err);

	if (r == 0)
		r = resolve(context, ask, posture, err);
	if (r == 0)
		r = apply_outer(host->outer, posture, err);
	if (r < 0)
		return r;
	r = asker_init(&asker);
	if (r == 0)
		r = look_at_plan(&asker, posture);
	for (int dim = 0; dim < DIM_COUNT_ && r == 0; dim++)
		r = asker_ask(&asker, dim, &posture->dims[dim]);
	if (r == 0)
		r = look_at_backends(context, &asker, posture);
	return r < 0 ? err_oom(err) : 0;
}

int posture_compute(const struct context *context, const struct ask *ask, const struct facts *facts,
		    const struct host *host, struct posture *ret, struct err *err)
{
	struct posture posture = {
		.facts = *facts, .landlock_abi = host->landlock_abi, .rung = host->cgroup.rung};
	int r;

	posture.userns = facts_userns(facts, &posture.userns_why);
	r = compute(context, ask, host, &posture, err);
	if (r < 0) {
		posture_release(&posture);
		return r;
	}
	*ret = posture;
	return 0;
}

int posture_probe(const struct context *context, const struct ask *ask, struct posture *ret,
		  struct err *err)
{
	_cleanup_(host_release) struct host host = {0};
	_cleanup_(spec_release) struct spec outer = {0};
	struct facts facts;
	int r;

	facts_read("", geteuid(), &facts);
	r = host_probe(&host, err);
	if (r == 0)
		r = posture_adapt_host(&facts, &host, err);
	if (r < 0)
		return r;
	r = outer_read(&context->user, &outer, &host.outer_staged, err);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0) {
		host.outer = &outer;
		host.outer_path = outer_path();
	}
	return posture_compute(context, ask, &facts, &host, ret, err);
}

void posture_release(struct posture *posture)
{
	resolved_release(&posture->resolved);
	*posture = (struct posture){0};
}
