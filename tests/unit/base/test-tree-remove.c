/* SPDX-License-Identifier: MIT */
#include "base/tree-remove.h"

#include <errno.h>

#include "base/fd.h"
#include "scratch.h"
#include "tap.h"

enum { DEPTH = 3000 };

/* Deeper than descriptors and PATH_MAX reach. */
static void make_deep(const char *name)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < DEPTH; i++) {
		const char *at = i == 0 ? name : "d";
		int next;

		if (mkdirat(fd, at, 0700) < 0)
			break;
		next = openat(fd, at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd_close(openat(fd, "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0));
		fd_close(fd);
		fd = next;
	}
	fd_close(fd);
}

int main(void)
{
	scratch_enter();
	tap_eq_int(tree_remove(AT_FDCWD, "none"), -ENOENT, "what is not there");
	make_deep("deep");
	tap_eq_int(tree_remove(AT_FDCWD, "deep"), 0, "%d folders, one in the other", DEPTH);
	tap_ok(access("deep", F_OK) < 0, "are gone");

	mkdir("kept", 0755);
	scratch_write("kept/canary", "canary");
	mkdir("tree", 0755);
	mkdir("tree/a", 0755);
	mkdir("tree/a/.0", 0755);
	mkdir("tree/.0", 0755);
	scratch_write("tree/a/.0/x", "x");
	tap_ok(symlink("../kept", "tree/link") == 0 && symlink("../../kept", "tree/a/link") == 0,
	       "links out of a tree");
	chmod("tree/a/.0", 0);
	chmod("tree/a", 0500);
	chmod("tree", 0500);
	tap_eq_int(tree_remove(AT_FDCWD, "tree"), 0, "folders without permissions");
	tap_ok(access("kept/canary", F_OK) == 0, "links are not followed");
	tap_ok(symlink("kept", "top") == 0, "a link in place of a folder");
	tap_ok(tree_remove(AT_FDCWD, "top") < 0 && access("kept/canary", F_OK) == 0, "is refused");
	scratch_leave();
	return tap_done();
}
