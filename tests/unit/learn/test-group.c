/* SPDX-License-Identifier: MIT */
/* group: many paths as few rules, and nothing above what may be opened. */
#include "learn/group.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "tap.h"
#include "tree.h"

static const char *const host[] = {
	"/w/src/a.c",     "/w/src/b.c",  "/w/src/sub/c.c", "/w/lib/d.c",   "/w/lib/deep/er/e.c",
	"/w/obj/",        "/w/Makefile", "/data/one",      "/data/two",    "/data/three",
	"/data/four",     "/data/x/1",   "/data/x/2",      "/data/secret", "/data/closed/k",
	"/data/closed/l", NULL,
};

static bool is_forbidden(const char *path, void *data)
{
	(void)data;
	return strcmp(path, "/data/secret") == 0 || strcmp(path, "/data/closed") == 0 ||
	       strcmp(path, "/") == 0;
}

static const struct {
	const char *name, *floor;
	size_t rules_max, files_max;
	const char *paths, *rules, *forbidden;
} cases[] = {
	{"a file is its folder for writing", "/w", 8, 0, "/w/obj/a.o", "/w/obj", ""},
	{"many files of one folder", "/w", 8, 0, "/w/obj/a.o /w/obj/b.o /w/obj/c.o", "/w/obj", ""},
	{"folders that are new: the one that is there", "/w", 8, 0, "/w/obj/x/y/z.o", "/w/obj", ""},
	{"two folders stay two", "/w", 8, 0, "/w/obj/a /w/src/b", "/w/obj /w/src", ""},
	{"a folder covers those below", "/w", 8, 0, "/w/src/x /w/src/sub/y", "/w/src", ""},
	{"at the top: the top", "/w", 8, 0, "/w/new /w/obj/a", "/w", ""},
	{"a new folder at the top: the top", "/w", 8, 0, "/w/build/a.o", "/w", ""},
	{"an existing file at the top: the top", "/w", 8, 0, "/w/Makefile", "/w", ""},
	{"what is not below the floor is passed over", "/w", 8, 0, "/data/one /wx/y", "", ""},
	{"too many: the deepest common folder", "/w", 2, 0,
	 "/w/src/sub/a /w/lib/deep/b /w/lib/deep/er/c /w/obj/d", "/w", ""},
	{"too many: neighbours first", "/w", 2, 0, "/w/lib/deep/er/a /w/src/sub/b /w/src/x",
	 "/w/lib/deep/er /w/src", ""},
	{"few files stay files", "/data", 8, 3, "/data/one /data/two /data/three",
	 "/data/one /data/three /data/two", ""},
	{"more are the folder", "/data", 8, 3, "/data/one /data/two /data/three /data/four",
	 "/data", ""},
	{"a listed folder is the folder", "/data", 8, 3, "/data/x", "/data/x", ""},
	{"files of different folders", "/data", 8, 3, "/data/one /data/x/1", "/data/one /data/x/1",
	 ""},
	{"a file that is the floor", "/data/one", 8, 3, "/data/one /data/two", "/data/one", ""},
	{"a file that is the floor, for writing", "/data/one", 8, 0, "/data/one", "/data/one", ""},
	{"forbidden by itself", "/data", 8, 3, "/data/secret /data/one", "/data/one",
	 "/data/secret"},
	{"a folder that is forbidden: its files stay", "/data", 8, 1,
	 "/data/closed/k /data/closed/l", "/data/closed/k /data/closed/l", ""},
	{"… and for writing there is no rule", "/data", 8, 0, "/data/closed/k", "", "/data/closed"},
	{"never together to what is forbidden", "/", 1, 3, "/data/one /w/src/a.c",
	 "/data/one /w/src/a.c", ""},
};

int main(void)
{
	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(strv_release) struct strv paths = {0}, rules = {0}, forbidden = {0};
		_cleanup_(str_release) struct str got = {0}, left = {0};
		const struct grouping g = {
			.floor = cases[i].floor,
			.rules_max = cases[i].rules_max,
			.files_max = cases[i].files_max,
			.look = tree_look,
			.is_forbidden = is_forbidden,
			.data = (void *)host,
		};

		words(cases[i].paths, &paths);
		tap_ok(group_paths(&g, &paths, &rules, &forbidden) == 0, "%s", cases[i].name);
		tap_eq_str(joined(&rules, &got), cases[i].rules, "%s: rules", cases[i].name);
		tap_eq_str(joined(&forbidden, &left), cases[i].forbidden, "%s: forbidden",
			   cases[i].name);
	}
	return tap_done();
}
