/* SPDX-License-Identifier: MIT */
/* source-refs: the places that tools point at, in what they really print. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "store/source-refs.h"
#include "tap.h"

/* WANT: "path:line:column tool" for each, in lines. */
static const struct {
	const char *name, *text, *want;
} rows[] = {
	{"gcc",
	 "In file included from bad.c:1:\n"
	 "bad.h:1:9: error: ‘undeclared_thing’ undeclared here (not in a function)\n"
	 "    1 | int z = undeclared_thing;\n"
	 "      |         ^~~~~~~~~~~~~~~~\n"
	 "bad.c: In function ‘helper’:\n"
	 "bad.c:4:20: error: ‘y’ undeclared (first use in this function)\n"
	 "bad.c:4:20: note: each undeclared identifier is reported only once\n",
	 "bad.c:1:0 compiler\nbad.h:1:9 compiler\nbad.c:4:20 compiler\n"},
	{"gcc in colour",
	 "\033[01m\033[Kbad.h:1:9:\033[m\033[K \033[01;31m\033[Kerror: \033[m\033[K‘\033[01m\033[Kx\n"
	 "In file included from \033[01m\033[Kbad.c:3\033[m\033[K:\r\n",
	 "bad.h:1:9 compiler\nbad.c:3:0 compiler\n"},
	{"clang",
	 "./bad.h:1:9: error: use of undeclared identifier 'undeclared_thing'\n"
	 "int z = undeclared_thing;\n"
	 "        ^\n"
	 "bad.c:9:16: warning: incompatible pointer to integer conversion passing 'char[2]' to "
	 "parameter of type 'int' [-Wint-conversion]\n",
	 "./bad.h:1:9 compiler\nbad.c:9:16 compiler\n"},
	{"the linker",
	 "/usr/bin/ld: /tmp/cc1UxREa.o: in function `main':\n"
	 "/home/u/p/ld.c:1: undefined reference to `nope'\n"
	 "collect2: error: ld returned 1 exit status\n",
	 "/home/u/p/ld.c:1:0 compiler\n"},
	{"Python",
	 "Traceback (most recent call last):\n"
	 "  File \"/home/u/my project/t.py\", line 10, in <module>\n"
	 "    main()\n"
	 "  File \"t.py\", line 5, in go\n"
	 "    return json.loads(value)[\"x\"]\n"
	 "           ~~~~~~~~~~~~~~~~~^^^^^\n"
	 "  File \"<string>\", line 1, in <module>\n"
	 "KeyError: 'x'\n"
	 "  File \"syn.py\", line 1\n"
	 "SyntaxError: invalid syntax\n",
	 "/home/u/my project/t.py:10:0 python\nt.py:5:0 python\nsyn.py:1:0 python\n"},
	{"pytest",
	 "=================================== FAILURES ===================================\n"
	 ">       helper(1)\n"
	 "\n"
	 "test_x.py:5: \n"
	 "_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ \n"
	 "test_x.py:2: AssertionError\n"
	 "FAILED test_x.py::test_thing - assert 1 == 2\n"
	 "1 failed in 0.02s\n",
	 "test_x.py:5:0 python\ntest_x.py:2:0 python\n"},
	{"Go",
	 "panic: runtime error: index out of range [3] with length 0\n"
	 "main.crash(...)\n"
	 "\t/home/u/p/main.go:4\n"
	 "main.main()\n"
	 "\t/home/u/p/main.go:8 +0x1a\n"
	 "./bad.go:2:25: cannot use \"a\" (untyped string constant) as int value\n"
	 "--- FAIL: TestX (0.00s)\n"
	 "    main_test.go:4: no\n",
	 "/home/u/p/main.go:4:0 go\n/home/u/p/main.go:8:0 go\n./bad.go:2:25 go\n"
	 "main_test.go:4:0 go\n"},
	{"Rust",
	 "error[E0308]: mismatched types\n"
	 " --> e.rs:1:26\n"
	 "thread 'main' (6387) panicked at src/t.rs:2:6:\n"
	 "index out of bounds: the len is 1 but the index is 10\n"
	 "             at /rustc/59807/library/core/src/panicking.rs:80:14\n"
	 "thread 'main' panicked at 'boom', src/old.rs:7:5\n",
	 "e.rs:1:26 rust\nsrc/t.rs:2:6 rust\n/rustc/59807/library/core/src/panicking.rs:80:14 rust\n"
	 "src/old.rs:7:5 rust\n"},
	{"Node",
	 "/home/u/p/t.js:2\n"
	 "  return a.b.c;\n"
	 "TypeError: Cannot read properties of undefined (reading 'c')\n"
	 "    at inner (/home/u/p/t.js:2:14)\n"
	 "    at Object.<anonymous> (/home/u/p/t.js:5:1)\n"
	 "    at Module._compile (node:internal/modules/cjs/loader:1521:14)\n"
	 "    at node:internal/main/run_main_module:28:49\n"
	 "    at file:///home/u/p/m.mjs:1:27\n"
	 "Node.js v20.20.2\n",
	 "/home/u/p/t.js:2:0 node\n/home/u/p/t.js:5:1 node\n/home/u/p/m.mjs:1:27 node\n"},
	{"make",
	 "make: *** [Makefile:2: all] Error 1\n"
	 "Bad.mk:3: *** missing separator.  Stop.\n",
	 "Makefile:2:0 make\nBad.mk:3:0 make\n"},
	{"make in folders",
	 "make: Entering directory '/p/sub'\n"
	 "make[1]: Entering directory '/p/sub/deep'\n"
	 "x.c:1:1: error: no\n"
	 "make[1]: Leaving directory '/p/sub/deep'\n"
	 "../bad.c:4:20: error: no\n"
	 "/abs/a.c:1: no\n"
	 "make: Leaving directory '/p/sub'\n"
	 "top.c:1: no\n",
	 "/p/sub/deep/x.c:1:1 compiler\n/p/sub/../bad.c:4:20 compiler\n/abs/a.c:1:0 compiler\n"
	 "top.c:1:0 compiler\n"},
	{"what is no place",
	 "12:30:45 done\n"
	 "listening on http://localhost:3000 and 127.0.0.1:8080\n"
	 "see https://example.org/a.html:8080/x\n"
	 "a:b:c d.e: f.g:x .hidden:3 ratio 1:2 v1.2:3\n"
	 "x.c:0: y.c:99999999999999999999: z.c:3abc w.c: 5\n"
	 "File \"a\", line x\nFile \"\", line 3\n",
	 ""},
	{"a line without an end", "a.c:3: x", "a.c:3:0 compiler\n"},
	{"nothing", "", ""},
};

