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

bool target_is_ours(const struct builder *b, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < b->own_len; i++)
		if (b->own[i] == st.st_dev)
			return true;
	return false;
}

/* mkdir and open obey the umask, which is 0 during set-up. */
static int make(int dir, const char *name, enum target kind, mode_t mode)
{
	if (kind == TARGET_DIR && mkdirat(dir, name, mode) < 0 && errno != EEXIST)
		return -errno;
	if (kind == TARGET_FILE) {
		int fd = openat(dir, name, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, mode);

		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
	}
	return path_open_nolink(dir, name, O_PATH | O_NOFOLLOW, 0);
}

/* Walk the first LEN bytes of PATH from the root, making what is missing where
 * the folder above is ours. */
static int walk(const struct builder *b, const char *path, size_t len)
{
	char name[NAME_MAX + 1];
	int dir = b->root;

	for (const char *end = path + len; path < end;) {
		size_t n;
		int next;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, n);
		name[n] = '\0';
		next = target_is_ours(b, dir) ? make(dir, name, TARGET_DIR, 0755)
					      : path_open_nolink(dir, name, O_PATH | O_NOFOLLOW, 0);
		if (dir != b->root)
			fd_close(dir);
		if (next < 0)
			return next;
		dir = next;
		path += n;
	}
	return dir;
}

void target_forget(struct builder *b)
{
	if (b->parent != b->root)
		fd_close(b->parent);
	b->parent = -1;
	b->parent_len = 0;
}

/* The folder that holds PATH's last component. */
static int enter_parent(struct builder *b, const char *path, size_t len)
{
	int fd;

	if (b->parent >= 0 && b->parent_len == len && strncmp(b->parent_path, path, len) == 0)
		return 0;
	target_forget(b);
	fd = len == 0 ? b->root : walk(b, path, len);
	if (fd < 0)
		return fd;
	b->parent = fd;
	b->parent_path = path;
	b->parent_len = len;
	b->parent_ours = target_is_ours(b, fd);
	return 0;
}

int target_open(struct builder *b, const char *path, enum target kind, mode_t mode)
{
	const char *last = strrchr(path, '/');
	int r;

	if (!last)
		return -EINVAL;
	if (kind == TARGET_EXISTING)
		return path_open_nolink(b->root, path + 1, O_PATH | O_NOFOLLOW, 0);
	r = enter_parent(b, path, (size_t)(last - path));
	if (r < 0)
		return r;
	return b->parent_ours ? make(b->parent, last + 1, kind, mode)
			      : path_open_nolink(b->parent, last + 1, O_PATH | O_NOFOLLOW, 0);
}

int target_write(struct builder *b, const char *path, const char *text)
{
	const char *last = strrchr(path, '/');
	_cleanup_(fd_closep) int fd = -1;
	int r = last ? enter_parent(b, path, (size_t)(last - path)) : -EINVAL;

	if (r < 0)
		return r;
	if (!b->parent_ours)
		return -EROFS;
	fd = openat(b->parent, last + 1, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0444);
	return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

int target_symlink(struct builder *b, const char *to, const char *path)
{
	const char *last = strrchr(path, '/');
	int r = last ? enter_parent(b, path, (size_t)(last - path)) : -EINVAL;

	if (r < 0)
		return r;
	if (!b->parent_ours)
		return -EROFS;
	return symlinkat(to, b->parent, last + 1) < 0 ? -errno : 0;
}
