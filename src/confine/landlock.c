/* SPDX-License-Identifier: MIT */
#include "confine/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/sys.h"

/* The one that can tell what is worth a line in the log. */
enum { QUIET_ABI = 7 };

#define READS                                                                                      \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* Those that a rule for a single file may have. */
#define OF_FILES                                                                                   \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |                               \
	 LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                             \
	 LANDLOCK_ACCESS_FS_IOCTL_DEV)

/* What each version added to the one before. */
static const uint64_t added[] = {
	[1] = READS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
	      LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
	      LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
	      LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
	      LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM,
	[2] = LANDLOCK_ACCESS_FS_REFER,
	[3] = LANDLOCK_ACCESS_FS_TRUNCATE,
	[4] = 0, /* the network */
	[5] = LANDLOCK_ACCESS_FS_IOCTL_DEV,
	[6] = 0, /* scopes */
	[7] = 0, /* the log */
};

int landlock_abi(void)
{
	int abi = sys_landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : abi;
}

uint64_t landlock_rights(int abi)
{
	uint64_t rights = 0;

	for (int i = 1; i <= abi && i < (int)array_len(added); i++)
		rights |= added[i];
	return rights;
}

static int create(const struct sys_landlock_ruleset *attr, struct err *err)
{
	int ruleset = sys_landlock_create_ruleset(attr, sizeof(*attr), 0);

	return ruleset < 0 ? err_sys(err, ruleset, "create a Landlock domain") : ruleset;
}

/* The one that a command enters. */
static int init_own(struct landlock *landlock, unsigned about, struct err *err)
{
	struct sys_landlock_ruleset attr = {0};
	int ruleset;

	if (about & LANDLOCK_FILES)
		attr.handled_access_fs = landlock_rights(landlock_abi());
	if (about & LANDLOCK_SIGNALS)
		attr.scoped |= LANDLOCK_SCOPE_SIGNAL;
	if (about & LANDLOCK_ABSTRACT && !(about & LANDLOCK_SHARED))
		attr.scoped |= LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET;
	ruleset = create(&attr, err);
	if (ruleset < 0)
		return ruleset;
	*landlock = (struct landlock){.ruleset = ruleset,
				      .around = -1,
				      .about = about,
				      .handled = attr.handled_access_fs};
	return 0;
}

int landlock_init(struct landlock *landlock, unsigned about, struct err *err)
{
	struct sys_landlock_ruleset around = {0};
	int r = init_own(landlock, about, err);

	if (about & LANDLOCK_SOCKETS)
		around.handled_access_fs = LANDLOCK_ACCESS_FS_RESOLVE_UNIX;
	if (about & LANDLOCK_ABSTRACT && about & LANDLOCK_SHARED)
		around.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET;
	if (r < 0 || (!around.handled_access_fs && !around.scoped))
		return r;
	landlock->around = create(&around, err);
	if (landlock->around >= 0)
		return 0;
	r = landlock->around;
	landlock_release(landlock);
	return r;
}

void landlock_release(struct landlock *landlock)
{
	landlock->ruleset = fd_close(landlock->ruleset);
	landlock->around = fd_close(landlock->around);
}

static int add_socket(const struct landlock *landlock, int fd)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_RESOLVE_UNIX,
						  .parent_fd = fd};

	return landlock->about & LANDLOCK_SOCKETS ? sys_landlock_add_rule(landlock->around, &rule)
						  : 0;
}

static int add_rule(const struct landlock *landlock, int fd, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = rights & landlock->handled,
						  .parent_fd = fd};

	/* A rule that opens nothing is refused by the kernel, and not needed. */
	return rule.allowed_access ? sys_landlock_add_rule(landlock->ruleset, &rule) : 0;
}

static int keep_rule(struct landlock_kept *kept, int fd, uint64_t rights)
{
	int copy;

	if (kept->len == sizeof(kept->rules) / sizeof(kept->rules[0]))
		return -E2BIG;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return -errno;
	kept->rules[kept->len].fd = copy;
	kept->rules[kept->len++].rights = rights;
	return 0;
}

