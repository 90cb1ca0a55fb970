/* SPDX-License-Identifier: MIT */
/*
 * spec-model - what a spec allows, by trying.
 *
 * The sets of lattice.h over a small world: every path down to four names of
 * three, and for each rule of spec-gen.h a host, port or variable that no
 * narrower rule names. Written without the code under test: no covering rules,
 * only "is this one thing allowed".
 */
#pragma once
#include <string.h>

#include "base/cleanup.h"
#include "policy/spec.h"

#define MODEL_PATHS 121

static const char *const model_hosts[] = {
	"z.example.org:443", "a.example.org:443", "z.a.example.org:443", "b.a.example.org:443",
	"example.org:443",   "example.org:80",    "10.9.9.9:80",         "10.1.9.9:80",
	"10.1.2.3:80",       "[fd99::9]:80",      "[fd00::1]:80",        "other.example.net:9",
};
static const char *const model_ports[] = {"80", "443", "5432", "9"};
static const char *const model_vars[] = {
	"FOO_BAR_X", "FOO_BAR_Y", "FOO_X", "FOO_Y",
	"FOO_TOKEN", "BAZ",       "QUX",   "\x01 no list names this",
};

struct model {
	bool seen[MODEL_PATHS], written[MODEL_PATHS], sockets[MODEL_PATHS], caches[MODEL_PATHS];
	bool hosts[array_len(model_hosts)];
	bool ports[array_len(model_ports)], expose[array_len(model_ports)];
	bool vars[array_len(model_vars)];
};

/* Path number I: 0 is "/", then by depth. */
static inline void model_path(unsigned i, char path[16])
{
	unsigned depth = 0, count = 1, len = 0;

	for (; i >= count; depth++, count *= 3)
		i -= count;
	for (; depth > 0; depth--) {
		count /= 3;
		path[len++] = '/';
		path[len++] = (char)('a' + i / count % 3);
	}
	if (len == 0)
		path[len++] = '/';
	path[len] = '\0';
}

static inline bool model_under(const char *path, const char *dir)
{
	while (*dir && *path == *dir)
		path++, dir++;
	return *dir == '\0' && (dir[-1] == '/' || *path == '\0' || *path == '/');
}

static inline bool model_under_any(const char *path, const struct strv *dirs)
{
	for (size_t i = 0; i < dirs->len; i++)
		if (model_under(path, dirs->items[i]))
			return true;
	return false;
}

static inline bool model_host_matches(const char *host, const char *rule)
{
	static const char *const networks[][2] = {
		{"10.0.0.0/8:80", "10."},
		{"10.1.0.0/16:80", "10.1."},
		{"[fd00::/8]:80", "[fd"},
	};

	for (size_t i = 0; i < array_len(networks); i++)
		if (strcmp(rule, networks[i][0]) == 0)
			return strncmp(host, networks[i][1], strlen(networks[i][1])) == 0;
	if (rule[0] == '*' && strlen(host) > strlen(rule + 1))
		return strcmp(host + strlen(host) - strlen(rule + 1), rule + 1) == 0;
	return strcmp(host, rule) == 0;
}

static inline bool model_var_matches(const char *var, const char *rule)
{
	size_t n = strcspn(rule, "*");

	if (var[0] == '\x01')
		return false;
	if (!rule[n])
		return strcmp(var, rule) == 0;
	return strncmp(var, rule, n) == 0 && strcmp(var, "FOO_TOKEN") != 0; /* a secret's name */
}

static inline bool model_any(const char *thing, const struct strv *rules,
			     bool (*matches)(const char *thing, const char *rule))
{
	for (size_t i = 0; i < rules->len; i++)
		if (matches(thing, rules->items[i]))
			return true;
	return false;
}

static inline void model_path_fill(const struct spec *spec, unsigned i, struct model *m)
{
	char path[16];
	bool in_workspace, hidden, all = spec->filesystem == FILESYSTEM_UNRESTRICTED;

	model_path(i, path);
	in_workspace = spec->workspace && model_under(path, spec->workspace);
	hidden = model_under_any(path, &spec->paths_hidden);
	m->written[i] = !hidden &&
			(all || model_under_any(path, &spec->paths_writable) ||
			 (in_workspace && spec->filesystem == FILESYSTEM_WORKSPACE_ONLY));
	m->seen[i] = m->written[i] ||
		     (!hidden && (model_under_any(path, &spec->paths_readable) ||
				  (in_workspace && spec->filesystem != FILESYSTEM_NONE)));
	m->sockets[i] = !hidden && (m->written[0] || model_under_any(path, &spec->sockets));
	m->caches[i] = m->written[0] || model_under_any(path, &spec->caches);
}

static inline struct model model_of(const struct spec *spec)
{
	bool open = spec->network == NETWORK_UNRESTRICTED, none = spec->network == NETWORK_NONE;
	struct model m = {0};

	for (unsigned i = 0; i < MODEL_PATHS; i++)
		model_path_fill(spec, i, &m);
	for (size_t i = 0; i < array_len(model_hosts); i++)
		m.hosts[i] = open || (spec->network == NETWORK_ALLOWED_HOSTS &&
				      model_any(model_hosts[i], &spec->hosts, model_host_matches));
	for (size_t i = 0; i < array_len(model_ports); i++) {
		m.ports[i] = open || (!none &&
				      (!spec->ports_set || strv_has(&spec->ports, model_ports[i])));
		m.expose[i] = open || strv_has(&spec->expose, model_ports[i]);
	}
	for (size_t i = 0; i < array_len(model_vars); i++)
		m.vars[i] = spec->env == ENV_INHERIT ||
			    (spec->env == ENV_PASS &&
			     model_any(model_vars[i], &spec->env_pass, model_var_matches));
	return m;
}

static inline bool model_writes(const struct model *m)
{
	return memchr(m->written, 1, sizeof(m->written));
}

/* Every field of struct model is a row of bools. */
_Static_assert(sizeof(bool) == 1, "models are compared byte by byte");

static inline bool model_leq(const struct model *a, const struct model *b)
{
	const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;

	for (size_t i = 0; i < sizeof(*a); i++)
		if (x[i] && !y[i])
			return false;
	return true;
}

/* Is M exactly what A and B have in common? */
static inline bool model_is_meet(const struct model *m, const struct model *a,
				 const struct model *b)
{
	const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;

	for (size_t i = 0; i < sizeof(*m); i++)
		if (((const unsigned char *)m)[i] != (x[i] & y[i]))
			return false;
	return true;
}

/* The dimensions without lists. */
static inline bool model_scalars_leq(const struct spec *a, const struct model *x,
				     const struct spec *b, const struct model *y)
{
	bool stays_a = !a->ephemeral && model_writes(x);
	bool stays_b = !b->ephemeral && model_writes(y);

	return a->tmpfs <= b->tmpfs && a->timeout <= b->timeout && a->cpu <= b->cpu &&
	       a->memory <= b->memory && a->pids <= b->pids && a->disk <= b->disk &&
	       a->max_output <= b->max_output && a->nested <= b->nested &&
	       a->processes <= b->processes && stays_a <= stays_b &&
	       a->connections <= b->connections && a->connect_rate <= b->connect_rate &&
	       a->net_sent <= b->net_sent && a->net_received <= b->net_received;
}
