/* SPDX-License-Identifier: MIT */
/* keys and value: the tables are complete, and each type takes what it should. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/keys.h"
#include "config/value.h"
#include "tap.h"

static void test_spec_rows(void)
{
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		const struct key *key = &spec_keys[dim];
		bool flag = key->type == KEY_BOOL;

		tap_ok(key->path && key->help && key->option && key->flag &&
			       key->where == KEY_ANYWHERE && dim_by_name(key->path) == dim &&
			       str_eq(dim_name(dim), key->path),
		       "dimension %d has a row that is found by its name", dim);
		tap_ok(strncmp(key->flag, "--", 2) == 0 && str_eq(key->flag + 2, key->option) &&
			       flag == (key->metavar == NULL),
		       "%s: the option is spelled as typed and takes a value unless boolean",
		       key->path);
		tap_ok((key->type == KEY_CHOICE) == (key->choices != NULL),
		       "%s: choices fit the type", key->path);
	}
	tap_ok(dim_by_name("nonsense") == -1, "an unknown dimension has no number");
}

static void test_options_differ(void)
{
	bool differ = true;

	for (int a = 0; a < DIM_COUNT_; a++)
		for (int b = a + 1; b < DIM_COUNT_; b++)
			differ = differ && !str_eq(spec_keys[a].option, spec_keys[b].option);
	tap_ok(differ, "no two dimensions share an option");
}

static void test_config_rows(void)
{
	bool outside = true, helped = true;

	for (size_t i = 0; i < config_keys_len; i++) {
		const struct key *key = &config_keys[i];

		if (str_starts(key->path, "ceiling") || str_eq(key->path, "sandbox.allow_degraded"))
			outside = outside && key->where == (KEY_SYSTEM | KEY_USER);
		helped = helped && key->help && !str_ends(key->help, ".") && key->where;
		if (key->type == KEY_CHOICES && str_ends(key->path, "allow_degraded"))
			for (int dim = 0; dim < DIM_COUNT_; dim++)
				outside = outside && str_eq(key->choices[dim], dim_name(dim));
	}
	tap_ok(outside, "ceilings and allow_degraded are not for workspace files");
	tap_ok(helped, "every key has a help text");
}

static const struct {
	enum dim dim;
	const char *text;
	bool fine;
	uint64_t number;
} values[] = {
	{DIM_NETWORK, "none", true, 0},
	{DIM_NETWORK, "unrestricted", true, 3},
	{DIM_NETWORK, "None", false, 0},
	{DIM_NETWORK, "", false, 0},
	{DIM_EPHEMERAL, "true", true, 1},
	{DIM_EPHEMERAL, "false", true, 0},
	{DIM_EPHEMERAL, "1", false, 0},
	{DIM_TIMEOUT, "1ms", true, 1},
	{DIM_TIMEOUT, "0s", false, 0},
	{DIM_TIMEOUT, "3650d", true, 315360000000},
	{DIM_TIMEOUT, "3651d", false, 0},
	{DIM_TIMEOUT, "-1s", false, 0},
	{DIM_TIMEOUT, "30", false, 0},
	{DIM_MEMORY, "1m", true, 1 << 20},
	{DIM_MEMORY, "1048576", true, 1 << 20},
	{DIM_MEMORY, "1023k", false, 0},
	{DIM_MEMORY, "9999999999999g", false, 0},
	{DIM_TMPFS, "64k", true, 64 << 10},
	{DIM_TMPFS, "63k", false, 0},
	{DIM_PIDS, "1", true, 1},
	{DIM_PIDS, "0", false, 0},
	{DIM_PIDS, "4194304", true, 4194304},
	{DIM_PIDS, "4194305", false, 0},
	{DIM_PIDS, "99999999999999999999999", false, 0},
	{DIM_PIDS, "+5", false, 0},
	{DIM_PORTS, "65535", true, 65535},
	{DIM_PORTS, "65536", false, 0},
	{DIM_PORTS, "0", false, 0},
	{DIM_CONNECTIONS, "256", true, 256},
	{DIM_CONNECTIONS, "0", false, 0},
	{DIM_CONNECTIONS, "65536", false, 0},
	{DIM_CONNECT_RATE, "1", true, 1},
	{DIM_CONNECT_RATE, "1/s", false, 0},
	{DIM_NET_SENT, "1k", true, 1024},
	{DIM_NET_SENT, "1023", false, 0},
	{DIM_NET_RECEIVED, "10g", true, (uint64_t)10 << 30},
	{DIM_ENV_PASS, "CARGO_HOME", true, 0},
	{DIM_ENV_PASS, "LC_*", true, 0},
	{DIM_ENV_PASS, "*", false, 0},
	{DIM_ENV_PASS, "A*B", false, 0},
	{DIM_ENV_PASS, "1A", false, 0},
	{DIM_ENV_PASS, "A=B", false, 0},
	{DIM_ENV_PASS, "", false, 0},
	{DIM_PATHS_READABLE, "", false, 0},
	{DIM_PATHS_READABLE, "$HOME/x", false, 0},
	{DIM_PATHS_READABLE, "a/[b", true, 0},
};

static void test_values(void)
{
	for (size_t i = 0; i < array_len(values); i++) {
		const struct key *key = &spec_keys[values[i].dim];
		struct err err = {0};
		uint64_t n = 0;
		int r = key_parse(key, values[i].text, &n, &err);

		if (values[i].fine)
			tap_ok(r == 0 && n == values[i].number, "%s takes \"%s\"", key->path,
			       values[i].text);
		else
			tap_ok(r < 0 && strstr(err.message, key->path), "%s refuses \"%s\": %s",
			       key->path, values[i].text, err.message);
	}
}

static void test_hints(void)
{
	struct err err = {0};
	uint64_t n;

	key_parse(&spec_keys[DIM_NETWORK], "localhots", &n, &err);
	tap_eq_str(err.hint, "did you mean \"localhost\"?", "a misspelled choice is recognised");
	key_parse(&spec_keys[DIM_NETWORK], "xxxxxxxxxx", &n, &err);
	tap_ok(strstr(err.hint, "\"allowed_hosts\""), "otherwise the choices are listed");
	key_parse(&spec_keys[DIM_TIMEOUT], "0s", &n, &err);
	tap_eq_str(err.hint, "for no limit leave timeout out", "zero is not a way to say no limit");
}

static const struct {
	const char *text, *want; /* NULL: refused */
} paths[] = {
	{"/a", "/a"},
	{"/a/", "/a"},
	{"/a//b/./c", "/a/b/c"},
	{"/a/**", "/a"},
	{"/a/**/", "/a"},
	{"/", "/"},
	{"/**", "/"},
	{"sub", "/base/sub"},
	{".", "/base"},
	{"..", "/"},
	{"../x", "/x"},
	{"a/../../b", "/b"},
	{"~", "/home/u"},
	{"~/", "/home/u"},
	{"~/.ssh", "/home/u/.ssh"},
	{"~/**", "/home/u"},
	{"${WORKSPACE}", "/ws"},
	{"${WORKSPACE}/x/**", "/ws/x"},
	{"${WORKSPACE}/../y", "/y"},
	{"/with [brackets", "/with [brackets"},
	{"/a*b?", "/a*b?"},
	{"/pay$", "/pay$"},
	{"/a$1", "/a$1"},
	{"./~x", "/base/~x"},
	{"", NULL},
	{"~root/x", NULL},
	{"$HOME", NULL},
	{"/a/$USER", NULL},
	{"${HOME}/x", NULL},
	{"a/${WORKSPACE}", NULL},
	{"${WORKSPACE}x", NULL},
};

static void test_paths(void)
{
	for (size_t i = 0; i < array_len(paths); i++) {
		_cleanup_(freep) char *got = NULL;
		struct err err = {0};
		int r = path_rule_expand(paths[i].text, "/base", "/ws", "/home/u", &got, &err);

		if (paths[i].want)
			tap_eq_str(got, paths[i].want, "path \"%s\"", paths[i].text);
		else
			tap_ok(r == -EINVAL && err.message[0] && !got, "path \"%s\" is refused: %s",
			       paths[i].text, err.message);
	}
}

static void test_no_home(void)
{
	_cleanup_(freep) char *got = NULL;
	struct err err = {0};

	tap_ok(path_rule_expand("~/x", "/base", "/ws", NULL, &got, &err) < 0 && err.hint[0],
	       "~ without a home is an error with a hint");
	tap_ok(path_rule_expand("x", "/base", "/ws", NULL, &got, &err) == 0,
	       "other paths do not need one");
}

int main(void)
{
	test_spec_rows();
	test_options_differ();
	test_config_rows();
	test_values();
	test_hints();
	test_paths();
	test_no_home();
	return tap_done();
}