int landlock_allow(const struct landlock *landlock, int fd, unsigned flags, struct err *err)
{
	uint64_t rights = READS;
	int r;

	if (flags & ALLOW_WRITE)
		rights = landlock->handled & ~LANDLOCK_ACCESS_FS_IOCTL_DEV;
	if (flags & ALLOW_DEVICES)
		rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	if (flags & ALLOW_FILE)
		rights &= OF_FILES;
	r = add_rule(landlock, fd, rights);
	if (r == 0 && flags & ALLOW_SOCKET)
		r = add_socket(landlock, fd);
	if (r == 0 && landlock->kept)
		r = keep_rule(landlock->kept, fd, rights);
	return r < 0 ? err_sys(err, r, "add a Landlock rule") : 0;
}

/* A rule for the very file: what it is called and where it lies is no matter.
 * Pipes, sockets and memory files lie nowhere, and need none. */
static int allow_again(const struct landlock *landlock, int fd, struct err *err)
{
	int mode = fcntl(fd, F_GETFL), r;
	uint64_t rights = 0;
	struct stat st;

	if (mode < 0 || fstat(fd, &st) < 0)
		return err_sys(err, -errno, "descriptor %d", fd);
	if (mode & O_PATH || S_ISDIR(st.st_mode))
		return 0;
	mode &= O_ACCMODE;
	if (mode == O_RDONLY || mode == O_RDWR)
		rights |= LANDLOCK_ACCESS_FS_READ_FILE;
	if (mode == O_WRONLY || mode == O_RDWR)
		rights |= LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
	if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	r = add_rule(landlock, fd, rights);
	return r < 0 && r != -EBADFD ? err_sys(err, r, "Landlock rule for descriptor %d", fd) : 0;
}

int landlock_enter(const struct landlock *landlock, struct err *err)
{
	int r = 0;

	for (int fd = 0; fd <= 2 && r == 0; fd++)
		r = allow_again(landlock, fd, err);
	if (r < 0)
		return r;
	r = sys_landlock_restrict_self(landlock->ruleset, 0);
	return r < 0 ? err_sys(err, r, "enter the Landlock domain") : 0;
}

/* Does it have a name somewhere, and is it no device that everybody may use? */
static bool lies_somewhere(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return true;
	return !S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode) &&
	       !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

int landlock_copy(const struct landlock *landlock, struct landlock *ret, struct err *err)
{
	struct landlock own;
	int r;

	if (landlock->handled && !landlock->kept)
		BUG("a set whose rules were not kept");
	r = init_own(&own, landlock->about, err);
	if (r < 0)
		return r;
	for (size_t i = 0; landlock->handled && i < landlock->kept->len; i++) {
		r = add_rule(&own, landlock->kept->rules[i].fd, landlock->kept->rules[i].rights);
		if (r < 0) {
			landlock_release(&own);
			return err_sys(err, r, "add a Landlock rule");
		}
	}
	*ret = own;
	return 0;
}

int landlock_enter_anew(const struct landlock *landlock, struct err *err)
{
	struct landlock own;
	int r;

	if (!landlock->handled ||
	    (!lies_somewhere(0) && !lies_somewhere(1) && !lies_somewhere(2))) {
		r = sys_landlock_restrict_self(landlock->ruleset, 0);
		return r < 0 ? err_sys(err, r, "enter the Landlock domain") : 0;
	}
	r = landlock_copy(landlock, &own, err);
	return r < 0 ? r : landlock_enter(&own, err);
}

int landlock_enclose(struct err *err)
{
	struct landlock own;
	int r = landlock_init(&own, LANDLOCK_SIGNALS, err);

	if (r < 0)
		return r;
	/* A signal to everybody is refused by everybody else: nothing to log. */
	r = sys_landlock_restrict_self(own.ruleset,
				       landlock_abi() >= QUIET_ABI ? SYS_LANDLOCK_QUIET : 0);
	landlock_release(&own);
	if (r < 0)
		return err_sys(err, r, "enter a Landlock domain for signals");
	/* Too much depends on it. */
	if (kill(getppid(), 0) == 0)
		return err_set(err, ERR_SYSTEM, -ENOTSUP, "signals leave their Landlock domain");
	return 0;
}

int landlock_enter_around(const struct landlock *landlock, struct err *err)
{
	int r;

	if (!landlock || landlock->around < 0)
		return 0;
	r = sys_landlock_restrict_self(landlock->around, 0);
	return r < 0 ? err_sys(err, r, "enter the Landlock domain around all commands") : 0;
}
