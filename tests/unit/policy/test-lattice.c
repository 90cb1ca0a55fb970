/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tests/tap.h"
#include "tests/unit/policy/lattice-laws.h"
#include "tests/unit/policy/spec-gen.h"
#include "tests/unit/policy/spec-model.h"

static void show(const char *name, const struct spec *spec)
{
	_cleanup_(str_release) struct str s = {0};
	struct json json = {.out = &s};

	spec_json(spec, NULL, &json);
	json_finish(&json);
	tap_note("%s: workspace %s %s", name, spec->workspace ? spec->workspace : "-",
		 str_text(&s));
}

/* Three specs, near each other more often than not. */
static void gen_three(struct gen *g, struct spec specs[3])
{
	gen_spec(g, &specs[0]);
	for (int i = 1; i < 3; i++) {
		unsigned how = gen_below(g, 4);

		if (how == 0) {
			gen_spec(g, &specs[i]);
		} else if (how == 1 && i == 2) {
			struct spec m = met(&specs[0], &specs[1]);

			gen_near(g, &m, &specs[2]);
			spec_release(&m);
		} else {
			gen_near(g, &specs[i - 1], &specs[i]);
		}
	}
}

static const char *model_laws(const struct spec *a, const struct spec *b, unsigned long *within)
{
	struct model x = model_of(a), y = model_of(b), z;
	struct spec ab = met(a, b);
	bool leq = spec_leq(a, b), truth = model_leq(&x, &y) && model_scalars_leq(a, &x, b, &y);

	z = model_of(&ab);
	spec_release(&ab);
	*within += truth;
	if (leq && !truth)
		return "what is within allows nothing more (sound)";
	if (truth && !leq)
		return "what allows nothing more is within (complete)";
	return model_is_meet(&z, &x, &y) ? NULL : "meet allows what both allow";
}

static void test_laws(uint64_t seed, unsigned rounds)
{
	struct gen g = {.state = seed};
	struct tally tally = {0};
	unsigned long within = 0;
	const char *broken = NULL;
	struct spec specs[3];
	unsigned i;

	for (i = 0; i < rounds && !broken; i++) {
		dim_set weak = (dim_set)gen_next(&g) & (dim_set)gen_next(&g) &
			       (dim_set)gen_next(&g);

		gen_three(&g, specs);
		broken = lattice_laws(&specs[0], &specs[1], &specs[2], weak, &tally);
		if (!broken)
			broken = model_laws(&specs[0], &specs[1], &within);
		if (broken) {
			tap_note("in round %u, of seed %llu", i, (unsigned long long)seed);
			show("a", &specs[0]);
			show("b", &specs[1]);
			show("c", &specs[2]);
		}
		for (int k = 0; k < 3; k++)
			spec_release(&specs[k]);
	}
	tap_ok(!broken, "the laws of the order hold for %u specs%s%s", i * 3,
	       broken ? ", but not: " : "", broken ? broken : "");
	tap_note("pairs %lu, comparable %lu, equal %lu, chains %lu, common bounds %lu, within %lu",
		 tally.pairs, tally.comparable, tally.equal, tally.chains, tally.bounds, within);
	tap_ok(tally.comparable > rounds / 4, "enough pairs were comparable");
	tap_ok(tally.comparable - tally.equal > rounds / 10, "enough of them were not equal");
	tap_ok(tally.pairs - tally.comparable > rounds / 10, "enough pairs were not comparable");
	tap_ok(tally.chains > rounds / 10, "enough chains of three were seen");
	tap_ok(tally.bounds > rounds / 10, "enough common bounds were seen");
}

/* "filesystem=readonly writable=/x,/y" and so on, on top of the bottom. */
static struct spec make(const char *text)
{
	_cleanup_(freep) char *copy = strdup(text);
	char *save = NULL, *list = NULL;
	struct spec spec;

	spec_init_bottom(&spec);
	spec.workspace = strdup("/w");
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');
		int dim;

		*value++ = '\0';
		dim = dim_by_name(word);
		if (dim == DIM_NETWORK)
			spec.network = (enum network)key_choice(&spec_keys[dim], value);
		else if (dim == DIM_FILESYSTEM)
			spec.filesystem = (enum filesystem)key_choice(&spec_keys[dim], value);
		else if (dim == DIM_ENV)
			spec.env = (enum env)key_choice(&spec_keys[dim], value);
		else if (dim == DIM_PROCESSES)
			spec.processes = PROCESSES_VISIBLE;
		else if (dim == DIM_EPHEMERAL)
			spec.ephemeral = true;
		else if (spec_limit(&spec, dim))
			*spec_limit(&spec, dim) = strtoul(value, NULL, 10);
		else
			for (char *item = strtok_r(value, ",", &list); item;
			     item = strtok_r(NULL, ",", &list))
				strv_add(spec_list(&spec, dim), item);
		if (dim == DIM_PORTS)
			spec.ports_set = true;
	}
	return spec;
}

