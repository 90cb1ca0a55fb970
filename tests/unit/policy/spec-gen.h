/* SPDX-License-Identifier: MIT */
/*
 * spec-gen - specs from numbers, for property tests and the fuzzer.
 *
 * Lists are drawn from small pools whose members cover each other, so that
 * specs are comparable often enough. Numbers come from a seed or from bytes.
 */
#pragma once
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/spec.h"

struct gen {
	uint64_t state;
	const uint8_t *data; /* when set, the numbers come from here; then 0 */
	size_t len;
};

/* splitmix64 */
static inline uint64_t gen_next(struct gen *g)
{
	uint64_t z = (g->state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline unsigned gen_below(struct gen *g, unsigned n)
{
	if (!g->data)
		return (unsigned)(gen_next(g) % n);
	if (g->len == 0)
		return 0;
	g->len--;
	return *g->data++ % n;
}

struct gen_pool {
	const char *const *items;
	unsigned len;
};

static const char *const gen_paths[] = {
	"/", "/a", "/a/a", "/a/b", "/a/b/a", "/a/b/c", "/a/b/c/b", "/b", "/b/a", "/b/a/c", "/c",
};
static const char *const gen_hosts[] = {
	"*.example.org:443", "a.example.org:443", "*.a.example.org:443", "b.a.example.org:443",
	"example.org:443",   "example.org:80",    "10.0.0.0/8:80",       "10.1.0.0/16:80",
	"10.1.2.3:80",       "[fd00::/8]:80",     "[fd00::1]:80",
};
static const char *const gen_ports[] = {"80", "443", "5432"};
static const char *const gen_vars[] = {"*",     "FOO_*", "FOO_BAR_*", "FOO_BAR_X",
				       "FOO_X", "BAZ",   "FOO_TOKEN"};
static const char *const gen_workspaces[] = {"/a/b", "/a/b", "/a/b", "/b", "/a/b/c", NULL};

#define GEN_POOL(name) ((struct gen_pool){name, array_len(name)})

/* The names of a pool that belong to a list. */
static inline struct gen_pool gen_pool_of(enum dim dim)
{
	if (spec_keys[dim].type == KEY_HOSTS)
		return GEN_POOL(gen_hosts);
	if (spec_keys[dim].type == KEY_PORTS)
		return GEN_POOL(gen_ports);
	if (spec_keys[dim].type == KEY_VARS)
		return GEN_POOL(gen_vars);
	return GEN_POOL(gen_paths);
}

static inline void gen_list(struct gen *g, enum dim dim, struct strv *list)
{
	struct gen_pool pool = gen_pool_of(dim);
	unsigned n = gen_below(g, 8);

	strv_release(list);
	/* Often empty; "/" is rare, because little is comparable with it. */
	for (n = n > 4 ? n - 4 : 0; n > 0; n--) {
		unsigned i = gen_below(g, pool.len);

		if (i == 0 && pool.items == gen_paths)
			i = gen_below(g, pool.len);
		if (strv_add(list, pool.items[i]) < 0)
			abort();
	}
}

/* Choose one dimension anew. */
static inline void gen_dim(struct gen *g, enum dim dim, struct spec *spec)
{
	struct strv *list = spec_list(spec, dim);
	uint64_t *limit = spec_limit(spec, dim);

	if (list)
		gen_list(g, dim, list);
	if (limit)
		*limit = gen_below(g, 2) ? SPEC_UNLIMITED : gen_below(g, 3) * 1000;
	if (dim == DIM_NETWORK)
		spec->network = (enum network)gen_below(g, 4);
	if (dim == DIM_PORTS)
		spec->ports_set = gen_below(g, 2);
	if (dim == DIM_FILESYSTEM)
		spec->filesystem = (enum filesystem)gen_below(g, 5);
	if (dim == DIM_EPHEMERAL)
		spec->ephemeral = gen_below(g, 4) == 0;
	if (dim == DIM_PROCESSES)
		spec->processes = (enum processes)gen_below(g, 2);
	if (dim == DIM_ENV)
		spec->env = (enum env)gen_below(g, 3);
	if (dim == DIM_NESTED)
		spec->nested = gen_below(g, 2);
}

/* A spec in which about half of the dimensions are at their defaults. */
static inline void gen_spec(struct gen *g, struct spec *spec)
{
	const char *workspace = gen_workspaces[gen_below(g, array_len(gen_workspaces))];

	if (gen_below(g, 3) == 0)
		spec_init_top(spec);
	else
		spec_init_bottom(spec);
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		if (gen_below(g, 2))
			gen_dim(g, dim, spec);
	spec->workspace = workspace ? strdup(workspace) : NULL;
	if (workspace && !spec->workspace)
		abort();
}

/* A spec that differs from SPEC in a few dimensions. */
static inline void gen_near(struct gen *g, const struct spec *spec, struct spec *ret)
{
	spec_init_bottom(ret);
	if (spec_copy(ret, spec) < 0)
		abort();
	for (unsigned n = 1 + gen_below(g, 2); n > 0; n--)
		gen_dim(g, (enum dim)gen_below(g, DIM_COUNT_), ret);
}
