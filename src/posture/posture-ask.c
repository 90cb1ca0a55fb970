/* SPDX-License-Identifier: MIT */
#include "posture/posture-ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "posture/posture.h"

/* A path that samples name; what it would be, the site is told. */
#define SAMPLE_PATH   "/srv/sample"
#define SAMPLE_SOCKET "/srv/sample.socket"
#define SAMPLE_SIZE   ((uint64_t)64 << 20)
#define SAMPLE_MS     60000
#define SAMPLE_COUNT  64

enum { SAMPLES = 2 }; /* paths */

static char *const no_argv[] = {"true", NULL};

/* Does the sandbox bound DIM? */
static bool is_asked(const struct asker *asker, enum dim dim)
{
	const struct spec *spec = &asker->resolved->spec;
	const uint64_t *limit = spec_limit_const(spec, dim);
	const struct strv *list = spec_list_const(spec, dim);

	if (dim == DIM_TMPFS)
		return spec->filesystem != FILESYSTEM_UNRESTRICTED;
	if (dim == DIM_PORTS)
		return spec->ports_set;
	if (dim == DIM_PATHS_HIDDEN && asker->site.ignored.len)
		return true;
	if (limit)
		return *limit != SPEC_UNLIMITED;
	if (list)
		return list->len > 0;
	switch ((int)dim) {
	case DIM_NETWORK:
		return spec->network != NETWORK_UNRESTRICTED;
	case DIM_FILESYSTEM:
		return spec->filesystem != FILESYSTEM_UNRESTRICTED;
	case DIM_EPHEMERAL:
		return spec->ephemeral;
	case DIM_PROCESSES:
		return spec->processes == PROCESSES_ISOLATED || spec_is_confined(spec);
	case DIM_ENV:
		return spec->env != ENV_INHERIT;
	default:
		return !spec->nested;
	}
}

/* Who answers for a dimension that has no verdict of its own. */
static enum dim stand_in(enum dim dim)
{
	switch ((int)dim) {
	case DIM_HOSTS:
	case DIM_PORTS:
		return DIM_NETWORK;
	case DIM_PATHS_READABLE:
	case DIM_PATHS_WRITABLE:
		return DIM_FILESYSTEM;
	case DIM_ENV_PASS:
		return DIM_ENV;
	default:
		return dim;
	}
}

static void clear(struct strv *list)
{
	strv_release(list);
	*list = (struct strv){0};
}

/* Leave out of SPEC what may be refused, but not KEEP. */
static void neutralize(struct spec *spec, enum dim keep)
{
	static const enum dim lists[] = {
		DIM_EXPOSE,         DIM_SOCKETS,      DIM_PATHS_READABLE,
		DIM_PATHS_WRITABLE, DIM_PATHS_HIDDEN, DIM_CACHES,
	};

	for (size_t i = 0; i < array_len(lists); i++)
		if (lists[i] != keep)
			clear(spec_list(spec, lists[i]));
	if (keep != DIM_EPHEMERAL)
		spec->ephemeral = false;
	if (stand_in(keep) == DIM_NETWORK || spec->network == NETWORK_UNRESTRICTED)
		return;
	spec->network = NETWORK_NONE;
	clear(&spec->hosts);
	clear(&spec->ports);
	spec->ports_set = false;
}

static const char *sample_item(enum dim dim)
{
	switch ((int)dim) {
	case DIM_HOSTS:
		return "example.org:443";
	case DIM_PORTS:
	case DIM_EXPOSE:
		return "8080";
	case DIM_ENV_PASS:
		return "CI";
	case DIM_SOCKETS:
		return SAMPLE_SOCKET;
	default:
		return SAMPLE_PATH;
	}
}

/* Bound DIM, which SPEC leaves open, and what must go with it. */
static int ask_sample(struct spec *spec, enum dim dim)
{
	uint64_t *limit = spec_limit(spec, dim);
	struct strv *list = spec_list(spec, dim);

	if (limit)
		*limit = spec_keys[dim].type == KEY_UINT       ? SAMPLE_COUNT
			 : spec_keys[dim].type == KEY_DURATION ? SAMPLE_MS
							       : SAMPLE_SIZE;
	if (dim == DIM_EPHEMERAL || ((dim == DIM_TMPFS || stand_in(dim) == DIM_FILESYSTEM) &&
				     spec->filesystem == FILESYSTEM_UNRESTRICTED))
		spec->filesystem = FILESYSTEM_READONLY;
	switch ((int)dim) {
	case DIM_NETWORK:
		spec->network = NETWORK_NONE;
		break;
	case DIM_HOSTS:
		spec->network = NETWORK_ALLOWED_HOSTS;
		break;
	case DIM_PORTS:
		spec->network = NETWORK_LOCALHOST;
		spec->ports_set = true;
		break;
	case DIM_EPHEMERAL:
		spec->ephemeral = true;
		break;
	case DIM_PROCESSES:
		spec->processes = PROCESSES_ISOLATED;
		break;
	case DIM_ENV:
		spec->env = ENV_CLEAN;
		break;
	case DIM_ENV_PASS:
		spec->env = ENV_PASS;
		break;
	case DIM_NESTED:
		spec->nested = false;
		break;
	default:
		break;
	}
	return list ? strv_add(list, sample_item(dim)) : 0;
}

/* SURVEYED: for all verdicts, whatever they are. AS_IT_IS: else mode and backend are those that
 * every version has. */