static void test_rows(void)
{
	for (size_t i = 0; i < array_len(rows); i++) {
		struct source_refs refs = {0};
		_cleanup_(str_release) struct str got = {0};

		source_refs_find(rows[i].text, strlen(rows[i].text), &refs);
		for (size_t k = 0; k < refs.len; k++)
			str_appendf(&got, "%s:%u:%u %s\n", refs.items[k].path, refs.items[k].line,
				    refs.items[k].column, refs.items[k].tool);
		tap_eq_str(str_text(&got), rows[i].want, "%s", rows[i].name);
		source_refs_release(&refs);
	}
}

static void test_bounds(void)
{
	_cleanup_(str_release) struct str text = {0};
	struct source_refs refs = {0};

	for (int i = 1; i <= 100; i++)
		str_appendf(&text, "a.c:%d: x\na.c:%d: again\n", i, i);
	tap_ok(source_refs_find(text.data, text.len, &refs) == 0, "many");
	tap_eq_int(refs.len, SOURCE_REFS_MAX, "as many as there is room for");
	tap_eq_int(refs.dropped, 2 * (100 - SOURCE_REFS_MAX), "the others are counted");
	source_refs_release(&refs);

	str_truncate(&text, 0);
	for (int i = 0; i < 100000; i++)
		str_append(&text, "a");
	str_append(&text, ".c:3: x\nb.c:4: y\n");
	str_append_bytes(&text, "c\0.c:5: z", 9);
	tap_ok(source_refs_find(text.data, text.len, &refs) == 0 && refs.len == 2 &&
		       str_eq(refs.items[0].path, "b.c") && str_eq(refs.items[1].path, "c.c"),
	       "a line that is too long, and a NUL");
	source_refs_release(&refs);
}

int main(void)
{
	test_rows();
	test_bounds();
	return tap_done();
}
