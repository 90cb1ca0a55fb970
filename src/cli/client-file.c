/* SPDX-License-Identifier: MIT */
#include "cli/client-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"

#define CLIENT_FILE_MAX (64u << 20)

void client_text_release(struct client_text *file)
{
	free(file->path);
	file->path = NULL;
	file->dir = fd_close(file->dir);
	str_release(&file->text);
}

/* What the folder is named from: the workspace, or /. */
static int open_base(const struct client_text *file, struct err *err)
{
	_cleanup_(fd_closep) int top = fd_open("/", O_PATH | O_DIRECTORY);
	int fd;

	if (top < 0)
		return err_sys(err, -errno, "open /");
	if (!file->root)
		return take_fd(top);
	fd = path_open_beneath(top, file->root[1] ? file->root + 1 : ".", O_PATH | O_DIRECTORY, 0);
	return fd < 0 ? err_sys(err, fd, "open %s", file->root) : fd;
}

static int open_folder(struct client_text *file, bool make, struct err *err)
{
	size_t skip = file->root && file->root[1] ? strlen(file->root) + 1 : 1;
	size_t len = (size_t)(path_basename(file->path) - file->path);
	_cleanup_(freep) char *below = strndup(file->path + skip, len - skip);
	_cleanup_(fd_closep) int base = -1;
	int fd;

	if (!below)
		return err_oom(err);
	base = open_base(file, err);
	if (base < 0)
		return base;
	fd = make ? path_mkdir_beneath(base, below, file->root ? 0755 : 0700)
		  : path_open_nolink(base, *below ? below : ".", O_PATH | O_DIRECTORY, 0);
	if (fd < 0 && (fd != -ENOENT || make))
		return err_sys(err, fd, "open the folder of %s", file->path);
	file->dir = fd < 0 ? -1 : fd;
	return 0;
}

int client_text_read(struct client_text *file, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	_cleanup_(freep) char *real = NULL;
	int r = file->root ? 0 : path_resolve(file->path, &real);

	if (r < 0)
		return err_sys(err, r, "%s", file->path);
	if (real) {
		free(file->path);
		file->path = take_ptr(real);
	}
	r = open_folder(file, false, err);
	if (r < 0 || file->dir < 0)
		return r;
	fd = path_open_nolink(file->dir, path_basename(file->path),
			      O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd == -ENOENT)
		return 0;
	if (fd == -ELOOP) {
		err_set(err, ERR_CONFIG, fd, "%s is a symbolic link", file->path);
		return err_hint(err, fd, "pale follows none that a workspace holds");
	}
	if (fd < 0)
		return err_sys(err, fd, "open %s", file->path);
	if (fstat(fd, &file->st) < 0)
		return err_sys(err, -errno, "%s", file->path);
	if (!S_ISREG(file->st.st_mode))
		return err_set(err, ERR_CONFIG, -EINVAL, "%s is no regular file", file->path);
	file->existed = true;
	r = fd_read_all(fd, CLIENT_FILE_MAX, &file->text);
	return r < 0 ? err_sys(err, r, "read %s", file->path) : 0;
}

/* Has nobody written it since? A client does so whenever it likes. */
static bool is_same(const struct client_text *file)
{
	const struct stat *old = &file->st;
	struct stat st;

	if (file->dir < 0)
		return true;
	if (fstatat(file->dir, path_basename(file->path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && !file->existed;
	return file->existed && st.st_dev == old->st_dev && st.st_ino == old->st_ino &&
	       st.st_size == old->st_size && st.st_mtim.tv_sec == old->st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == old->st_mtim.tv_nsec;
}

/* By its name from the top: the folder may have been taken away with it. */
static int stays(const struct client_text *file, struct err *err)
{
	_cleanup_(fd_closep) int base = open_base(file, err);

	return base < 0 ? base
			: file_stays(base, file->path + strlen(file->root) + (file->root[1] != 0),
				     err);
}

int client_text_write(struct client_text *file, struct err *err)
{
	int r = 0;

	if (!is_same(file)) {
		r = err_set(err, ERR_SYSTEM, -EBUSY, "%s was changed just now", file->path);
		return err_hint(err, r, "it was left alone; try again");
	}
	if (file->dir < 0)
		r = open_folder(file, true, err);
	if (r == -ENOENT && file->root)
		return stays(file, err);
	if (r < 0)
		return r;
	r = file_replace(file->dir, path_basename(file->path), str_text(&file->text),
			 file->text.len, file->root ? 0644 : 0600, err);
	if (r == 0 && file->root && !file->existed)
		r = stays(file, err);
	return r < 0 ? err_wrap(err, r, "%s", file->path) : 0;
}
