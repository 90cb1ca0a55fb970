/* SPDX-License-Identifier: MIT */
#include "engine/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "engine/mount.h"

static bool is_ours(const struct builder *b, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < b->own_len; i++)
		if (b->own[i] == st.st_dev)
			return true;
	return false;
}

static int make_file(int dir, const char *name, mode_t mode)
{
	int fd = openat(dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDONLY | O_CLOEXEC, mode);

	if (fd < 0)
		return -errno;
	fd_close(fd);
	return 0;
}

/* Enter NAME in DIR; make it first when it is missing. */
static int step(const struct builder *b, int dir, const char *name, enum target kind, mode_t mode)
{
	int r, fd = path_open_nolink(dir, name, O_PATH | O_NOFOLLOW, 0);

	if (fd != -ENOENT || kind == TARGET_EXISTING)
		return fd;
	if (!is_ours(b, dir))
		return -EROFS;
	if (kind == TARGET_FILE)
		r = make_file(dir, name, mode);
	else
		/* mkdir obeys the umask, which is the caller's: 0 is set for set-up. */
		r = mkdirat(dir, name, mode) < 0 ? -errno : 0;
	return r < 0 ? r : path_open_nolink(dir, name, O_PATH | O_NOFOLLOW, 0);
}

/* Walk PATH below the root; *ret_last is the last component's name. Returns
 * the descriptor of the folder that holds it. */
static int walk_to_parent(const struct builder *b, const char *path, bool make, char *ret_last)
{
	int dir = fcntl(b->root, F_DUPFD_CLOEXEC, 3);

	if (dir < 0)
		return -errno;
	ret_last[0] = '\0';
	for (;;) {
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len == 0)
			return dir;
		if (len > NAME_MAX) {
			fd_close(dir);
			return -ENAMETOOLONG;
		}
		if (ret_last[0]) {
			int next = step(b, dir, ret_last, make ? TARGET_DIR : TARGET_EXISTING, 0755);

			fd_close(dir);
			if (next < 0)
				return next;
			dir = next;
		}
		memcpy(ret_last, path, len);
		ret_last[len] = '\0';
		path += len;
	}
}

int target_open(const struct builder *b, const char *path, enum target kind, mode_t mode)
{
	char last[NAME_MAX + 1];
	_cleanup_(fd_closep) int parent = -1;
	int fd;

	path += strspn(path, "/");
	fd = path_open_nolink(b->root, *path ? path : ".", O_PATH | O_NOFOLLOW, 0);
	if (fd != -ENOENT || kind == TARGET_EXISTING)
		return fd;
	parent = walk_to_parent(b, path, true, last);
	return parent < 0 ? parent : step(b, parent, last, kind, mode);
}

int target_symlink(const struct builder *b, const char *to, const char *path)
{
	char last[NAME_MAX + 1];
	_cleanup_(fd_closep) int parent = walk_to_parent(b, path, true, last);

	if (parent < 0)
		return parent;
	if (!is_ours(b, parent))
		return -EROFS;
	return symlinkat(to, parent, last) < 0 ? -errno : 0;
}
