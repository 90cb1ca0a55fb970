/* SPDX-License-Identifier: MIT */
/* The walk and the kernel's openat2 agree, on what they open and on what they refuse. */
#include "base/path-walk.h"

#include <errno.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "scratch.h"
#include "tap.h"

static const char *const paths[] = {
	"a",
	"a/",
	"a/b",
	"a/b/",
	"a/b/file",
	"a/b/file/",
	"a//b///file",
	"./a/./b",
	"a/..",
	"a/../..",
	"..",
	"../x",
	"a/b/../../a/b/file",
	"/",
	"/a/b",
	"/a/../..",
	"none",
	"none/x",
	"a/none",
	"a/none/x",
	"link",
	"link/",
	"link/file",
	"link/../b",
	"flink",
	"flink/",
	"abs",
	"abs/x",
	"out",
	"out/x",
	"loop",
	"loop/x",
	"dangling",
	"deep",
	"deep/x",
	"up",
	"up/a",
	"magic",
	"magic/0",
	"a/b/file/..",
	"",
	".",
	"a/.",
	"link/.",
	"chain",
	"chain/file",
	"fifo",
	"rootlink",
};

static const uint64_t ways[] = {
	RESOLVE_BENEATH,
	RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	RESOLVE_IN_ROOT,
	0,
};

static const int kinds[] = {O_PATH, O_PATH | O_NOFOLLOW, O_PATH | O_DIRECTORY,
			    O_RDONLY | O_NONBLOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK};

static int by_kernel(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC,
			       .resolve = resolve | RESOLVE_NO_MAGICLINKS};
	long r = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return r < 0 ? -errno : (int)r;
}

static bool same(int a, int b)
{
	struct stat x, y;

	if (a < 0 || b < 0)
		return a == b;
	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static void make_tree(void)
{
	mkdir("base", 0755);
	mkdir("base/a", 0755);
	mkdir("base/a/b", 0755);
	scratch_write("base/a/b/file", "x");
	scratch_write("secret", "x");
	if (symlink("a/b", "base/link") || symlink("a/b/file", "base/flink") ||
	    symlink("/etc", "base/abs") || symlink("../secret", "base/out") ||
	    symlink("loop", "base/loop") || symlink("nowhere", "base/dangling") ||
	    symlink("a/../link/../../a", "base/deep") || symlink("..", "base/up") ||
	    symlink("/proc/self/fd", "base/magic") || symlink("link", "base/chain") ||
	    symlink("/a/b", "base/rootlink") || mkfifo("base/fifo", 0600))
		perror("tree");
}

int main(void)
{
	unsigned tried = 0, opened = 0, refused = 0, wrong = 0;
	int dir;

	if (tap_on_valgrind()) {
		tap_skip("valgrind has no openat2");
		return tap_done();
	}
	scratch_enter();
	make_tree();
	dir = open("base", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t w = 0; w < array_len(ways); w++)
		for (size_t k = 0; k < array_len(kinds); k++)
			for (size_t i = 0; i < array_len(paths); i++) {
				_cleanup_(fd_closep) int a = by_kernel(dir, paths[i], kinds[k],
								       ways[w]);
				_cleanup_(fd_closep) int b = path_walk(dir, paths[i], kinds[k], 0,
								       ways[w]);

				tried++;
				opened += a >= 0;
				refused += a < 0;
				/* Every link of procfs counts as a magic one here. */
				if (same(a, b) ||
				    (b == -ELOOP && strncmp(paths[i], "magic", 5) == 0))
					continue;
				wrong++;
				tap_note("'%s' way %llu flags %o: kernel %d, walk %d", paths[i],
					 (unsigned long long)ways[w], (unsigned)kinds[k], a, b);
			}
	tap_ok(wrong == 0 && opened > 100 && refused > 100,
	       "%u paths: %u opened, %u refused, %u differ", tried, opened, refused, wrong);
	close(dir);
	scratch_leave();
	return tap_done();
}
