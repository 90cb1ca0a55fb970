/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "config/ignore.h"
#include "scratch.h"
#include "tap.h"

static void must(bool ok)
{
	if (!ok) {
		perror("set-up");
		exit(1);
	}
}

static void make_dir(const char *path)
{
	must(mkdir(path, 0755) == 0);
}

static void make_link(const char *to, const char *path)
{
	must(symlink(to, path) == 0);
}

static int collect(const char *rules, struct ignore_found *found, struct err *err)
{
	_cleanup_(ignore_release) struct ignore ignore = {0};
	_cleanup_(fd_closep) int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	must(here >= 0 && ignore_parse("f", rules, strlen(rules), &ignore, NULL) == 0);
	r = ignore_collect(here, &ignore, found, err);
	return r < 0 ? r : ignore_collect_aliases(here, found, err);
}

/* WANT: the paths in order, each followed by a "|". */
static void finds(const char *rules, const char *want, const char *want_links, const char *why)
{
	_cleanup_(ignore_found_release) struct ignore_found found = {0};
	_cleanup_(str_release) struct str paths = {0}, links = {0};
	struct err err = {.message = "untouched"};

	tap_eq_int(collect(rules, &found, &err), 0, "%s: %s", why, err.message);
	strv_sort_unique(&found.paths);
	strv_sort_unique(&found.links);
	for (size_t i = 0; i < found.paths.len; i++)
		must(str_appendf(&paths, "%s|", found.paths.items[i]) == 0);
	for (size_t i = 0; i < found.links.len; i++)
		must(str_appendf(&links, "%s|", found.links.items[i]) == 0);
	tap_eq_str(str_text(&paths), want, "%s: paths", why);
	tap_eq_str(str_text(&links), want_links, "%s: links", why);
}

static void test_tree(void)
{
	make_dir("tree");
	must(chdir("tree") == 0);
	make_dir("d");
	make_dir("d/keys");
	make_dir("d/e");
	make_dir("gone");
	make_dir("gone/keys");
	scratch_write("a.key", "");
	scratch_write("plain", "");
	scratch_write("d/b.key", "");
	scratch_write("d/keys/c.key", "");
	scratch_write("d/e/new\nline.key", "");
	scratch_write("gone/keys/x", "");
	make_link("/etc", "out.key");
	make_link("../d", "d/e/back");
	make_link("nowhere", "d/dangling.key");
	must(mkfifo("fifo.key", 0644) == 0);
	finds("", "", "", "no rules");
	finds("nothing\n", "", "", "no match");
	finds("*.key\n!out.key\n!dangling.key\n",
	      "a.key|d/b.key|d/e/new\nline.key|d/keys/c.key|fifo.key|", "", "files");
	finds("*.key\n!*.key\n/*.key\n", "a.key|fifo.key|", "out.key|", "links are listed apart");
	finds("keys/\ngone\n", "d/keys|gone|", "", "folders as a whole");
	finds("back/\n", "", "", "a link is no folder");
	finds("back\n", "", "d/e/back|", "a link is not followed");
	finds("*\n!d\n", "a.key|d/b.key|d/e|d/keys|fifo.key|gone|plain|", "d/dangling.key|out.key|",
	      "all but a folder, and what is in it");
	must(chdir("..") == 0);
}

static void test_hard_links(void)
{
	make_dir("hard");
	must(chdir("hard") == 0);
	make_dir("secret");
	make_dir("secret/deep");
	make_dir("open");
	scratch_write("secret/deep/key", "");
	scratch_write("secret/twin", "");
	scratch_write("open/other", "");
	scratch_write("a.key", "");
	must(link("secret/deep/key", "open/copy") == 0);
	must(link("secret/twin", "secret/deep/twin") == 0);
	must(link("a.key", "open/a") == 0 && link("a.key", "open/b") == 0);
	must(link("open/other", "open/unrelated") == 0);
	finds("*.key\n", "a.key|open/a|open/b|", "", "every name of a hidden file");
	finds("secret/\n", "open/copy|secret|", "", "and of what is in a hidden folder");
	finds("secret/deep/twin\n", "secret/deep/twin|secret/twin|", "", "within the folder");
	finds("secret/\n*.key\n!open/a\n", "a.key|open/a|open/b|open/copy|secret|", "",
	      "an exception does not open the file");
	must(chdir("..") == 0);
}