static int compile(const struct asker *asker, const struct spec *spec, bool surveyed, bool as_it_is,
		   struct plan **ret_plan, struct err *err)
{
	struct resolved resolved = *asker->resolved;
	struct site site = asker->site;

	if (!asker->has_site) {
		*err = asker->no_site;
		return -EINVAL;
	}
	resolved.spec = *spec;
	resolved.is_surveyed = surveyed;
	if (!as_it_is) {
		resolved.mode = "direct";
		resolved.backend = "local";
	}
	site.paths = asker->paths;
	site.paths_len += SAMPLES;
	return plan_compile(&resolved, asker->host, &site, no_argv, ret_plan, err);
}

static int probe_site(struct asker *asker, const struct spec *spec, struct err *err)
{
	const struct context *context = asker->context;
	int r = site_probe(spec, &context->user, context->workspace.cwd, environ, &asker->site,
			   err);

	if (r == 0)
		r = site_add_caches(&asker->site, spec, &context->workspace, err);
	if (r < 0)
		site_release(&asker->site);
	return r;
}

/* With the paths of the spec, or else without them. */
static int find_site(struct asker *asker)
{
	const struct spec *spec = &asker->resolved->spec;
	_cleanup_(spec_release) struct spec neutral = {0};
	int r = probe_site(asker, spec, &asker->misfit);

	if (r == -ENOMEM)
		return r;
	asker->fits = asker->has_site = r == 0;
	if (r == 0)
		return 0;
	if (spec_copy(&neutral, spec) < 0)
		return -ENOMEM;
	neutralize(&neutral, DIM_COUNT_);
	r = probe_site(asker, &neutral, &asker->no_site);
	asker->has_site = r == 0;
	return r == -ENOMEM ? r : 0;
}

int asker_init(struct asker *asker)
{
	struct err err = {0};
	int r = find_site(asker);
	size_t len = asker->site.paths_len;

	if (r < 0)
		return r;
	asker->paths = calloc(len + SAMPLES, sizeof(*asker->paths));
	if (!asker->paths)
		return -ENOMEM;
	if (len > 0)
		memcpy(asker->paths, asker->site.paths, len * sizeof(*asker->paths));
	asker->paths[len] = (struct site_path){
		.path = SAMPLE_PATH, .real = SAMPLE_PATH, .type = SITE_DIR};
	asker->paths[len + 1] = (struct site_path){
		.path = SAMPLE_SOCKET, .real = SAMPLE_SOCKET, .type = SITE_SOCKET};
	if (asker->fits)
		r = compile(asker, &asker->resolved->spec, true, true, &asker->plan, &err);
	return r == -ENOMEM ? r : 0;
}

void asker_release(struct asker *asker)
{
	site_release(&asker->site);
	free(asker->paths);
	plan_free(asker->plan);
}

int asker_plan(struct asker *asker, struct plan **ret_plan, struct err *err)
{
	if (!asker->fits) {
		*err = asker->misfit;
		return -EINVAL;
	}
	return compile(asker, &asker->resolved->spec, false, true, ret_plan, err);
}

int asker_least(struct asker *asker, struct err *err)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;
	struct spec spec;
	int r;

	spec_init_bottom(&spec);
	spec.workspace = asker->resolved->spec.workspace; /* borrowed */
	r = compile(asker, &spec, false, false, &plan, err);
	if (r == 0 && plan->engine == ENGINE_NATIVE && plan->namespaces &&
	    asker->host->no_namespaces)
		r = err_set(err, ERR_UNSUPPORTED, -ENOTSUP, "user namespaces are refused here");
	return r;
}

static const struct verdict *find_verdict(const struct plan *plan, enum dim dim)
{
	for (size_t i = 0; i < plan->verdicts_len; i++)
		if (str_eq(plan->verdicts[i].dimension, dim_name(dim)))
			return &plan->verdicts[i];
	return NULL;
}

static void take_verdict(const struct plan *plan, enum dim dim, struct posture_dim *ret)
{
	const struct verdict *verdict = find_verdict(plan, dim);

	if (!verdict)
		verdict = find_verdict(plan, stand_in(dim));
	ret->state = verdict ? verdict->state : UNENFORCED;
	snprintf(ret->by, sizeof(ret->by), "%s", verdict ? verdict->by : "nothing");
}

static void take_refusal(const struct err *err, struct posture_dim *ret)
{
	ret->refused = true;
	ret->state = UNENFORCED;
	snprintf(ret->by, sizeof(ret->by), "%.250s", err->message);
}

int asker_ask(struct asker *asker, enum dim dim, struct posture_dim *ret)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;
	_cleanup_(spec_release) struct spec spec = {0};
	struct err err = {0};
	int r = 0;

	*ret = (struct posture_dim){.asked = is_asked(asker, dim)};
	if (ret->asked && asker->plan) {
		take_verdict(asker->plan, dim, ret);
		return 0;
	}
	if (ret->asked && !asker->fits && spec_keys[dim].type == KEY_PATHS) {
		take_refusal(&asker->misfit, ret);
		return 0;
	}
	if (spec_copy(&spec, &asker->resolved->spec) < 0)
		return -ENOMEM;
	if (!asker->plan)
		neutralize(&spec, ret->asked ? dim : DIM_COUNT_);
	if (!ret->asked)
		r = ask_sample(&spec, dim);
	if (r == 0)
		r = compile(asker, &spec, true, false, &plan, &err);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		take_refusal(&err, ret);
	else
		take_verdict(plan, dim, ret);
	return 0;
}
