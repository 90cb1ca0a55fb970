/* SPDX-License-Identifier: MIT */
#include "base/opt.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "tap.h"

static const struct opt items[] = {
	{"network", 'n', "MODE", "what the command may reach: none, list or full", 1, NULL},
	{"timeout", 't', "DURATION", "end the run after this time", 2, "Limits"},
	{"json", 'j', NULL, "print JSON", 3, NULL},
	{"explain", 'x', NULL, "say why", 4, NULL},
	{"an-option-with-a-very-long-name", 0, "VALUE",
	 "its text begins on a line of its own, and is long enough that it must be wrapped once", 5,
	 "Limits"},
};

static const struct opt_table table = {items, array_len(items), false};
static const struct opt_table stopping = {items, array_len(items), true};

/* Writes "name=value;" or "name;" for each option, refuses the value "bad". */
static int record(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct str *out = data;

	if (str_eq(value, "bad"))
		return err_set(err, ERR_USAGE, -ERANGE, "refused");
	return str_appendf(out, value ? "%s=%s;" : "%s;", opt->name, value);
}

/* LINE is split at blanks; '~' stands for an empty argument. */
static int parse(const struct opt_table *t, const char *line, struct str *out, struct err *err)
{
	_cleanup_(strv_release) struct strv argv = {0};
	_cleanup_(freep) char **copy = NULL;
	struct opt_args args = {.len = -7};
	int r;

	strv_add(&argv, "verb");
	while (*line) {
		size_t len = strcspn(line, " ");

		strv_addn(&argv, line, len == 1 && *line == '~' ? 0 : len);
		line += len + strspn(line + len, " ");
	}
	copy = calloc(argv.len + 1, sizeof(*copy));
	memcpy(copy, argv.items, argv.len * sizeof(*copy));
	r = opt_parse(t, (int)argv.len, copy, record, out, &args, err);
	if (r < 0)
		return args.len == -7 ? r : -EUCLEAN;
	str_append(out, "|");
	for (int i = 0; i < args.len; i++)
		str_appendf(out, " <%s>", args.operands[i]);
	if (args.operands[args.len])
		str_append(out, " no NULL");
	if (args.dashdash >= 0)
		str_appendf(out, " -- %d", args.dashdash);
	return 0;
}

static void test_good(void)
{
	static const struct {
		const struct opt_table *table;
		const char *line;
		const char *want;
	} cases[] = {
		{&table, "", "|"},
		{&table, "a b", "| <a> <b>"},
		{&table, "--json --network none", "json;network=none;|"},
		{&table, "--network=none=x", "network=none=x;|"},
		{&table, "--network=", "network=;|"},
		{&table, "--network ~", "network=;|"},
		{&table, "--network --json", "network=--json;|"},
		{&table, "-n full -nlist", "network=full;network=list;|"},
		{&table, "-jx", "json;explain;|"},
		{&table, "-jxn full a", "json;explain;network=full;| <a>"},
		{&table, "-jnx", "json;network=x;|"},
		{&table, "a -j b -x c", "json;explain;| <a> <b> <c>"},
		{&table, "- ~ a", "| <-> <> <a>"},
		{&table, "-j -- -x --json", "json;| <-x> <--json> -- 0"},
		{&table, "a -- b --", "| <a> <b> <--> -- 1"},
		{&stopping, "-j a -x --json", "json;| <a> <-x> <--json>"},
		{&stopping, "a -- b", "| <a> <--> <b>"},
		{&stopping, "-j -- -x", "json;| <-x> -- 0"},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(str_release) struct str out = {0};
		struct err err = {0};
		int r = parse(cases[i].table, cases[i].line, &out, &err);

		tap_eq_str(r == 0 ? str_text(&out) : err.message, cases[i].want, "\"%s\"%s",
			   cases[i].line, cases[i].table == &stopping ? ", stopping" : "");
	}
}

#define LISTED "--help lists the options"

static void test_bad(void)
{
	static const struct {
		const char *line;
		int r;
		const char *message;
		const char *hint;
	} cases[] = {
		{"--netwrok none", -EINVAL, "unknown option --netwrok", "did you mean --network?"},
		{"--netwrok=none", -EINVAL, "unknown option --netwrok", "did you mean --network?"},
		{"--frobnicate", -EINVAL, "unknown option --frobnicate", LISTED},
		{"--net none", -EINVAL, "unknown option --net", LISTED},
		{"--timeout", -EINVAL, "option --timeout needs a value", ""},
		{"-t", -EINVAL, "option -t needs a value", ""},
		{"--json=yes", -EINVAL, "option --json takes no value", ""},
		{"-j=yes", -EINVAL, "option -j takes no value", ""},
		{"-q", -EINVAL, "unknown option -q", LISTED},
		{"-jq", -EINVAL, "unknown option -q", LISTED},
		{"-explain", -EINVAL, "unknown option -explain", "did you mean --explain?"},
		{"---", -EINVAL, "unknown option ---", LISTED},
		{"--network bad --frobnicate", -ERANGE, "refused", ""},
		{"-nbad", -ERANGE, "refused", ""},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(str_release) struct str out = {0};
		struct err err = {0};
		int r = parse(&table, cases[i].line, &out, &err);

		tap_eq_int(r, cases[i].r, "\"%s\" is refused", cases[i].line);
		tap_eq_int(err.code, ERR_USAGE, "as wrong usage");
		tap_eq_str(err.message, cases[i].message, "with its message");
		tap_eq_str(err.hint, cases[i].hint, "and hint");
	}
}

static void test_no_arguments(void)
{
	char *argv[] = {NULL};
	struct opt_args args = {0};

	tap_eq_int(opt_parse(&table, 0, argv, record, NULL, &args, NULL), 0, "an empty argv");
	tap_ok(args.len == 0 && args.dashdash == -1, "has no operands");
}

static void test_help(void)
{
	_cleanup_(str_release) struct str out = {0};
	_cleanup_(str_release) struct str none = {0};
	const struct opt_table empty = {0};

	tap_eq_int(opt_help(&table, &out), 0, "help");
	tap_eq_str(out.data,
		   "Options:\n"
		   "  -n, --network MODE      what the command may reach: none, list or full\n"
		   "  -j, --json              print JSON\n"
		   "  -x, --explain           say why\n"
		   "\n"
		   "Limits:\n"
		   "  -t, --timeout DURATION  end the run after this time\n"
		   "      --an-option-with-a-very-long-name VALUE\n"
		   "                          its text begins on a line of its own, and is long\n"
		   "                          enough that it must be wrapped once\n",
		   "is grouped, aligned and wrapped");
	tap_ok(opt_help(&empty, &none) == 0 && none.len == 0, "no options, no help");
}

int main(void)
{
	test_good();
	test_bad();
	test_no_arguments();
	test_help();
	return tap_done();
}
