/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/common.h"

/* Can a file be made beside it? To ask for permission is not enough: /proc gives it. */
static int try_folder(int dir)
{
	_cleanup_(fd_closep) int fd = -1;
	char name[64];

	snprintf(name, sizeof(name), ".pale-%d-%llx", (int)getpid(),
		 (unsigned long long)clock_mono_ns());
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	unlinkat(dir, name, 0);
	return 0;
}

static int check_target(const struct outfile *file, struct err *err)
{
	struct stat st;
	int r = try_folder(file->dir);

	if (r < 0)
		return err_sys(err, r, "%s: cannot write %s", file->option, file->name);
	if (fstatat(file->dir, file->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISREG(st.st_mode))
		return 0;
	return err_set(err, ERR_USAGE, -EINVAL, "%s: %s is no regular file", file->option,
		       file->name);
}

/* DIR, which ends in a slash, as seen from here if it lies below; else as it is. */
static const char *seen_from_here(const char *dir)
{
	_cleanup_(freep) char *here = dir[0] == '/' ? getcwd(NULL, 0) : NULL;

	return here && path_covers(here, dir) ? dir + strlen(here) + strspn(dir + strlen(here), "/")
					      : dir;
}

/* What lies below here may be in the workspace, where links are anybody's. The way up is no link. */
static int open_folder(const char *dir)
{
	_cleanup_(fd_closep) int above = -1;

	dir = seen_from_here(dir);
	if (dir[0] == '/') {
		int fd = fd_open(dir, O_RDONLY | O_DIRECTORY);

		return fd < 0 ? -errno : fd;
	}
	while (str_starts(dir, "../")) {
		int up = openat(above < 0 ? AT_FDCWD : above, "..",
				O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (up < 0)
			return -errno;
		fd_close(above);
		above = up;
		dir += 3 + strspn(dir + 3, "/");
	}
	return path_open_nolink(above < 0 ? AT_FDCWD : above, *dir ? dir : ".",
				O_RDONLY | O_DIRECTORY, 0);
}

int outfile_open(const char *option, const char *path, struct outfile *ret, struct err *err)
{
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *dir = slash ? strndup(path, (size_t)(slash - path) + 1)
					   : strdup(".");
	_cleanup_(fd_closep) int fd = -1;
	struct outfile file = {.option = option, .name = slash ? slash + 1 : path};
	int r;

	if (!dir)
		return err_oom(err);
	if (str_eq(path, "-"))
		return err_hint(err,
				err_set(err, ERR_USAGE, -EINVAL,
					"%s: - is no name, and does not stand for standard output",
					option),
				"a file called so is ./-");
	fd = open_folder(dir);
	if (fd == -ELOOP || fd == -EXDEV)
		return err_hint(
			err,
			err_set(err, ERR_USAGE, fd, "%s: no link is followed to %s", option, dir),
			"name the folder that it leads to");
	if (fd < 0)
		return err_sys(err, fd, "%s: cannot open %s", option, dir);
	if (!*file.name)
		return err_set(err, ERR_USAGE, -EISDIR, "%s: %s is a folder", option, dir);
	file.dir = fd;
	r = check_target(&file, err);
	if (r < 0)
		return r;
	*ret = file;
	take_fd(fd);
	return 0;
}

int outfile_write(const struct outfile *file, const struct str *text, struct err *err)
{
	mode_t mask = umask(0);
	int r;

	umask(mask);
	r = file_replace(file->dir, file->name, str_text(text), text->len, 0666 & ~mask, err);
	return r < 0 ? err_wrap(err, r, "%s", file->option) : 0;
}

void outfile_close(struct outfile *file)
{
	file->dir = fd_close(file->dir);
}
