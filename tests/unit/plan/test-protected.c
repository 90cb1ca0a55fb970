/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <strings.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "plan/protect.h"
#include "plan/protected.h"
#include "scratch.h"
#include "tap.h"

static char *top;

static void make_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0755) < 0)
		abort();
}

static const struct protected_path *find(const struct protection *p, const char *path)
{
	for (size_t i = 0; i < p->len; i++) {
		_cleanup_(freep) char *full = path_join(p->items[i].dir, p->items[i].name);
		_cleanup_(freep) char *want = path_join(top, path);

		if (str_eq(full, want))
			return &p->items[i];
	}
	return NULL;
}

static void is(const struct protection *p, const char *path, enum protected_type type)
{
	const struct protected_path *item = find(p, path);

	if (!tap_ok(item && item->type == type, "%s is known as %d", path, type))
		tap_note("%d", item ? (int)item->type : -1);
}

static void test_table(void)
{
	size_t twice = 0;

	for (size_t i = 0; protected_names[i]; i++)
		for (size_t j = 0; j < i; j++)
			twice += strcasecmp(protected_names[i], protected_names[j]) == 0;
	tap_ok(twice == 0, "no name is there twice");
}

static void test_probe(void)
{
	_cleanup_(freep) char *ws = path_join(top, "ws");
	_cleanup_(protection_release) struct protection p = {0};
	_cleanup_(freep) char *inner = path_join(ws, ".vscode/x");
	_cleanup_(freep) char *other = path_join(ws, ".vscode2");
	struct err err = {0};

	make_dir("ws");
	make_dir("ws/.vscode");
	make_dir("ws/conf");
	make_file("ws/pale.toml", "");
	make_file("ws/conf/envrc", "");
	if (symlink("conf/./../conf/envrc", "ws/.envrc") < 0 || symlink("loop", "ws/loop") < 0)
		abort();
	tap_ok(protection_probe(ws, NULL, &p, &err) == 0, "a workspace is looked at");
	is(&p, "ws/pale.toml", PROTECTED_FILE);
	is(&p, "ws/.vscode", PROTECTED_DIR);
	is(&p, "ws/.bashrc", PROTECTED_ABSENT);
	is(&p, "ws/.envrc", PROTECTED_LINK);
	is(&p, "ws/conf/envrc", PROTECTED_FILE);
	is(&p, "ws/.git", PROTECTED_ABSENT);
	is(&p, "ws/HEAD", PROTECTED_ABSENT);
	is(&p, "ws/.hg", PROTECTED_ABSENT);
	tap_ok(!find(&p, "ws/.jj"), "a repository that nobody runs programs for may appear");
	tap_ok(protection_covers(&p, inner) && !protection_covers(&p, other) &&
		       !protection_covers(&p, ws),
	       "what is below a protected folder is protected, what is beside it is not");
	if (symlink("loop", "ws/.claude") < 0)
		abort();
	protection_release(&p);
	tap_ok(protection_probe(ws, NULL, &p, &err) == -ELOOP, "links in a circle are an error");
	unlink("ws/.claude");
}

static void test_other_repositories(void)
{
	_cleanup_(freep) char *ws = path_join(top, "other");
	_cleanup_(protection_release) struct protection p = {0};
	struct err err = {0};

	make_dir("other");
	make_dir("other/.hg");
	make_file("other/.hg/hgrc", "");
	make_dir("other/.jj");
	make_dir("other/.jj/repo");
	tap_ok(protection_probe(ws, NULL, &p, &err) == 0, "repositories of others");
	is(&p, "other/.hg/hgrc", PROTECTED_FILE);
	is(&p, "other/.hg/sharedpath", PROTECTED_ABSENT);
	is(&p, "other/.jj/repo/config.toml", PROTECTED_ABSENT);
	tap_ok(!find(&p, "other/.hg") && !find(&p, "other/.jj"), "the rest is theirs to work with");
	tap_ok(protected_is_named(".hg/hgrc") && protected_is_named(".jj/repo/config.toml/x") &&
		       !protected_is_named(".hg") && !protected_is_named(".hg/hgrc2") &&
		       !protected_is_named(".hg/store/hgrc"),
	       "and by their names alone");
}

