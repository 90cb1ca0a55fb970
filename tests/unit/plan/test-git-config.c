/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "plan/git-config.h"
#include "tap.h"

static int collect(void *data, const char *section, const char *subsection, const char *key,
		   const char *value)
{
	return str_appendf(data, "%s%s%s.%s=%s|", section, subsection ? "." : "",
			   subsection ? subsection : "", key, value ? value : "(none)");
}

static void scans(const char *name, const char *text, const char *want)
{
	_cleanup_(str_release) struct str got = {0};
	int r = git_config_scan(text, strlen(text), collect, &got);

	if (!tap_ok(r == 0 && str_eq(str_text(&got), want), "%s", name))
		tap_note("%d %s", r, str_text(&got));
}

static void test_scan(void)
{
	scans("nothing", "", "");
	scans("a variable", "[core]\n\tbare = false\n", "core.bare=false|");
	scans("any case", "[CoRe]\nHooksPath=A\n", "core.hookspath=A|");
	scans("on the line of its section", "[core] a = 1\n", "core.a=1|");
	scans("a subsection", "[includeIf \"gitdir:x]\\\"\"]\npath = y\n",
	      "includeif.gitdir:x]\".path=y|");
	scans("a bare key", "[core]\nx\n", "core.x=(none)|");
	scans("comments", "# a\n[core] ; b\nx = y # c\nz = \"; d\" ; e\n", "core.x=y|core.z=; d|");
	scans("escapes", "[a]\nb = x\\ty\\\"\\\\\n", "a.b=x\ty\"\\|");
	scans("a continued line", "[a]\nb = x\\\n  y\n", "a.b=x  y|");
	scans("CR LF", "[a]\r\nb = x\\\r\ny\r\nc = \"d\" \r\n", "a.b=xy|a.c=d|");
	scans("blanks at the end count in quotes only", "[a]\nb = x  \nc = \"x  \"\n",
	      "a.b=x|a.c=x  |");
	scans("a byte order mark", "\xef\xbb\xbf[a]\nb=c\n", "a.b=c|");
	scans("no end of line", "[a]\nb=c", "a.b=c|");
	scans("what git refuses ends it", "[a]\nb = x\n!\nc = y\n", "a.b=x|");
	scans("an open quote", "[a]\nb = \"x\nc = y\n", "");
	scans("an unknown escape", "[a]\nb = \\q\nc = y\n", "");
	scans("an open section", "[a\nb = x\n", "");
}

static void points(const char *name, bool file, const char *text, size_t len, const char *want)
{
	_cleanup_(freep) char *got = NULL;
	int r = file ? git_file_parse(text, len, &got) : git_pointer_parse(text, len, &got);

	if (!tap_ok(want ? r == 0 && str_eq(got, want) : r == -EINVAL, "%s", name))
		tap_note("%d %s", r, got ? got : "(none)");
}

#define FILE_POINTS(name, text, want) points(name, true, text, sizeof(text) - 1, want)
#define POINTS(name, text, want)      points(name, false, text, sizeof(text) - 1, want)

static void test_pointers(void)
{
	FILE_POINTS("a file", "gitdir: x\n", "x");
	FILE_POINTS("without an end of line", "gitdir: x", "x");
	FILE_POINTS("CR LF, twice", "gitdir: x\r\n\r\n", "x");
	FILE_POINTS("a blank more", "gitdir:  x \n", " x ");
	FILE_POINTS("up to a NUL", "gitdir: x\0y\n", "x");
	FILE_POINTS("a line before a NUL", "gitdir: x\n\0", "x\n");
	FILE_POINTS("no path", "gitdir: \n", NULL);
	FILE_POINTS("nothing", "", NULL);
	FILE_POINTS("only the word", "gitdir:", NULL);
	FILE_POINTS("no blank", "gitdir:x\n", NULL);
	FILE_POINTS("another word", "Gitdir: x\n", NULL);
	FILE_POINTS("something before it", "\ngitdir: x\n", NULL);
	POINTS("a pointer", "../..\n", "../..");
	POINTS("of ends of lines", "\n\n", "");
	POINTS("of nothing", "", NULL);
}

int main(void)
{
	test_scan();
	test_pointers();
	return tap_done();
}
