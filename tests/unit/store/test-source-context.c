/* SPDX-License-Identifier: MIT */
/* source-context: quotes what the output points at, and only what the command could read. */
#include <errno.h>

#include "base/json-read.h"
#include "policy/spec-text.h"
#include "store/source-context.h"
#include "store/source-function.h"
#include "tap.h"
#include "tests/unit/policy/files.h"

static void test_functions(void)
{
	static const struct {
		const char *path, *text, *want;
		size_t line;
	} rows[] = {
		{"a.c", "int x;\n\nstatic int help(int a)\n{\n\tif (a)\n\t\treturn 1;\n}\n", "help",
		 6},
		{"a.c", "int help(int a)\n{\n}\nint x;\n", "help", 2},
		{"a.h", "int help(int a);\nint x;\n", NULL, 2},
		{"a.cpp", "void A::run()\n{\n  go();\n}\n", "run", 3},
		{"a.py",
		 "class A:\n    def go(self):\n        x\n\n    def other(self):\n        y\n",
		 "go", 3},
		{"a.py", "def a():\n    pass\n\nx = 1\n", NULL, 4},
		{"a.py", "def a():\n    def b():\n        pass\n    x\n", "a", 4},
		{"a.py", "class A:\n    x = y\n", "A", 2},
		{"a.py", "async def a():\n    x\n", "a", 2},
		{"a.go", "package x\n\nfunc (t *T) Run(a int) {\n\tx()\n}\n", "Run", 4},
		{"a.go", "func Plain() {\n\tgo func() {\n\t\tx()\n\t}()\n}\n", "Plain", 3},
		{"a.rs", "impl A {\n    pub fn go(&self) {\n        x();\n    }\n}\n", "go", 3},
		{"a.js", "function inner(a) {\n  return a.b.c;\n}\n", "inner", 2},
		{"a.ts", "const outer = (a) => {\n  x();\n};\n", "outer", 2},
		{"a.js", "class A {\n  run(x) {\n    if (x) {\n      y();\n    }\n  }\n}\n", "run",
		 4},
		{"Makefile", "CC := gcc\nall: a b\n\tfalse\n", "all", 3},
		{"a.txt", "def a():\n  x\n", NULL, 2},
		{"a.c", "", NULL, 1},
		{"a.c", "int f(void)\n", NULL, 9},
		{"a.c", "int f(void)\n", NULL, 0},
	};

	for (size_t i = 0; i < array_len(rows); i++) {
		struct source_lines lines;
		char name[SOURCE_FUNCTION_MAX];

		source_lines_init(&lines, rows[i].text, strlen(rows[i].text));
		tap_eq_str(source_function(&lines, rows[i].path, rows[i].line, name), rows[i].want,
			   "line %zu of %s is in %s", rows[i].line, rows[i].path,
			   rows[i].want ? rows[i].want : "nothing");
		source_lines_release(&lines);
	}
}

/* What is said about OUTPUT under SPEC (TOML; NULL: not known). */
static const char *answer(const char *output, const char *spec, struct str *text)
{
	_cleanup_(spec_release) struct spec parsed = {0};
	static struct err err;

	str_truncate(text, 0);
	if (spec && spec_parse(spec, test_ws.root, &test_user, &parsed, &err) < 0)
		return err.message;
	if (source_context(test_ws.root, spec ? &parsed : NULL, output, strlen(output), text,
			   &err) < 0)
		return err.message;
	return str_text(text);
}

#define READONLY "filesystem = 'readonly'"

static void says(const char *name, const char *output, const char *spec, const char *part)
{
	_cleanup_(str_release) struct str text = {0};
	const char *got = answer(output, spec, &text);

	if (!tap_ok(strstr(got, part) != NULL, "%s", name))
		tap_note("got: %s\nwithout: %s", got, part);
}

static void is_silent(const char *name, const char *output, const char *spec)
{
	_cleanup_(str_release) struct str text = {0};

	tap_eq_str(answer(output, spec, &text), "", "%s", name);
}

