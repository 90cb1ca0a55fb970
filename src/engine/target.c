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
#include "base/sys.h"
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

/* Which obeys the umask, that is 0 during set-up. */
static int make(int dir, const char *name, enum target kind, mode_t mode)
{
	int r = kind == TARGET_FILE ? mknodat(dir, name, S_IFREG | mode, 0)
				    : mkdirat(dir, name, mode);

	return r < 0 ? -errno : 0;
}

static int open_made(int dir, const char *name)
{
	return path_open_nolink(dir, name, O_PATH | O_NOFOLLOW, 0);
}

/* NAME in DIR, made where it is missing and the folder is ours (*OURS, which becomes the new
 * one's). */
static int step(const struct builder *b, int dir, const char *name, bool *ours)
{
	int r = *ours ? make(dir, name, TARGET_DIR, 0755) : -EEXIST;
	bool made = r == 0;

	if (!made && r != -EEXIST)
		return r;
	r = open_made(dir, name);
	if (r >= 0 && !made)
		*ours = target_is_ours(b, r);
	return r;
}

/* Walk PATH up to END from the folder START, which is ours or not, as in the end *OURS says of
 * the last one. */
static int walk(const struct builder *b, int start, const char *path, const char *end, bool *ours)
{
	char name[NAME_MAX + 1];
	int dir = start;

	while (path < end) {
		size_t n;
		int next;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, n);
		name[n] = '\0';
		next = step(b, dir, name, ours);
		if (dir != start)
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

void target_covered(struct builder *b, const char *path)
{
	if (b->parent >= 0 && strlen(path) <= b->parent_len && path_covers(path, b->parent_path))
		target_forget(b);
}

/* Is the remembered folder above the first LEN bytes of PATH? */
static bool is_on_the_way(const struct builder *b, const char *path, size_t len)
{
	return b->parent >= 0 && b->parent_len < len && path[b->parent_len] == '/' &&
	       strncmp(b->parent_path, path, b->parent_len) == 0;
}

/* The folder that holds PATH's last component. */
static int enter_parent(struct builder *b, const char *path, size_t len)
{
	bool ours = b->root_ours;
	int fd = b->root;

	if (b->parent >= 0 && b->parent_len == len && strncmp(b->parent_path, path, len) == 0)
		return 0;
	if (is_on_the_way(b, path, len)) {
		ours = b->parent_ours;
		fd = walk(b, b->parent, path + b->parent_len, path + len, &ours);
	} else if (len > 0) {
		fd = walk(b, b->root, path, path + len, &ours);
	}
	if (fd < 0)
		return fd;
	target_forget(b);
	b->parent = fd;
	b->parent_path = path;
	b->parent_len = len;
	b->parent_ours = ours;
	return 0;
}

int target_find(struct builder *b, const char *path, enum target kind, mode_t mode,
		struct spot *ret)
{
	const char *last = strrchr(path, '/');
	int r = last ? enter_parent(b, path, (size_t)(last - path)) : -EINVAL;

	if (r < 0)
		return r;
	r = b->parent_ours ? make(b->parent, last + 1, kind, mode) : -EEXIST;
	if (r == 0) {
		*ret = (struct spot){b->parent, last + 1, false};
		return 0;
	}
	if (r == -EEXIST)
		r = open_made(b->parent, last + 1);
	if (r < 0)
		return r;
	*ret = (struct spot){r, "", true};
	return 0;
}

void spot_release(struct spot *spot)
{
	if (spot->opened)
		fd_close(spot->dir);
}

int spot_clone(struct spot spot, unsigned recursive)
{
	return sys_open_tree(spot.dir, spot.name,
			     OPEN_TREE_CLONE | AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | recursive);
}

int spot_mount(struct spot spot, int mount)
{
	return spot.name[0] ? sys_move_mount_to(mount, spot.dir, spot.name)
			    : sys_move_mount(mount, spot.dir);
}

int target_open(struct builder *b, const char *path, enum target kind, mode_t mode)
{
	_cleanup_(spot_release) struct spot spot = SPOT_OF(-1);
	int r;

	if (kind == TARGET_EXISTING)
		return path_open_nolink(b->root, path + 1, O_PATH | O_NOFOLLOW, 0);
	r = target_find(b, path, kind, mode, &spot);
	if (r < 0)
		return r;
	if (spot.name[0])
		return open_made(spot.dir, spot.name);
	spot.opened = false;
	return spot.dir;
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