static void test_given_path(void)
{
	_cleanup_(ignore_found_release) struct ignore_found found = {0};
	_cleanup_(fd_closep) int hard = open("hard", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err err = {0};

	must(hard >= 0);
	tap_eq_int(ignore_collect_path(hard, "secret", &found, &err), 0, "a folder that is given");
	tap_eq_int(ignore_collect_path(hard, "a.key", &found, &err), 0, "a file that is given");
	tap_eq_int(ignore_collect_aliases(hard, &found, &err), 0, "their names");
	tap_ok(found.paths.len == 5 && strv_has(&found.paths, "open/copy") &&
		       strv_has(&found.paths, "open/b"),
	       "are found elsewhere");
	tap_eq_int(ignore_collect_path(hard, "absent", &found, &err), -ENOENT, "a path must exist");
}

/* A project can have a thousand links to its largest folder. */
static void test_folders_once(void)
{
	_cleanup_(ignore_found_release) struct ignore_found found = {0};
	_cleanup_(fd_closep) int here = -1;
	struct err err = {0};
	int r = 0;

	make_dir("once");
	make_dir("once/d");
	make_dir("once/d/e");
	make_dir("once/d-e");
	scratch_write("once/d/e/file", "");
	must(link("once/d/e/file", "once/other") == 0);
	here = open("once", O_PATH | O_DIRECTORY | O_CLOEXEC);
	must(here >= 0);
	for (int i = 0; i < 100 && r == 0; i++) {
		r = ignore_collect_path(here, "d/e", &found, &err);
		if (r == 0)
			r = ignore_collect_path(here, "d", &found, &err);
	}
	if (r == 0)
		r = ignore_collect_path(here, "d-e", &found, &err);
	if (r == 0)
		r = ignore_collect_aliases(here, &found, &err);
	tap_eq_int(r, 0, "a folder that is found often: %s", err.message);
	tap_ok(found.folders.len == 2 && strv_has(&found.folders, "d") &&
		       strv_has(&found.folders, "d-e"),
	       "is looked into once, and not again in another one: %zu", found.folders.len);
	tap_ok(found.paths.len == 3 && strv_has(&found.paths, "other"),
	       "other names of what is in it are found");
}

static void test_depth(void)
{
	_cleanup_(ignore_found_release) struct ignore_found found = {0};
	char name[256];
	struct err err = {0};
	const char *last;

	memset(name, 'n', 255);
	name[255] = '\0';
	make_dir("deep");
	must(chdir("deep") == 0);
	for (int i = 0; i < 2000; i++) {
		const char *dir = i % 50 ? "d" : name;

		must(mkdir(dir, 0755) == 0 && chdir(dir) == 0);
	}
	scratch_write("x.key", "");
	must(chdir(scratch_path) == 0 && chdir("deep") == 0);
	tap_eq_int(collect("*.key\n", &found, &err), 0, "a tree deeper than any path: %s",
		   err.message);
	tap_eq_int((long long)found.paths.len, 1, "one file");
	last = found.paths.len ? found.paths.items[0] : "";
	tap_ok(strlen(last) > 12000 && str_ends(last, "/d/x.key"), "by a name of %zu bytes",
	       strlen(last));
	must(chdir("..") == 0);
}

static void test_limit(void)
{
	struct err err = {0};
	char name[32];
	int r;

	make_dir("many");
	must(chdir("many") == 0);
	make_dir("d");
	for (int i = 0; i < IGNORE_PATHS_MAX; i++) {
		snprintf(name, sizeof(name), "d/%d.key", i);
		scratch_write(name, "");
	}
	for (int i = 0; i < 3; i++) {
		_cleanup_(ignore_found_release) struct ignore_found found = {0};

		if (i == 1)
			scratch_write("more.key", "");
		r = collect(i < 2 ? "*.key\n" : "d/\n*.key\n", &found, &err);

		if (i == 1)
			tap_ok(r == -E2BIG && strstr(err.hint, "whole folders"),
			       "one path too many: %s", err.message);
		else
			tap_eq_int(r, 0,
				   i == 0 ? "as many paths as allowed" : "a folder is one path");
	}
	must(chdir("..") == 0);
}

static void test_closed(void)
{
	if (geteuid() == 0) {
		tap_note("root can read everything");
		return;
	}
	make_dir("closed");
	must(chdir("closed") == 0);
	make_dir("none");
	make_dir("enter");
	make_dir("list");
	make_dir("secret");
	scratch_write("enter/a.key", "");
	scratch_write("list/a.key", "");
	must(chmod("none", 0) == 0 && chmod("enter", 0111) == 0 && chmod("list", 0444) == 0 &&
	     chmod("secret", 0) == 0);
	finds("*.key\nsecret/\n", "enter|list|none|secret|", "",
	      "what cannot be looked into is hidden");
	must(chmod("none", 0755) == 0 && chmod("enter", 0755) == 0 && chmod("list", 0755) == 0);
	must(chdir("..") == 0);
}

static void load_fails(const char *why, int want)
{
	_cleanup_(ignore_release) struct ignore ignore = {0};
	struct err err = {0};

	tap_ok(ignore_load(".", &ignore, &err) == want && err.code == ERR_CONFIG && err.hint[0] &&
		       strstr(err.message, IGNORE_FILE),
	       "%s is an error: %s", why, err.message);
	unlink(IGNORE_FILE);
	rmdir(IGNORE_FILE);
}

static void test_load(void)
{
	_cleanup_(freep) char *big = calloc(1, IGNORE_SIZE_MAX + 2);
	struct err err = {.message = "untouched"};
	struct ignore ignore = {0};

	must(big);
	make_dir("load");
	must(chdir("load") == 0);
	tap_eq_int(ignore_load(".", &ignore, &err), 0, "none is none");
	tap_eq_str(err.message, "untouched", "and no error");
	scratch_write(IGNORE_FILE, "a\n#\n!b\n");
	tap_eq_int(ignore_load(".", &ignore, &err), 1, "one is read");
	tap_eq_int((long long)ignore.len, 2, "with its rules");
	ignore_release(&ignore);
	scratch_write(IGNORE_FILE, "");
	tap_eq_int(ignore_load(".", &ignore, &err), 1, "an empty one");
	scratch_write(IGNORE_FILE, "a\n[\n");
	tap_ok(ignore_load(".", &ignore, &err) == -EINVAL &&
		       strstr(err.message, "/.paleignore:2: "),
	       "a wrong line is named: %s", err.message);
	if (geteuid() != 0) {
		must(chmod(IGNORE_FILE, 0) == 0);
		load_fails("an unreadable file", -EACCES);
	}
	unlink(IGNORE_FILE);
	scratch_write("real", "a\n");
	make_link("real", IGNORE_FILE);
	load_fails("a link", -ELOOP);
	make_link("nowhere", IGNORE_FILE);
	load_fails("a link to nothing", -ELOOP);
	make_dir(IGNORE_FILE);
	load_fails("a folder", -EINVAL);
	must(mkfifo(IGNORE_FILE, 0644) == 0);
	load_fails("a FIFO", -EINVAL);
	memset(big, '#', IGNORE_SIZE_MAX + 1);
	scratch_write(IGNORE_FILE, big);
	tap_eq_int(ignore_load(".", &ignore, &err), -EFBIG, "a file that is too large");
	must(chdir("..") == 0);
}

int main(void)
{
	scratch_enter();
	test_load();
	if (tap_on_valgrind()) {
		tap_note("valgrind knows no openat2");
	} else {
		test_tree();
		test_hard_links();
		test_given_path();
		test_folders_once();
		test_depth();
		test_limit();
		test_closed();
	}
	scratch_leave();
	return tap_done();
}