static void test_git(void)
{
	_cleanup_(freep) char *ws = path_join(top, "ws");
	_cleanup_(protection_release) struct protection p = {0};
	struct err err = {0};

	make_dir("ws/.git");
	make_dir("ws/.git/hooks");
	make_dir("ws/.git/modules");
	make_dir("ws/.git/modules/a");
	make_dir("ws/.git/modules/a/b");
	make_file("ws/.git/modules/a/b/HEAD", "");
	make_file("ws/.git/modules/a/b/config", "");
	make_file("ws/.git/config", "[core]\nhooksPath = hooks/git\n[include]\npath = ../inc\n");
	make_file("ws/inc", "[include]\npath = inc2\n");
	tap_ok(protection_probe(ws, NULL, &p, &err) == 0, "a repository is looked at");
	is(&p, "ws/.git", PROTECTED_PARENT);
	is(&p, "ws/.git/config", PROTECTED_FILE);
	is(&p, "ws/.git/hooks", PROTECTED_DIR);
	is(&p, "ws/.git/commondir", PROTECTED_ABSENT);
	is(&p, "ws/.git/config.worktree", PROTECTED_ABSENT);
	is(&p, "ws/hooks", PROTECTED_ABSENT);
	is(&p, "ws/inc", PROTECTED_FILE);
	is(&p, "ws/inc2", PROTECTED_ABSENT);
	is(&p, "ws/.git/modules/a/b/config", PROTECTED_FILE);
	is(&p, "ws/.git/modules/a/b/hooks", PROTECTED_ABSENT);
	is(&p, "ws/HEAD", PROTECTED_ABSENT); /* a broken .git would let it count */
	tap_ok(!p.git_common, "and no repository elsewhere");
}

/* Two files that include both of them, many times over: git would read them for years. */
static void test_includes(void)
{
	_cleanup_(freep) char *ws = path_join(top, "many");
	_cleanup_(protection_release) struct protection p = {0};
	struct err err = {0};
	_cleanup_(str_release) struct str text = {0};

	make_dir("many");
	make_dir("many/.git");
	make_file("many/.git/config", "[include]\npath = ../a\n");
	make_file("many/a", "[include]\npath = b\npath = b\n");
	make_file("many/b", "[core]\nhooksPath = found\n");
	tap_ok(protection_probe(ws, NULL, &p, &err) == 0, "files that include others are read");
	is(&p, "many/found", PROTECTED_ABSENT);
	protection_release(&p);
	str_append(&text, "[include]\n");
	for (int i = 0; i < 16; i++)
		str_append(&text, "path = a\npath = c\n");
	make_file("many/a", text.data);
	make_file("many/c", text.data);
	alarm(20);
	tap_ok(protection_probe(ws, NULL, &p, &err) == -E2BIG &&
		       strstr(err.message, "includes too much"),
	       "but no more than is looked at in a moment: %s", err.message);
	alarm(0);
}

/* What of the table is there, by its type; the folder is DIR. */
static void is_found(const char *dir, const char *what)
{
	_cleanup_(freep) char *ws = path_join(top, dir);
	_cleanup_(protection_release) struct protection p = {0};
	struct err err = {0};
	size_t found = 0;

	tap_ok(protection_probe(ws, NULL, &p, &err) == 0, "%s is looked at", what);
	for (size_t i = 0; i < p.len; i++)
		found += p.items[i].type != PROTECTED_ABSENT && str_eq(p.items[i].dir, ws);
	tap_ok(found == 4, "… and what is there of the names is found, no more");
	for (size_t i = 0; i < p.len; i++) {
		_cleanup_(freep) char *full = path_join(p.items[i].dir, p.items[i].name);
		struct stat st;
		bool there = full && lstat(full, &st) == 0;

		if (there != (p.items[i].type != PROTECTED_ABSENT))
			tap_ok(false, "%s is taken for what it is", full);
	}
}

