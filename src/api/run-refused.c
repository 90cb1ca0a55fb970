/* SPDX-License-Identifier: MIT */
#include "api/run-refused.h"

#include <stdlib.h>
#include <string.h>

#include "api/run.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "net/rules.h"
#include "policy/remedy.h"

static bool covers(const struct strv *rules, const char *path)
{
	for (size_t i = 0; i < rules->len; i++)
		if (path && path_covers(rules->items[i], path))
			return true;
	return false;
}

/* `KEY = VALUE`, as somebody wrote it or could have. */
static char *assignment(const struct spec *spec, enum dim dim)
{
	_cleanup_(str_release) struct str value = {0};

	if (spec_print_dim(spec, dim, &value) < 0)
		return NULL;
	return str_printf("%s = %s", spec_keys[dim].path, str_text(&value));
}

static char *hiding_rule(const struct spec *spec, const char *path)
{
	if (covers(&spec->paths_hidden, path))
		return strdup("paths_hidden");
	/* Of the workspace nothing else is missing. */
	if (spec->filesystem >= FILESYSTEM_READONLY && spec->workspace && path &&
	    path_covers(spec->workspace, path))
		return strdup(".paleignore");
	return assignment(spec, DIM_FILESYSTEM);
}

static bool is_loopback(const char *address)
{
	return address && (str_starts(address, "127.") || str_eq(address, "::1") ||
			   str_eq(address, "0.0.0.0") || str_eq(address, "::"));
}

/* A long list says less than its key. */
static char *network_rule(const struct spec *spec, const struct violation *v)
{
	if (spec->network == NETWORK_ALLOWED_HOSTS)
		return strdup(is_loopback(v->address) ? "ports" : "hosts");
	return assignment(spec, spec->network == NETWORK_LOCALHOST && spec->ports_set &&
						!str_eq(v->op, "resolve")
					? DIM_PORTS
					: DIM_NETWORK);
}

static char *find_rule(const struct spec *spec, const struct violation *v)
{
	int dim = dim_by_name(v->dimension);

	switch (v->cause) {
	case CAUSE_READONLY:
		return covers(&spec->paths_readable, v->target) ? strdup("paths_readable")
								: assignment(spec, DIM_FILESYSTEM);
	case CAUSE_HIDDEN:
		return dim == DIM_SOCKETS ? assignment(spec, DIM_SOCKETS)
					  : hiding_rule(spec, v->target);
	case CAUSE_PROTECTED:
		return strdup(covers(&spec->paths_readable, v->target) ? "paths_readable"
								       : "protected path");
	case CAUSE_NETWORK:
		return network_rule(spec, v);
	case CAUSE_SECCOMP:
		break;
	}
	return dim == DIM_NESTED || dim == DIM_PROCESSES || dim == DIM_NETWORK
		       ? assignment(spec, (enum dim)dim)
		       : strdup("seccomp");
}

/* A rule that the session can be given while it runs; NULL: the option is no such rule. */
static char *widening(const struct run *run, const char *option)
{
	if (run->rules && str_starts(option, "--host "))
		return str_printf("pale session network %s --allow %s", run->session, option + 7);
	if (run->rules && str_starts(option, "--port "))
		return str_printf("pale session network %s --allow localhost:%s", run->session,
				  option + 7);
	return NULL;
}

/* The option that would have let it through. Who asked a name server wants names. NULL: none. */
static const char *find_option(const struct violation *v, const struct remedy *remedy)
{
	if (remedy->possible)
		return remedy->option;
	return !remedy->allowed && str_eq(v->dimension, "network") &&
			       remedy_is_name_server(v->target)
		       ? "--host NAME"
		       : NULL;
}

static char *find_fix(const struct run *run, const struct spec *spec, const struct violation *v)
{
	_cleanup_(remedy_release) struct remedy remedy = {0};
	const char *option;
	char *fix;

	if (remedy_find(spec, &run->context.user, v->dimension, v->op, v->target, &remedy, NULL) <
	    0)
		return NULL;
	option = find_option(v, &remedy);
	if (!option)
		return NULL;
	fix = widening(run, option);
	return fix ? fix : str_printf("pale run %s %s", option, run->command ? run->command : "…");
}

/* With what a session may reach now; all of it is borrowed. */
static struct spec spec_now(const struct run *run)
{
	const struct rules *rules = run->rules;
	struct spec spec = run->resolved.spec;

	if (!rules)
		return spec;
	spec.hosts = rules->hosts;
	spec.ports = rules->loopback ? rules->ports : (struct strv){0};
	spec.ports_set = !rules->loopback || rules->ports_set;
	return spec;
}

void run_explain(const struct run *run, struct violation *v)
{
	const struct spec spec = spec_now(run);

	if (!v->rule)
		v->rule = find_rule(&spec, v);
	if (!v->fix)
		v->fix = find_fix(run, &spec, v);
}

void run_explain_refused(struct run *run)
{
	struct violations *violations = &run->result.violations;

	for (size_t i = 0; i < violations->len; i++)
		run_explain(run, &violations->items[i]);
}
