/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "policy/spec.h"
#include "tests/tap.h"

static void fill(struct spec *spec)
{
	spec_init_bottom(spec);
	spec->workspace = strdup("/w");
	spec->network = NETWORK_ALLOWED_HOSTS;
	strv_add(&spec->hosts, "*.example.org:443");
	spec->ports_set = true;
	strv_add(&spec->ports, "80");
	strv_add(&spec->ports, "5432");
	spec->filesystem = FILESYSTEM_SCOPED_WRITE;
	strv_add(&spec->paths_writable, "/w/a \"b\"\\\n");
	spec->timeout = 90000;
	spec->memory = (uint64_t)2 << 30;
	spec->pids = 64;
	spec->nested = true;
}

static void test_print(void)
{
	static const struct {
		enum dim dim;
		const char *text;
	} cases[] = {
		{DIM_NETWORK, "\"allowed_hosts\""},
		{DIM_HOSTS, "[\"*.example.org:443\"]"},
		{DIM_PORTS, "[80, 5432]"},
		{DIM_EXPOSE, "[]"},
		{DIM_FILESYSTEM, "\"scoped_write\""},
		{DIM_PATHS_WRITABLE, "[\"/w/a \\\"b\\\"\\\\\\u000A\"]"},
		{DIM_EPHEMERAL, "false"},
		{DIM_NESTED, "true"},
		{DIM_PROCESSES, "\"isolated\""},
		{DIM_ENV, "\"clean\""},
		{DIM_TIMEOUT, "\"90s\""},
		{DIM_MEMORY, "\"2g\""},
		{DIM_PIDS, "64"},
		{DIM_CPU, ""},
	};
	struct spec spec;

	fill(&spec);
	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(str_release) struct str got = {0};

		spec_print_dim(&spec, cases[i].dim, &got);
		tap_eq_str(str_text(&got), cases[i].text, "%s is printed as in TOML",
			   dim_name(cases[i].dim));
	}
	spec_release(&spec);
}

static void test_json(void)
{
	static const char want[] =
		"{\"network\":\"allowed_hosts\",\"hosts\":[\"*.example.org:443\"],"
		"\"ports\":[80,5432],\"expose\":[],\"sockets\":[],"
		"\"filesystem\":\"scoped_write\",\"paths_readable\":[],"
		"\"paths_writable\":[\"/w/a \\\"b\\\"\\\\\\n\"],\"paths_hidden\":[],"
		"\"ephemeral\":false,\"caches\":[],\"tmpfs\":null,\"processes\":\"isolated\","
		"\"env\":\"clean\",\"env_pass\":[],\"timeout\":\"90s\",\"cpu\":null,"
		"\"memory\":\"2g\",\"pids\":64,\"disk\":null,\"max_output\":null,\"nested\":true,"
		"\"connections\":null,\"connect_rate\":null,\"net_sent\":null,"
		"\"net_received\":null}";
	_cleanup_(str_release) struct str got = {0};
	struct json json = {.out = &got};
	struct spec spec;

	fill(&spec);
	spec_json(&spec, NULL, &json);
	tap_ok(json_finish(&json) == 0, "the object is closed");
	tap_eq_str(str_text(&got), want, "every dimension is in the JSON form");
	spec_release(&spec);
}

static void test_copy(void)
{
	struct spec spec, copy;
	bool same = true;

	fill(&spec);
	spec_init_top(&copy);
	strv_add(&copy.hosts, "old.example:443");
	tap_ok(spec_copy(&copy, &spec) == 0 && str_eq(copy.workspace, "/w") &&
		       copy.workspace != spec.workspace,
	       "a copy has a workspace of its own");
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		_cleanup_(str_release) struct str x = {0}, y = {0};

		spec_print_dim(&spec, dim, &x);
		spec_print_dim(&copy, dim, &y);
		same = same && str_eq(str_text(&x), str_text(&y));
	}
	tap_ok(same, "and the same value in every dimension");
	tap_ok(spec_copy(&copy, &copy) == 0 && str_eq(copy.workspace, "/w"),
	       "a spec can be copied onto itself");
	spec_release(&spec);
	spec_release(&copy);
	tap_ok(spec_copy(&copy, &spec) == 0 && !copy.workspace, "a released spec can be copied");
	spec_release(&copy);
}

static void test_default(void)
{
	struct spec spec, none;
	bool all = true;

	spec_init_bottom(&none);
	none.filesystem = FILESYSTEM_READONLY;
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		all = all && spec_dim_is_default(&none, dim);
	tap_ok(all, "readonly without limits asks for nothing beyond the defaults");
	fill(&spec);
	tap_ok(!spec_dim_is_default(&spec, DIM_NETWORK) && !spec_dim_is_default(&spec, DIM_PORTS) &&
		       !spec_dim_is_default(&spec, DIM_MEMORY) &&
		       !spec_dim_is_default(&spec, DIM_NESTED) &&
		       !spec_dim_is_default(&spec, DIM_HOSTS),
	       "what is set is not the default");
	spec.ports.len = 0;
	tap_ok(!spec_dim_is_default(&spec, DIM_PORTS), "an empty list of ports is something set");
	spec.ports.len = 2;
	spec_release(&spec);
	spec_release(&none);
}

