/* SPDX-License-Identifier: MIT */
#include "plan/covers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/sys.h"
#include "plan/host.h"
#include "plan/plan.h"
#include "plan/toolchains.h"

/* Of PATH itself, were it a link. Where no birth is told, a file that was written is another one. */
static struct birth birth_of(const char *path)
{
	struct sys_stat now;
	struct stat st;
	int r = sys_statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, &now);

	if (r == 0 && now.mask & SYS_STATX_BTIME)
		return (struct birth){.dev = makedev(now.dev_major, now.dev_minor),
				      .ino = now.ino,
				      .sec = now.btime.sec,
				      .nsec = now.btime.nsec};
	/* Some containers refuse the call. */
	if ((r < 0 && r != -ENOSYS && r != -EPERM) || lstat(path, &st) < 0)
		return (struct birth){0};
	return (struct birth){.dev = st.st_dev,
			      .ino = st.st_ino,
			      .sec = st.st_ctim.tv_sec,
			      .nsec = (uint32_t)st.st_ctim.tv_nsec};
}

static bool is_same(const struct birth *a, const struct birth *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->sec == b->sec && a->nsec == b->nsec;
}

static bool has_op(const struct plan *plan, enum op_kind kind, const char *path)
{
	for (size_t i = 0; i < plan->ops_len; i++)
		if (plan->ops[i].kind == kind && str_eq(plan->ops[i].dst, path))
			return true;
	return false;
}

static bool is_hidden(const struct plan *plan, const char *path)
{
	return has_op(plan, OP_HIDE, path);
}

/* Is the toolchain at DIR shown, and its SECRET not asked for? Without mounts it is shown as long as
 * there is no secret in it. */
static bool is_withheld(const struct plan *plan, const char *dir, const char *secret)
{
	return is_hidden(plan, secret) ||
	       (plan->engine == ENGINE_LANDLOCK && has_op(plan, OP_ALLOW, dir));
}

static int add_secrets(struct covers *covers, const struct plan *plan, const char *home)
{
	int r = 0;

	for (const struct toolchain *t = toolchains; t->path && r == 0; t++) {
		_cleanup_(freep) char *dir = t->secrets ? path_join(home, t->path) : NULL;

		if (t->secrets && !dir)
			return -ENOMEM;
		for (size_t i = 0; dir && t->secrets[i] && r == 0; i++) {
			_cleanup_(freep) char *path = path_join(dir, t->secrets[i]);

			if (!path)
				return -ENOMEM;
			if (is_withheld(plan, dir, path))
				r = strv_add(&covers->paths, path);
		}
	}
	return r;
}

/* pale's: whoever could write there would make a policy. */
static int add_own(struct covers *covers, const struct plan *plan, const struct site *site)
{
	int r = 0;

	for (size_t i = 0; i < array_len(site->own) && r == 0; i++) {
		const char *path = site->own[i].real;

		if (path && is_hidden(plan, path))
			r = strv_add(&covers->paths, path);
	}
	return r;
}

int covers_take(struct covers *covers, const struct plan *plan, const struct site *site)
{
	struct covers taken = {0};
	int r = strv_copy(&taken.paths, &site->ignored);

	if (r == 0)
		r = add_own(&taken, plan, site);
	if (r == 0 && site->home_real)
		r = add_secrets(&taken, plan, site->home_real);
	if (r == 0) {
		taken.births = calloc(taken.paths.len + 1, sizeof(*taken.births));
		r = taken.births ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < taken.paths.len && r == 0; i++)
		taken.births[i] = birth_of(taken.paths.items[i]);
	if (r == 0)
		*covers = taken;
	else
		covers_release(&taken);
	return r;
}

void covers_release(struct covers *covers)
{
	strv_release(&covers->paths);
	free(covers->births);
	*covers = (struct covers){0};
}

bool covers_hide(const struct covers *covers, const char *path)
{
	struct birth now = birth_of(path);

	for (size_t i = 0; i < covers->paths.len && now.ino != 0; i++)
		if (strcmp(covers->paths.items[i], path) == 0)
			return is_same(&now, &covers->births[i]);
	return now.ino == 0;
}
