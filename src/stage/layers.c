/* SPDX-License-Identifier: MIT */
/* layers - the folders that an overlay writes to: roots/INDEX/upper and …/work. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/tree-remove.h"
#include "stage/access.h"
#include "stage/stage.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PROBE     "user.overlay.pale"
#define GIVEN     "user.pale.mode" /* of roots/INDEX, which no command ever sees */
#define SPENT     "spent"          /* roots/INDEX/work/work of the mount before */

static int open_below(const struct stage *stage, unsigned root, const char *layer, int flags)
{
	char name[64];

	snprintf(name, sizeof(name), "roots/%u%s", root, layer);
	return path_open_nolink(stage->dir_fd, name, flags, 0);
}

int stage_layers(const struct stage *stage, unsigned root, int *ret_fd, struct err *err)
{
	_cleanup_(fd_closep) int fd = open_below(stage, root, "", O_PATH | O_DIRECTORY);
	int r = fd < 0 ? fd : 0;

	/* The upper one is made last. */
	if (r == 0 && faccessat(fd, "upper", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r < 0)
		return r == -ENOENT ? r
				    : err_sys(err, r, "stage %s: open the layers of root %u",
					      stage->name, root);
	*ret_fd = take_fd(fd);
	return 0;
}

int stage_upper(const struct stage *stage, unsigned root, int *ret_fd, struct err *err)
{
	int fd = open_below(stage, root, "/upper", O_PATH | O_DIRECTORY);

	if (fd == -ENOENT)
		return fd;
	if (fd < 0)
		return err_sys(err, fd, "stage %s: open the upper layer of root %u", stage->name,
			       root);
	*ret_fd = fd;
	return 0;
}

int stage_read_upper(const struct stage *stage, unsigned root, int *ret_fd)
{
	int fd = open_below(stage, root, "/upper", DIR_FLAGS);

	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/* Started by root, the layers are for whom the command will be. */
static int make_dir(int dir, const char *name, const struct stat *owner)
{
	int fd;

	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dir, name, DIR_FLAGS);
	if (fd < 0)
		return -errno;
	if (geteuid() == 0 && fchown(fd, owner->st_uid, owner->st_gid) < 0) {
		int r = -errno;

		fd_close(fd);
		return r;
	}
	return fd;
}

static const char *unfit(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return strerror(errno);
	switch ((unsigned)fs.f_type) {
	case OVERLAYFS_SUPER_MAGIC:
		return "an overlay itself";
	case NFS_SUPER_MAGIC:
	case 0xff534d42: /* cifs */
	case 0xfe534d42: /* smb2 */
	case V9FS_MAGIC:
		return "a network file system";
	case 0x65735546:
		return "a FUSE file system";
	default:
		break;
	}
	if (fsetxattr(fd, PROBE, "y", 1, 0) < 0)
		return errno == ENOTSUP ? "without user xattrs" : strerror(errno);
	(void)fremovexattr(fd, PROBE);
	return NULL;
}

static int check_fit(const struct stage *stage, int fd, struct err *err)
{
	const char *why = unfit(fd);

	if (!why)
		return 0;
	err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
		"%s is on a filesystem that cannot hold staged writes: %s", stage->path, why);
	return err_hint(err, -ENOTSUP,
			"set XDG_STATE_HOME to a folder on a local disk (ext4, xfs, btrfs); or "
			"--direct");
}

/* It shows as the root of the merged view. */
static int dress_upper(int upper, const struct stat *base)
{
	if (geteuid() != 0 && fchown(upper, (uid_t)-1, base->st_gid) < 0 && errno != EPERM)
		return -errno;
	return fchmod(upper, base->st_mode & 07777) < 0 ? -errno : 0;
}

static int write_given(int dir, mode_t mode)
{
	char text[8];
	int len = snprintf(text, sizeof(text), "%04o", mode & 07777);

	return fsetxattr(dir, GIVEN, text, (size_t)len, 0) < 0 ? -errno : 0;
}

int stage_given_mode(const struct stage *stage, unsigned root)
{
	_cleanup_(fd_closep) int dir = open_below(stage, root, "", DIR_FLAGS);
	char text[8], *end;
	ssize_t len = dir < 0 ? -1 : fgetxattr(dir, GIVEN, text, sizeof(text) - 1);
	unsigned long mode;

	if (len <= 0)
		return -ENODATA;
	text[len] = '\0';
	mode = strtoul(text, &end, 8);
	return *end || mode > 07777 ? -ENODATA : (int)mode;
}

int stage_give_mode(const struct stage *stage, unsigned root, mode_t mode)
{
	_cleanup_(fd_closep) int dir = open_below(stage, root, "", DIR_FLAGS);

	return dir < 0 ? dir : write_given(dir, mode);
}

/* Should it end after the first step, the next run finds both alike. */
static int follow(const struct stage *stage, unsigned root, int upper, mode_t mode, mode_t base)
{
	int given = stage_given_mode(stage, root), r;
	struct stat st;

	if (mode == base)
		return given == (int)base ? 0 : stage_give_mode(stage, root, base);
	if (given != (int)mode)
		return 0; /* a staged change */
	r = fd_chmod(upper, base);
	if (r == 0 && fstat(upper, &st) < 0)
		r = -errno;
	return r < 0 ? r : stage_give_mode(stage, root, st.st_mode);
}

int stage_follow_base(struct stage *stage, unsigned root, struct err *err)
{
	_cleanup_(fd_closep) int upper = open_below(stage, root, "/upper", O_PATH | O_DIRECTORY);
	struct stat st, base;
	int r = upper < 0 ? upper : 0;

	if (r == 0 && (fstat(upper, &st) < 0 || lstat(stage->roots[root].path, &base) < 0))
		r = -errno;
	if (r == 0)
		r = follow(stage, root, upper, st.st_mode & 07777, base.st_mode & 07777);
	return r < 0 ? err_sys(err, r, "bring the layers of stage %s up to date", stage->name) : 0;
}