static void names_of(dim_set dims, struct str *out)
{
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		if (dims & DIM_BIT(dim))
			str_appendf(out, "%s%s", out->len ? " " : "", dim_name(dim));
}

static void test_excess(void)
{
	static const struct {
		const char *a, *b, *dims;
	} cases[] = {
		{"filesystem=readonly", "filesystem=none", "filesystem"},
		{"filesystem=workspace_only", "filesystem=readonly", "filesystem"},
		{"filesystem=readonly", "filesystem=workspace_only", ""},
		{"filesystem=workspace_only", "filesystem=scoped_write paths_writable=/w/out",
		 "filesystem"},
		{"filesystem=scoped_write paths_writable=/w/out", "filesystem=workspace_only", ""},
		{"filesystem=scoped_write paths_writable=/x", "filesystem=workspace_only",
		 "paths_writable"},
		{"filesystem=workspace_only", "filesystem=scoped_write paths_writable=/w", ""},
		{"filesystem=readonly paths_readable=/x/y", "filesystem=readonly paths_readable=/x",
		 ""},
		{"filesystem=readonly paths_readable=/xy", "filesystem=readonly paths_readable=/x",
		 "paths_readable"},
		{"filesystem=readonly", "filesystem=readonly paths_hidden=/w/secret",
		 "paths_hidden"},
		{"filesystem=readonly paths_hidden=/w/secret",
		 "filesystem=readonly paths_hidden=/w/secret/deep", ""},
		{"filesystem=readonly paths_hidden=/w", "filesystem=none", ""},
		{"filesystem=workspace_only paths_hidden=/", "filesystem=none", ""},
		{"filesystem=unrestricted", "filesystem=workspace_only paths_writable=/", ""},
		{"filesystem=none sockets=/run/x", "filesystem=none", "sockets"},
		{"filesystem=none sockets=/run/x", "filesystem=unrestricted", ""},
		{"filesystem=none sockets=/run/x", "filesystem=unrestricted paths_hidden=/run",
		 "paths_hidden"},
		{"caches=/home/u/.cache/go", "caches=/home/u/.cache", ""},
		{"caches=/home/u/.cache", "caches=/home/u/.cache/go", "caches"},
		{"filesystem=readonly", "filesystem=readonly ephemeral=1", ""},
		{"filesystem=workspace_only", "filesystem=workspace_only ephemeral=1", "ephemeral"},
		{"network=localhost", "network=none", "network ports"},
		{"network=localhost ports=80", "network=localhost ports=81", "ports"},
		{"network=localhost ports=80", "network=localhost", ""},
		{"network=localhost", "network=localhost ports=80", "ports"},
		{"network=localhost ports=", "network=none", ""},
		{"network=allowed_hosts ports= hosts=a.b:1", "network=none", "network hosts"},
		{"network=allowed_hosts ports= hosts=c.a.b:1",
		 "network=allowed_hosts hosts=*.a.b:1", ""},
		{"network=allowed_hosts hosts=c.a.b:1", "network=unrestricted", ""},
		{"network=unrestricted", "network=allowed_hosts hosts=c.a.b:1", "network"},
		{"expose=80", "expose=80,81", ""},
		{"expose=82", "expose=80,81", "expose"},
		{"expose=82", "network=unrestricted", ""},
		{"env=pass env_pass=FOO_X,FOO_Y_*", "env=pass env_pass=FOO_*", ""},
		{"env=pass env_pass=FOO_*", "env=pass env_pass=FOO_X", "env_pass"},
		{"env=pass env_pass=FOO_TOKEN", "env=pass env_pass=FOO_*", "env_pass"},
		{"env=pass env_pass=FOO_TOKEN_*", "env=pass env_pass=FOO_*", ""},
		{"env=pass env_pass=FOO_TOKEN", "env=pass env_pass=FOO_*,FOO_TOKEN", ""},
		{"env=pass env_pass=FOO", "env=clean", "env env_pass"},
		{"env=pass", "env=clean", ""},
		{"env=inherit", "env=pass env_pass=*", "env"},
		{"env=pass env_pass=*", "env=inherit", ""},
		{"memory=5", "memory=4", "memory"},
		{"memory=4", "memory=5", ""},
		{"", "timeout=5", "timeout"},
		{"timeout=5 pids=3", "", ""},
		{"processes=visible", "processes=isolated", ""},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(str_release) struct str got = {0};
		struct spec a = make(cases[i].a), b = make(cases[i].b);

		names_of(spec_excess(&a, &b), &got);
		tap_eq_str(str_text(&got), cases[i].dims, "'%s' against '%s' is looser in: %s",
			   cases[i].a, cases[i].b, cases[i].dims[0] ? cases[i].dims : "nothing");
		spec_release(&a);
		spec_release(&b);
	}
}