static void fill(const char *dir)
{
	make_dir(dir);
	if (chdir(dir) < 0)
		abort();
	make_file(".envrc", "");
	make_file("kilo.json", "");
	make_dir(".husky");
	if (symlink("nowhere", ".roo") < 0 || chdir("..") < 0)
		abort();
}

static void test_listings(void)
{
	fill("small");
	is_found("small", "a small folder");
	fill("big");
	for (int i = 0; i < 1000; i++) {
		char name[64];

		snprintf(name, sizeof(name), "big/a-name-of-some-length-that-fills-it-%d", i);
		make_file(name, "");
	}
	is_found("big", "a folder that is not read at one go");
	fill("umlaut");
	make_file("umlaut/\303\274", "");
	is_found("umlaut", "a folder with a name that is not ASCII");
	fill("latin");
	make_file("latin/\374", "");
	is_found("latin", "… not UTF-8 either");
	fill("case");
	make_file("case/.BASHRC", "");
	make_file("case/PALE.toml", "");
	is_found("case", "a folder with names in another case");
}

/* Links between names of the table lead to what is there once, in either order. */
static void test_links(void)
{
	_cleanup_(freep) char *ws = path_join(top, "links");
	_cleanup_(protection_release) struct protection p = {0};
	struct err err = {0};
	size_t twice = 0;

	make_dir("links");
	make_file("links/.bashrc", "");
	make_file("links/.profile", "");
	if (symlink(".profile", "links/.envrc") < 0 || symlink(".bashrc", "links/.zshrc") < 0 ||
	    symlink(".zed", "links/.vscode") < 0)
		abort();
	tap_ok(protection_probe(ws, NULL, &p, &err) == 0, "links between names are followed");
	is(&p, "links/.envrc", PROTECTED_LINK);
	is(&p, "links/.profile", PROTECTED_FILE);
	is(&p, "links/.zshrc", PROTECTED_LINK);
	is(&p, "links/.bashrc", PROTECTED_FILE);
	is(&p, "links/.zed", PROTECTED_ABSENT);
	for (size_t i = 0; i < p.len; i++)
		for (size_t j = 0; j < i; j++)
			twice += str_eq(p.items[i].name, p.items[j].name) &&
				 str_eq(p.items[i].dir, p.items[j].dir);
	tap_ok(twice == 0, "… and none of them is there twice");
}

/* 0: the file in DIR is found; 98: it is not; else the error. */
static int probe_file(const char *dir)
{
	_cleanup_(freep) char *ws = path_join(top, dir);
	_cleanup_(protection_release) struct protection p = {0};
	_cleanup_(freep) char *name = path_join(dir, ".envrc");
	struct err err = {0};
	int r = protection_probe(ws, NULL, &p, &err);

	if (r < 0)
		return -r;
	return find(&p, name) && find(&p, name)->type == PROTECTED_FILE ? 0 : 98;
}

/* As somebody who may enter a folder and not list it, or the reverse. */
static int probe_as_other(const char *dir, mode_t mode)
{
	pid_t pid;
	int status;

	if (chmod(dir, mode) < 0 || chmod(".", 0755) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		int r = geteuid() == 0 && setresuid(1000, 1000, 1000) < 0 ? 99 : probe_file(dir);

		free(take_ptr(top));
		_exit(r);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || chmod(dir, 0755) < 0)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_modes(void)
{
	fill("modes");
	tap_ok(probe_as_other("modes", 0555) == 0, "a folder of somebody else is looked at");
	tap_ok(probe_as_other("modes", 0111) == 0, "… also where it cannot be listed");
	tap_ok(probe_as_other("modes", 0444) == EACCES, "… but not where it cannot be entered");
}

int main(void)
{
	scratch_enter();
	top = realpath(".", NULL);
	test_table();
	test_probe();
	test_other_repositories();
	test_git();
	test_includes();
	test_listings();
	test_links();
	test_modes();
	free(top);
	scratch_leave();
	return tap_done();
}
