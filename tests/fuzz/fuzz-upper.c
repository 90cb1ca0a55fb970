/* SPDX-License-Identifier: MIT */
/* Any tree as an upper layer over any other: the walk ends, tells of every entry once,
 * and stays inside. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree-remove.h"
#include "stage/access.h"
#include "stage/upper.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	size_t entries, gone;
};

static int take_entry(void *data, const struct upper_entry *entry)
{
	struct seen *seen = data;

	if (strstr(entry->path, "..") || entry->path[0] == '/' || entry->upper->type == NODE_ABSENT)
		abort();
	seen->entries++;
	return 0;
}

static int take_gone(void *data, const struct upper_gone *gone)
{
	struct seen *seen = data;

	if (strstr(gone->path, "..") || gone->base->type == NODE_ABSENT || !gone->by)
		abort();
	seen->gone++;
	return 0;
}

/* Two bytes make one thing: what, and where: the path is up to three of four names. */
static void make(int dir, uint8_t what, uint8_t where)
{
	char path[8] = "";
	int fd;

	for (unsigned i = 0; i <= where % 3u; i++)
		snprintf(path + 2 * i, sizeof(path) - 2 * i, "%s%c", i ? "/" : "",
			 "abcd"[where >> (2 + 2 * i) & 3]);
	switch (what % 8) {
	case 0:
	case 1:
		mkdirat(dir, path, 0755);
		break;
	case 2:
		fd = openat(dir, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
			    0644);
		if (fd >= 0 && write(fd, path, what / 8u % 8u) < 0)
			perror(path);
		close(fd);
		break;
	case 3:
		if (symlinkat(what & 64 ? "a" : "/etc", dir, path) < 0)
			return;
		break;
	case 4:
		mknodat(dir, path, S_IFCHR, 0);
		break;
	case 5:
		mknodat(dir, path, S_IFIFO | 0600, 0);
		break;
	case 6:
		fd = path_open_nolink(dir, path, O_RDONLY | O_DIRECTORY, 0);
		if (fd >= 0)
			fsetxattr(fd, "user.overlay.opaque", what & 64 ? "y" : "x", 1, 0);
		close(fd);
		break;
	default:
		fd = path_open_nolink(dir, path, O_RDONLY | O_NONBLOCK, 0);
		if (fd >= 0)
			fsetxattr(fd, "user.overlay.whiteout", "", 0, 0);
		close(fd);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char top[] = "/dev/shm/pale-fuzz-XXXXXX";
	static int dir = -1;
	struct relaxed relaxed = {0};
	struct seen seen = {0};
	struct upper_visitor visitor = {.entry = take_entry, .gone = take_gone, .data = &seen};
	struct err err = {0};
	int upper, base;

	if (dir < 0 && mkdtemp(top))
		dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || size > 200)
		return 0;
	mkdirat(dir, "upper", 0755);
	mkdirat(dir, "base", 0755);
	upper = openat(dir, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	base = openat(dir, "base", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i + 2 < size; i += 3)
		make(data[i] & 1 ? upper : base, data[i + 1], data[i + 2]);
	if (upper_walk(upper, base, &visitor, &relaxed, &err) < 0)
		abort();
	relaxed_restore(&relaxed, upper);
	close(upper);
	close(base);
	tree_remove(dir, "upper");
	tree_remove(dir, "base");
	return 0;
}
