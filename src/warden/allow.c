/* SPDX-License-Identifier: MIT */
#include "warden/allow.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "confine/landlock.h"
#include "plan/plan.h"

int allow_begin(const struct op *ops, size_t len, struct landlock *ret, struct err *err)
{
	*ret = LANDLOCK_NONE;
	for (size_t i = 0; i < len; i++) {
		const struct op *op = &ops[i];

		if (op->kind == OP_LANDLOCK)
			return landlock_init(
				ret,
				(op->flags & OP_FILES ? LANDLOCK_FILES : 0) |
					(op->flags & OP_SIGNALS ? LANDLOCK_SIGNALS : 0) |
					(op->flags & OP_ABSTRACT ? LANDLOCK_ABSTRACT : 0) |
					(op->flags & OP_SOCKETS ? LANDLOCK_SOCKETS : 0) |
					(op->flags & OP_SHARED ? LANDLOCK_SHARED : 0),
				err);
	}
	return 0;
}

void allow_keep(struct landlock *landlock)
{
	static struct landlock_kept kept;

	landlock->kept = &kept;
}

/* The plan was made for a certain file. */
static int check_identity(int fd, const struct op *op, struct err *err)
{
	struct stat st;

	if (op->id.ino == 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return err_sys(err, -errno, "stat %s", op->dst);
	if (st.st_dev != op->id.dev || st.st_ino != op->id.ino)
		return err_set(err, ERR_SYSTEM, -ESTALE,
			       "%s was replaced while the run was prepared", op->dst);
	return 0;
}

int allow_apply(const struct landlock *landlock, const struct op *op, struct err *err)
{
	_cleanup_(fd_closep) int fd = path_open_plain(op->dst, O_PATH | O_NOFOLLOW);
	int r;

	if (fd < 0)
		return err_sys(err, fd, "allow %s", op->dst);
	r = check_identity(fd, op, err);
	if (r < 0)
		return r;
	return landlock_allow(landlock, fd,
			      (op->flags & OP_RDONLY ? 0 : ALLOW_WRITE) |
				      (op->flags & OP_DEVICES ? ALLOW_DEVICES : 0) |
				      (op->flags & OP_FILE ? ALLOW_FILE : 0) |
				      (op->flags & OP_SOCKETS ? ALLOW_SOCKET : 0),
			      err);
}
