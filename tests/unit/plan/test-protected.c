/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <strings.h>

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
	tap_ok(protection_covers(&p, inner) && !protection_covers(&p, other) &&
		       !protection_covers(&p, ws),
	       "what is below a protected folder is protected, what is beside it is not");
	if (symlink("loop", "ws/.claude") < 0)
		abort();
	protection_release(&p);
	tap_ok(protection_probe(ws, NULL, &p, &err) == -ELOOP, "links in a circle are an error");
	unlink("ws/.claude");
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

int main(void)
{
	scratch_enter();
	top = realpath(".", NULL);
	test_table();
	test_probe();
	test_git();
	free(top);
	scratch_leave();
	return tap_done();
}
