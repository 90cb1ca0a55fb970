/* SPDX-License-Identifier: MIT */
#include "policy/lattice.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "policy/rule-set.h"

typedef struct rule_set rules_fn(const struct spec *spec);

static dim_set excess_of(rules_fn *rules, const struct spec *a, const struct spec *b)
{
	struct rule_set x = rules(a), y = rules(b);

	return rule_set_excess(&x, &y);
}

/* Where nothing can be written, nothing stays. */
static bool leaves_traces(const struct spec *spec)
{
	struct rule_set writable = rules_writable(spec);

	return !spec->ephemeral && !rule_set_is_empty(&writable);
}

dim_set spec_excess(const struct spec *a, const struct spec *b)
{
	static rules_fn *const families[] = {
		rules_readable, rules_writable, rules_sockets, rules_caches,
		rules_hosts,    rules_ports,    rules_expose,  rules_vars,
	};
	dim_set excess = 0;

	for (size_t i = 0; i < array_len(families); i++)
		excess |= excess_of(families[i], a, b);
	if (excess & (DIM_BIT(DIM_HOSTS) | DIM_BIT(DIM_PORTS)) && a->network > b->network)
		excess |= DIM_BIT(DIM_NETWORK);
	if (excess & DIM_BIT(DIM_ENV_PASS) && a->env > b->env)
		excess |= DIM_BIT(DIM_ENV);
	if (b->ephemeral && leaves_traces(a))
		excess |= DIM_BIT(DIM_EPHEMERAL);
	if (a->processes > b->processes)
		excess |= DIM_BIT(DIM_PROCESSES);
	if (a->nested && !b->nested)
		excess |= DIM_BIT(DIM_NESTED);
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		const uint64_t *x = spec_limit_const(a, dim), *y = spec_limit_const(b, dim);

		if (x && *x > *y)
			excess |= DIM_BIT(dim);
	}
	return excess;
}

static int intersect(rules_fn *rules, const struct spec *a, const struct spec *b, struct strv *ret)
{
	struct rule_set x = rules(a), y = rules(b);

	return rule_set_intersect(&x, &y, ret);
}

static int hidden_in_either(const struct spec *a, const struct spec *b, struct strv *ret)
{
	const struct strv *lists[] = {&a->paths_hidden, &b->paths_hidden};

	for (size_t k = 0; k < array_len(lists); k++) {
		for (size_t i = 0; i < lists[k]->len; i++) {
			int r = strv_add(ret, lists[k]->items[i]);

			if (r < 0)
				return r;
		}
	}
	rules_normalize(ret, path_covers);
	return 0;
}

/* The level that says the most about what SPEC's lists allow; until now it is
 * none, so that the lists alone hold. */
static enum filesystem filesystem_level(const struct spec *spec)
{
	struct rule_set readable = rules_readable(spec), writable = rules_writable(spec);

	if (rule_set_covers(&writable, "/"))
		return FILESYSTEM_UNRESTRICTED;
	if (!spec->workspace)
		return FILESYSTEM_NONE;
	if (rule_set_covers(&writable, spec->workspace))
		return FILESYSTEM_WORKSPACE_ONLY;
	if (!rule_set_covers(&readable, spec->workspace))
		return FILESYSTEM_NONE;
	return rule_set_is_empty(&writable) ? FILESYSTEM_READONLY : FILESYSTEM_SCOPED_WRITE;
}

/* Drop from LIST what the rest of SPEC allows without it, by RULES. */
static int drop_implied(struct spec *spec, struct strv *list, rules_fn *rules)
{
	_cleanup_(strv_release) struct strv old = *list, kept = {0};
	struct rule_set rest;

	*list = (struct strv){0};
	rest = rules(spec);
	for (size_t i = 0; i < old.len; i++) {
		int r = rule_set_covers(&rest, old.items[i]) ? 0 : strv_add(&kept, old.items[i]);

		if (r < 0)
			return r;
	}
	*list = kept;
	kept = (struct strv){0};
	return 0;
}

static int meet_filesystem(const struct spec *a, const struct spec *b, struct spec *m)
{
	int r;

	r = hidden_in_either(a, b, &m->paths_hidden);
	if (r == 0)
		r = intersect(rules_writable, a, b, &m->paths_writable);
	if (r == 0)
		r = intersect(rules_readable, a, b, &m->paths_readable);
	if (r == 0)
		r = intersect(rules_sockets, a, b, &m->sockets);
	if (r == 0)
		r = intersect(rules_caches, a, b, &m->caches);
	if (r < 0)
		return r;
	m->ephemeral = a->ephemeral || b->ephemeral;
	m->filesystem = filesystem_level(m);
	r = drop_implied(m, &m->paths_writable, rules_writable);
	return r < 0 ? r : drop_implied(m, &m->paths_readable, rules_readable);
}

static int meet_network(const struct spec *a, const struct spec *b, struct spec *m)
{
	struct rule_set x = rules_ports(a), y = rules_ports(b);
	bool all_ports = x.extra == rule_all && y.extra == rule_all;
	int r;

	r = rule_set_intersect(&x, &y, &m->ports);
	if (r == 0)
		r = intersect(rules_hosts, a, b, &m->hosts);
	if (r == 0)
		r = intersect(rules_expose, a, b, &m->expose);
	if (r < 0)
		return r;
	if (a->network == NETWORK_UNRESTRICTED && b->network == NETWORK_UNRESTRICTED)
		m->network = NETWORK_UNRESTRICTED;
	else if (m->hosts.len > 0)
		m->network = NETWORK_ALLOWED_HOSTS;
	else if (m->ports.len > 0 || all_ports)
		m->network = NETWORK_LOCALHOST;
	else
		m->network = NETWORK_NONE;
	/* A list that is empty and counts: a host, but no port of the loopback. */
	m->ports_set = !all_ports && m->network != NETWORK_NONE;
	return 0;
}

static int meet_env(const struct spec *a, const struct spec *b, struct spec *m)
{
	int r = intersect(rules_vars, a, b, &m->env_pass);

	if (r < 0)
		return r;
	if (a->env == ENV_INHERIT && b->env == ENV_INHERIT)
		m->env = ENV_INHERIT;
	else
		m->env = m->env_pass.len > 0 ? ENV_PASS : ENV_CLEAN;
	return 0;
}

static int meet(const struct spec *a, const struct spec *b, struct spec *m)
{
	const char *workspace = a->workspace ? a->workspace : b->workspace;
	int r;

	if (workspace) {
		m->workspace = strdup(workspace);
		if (!m->workspace)
			return -ENOMEM;
	}
	r = meet_filesystem(a, b, m);
	if (r == 0)
		r = meet_network(a, b, m);
	if (r == 0)
		r = meet_env(a, b, m);
	if (r < 0)
		return r;
	m->processes = a->processes < b->processes ? a->processes : b->processes;
	m->nested = a->nested && b->nested;
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		const uint64_t *x = spec_limit_const(a, dim), *y = spec_limit_const(b, dim);

		if (x)
			*spec_limit(m, dim) = *x < *y ? *x : *y;
	}
	return 0;
}

int spec_meet(const struct spec *a, const struct spec *b, struct spec *ret, struct err *err)
{
	struct spec m;

	spec_init_bottom(&m);
	if (meet(a, b, &m) < 0) {
		spec_release(&m);
		return err_oom(err);
	}
	*ret = m;
	return 0;
}
