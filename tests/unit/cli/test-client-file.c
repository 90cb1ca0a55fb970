/* SPDX-License-Identifier: MIT */
/* A file of another program: replaced as a whole, never behind its back, never through a link
 * of a workspace. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/client-file.h"
#include "scratch.h"
#include "tap.h"

static char root[4096];

static void put(const char *name, const char *text)
{
	_cleanup_(freep) char *path = path_join(root, name);
	_cleanup_(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

	if (fd_write_all(fd, text, strlen(text)) < 0)
		tap_ok(false, "write %s", path);
}

static bool holds(const char *name, const char *want)
{
	_cleanup_(freep) char *path = path_join(root, name);
	_cleanup_(str_release) struct str text = {0};

	return file_read(AT_FDCWD, path, 4096, &text, NULL) == 0 && str_eq(str_text(&text), want);
}

static struct client_text named(const char *name, bool project)
{
	return (struct client_text){
		.path = path_join(root, name), .root = project ? root : NULL, .dir = -1};
}

static void set(struct client_text *file, const char *text)
{
	str_truncate(&file->text, 0);
	str_append(&file->text, text);
}

static void test_new(bool project)
{
	const char *what = project ? "workspace" : "home";
	const char *name = project ? ".a/b/new.json" : ".h/b/new.json";
	_cleanup_(client_text_release) struct client_text file = named(name, project);
	struct err err = {0};
	struct stat st;

	tap_ok(client_text_read(&file, &err) == 0 && !file.existed && file.text.len == 0,
	       "%s: a file that is not there is empty", what);
	set(&file, "new");
	tap_ok(client_text_write(&file, &err) == 0, "%s: written, its folders made: %s", what,
	       err.message);
	tap_ok(holds(name, "new"), "%s: it is there", what);
	tap_ok(stat(file.path, &st) == 0 && (st.st_mode & 0777) == (project ? 0644 : 0600),
	       "%s: its mode", what);
}

static void test_changed(void)
{
	_cleanup_(client_text_release) struct client_text file = named("c.json", true);
	struct err err = {0};
	struct stat st;

	put("c.json", "one");
	tap_ok(client_text_read(&file, &err) == 0 && str_eq(str_text(&file.text), "one"), "read");
	put("c.json", "another's");
	set(&file, "mine");
	tap_eq_int(client_text_write(&file, &err), -EBUSY, "changed meanwhile: refused");
	tap_ok(holds("c.json", "another's"), "and left alone");
	client_text_release(&file);
	file = named("c.json", true);
	tap_ok(client_text_read(&file, &err) == 0, "read again");
	set(&file, "mine");
	tap_ok(client_text_write(&file, &err) == 0 && holds("c.json", "mine"),
	       "now it is replaced");
	tap_ok(stat(file.path, &st) == 0 && (st.st_mode & 0777) == 0640, "its mode stays");
}

/* Between a look that found nothing and the write, somebody made it. */
static void test_appeared(void)
{
	_cleanup_(client_text_release) struct client_text file = named("d.json", true);
	struct err err = {0};

	tap_ok(client_text_read(&file, &err) == 0 && !file.existed, "not there");
	put("d.json", "another's");
	set(&file, "mine");
	tap_eq_int(client_text_write(&file, &err), -EBUSY, "appeared meanwhile: refused");
	tap_ok(holds("d.json", "another's"), "and left alone");
}

static void test_links(void)
{
	_cleanup_(freep) char *link = path_join(root, "link.json"),
			      *folder = path_join(root, "folder");
	_cleanup_(client_text_release) struct client_text file = named("link.json", true),
							  deep = named("folder/x.json", true),
							  home = named("link.json", false);
	struct err err = {0};
	struct stat st;

	put("target.json", "target");
	tap_ok(symlink("target.json", link) == 0 && symlink(".", folder) == 0, "two links");
	tap_eq_int(client_text_read(&file, &err), -ELOOP, "a link of a workspace: refused");
	tap_ok(strstr(err.message, "symbolic link"), "and said");
	tap_ok(client_text_read(&deep, &err) < 0, "so is a folder that is one");
	tap_ok(client_text_read(&home, &err) == 0 && str_eq(str_text(&home.text), "target"),
	       "one of a home is followed");
	set(&home, "mine");
	tap_ok(client_text_write(&home, &err) == 0 && holds("target.json", "mine"),
	       "the file behind it is replaced");
	tap_ok(lstat(link, &st) == 0 && S_ISLNK(st.st_mode), "the link stays");
}

int main(void)
{
	if (tap_on_valgrind()) {
		tap_ok(true, "valgrind knows no openat2: nothing to see here");
		return tap_done();
	}
	scratch_enter();
	if (!realpath(scratch_path, root))
		return 1;
	umask(022);
	test_new(true);
	test_new(false);
	test_changed();
	test_appeared();
	test_links();
	scratch_leave();
	return tap_done();
}