static void test_meet(void)
{
	static const struct {
		const char *a, *b, *meet;
	} cases[] = {
		{"filesystem=unrestricted", "filesystem=workspace_only",
		 "filesystem=workspace_only"},
		{"filesystem=workspace_only", "filesystem=readonly", "filesystem=readonly"},
		{"filesystem=workspace_only", "filesystem=scoped_write paths_writable=/w/out,/x",
		 "filesystem=scoped_write paths_writable=/w/out"},
		{"filesystem=none", "filesystem=workspace_only", "filesystem=none"},
		{"filesystem=none paths_readable=/w/doc", "filesystem=workspace_only",
		 "filesystem=none paths_readable=/w/doc"},
		{"filesystem=unrestricted paths_hidden=/x",
		 "filesystem=unrestricted paths_hidden=/y",
		 "filesystem=unrestricted paths_hidden=/x,/y"},
		{"filesystem=unrestricted", "filesystem=readonly paths_readable=/",
		 "filesystem=readonly paths_readable=/"},
		{"filesystem=readonly paths_hidden=/w", "filesystem=readonly",
		 "filesystem=none paths_hidden=/w"},
		{"network=unrestricted expose=80", "network=localhost ports=80 expose=81",
		 "network=localhost ports=80 expose=81"},
		{"network=allowed_hosts hosts=*.a.b:1", "network=localhost", "network=localhost"},
		{"network=allowed_hosts hosts=*.a.b:1 ports=",
		 "network=allowed_hosts hosts=c.a.b:1",
		 "network=allowed_hosts hosts=c.a.b:1 ports="},
		{"network=localhost ports=80", "network=localhost ports=81", "network=none"},
		{"env=inherit", "env=pass env_pass=A_*,B", "env=pass env_pass=A_*,B"},
		{"env=pass env_pass=A_*,B", "env=pass env_pass=A_X", "env=pass env_pass=A_X"},
		{"env=pass env_pass=A", "env=pass env_pass=B", "env=clean"},
		{"memory=5 timeout=9", "memory=7", "memory=5 timeout=9"},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		struct spec a = make(cases[i].a), b = make(cases[i].b), want = make(cases[i].meet);
		struct spec got = met(&a, &b);
		_cleanup_(str_release) struct str x = {0}, y = {0};
		struct json jx = {.out = &x}, jy = {.out = &y};

		/* make() puts limits of its own on nothing: the texts are comparable. */
		spec_json(&got, NULL, &jx);
		spec_json(&want, NULL, &jy);
		tap_eq_str(str_text(&x), str_text(&y), "'%s' and '%s' meet in '%s'", cases[i].a,
			   cases[i].b, cases[i].meet);
		spec_release(&a);
		spec_release(&b);
		spec_release(&want);
		spec_release(&got);
	}
}

static void test_workspaces(void)
{
	struct spec a = make("filesystem=workspace_only"), b = make("filesystem=workspace_only"), m;

	free(b.workspace);
	b.workspace = strdup("/w/sub");
	tap_ok(spec_leq(&b, &a) && !spec_leq(&a, &b), "workspaces count by their paths");
	m = met(&a, &b);
	tap_ok(str_eq(m.workspace, "/w") && strv_has(&m.paths_writable, "/w/sub") &&
		       m.filesystem == FILESYSTEM_NONE,
	       "the first one's workspace is kept, what is common becomes a path");
	spec_release(&m);
	free(a.workspace);
	a.workspace = NULL;
	m = met(&a, &b);
	tap_ok(str_eq(m.workspace, "/w/sub") && m.filesystem == FILESYSTEM_NONE,
	       "a level without a workspace adds nothing");
	spec_release(&m);
	spec_release(&a);
	spec_release(&b);
}

int main(void)
{
	const char *seed = getenv("PALE_TEST_SEED");

	test_excess();
	test_meet();
	test_workspaces();
	test_laws(seed ? strtoull(seed, NULL, 0) : 20240607, getenv("PALE_QUICK") ? 500 : 40000);
	return tap_done();
}
