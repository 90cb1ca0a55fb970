/* SPDX-License-Identifier: MIT */
#include "engine/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/private-dir.h"
#include "base/str.h"
#include "base/sys.h"
#include "base/tree-remove.h"
#include "engine/guard-name.h"

enum { COPY_MAX = 1 << 20 };

void quarantine_init(struct quarantine *q, const char *path)
{
	*q = (struct quarantine){.path = path, .fd = -1};
}

void quarantine_release(struct quarantine *q)
{
	q->fd = fd_close(q->fd);
}

static int ready(struct quarantine *q, struct err *err)
{
	if (q->fd >= 0)
		return 0;
	if (!q->path)
		return err_set(err, ERR_SYSTEM, -ENOENT, "there is no place for pale's state");
	q->fd = private_dir_open(q->path, true, err);
	return q->fd < 0 ? q->fd : 0;
}

/* NFS, 9p and others know no such flag. Nobody else uses the names that we give. */
static int move(int from, const char *name, int to, const char *new_name)
{
	int r = sys_result(
		syscall(SYS_renameat2, from, name, to, new_name, 1 /* RENAME_NOREPLACE */));

	if (r != -EINVAL)
		return r;
	if (faccessat(to, new_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(from, name, to, new_name) < 0 ? -errno : 0;
}

/* A folder that its owner may not write cannot be moved, nor anything out of it. */
static void loosen(int dir, const char *name)
{
	_cleanup_(fd_closep) int fd = -1;

	name_open_folder(dir);
	fd = path_open_nolink(dir, name, O_PATH | O_NOFOLLOW, 0);
	if (fd >= 0)
		name_open_folder(fd);
}

/* Between file systems: files and links, which is what most of them are. */
static int copy(int dir, const char *name, int to, const char *new_name)
{
	_cleanup_(fd_closep) int in = -1;
	_cleanup_(fd_closep) int out = -1;
	_cleanup_(str_release) struct str text = {0};
	char link[PATH_MAX];
	struct stat st;
	ssize_t n;
	int r;

	n = readlinkat(dir, name, link, sizeof(link) - 1);
	if (n >= 0) {
		link[n] = '\0';
		return symlinkat(link, to, new_name) < 0 ? -errno : 0;
	}
	in = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (in < 0)
		return -errno;
	if (fstat(in, &st) < 0 || !S_ISREG(st.st_mode))
		return -EXDEV;
	r = fd_read_all(in, COPY_MAX, &text);
	if (r < 0)
		return r;
	out = openat(to, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	r = out < 0 ? -errno : fd_write_all(out, str_text(&text), text.len);
	if (r < 0 && out >= 0)
		(void)unlinkat(to, new_name, 0);
	return r;
}

static int take(struct quarantine *q, int dir, const char *name, const char *new_name)
{
	int r = move(dir, name, q->fd, new_name);

	if (r == -EACCES || r == -EPERM) {
		loosen(dir, name);
		r = move(dir, name, q->fd, new_name);
	}
	if (r != -EXDEV)
		return r;
	r = copy(dir, name, q->fd, new_name);
	if (r < 0)
		return r;
	return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}

/* A name that means nothing to anybody, in the same folder. */
static int set_aside(int dir, const char *name, char new_name[NAME_MAX + 1])
{
	uint64_t random = 0;
	int r;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint64_t)getpid();
	snprintf(new_name, NAME_MAX + 1, "pale-quarantined-%016llx-%.32s",
		 (unsigned long long)random, name);
	r = move(dir, name, dir, new_name);
	if (r == -EACCES) {
		name_open_folder(dir);
		r = move(dir, name, dir, new_name);
	}
	return r;
}

/* What must not stay and has no room elsewhere, since the disk is full, is not kept. */
static int throw_away(struct quarantine *q, int dir, const char *name, int why, struct err *err)
{
	int r = why;

	if (why == -ENOSPC || why == -EDQUOT)
		r = unlinkat(dir, name, 0) < 0 ? -errno : 0;
	if (r == -EISDIR)
		r = tree_remove(dir, name);
	if (r < 0)
		return err_sys(err, why, "it is still there: rename it");
	q->renamed_ns = clock_mono_ns();
	return err_sys(err, why, "it was removed, there being no room to keep it");
}

int quarantine_take(struct quarantine *q, int dir, const char *dir_path, const char *name,
		    char **ret_where, struct err *err)
{
	_cleanup_(freep) char *kept = str_printf("%u-%s", q->count + 1, name);
	char aside[NAME_MAX + 1];
	bool is_aside;
	int r, why;

	*ret_where = NULL;
	if (!kept)
		return err_oom(err);
	/* First it loses its name, which takes microseconds; the rest can wait. */
	r = set_aside(dir, name, aside);
	if (r == -ENOENT)
		return r;
	is_aside = r == 0;
	if (is_aside)
		q->renamed_ns = clock_mono_ns();
	why = r;
	r = ready(q, err);
	if (r == 0) {
		r = take(q, dir, is_aside ? aside : name, kept);
		if (r < 0)
			err_sys(err, r, "move it to %s", q->path);
	}
	if (r < 0 && !is_aside)
		return throw_away(q, dir, name, why, err);
	if (r < 0) {
		*ret_where = path_join(dir_path, aside);
		return r == -ENOENT ? -EIO : r;
	}
	if (!is_aside)
		q->renamed_ns = clock_mono_ns();
	q->count++;
	*ret_where = path_join(q->path, kept);
	return *ret_where ? 0 : err_oom(err);
}