static void test_accessors(void)
{
	struct spec spec;
	unsigned limits = 0, lists = 0;
	bool unlimited = true;

	spec_init_top(&spec);
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		limits += spec_limit(&spec, dim) != NULL;
		lists += spec_list(&spec, dim) != NULL;
		if (spec_limit(&spec, dim))
			unlimited = unlimited && *spec_limit(&spec, dim) == SPEC_UNLIMITED;
	}
	tap_ok(limits == 11 && lists == 9, "eleven limits and nine lists");
	tap_ok(unlimited, "no limit is set at the top");
	tap_ok(spec_limit(&spec, DIM_PIDS) == &spec.pids &&
		       spec_limit_const(&spec, DIM_MAX_OUTPUT) == &spec.max_output &&
		       spec_list(&spec, DIM_CACHES) == &spec.caches &&
		       !spec_limit(&spec, DIM_NETWORK) && !spec_list_const(&spec, DIM_NESTED),
	       "a dimension leads to its field");
	spec_release(&spec);
}

static void test_confined(void)
{
	struct spec spec;
	unsigned confined = 0, limits = 0;

	spec_init_bottom(&spec);
	tap_ok(spec_is_confined(&spec), "the tightest is confined");
	spec_init_top(&spec);
	tap_ok(!spec_is_confined(&spec), "off is not");
	spec.timeout = 1000;
	tap_ok(!spec_is_confined(&spec), "a timeout needs no boundary");
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		uint64_t *limit = spec_limit(&spec, dim);

		if (!limit || dim == DIM_TIMEOUT)
			continue;
		limits++;
		*limit = 1;
		confined += spec_is_confined(&spec);
		*limit = SPEC_UNLIMITED;
	}
	tap_ok(confined == limits, "every other limit does");
	strv_add(&spec.paths_hidden, "/x");
	tap_ok(spec_is_confined(&spec), "so does a hidden path");
	strv_release(&spec.paths_hidden);
	spec.nested = false;
	tap_ok(spec_is_confined(&spec), "so does nested = false");
	spec.nested = true;
	spec.env = ENV_PASS;
	tap_ok(spec_is_confined(&spec), "so does an environment that is not inherited");
	spec_release(&spec);
}

static void paths(const struct spec *spec, const char *readable, const char *writable,
		  const char *what)
{
	_cleanup_(strv_release) struct strv r = {0}, w = {0};
	_cleanup_(str_release) struct str x = {0}, y = {0};

	spec_readable(spec, &r);
	spec_writable(spec, &w);
	for (size_t i = 0; i < r.len; i++)
		str_appendf(&x, "%s%s", i ? " " : "", r.items[i]);
	for (size_t i = 0; i < w.len; i++)
		str_appendf(&y, "%s%s", i ? " " : "", w.items[i]);
	tap_eq_str(str_text(&x), readable, "%s: readable", what);
	tap_eq_str(str_text(&y), writable, "%s: writable", what);
}

static void test_paths(void)
{
	struct spec spec;

	spec_init_bottom(&spec);
	spec.workspace = strdup("/w");
	strv_add(&spec.paths_readable, "/r");
	strv_add(&spec.paths_readable, "/r/below");
	strv_add(&spec.paths_writable, "/w/out");
	paths(&spec, "/r /w/out", "/w/out", "none");
	spec.filesystem = FILESYSTEM_READONLY;
	paths(&spec, "/r /w", "/w/out", "readonly");
	spec.filesystem = FILESYSTEM_WORKSPACE_ONLY;
	paths(&spec, "/r /w", "/w", "workspace_only");
	spec.filesystem = FILESYSTEM_SCOPED_WRITE;
	paths(&spec, "/r /w", "/w/out", "scoped_write");
	strv_add(&spec.paths_hidden, "/w/out");
	paths(&spec, "/r /w", "", "a hidden path");
	spec.filesystem = FILESYSTEM_UNRESTRICTED;
	paths(&spec, "/", "/", "unrestricted");
	spec.filesystem = FILESYSTEM_WORKSPACE_ONLY;
	free(spec.workspace);
	spec.workspace = NULL;
	paths(&spec, "/r", "", "no workspace");
	spec_release(&spec);
}

int main(void)
{
	test_print();
	test_json();
	test_copy();
	test_default();
	test_accessors();
	test_confined();
	test_paths();
	return tap_done();
}