int stage_make_layers(struct stage *stage, unsigned root, int base, struct err *err)
{
	_cleanup_(fd_closep) int roots = -1;
	_cleanup_(fd_closep) int dir = open_below(stage, root, "/upper", O_PATH | O_DIRECTORY);
	_cleanup_(fd_closep) int work = -1;
	_cleanup_(fd_closep) int upper = -1;
	struct stat st;
	char name[32];
	int r;

	if (dir >= 0)
		return 0;
	if (fstat(base, &st) < 0)
		return err_sys(err, -errno, "stat a folder that is staged");
	roots = path_open_nolink(stage->dir_fd, "roots", DIR_FLAGS, 0);
	snprintf(name, sizeof(name), "%u", root);
	dir = roots < 0 ? roots : make_dir(roots, name, &st);
	work = dir < 0 ? dir : make_dir(dir, "work", &st);
	if (work < 0)
		return err_sys(err, work, "make the layers of stage %s", stage->name);
	r = check_fit(stage, work, err);
	if (r < 0)
		return r;
	/* The last one: with it the layers count as made. */
	upper = make_dir(dir, ".upper", &st);
	r = upper < 0 ? upper : dress_upper(upper, &st);
	/* Not all bits may be ours to set. */
	if (r == 0 && fstat(upper, &st) < 0)
		r = -errno;
	if (r == 0)
		r = write_given(dir, st.st_mode);
	if (r == 0 && renameat(dir, ".upper", dir, "upper") < 0)
		r = -errno;
	return r < 0 ? err_sys(err, r, "make the layers of stage %s", stage->name) : 0;
}

/* The kernel's own folders give nobody any permission. */
static int step_into(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (geteuid() != 0 && chmod(path, 0700) < 0) {
		int r = -errno;

		fd_close(fd);
		return r;
	}
	return fd;
}

static int remove_mark(int work)
{
	_cleanup_(fd_closep) int inner = step_into(work, "work");
	_cleanup_(fd_closep) int incompat = inner < 0 ? inner : step_into(inner, "incompat");
	_cleanup_(fd_closep) int mark = incompat < 0 ? incompat : step_into(incompat, "volatile");

	if (mark < 0)
		return mark;
	if (unlinkat(mark, "dirty", 0) < 0 && errno != ENOENT)
		return -errno;
	if (unlinkat(incompat, "volatile", AT_REMOVEDIR) < 0 ||
	    unlinkat(inner, "incompat", AT_REMOVEDIR) < 0)
		return -errno;
	return 0;
}

static int put_aside(int work)
{
	return renameat(work, "work", work, SPENT) < 0 ? -errno : 0;
}

/* Empty, as a rule. */
static int remove_spent(int work)
{
	return unlinkat(work, SPENT, AT_REMOVEDIR) < 0 && errno != ENOENT ? tree_remove(work, SPENT)
									  : 0;
}

/* The kernel makes a new one, and would remove the old one first: on some disks that waits for
 * the disk. So it is put aside, with the mark if there is one, and goes when the command runs. */
int stage_clear_mark(struct stage *stage, unsigned root, struct err *err)
{
	_cleanup_(fd_closep) int work = open_below(stage, root, "/work", DIR_FLAGS);
	int r = work < 0 ? work : put_aside(work);

	if (r == -ENOTEMPTY || r == -EEXIST) {
		r = remove_spent(work);
		if (r == 0)
			r = put_aside(work);
	}
	return r < 0 && r != -ENOENT
		       ? err_sys(err, r, "clear the overlay's folder of stage %s", stage->name)
		       : 0;
}

void stage_drop_mark(struct stage *stage, unsigned root)
{
	_cleanup_(fd_closep) int work = open_below(stage, root, "/work", DIR_FLAGS);

	if (work < 0)
		return;
	(void)remove_mark(work);
	(void)remove_spent(work);
}

/* --- how much --- */

/* Folders wait by their names, so that no number of them needs as many descriptors.
 * What has gone meanwhile, or lets nobody in, counts no more. */
static int measure(int upper, const char *path, struct strv *waiting, uint64_t *bytes)
{
	int fd = path_open_nolink(upper, *path ? path : ".", DIR_FLAGS, 0), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		fd_close(fd);
		return fd == -EMFILE || fd == -ENFILE ? fd : 0;
	}
	while (r == 0 && (entry = readdir(dir))) {
		struct stat st;

		if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..") ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		*bytes += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode))
			r = strv_addf(waiting, "%s%s%s", path, *path ? "/" : "", entry->d_name);
	}
	closedir(dir);
	return r;
}

int stage_size(const struct stage *stage, uint64_t *ret_bytes, struct err *err)
{
	_cleanup_(strv_release) struct strv waiting = {0};
	uint64_t bytes = 0;
	int r = 0;

	for (unsigned i = 0; i < stage->n_roots && r == 0; i++) {
		_cleanup_(fd_closep) int upper = open_below(stage, i, "/upper", DIR_FLAGS);

		if (upper < 0)
			continue;
		r = strv_add(&waiting, "");
		while (r == 0 && waiting.len > 0) {
			_cleanup_(freep) char *path = waiting.items[--waiting.len];

			waiting.items[waiting.len] = NULL;
			r = measure(upper, path, &waiting, &bytes);
		}
	}
	if (r < 0)
		return err_sys(err, r, "measure stage %s", stage->name);
	*ret_bytes = bytes;
	return 0;
}