static void test_places(void)
{
	says("a place", "src/a.c:4:2: error: x", READONLY,
	     "{\"path\":\"src/a.c\",\"line\":4,\"column\":2,\"tool\":\"compiler\","
	     "\"function\":\"help\",\"source\":[{\"line\":2,\"text\":\"int help(int a)\"},"
	     "{\"line\":3,\"text\":\"{\"},{\"line\":4,\"text\":\"\\tfail;\"},"
	     "{\"line\":5,\"text\":\"}\"}]}");
	says("it is the answer of an annotator", "src/a.c:4:2: error: x", READONLY,
	     "{\"type\":\"source_context\",\"display\":\"detail\",\"data\":{\"places\":[");
	says("a roundabout way", "sub/../src/./a.c:1: x", READONLY, "\"path\":\"src/a.c\"");
	says("where the boundary is not known, no source", "src/a.c:4:2: x", NULL,
	     "[{\"path\":\"src/a.c\",\"line\":4,\"column\":2,\"tool\":\"compiler\"}]");
	says("a long line is cut", "long.c:1: x", READONLY, "xxxxxxxxxx\"}]");
	says("bytes that are no text", "latin.c:1: x", READONLY, "caf\xef\xbf\xbd");
	is_silent("nothing to point at", "all is well", READONLY);
	is_silent("no such file", "src/none.c:4: x", READONLY);
	is_silent("no such line", "src/a.c:99: x", READONLY);
	is_silent("outside", "../other.c:1: x", READONLY);
	is_silent("outside, absolute", "/etc/ssl/openssl.cnf:1: x", READONLY);
	is_silent("a folder", "dir.c:1: x", READONLY);
	is_silent("a fifo does not block", "fifo.c:1: x", READONLY);
}

/* Each with its twin that is not hidden. */
static void test_secrets(void)
{
	says("a file that can be seen", "seen.cfg:1: x", READONLY, "s3cret");
	is_silent("hidden by .paleignore", "hidden.key.c:1: x", READONLY);
	is_silent("also when the boundary is not known", "hidden.key.c:1: x", NULL);
	is_silent("hidden by the policy", "seen.cfg:1: x",
		  READONLY "\npaths_hidden = ['seen.cfg']");
	is_silent("not visible at all", "seen.cfg:1: x", "filesystem = 'none'");
	says("visible by a rule", "seen.cfg:1: x",
	     "filesystem = 'none'\npaths_readable = ['seen.cfg']", "s3cret");
	is_silent("through a link out", "out.c:1: x", READONLY);
	is_silent("through a link inside", "link.cfg:1: x", READONLY);
	is_silent("through a folder that is a link", "linked/a.c:1: x", READONLY);
	is_silent("a second name of a file", "twin.cfg:1: x", READONLY);
	is_silent("too large", "huge.c:1: x", READONLY);
}

static void make_tree(void)
{
	char big[4096];
	FILE *file;

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 2] = '\n';
	big[sizeof(big) - 1] = '\0';
	mkdir("ws/src", 0755);
	mkdir("ws/dir.c", 0755);
	scratch_write("ws/src/a.c", "\nint help(int a)\n{\n\tfail;\n}\n");
	scratch_write("ws/seen.cfg", "s3cret\n");
	scratch_write("ws/hidden.key.c", "s3cret\n");
	scratch_write("ws/latin.c", "caf\351\n");
	scratch_write("ws/long.c", big);
	scratch_write("ws/.paleignore", "*.key.c\n");
	scratch_write("other.c", "s3cret\n");
	scratch_write("ws/one.cfg", "s3cret\n");
	file = fopen("ws/huge.c", "w");
	for (int i = 0; i < 300; i++)
		fputs(big, file);
	fclose(file);
	if (mkfifo("ws/fifo.c", 0644) < 0 || link("ws/one.cfg", "ws/twin.cfg") < 0 ||
	    symlink("../other.c", "ws/out.c") < 0 || symlink("seen.cfg", "ws/link.cfg") < 0 ||
	    symlink("src", "ws/linked") < 0)
		perror("make_tree");
}

int main(void)
{
	test_functions();
	files_enter();
	make_tree();
	if (tap_on_valgrind()) {
		tap_skip("valgrind knows no openat2");
	} else {
		test_places();
		test_secrets();
	}
	files_leave();
	return tap_done();
}
