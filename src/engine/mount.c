/* SPDX-License-Identifier: MIT */
#include "engine/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "engine/mount-impl.h"
#include "engine/target.h"
#include "plan/plan.h"

#define AUX_DIR  "nothing"
#define AUX_FILE "nothing-file"
#define AUX_TEXT "text"

enum { COVER_TRIES = 32 };

void builder_init(struct builder *b, int channel, const struct staging *staging)
{
	*b = (struct builder){.host = -1,
			      .root = -1,
			      .aux = -1,
			      .parent = -1,
			      .channel = channel,
			      .inbox = INBOX_EMPTY,
			      .staging = staging};
}

static unsigned long long op_attrs(const struct op *op)
{
	unsigned long long attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

	if (op->flags & OP_RDONLY || op->kind == OP_OVERLAY || op->kind == OP_STAGED)
		attrs |= MOUNT_ATTR_RDONLY;
	if (op->flags & OP_NOEXEC)
		attrs |= MOUNT_ATTR_NOEXEC;
	return attrs;
}

int mount_set_attrs(int mount, unsigned long long attrs, int userns, unsigned flags)
{
	/* Private: what is mounted on it must not appear on the host. */
	struct mount_attr attr = {.attr_set = attrs, .propagation = SYS_MS_PRIVATE};

	if (userns >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)userns;
	}
	return sys_mount_setattr(mount, flags, &attr);
}

int mount_check_identity(int source, const struct op *op, struct err *err)
{
	struct stat st;

	if (op->id.ino == 0)
		return 0;
	if (fstat(source, &st) < 0)
		return err_sys(err, -errno, "stat %s", op->src);
	if (st.st_dev != op->id.dev || st.st_ino != op->id.ino)
		return err_set(err, ERR_SYSTEM, -ESTALE,
			       "%s was replaced while the run was prepared", op->src);
	return 0;
}

/* On the way to a name at the top there can be no link. */
static int clone_source(int host, const char *src, unsigned recursive, struct err *err)
{
	bool at_top = !strchr(src + 1, '/');
	_cleanup_(fd_closep) int source = at_top ? -1
						 : path_open_nolink(host, src + 1,
								    O_PATH | O_NOFOLLOW, 0);
	int mount;

	if (!at_top && source < 0)
		return err_sys(err, source, "open %s", src);
	mount = at_top ? sys_open_tree(host, src + 1,
				       OPEN_TREE_CLONE | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
					       recursive)
		       : sys_open_tree(source, "", OPEN_TREE_CLONE | AT_EMPTY_PATH | recursive);
	return mount < 0 ? err_sys(err, mount, "copy the mount of %s", src) : mount;
}

int mount_clone(int host, const struct op *op, int userns, struct err *err)
{
	/* An overlay does not look into what is mounted below its layers. */
	unsigned recursive = op->kind == OP_STAGED ? 0 : SYS_AT_RECURSIVE;
	_cleanup_(fd_closep) int mount = clone_source(host, op->src, recursive, err);
	int r;

	if (mount < 0)
		return mount;
	r = mount_check_identity(mount, op, err);
	if (r < 0)
		return r;
	r = mount_set_attrs(mount, op_attrs(op), userns, recursive);
	if (r < 0 && userns >= 0) {
		err_sys(err, r, "map the ids of %s", op->src);
		if (r == -EINVAL || r == -EPERM || r == -EOPNOTSUPP)
			err->code = ERR_NO_IDMAP;
		return r;
	}
	if (r < 0)
		return err_sys(err, r, "set the mount flags of %s", op->src);
	return take_fd(mount);
}

int mount_source(struct builder *b, const struct op *op, struct err *err)
{
	int r;

	if (b->channel < 0 || !(op->flags & OP_IDMAP))
		return mount_clone(b->host, op, -1, err);
	r = userns_receive(b->channel, PASSED_MOUNTS, &b->inbox, err);
	if (r < 0)
		return r;
	if (b->mounts_next == b->inbox.mounts_len)
		return err_set(err, ERR_SYSTEM, -EPROTO, "no mount was made for %s", op->src);
	return b->inbox.mounts[b->mounts_next++];
}

int mount_attach(struct builder *b, int mount, const struct op *op, struct err *err)
{
	_cleanup_(spot_release) struct spot spot = SPOT_OF(-1);
	int r;

	r = target_find(b, op->dst, op->flags & OP_FILE ? TARGET_FILE : TARGET_DIR, 0755, &spot);
	if (r < 0)
		return err_sys(err, r, "mount point %s", op->dst);
	r = spot_mount(spot, mount);
	return r < 0 ? err_sys(err, r, "mount on %s", op->dst) : 0;
}

static int apply_bind(struct builder *b, const struct op *op, struct err *err)
{
	_cleanup_(fd_closep) int mount = -1;

	mount = mount_source(b, op, err);
	return mount < 0 ? mount : mount_attach(b, mount, op, err);
}

/* A new instance of filesystem TYPE; PARAMS are key/value pairs, a NULL value
 * is a flag, ending in a NULL key. */
static int new_fs(const char *type, const char *const *params, unsigned long long attrs,
		  struct err *err)
{
	_cleanup_(fd_closep) int fs = sys_fsopen(type);
	int r;

	if (fs < 0)
		return err_sys(err, fs, "open filesystem %s", type);
	for (; params && params[0]; params += 2) {
		r = sys_fsconfig(fs, params[1] ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, params[0],
				 params[1]);
		if (r < 0)
			return err_sys(err, r, "%s option %s", type, params[0]);
	}
	r = sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
	if (r < 0)
		return err_sys(err, r, "create a %s", type);
	r = sys_fsmount(fs, (unsigned)attrs);
	if (r < 0)
		return err_sys(err, r, "mount a %s", type);
	return r;
}

static int new_tmpfs(struct builder *b, const struct op *op, struct err *err)
{
	char size[32], mode[16];
	const char *params[] = {"mode", mode, "size", size, NULL};
	struct stat st;
	int mount;

	snprintf(size, sizeof(size), "%llu", (unsigned long long)op->size);
	snprintf(mode, sizeof(mode), "%04o", op->mode);
	mount = new_fs("tmpfs", params, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (mount < 0)
		return mount;
	if (fstat(mount, &st) == 0 && b->own_len < array_len(b->own))
		b->own[b->own_len++] = st.st_dev;
	return mount;
}

/* Attach on top of "/": lookups by name do not see it before the pivot. */
static int become_root(struct builder *b, int mount, struct err *err)
{
	int r;

	b->host = fd_open("/", O_PATH | O_DIRECTORY);
	if (b->host < 0)
		return err_sys(err, -errno, "open /");
	r = sys_move_mount(mount, b->host);
	if (r < 0)
		return err_sys(err, r, "attach the new root");
	b->root = mount;
	b->root_ours = target_is_ours(b, mount);
	return 0;
}

static int apply_root(struct builder *b, const struct op *op, struct err *err)
{
	int mount = new_tmpfs(b, op, err);

	return mount < 0 ? mount : become_root(b, mount, err);
}

static int apply_root_bind(struct builder *b, const struct op *op, struct err *err)
{
	int r, mount = sys_open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | SYS_AT_RECURSIVE);

	if (mount < 0)
		return err_sys(err, mount, "copy the mount of /");
	r = mount_set_attrs(mount, op_attrs(op), -1, SYS_AT_RECURSIVE);
	if (r < 0)
		return err_sys(err, r, "set the mount flags of /");
	return become_root(b, mount, err);
}

static int apply_tmpfs(struct builder *b, const struct op *op, struct err *err)
{
	_cleanup_(fd_closep) int mount = new_tmpfs(b, op, err);

	return mount < 0 ? mount : mount_attach(b, mount, op, err);
}

/* The folder with what is mounted elsewhere: nothing at all, in two shapes. */
static int apply_aux(struct builder *b, const struct op *op, struct err *err)
{
	b->aux = target_open(b, op->dst, TARGET_DIR, 0700);
	if (b->aux < 0)
		return err_sys(err, b->aux, "make %s", op->dst);
	if (mkdirat(b->aux, AUX_DIR, 0) < 0)
		return err_sys(err, -errno, "make an empty folder");
	if (mknodat(b->aux, AUX_FILE, S_IFREG, 0) < 0)
		return err_sys(err, -errno, "make an empty file");
	return 0;
}

static int apply_symlink(struct builder *b, const struct op *op, struct err *err)
{
	int r = target_symlink(b, op->src, op->dst);

	return r < 0 ? err_sys(err, r, "make the link %s", op->dst) : 0;
}

/* Mount what is at AT onto TARGET, often the same again, with further attributes. */
static int rebind(struct spot at, struct spot target, unsigned long long attrs, unsigned recursive)
{
	_cleanup_(fd_closep) int mount = spot_clone(at, recursive);
	int r;

	if (mount < 0)
		return mount;
	r = attrs ? mount_set_attrs(mount, attrs, -1, recursive) : 0;
	return r < 0 ? r : spot_mount(target, mount);
}

/* On the host's own files nothing is made: another one is mounted over what is there. */
static int cover_with(struct builder *b, const struct op *op)
{
	_cleanup_(fd_closep) int target = target_open(b, op->dst, TARGET_EXISTING, 0);
	_cleanup_(fd_closep) int file = -1;
	int r;

	if (target < 0)
		return target;
	file = openat(b->aux, AUX_TEXT, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (file < 0)
		return -errno;
	r = fd_write_all(file, op->src, strlen(op->src));
	if (r == 0)
		r = rebind(SPOT_OF(file), SPOT_OF(target),
			   MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				   MOUNT_ATTR_NOEXEC,
			   0);
	/* The mount keeps it; the name serves the next one. */
	if (unlinkat(b->aux, AUX_TEXT, 0) < 0 && r == 0)
		r = -errno;
	return r;
}

static int apply_note(struct builder *b, const struct op *op, struct err *err)
{
	int r = target_write(b, op->dst, op->src);

	if (r == -EROFS)
		r = cover_with(b, op);
	if (r == -ENOENT && op->flags & OP_OPTIONAL)
		return 0; /* a link that leads nowhere */
	return r < 0 ? err_sys(err, r, "write %s", op->dst) : 0;
}

/* So that one size holds for all of them together. */
static int lend(struct builder *b, struct spot spot, mode_t mode)
{
	char name[32];

	snprintf(name, sizeof(name), "private-%u", b->lent++);
	if (mkdirat(b->aux, name, mode) < 0)
		return -errno;
	return rebind((struct spot){.dir = b->aux, .name = name}, spot, 0, 0);
}

static int apply_private(struct builder *b, const struct op *op, struct err *err)
{
	_cleanup_(spot_release) struct spot spot = SPOT_OF(-1);
	int r = target_find(b, op->dst, TARGET_DIR, op->mode, &spot);

	if (r < 0)
		return err_sys(err, r, "make %s", op->dst);
	if (op->flags & OP_APART) {
		r = lend(b, spot, op->mode);
		return r < 0 ? err_sys(err, r, "lend %s a folder", op->dst) : 0;
	}
	if (spot.opened && !target_is_ours(b, spot.dir))
		return err_set(err, ERR_SYSTEM, -EXDEV, "%s is the host's", op->dst);
	r = rebind(spot, spot, 0, 0);
	return r < 0 ? err_sys(err, r, "make %s private", op->dst) : 0;
}

/* What the host removes once it was opened cannot be mounted on; with a folder that was pinned
 * goes its mount, and whatever is opened by that belongs to no namespace. The next look says
 * whether it is gone. */
static int while_it_is_there(int (*cover)(struct builder *, const struct op *, struct err *),
			     struct builder *b, const struct op *op, struct err *err)
{
	int r = -ENOENT;

	for (int i = 0; i < COVER_TRIES && (r == -ENOENT || r == -EINVAL); i++) {
		*err = (struct err){0};
		r = cover(b, op, err);
	}
	return r;
}

static int pin(struct builder *b, const struct op *op, struct err *err)
{
	_cleanup_(fd_closep) int fd = target_open(b, op->dst, TARGET_EXISTING, 0);
	int r;

	if (fd == -ENOENT && op->flags & OP_OPTIONAL)
		return 0;
	if (fd < 0)
		return err_sys(err, fd, "pin %s", op->dst);
	r = rebind(SPOT_OF(fd), SPOT_OF(fd), 0, SYS_AT_RECURSIVE);
	return r < 0 ? err_sys(err, r, "pin %s", op->dst) : 0;
}

static int apply_pin(struct builder *b, const struct op *op, struct err *err)
{
	return while_it_is_there(pin, b, op, err);
}

static int apply_readonly(struct builder *b, const struct op *op, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	if (strcmp(op->dst, "/") == 0) {
		r = mount_set_attrs(b->root, MOUNT_ATTR_RDONLY, -1, 0);
		return r < 0 ? err_sys(err, r, "make the root read-only") : 0;
	}
	fd = target_open(b, op->dst, TARGET_EXISTING, 0);
	if (fd == -ENOENT && op->flags & OP_OPTIONAL)
		return 0;
	if (fd < 0)
		return err_sys(err, fd, "make %s read-only", op->dst);
	r = rebind(SPOT_OF(fd), SPOT_OF(fd), op_attrs(op) | MOUNT_ATTR_RDONLY, SYS_AT_RECURSIVE);
	return r < 0 ? err_sys(err, r, "make %s read-only", op->dst) : 0;
}

static int apply_writable(struct builder *b, const struct op *op, struct err *err)
{
	struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY, .propagation = SYS_MS_PRIVATE};
	_cleanup_(fd_closep) int fd = target_open(b, op->dst, TARGET_EXISTING, 0);
	_cleanup_(fd_closep) int mount = -1;
	struct stat st;
	int r;

	if (fd >= 0 && (fstat(fd, &st) < 0 || S_ISLNK(st.st_mode)))
		return err_sys(err, -ELOOP, "make %s writable", op->dst);
	if (fd < 0)
		return err_hint(err, err_sys(err, fd, "make %s writable", op->dst),
				"the stage may have removed or replaced it: pale diff");
	mount = sys_open_tree(fd, "", OPEN_TREE_CLONE | AT_EMPTY_PATH | SYS_AT_RECURSIVE);
	r = mount < 0 ? mount : sys_mount_setattr(mount, 0, &attr);
	if (r == 0)
		r = sys_move_mount(mount, fd);
	return r < 0 ? err_sys(err, r, "make %s writable", op->dst) : 0;
}

/* PATH, or, where a folder above it cannot be entered, that one: under other ids than those of the
 * host's root, what is closed to us is closed to the command, and all of it may be hidden. */
static int open_hidden(struct builder *b, const char *path)
{
	int fd = target_open(b, path, TARGET_EXISTING, 0);
	char above[PATH_MAX], *slash;

	if (fd != -EACCES || strlen(path) >= sizeof(above))
		return fd;
	memcpy(above, path, strlen(path) + 1);
	while (fd == -EACCES && (slash = strrchr(above, '/')) && slash != above) {
		*slash = '\0';
		fd = target_open(b, above, TARGET_EXISTING, 0);
	}
	return fd;
}

static int hide(struct builder *b, const struct op *op, struct err *err)
{
	_cleanup_(fd_closep) int fd = open_hidden(b, op->dst);
	struct spot nothing = {.dir = b->aux};
	struct stat st;
	int r;

	if (fd == -ENOENT && op->flags & OP_OPTIONAL)
		return 0;
	if ((fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP) && op->flags & OP_LOOSE)
		return 0;
	if (fd < 0)
		return err_sys(err, fd, "hide %s", op->dst);
	if (fstat(fd, &st) < 0)
		return err_sys(err, -errno, "hide %s", op->dst);
	nothing.name = S_ISDIR(st.st_mode) ? AUX_DIR : AUX_FILE;
	r = rebind(nothing, SPOT_OF(fd), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NODEV,
		   0);
	return r < 0 ? err_sys(err, r, "hide %s", op->dst) : 0;
}

static int apply_hide(struct builder *b, const struct op *op, struct err *err)
{
	return while_it_is_there(hide, b, op, err);
}

static int apply_proc(struct builder *b, const struct op *op, struct err *err)
{
	_cleanup_(fd_closep) int mount = -1;

	mount = new_fs("proc", NULL, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (mount == -EPERM || mount == -EACCES)
		return err_hint(err, mount,
				"this host covers parts of its own /proc (a container does); "
				"`--processes visible` works with the one that is there");
	return mount < 0 ? mount : mount_attach(b, mount, op, err);
}

/* The node's own mount: device nodes cannot be made in a user namespace. */
static int apply_device(struct builder *b, const struct op *op, struct err *err)
{
	_cleanup_(fd_closep) int mount = sys_open_tree(AT_FDCWD, op->dst, OPEN_TREE_CLONE);
	int r;

	if (mount < 0)
		return err_sys(err, mount, "copy the mount of %s", op->dst);
	/* A device can be written on a read-only mount; its inode cannot. */
	r = mount_set_attrs(mount, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, -1,
			    0);
	if (r < 0)
		return err_sys(err, r, "set the mount flags of %s", op->dst);
	return mount_attach(b, mount, op, err);
}

static int apply_devpts(struct builder *b, const struct op *op, struct err *err)
{
	const char *params[] = {"newinstance", NULL,  "ptmxmode", "0666", "mode",
				"0620",        "max", "256",      NULL};
	_cleanup_(fd_closep) int mount = new_fs("devpts", params,
						MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);

	return mount < 0 ? mount : mount_attach(b, mount, op, err);
}

/* The cgroup that was joined becomes the root of what can be seen of it. */
static int apply_cgroup_view(struct builder *b, const struct op *op, struct err *err)
{
	const char *params[] = {op->src, NULL, NULL};
	_cleanup_(fd_closep) int mount = -1;

	if (!b->cgroupns && unshare(CLONE_NEWCGROUP) < 0)
		return err_sys(err, -errno, "make a cgroup namespace");
	b->cgroupns = true;
	mount = new_fs(op->src ? "cgroup" : "cgroup2", params,
		       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
		       err);
	return mount < 0 ? mount : mount_attach(b, mount, op, err);
}

typedef int apply_fn(struct builder *b, const struct op *op, struct err *err);

static apply_fn *const appliers[OP_KIND_COUNT_] = {
	[OP_ROOT] = apply_root,
	[OP_ROOT_BIND] = apply_root_bind,
	[OP_TMPFS] = apply_tmpfs,
	[OP_AUX] = apply_aux,
	[OP_SYMLINK] = apply_symlink,
	[OP_NOTE] = apply_note,
	[OP_BIND] = apply_bind,
	[OP_PRIVATE] = apply_private,
	[OP_OVERLAY] = overlay_apply,
	[OP_STAGED] = staged_apply,
	[OP_WRITABLE] = apply_writable,
	[OP_PIN] = apply_pin,
	[OP_HIDE] = apply_hide,
	[OP_PROC] = apply_proc,
	[OP_DEVICE] = apply_device,
	[OP_DEVPTS] = apply_devpts,
	[OP_CGROUP_VIEW] = apply_cgroup_view,
	[OP_READONLY] = apply_readonly,
};

int builder_apply(struct builder *b, const struct op *op, struct err *err)
{
	int r;

	if (!appliers[op->kind])
		return err_set(err, ERR_SYSTEM, -EINVAL, "%s is no mount operation",
			       op_name(op->kind));
	r = appliers[op->kind](b, op, err);
	if (r == 0 && op->dst)
		target_covered(b, op->dst);
	return r;
}

int builder_pivot(struct builder *b, struct err *err)
{
	int r;

	if (fchdir(b->root) < 0)
		return err_sys(err, -errno, "enter the new root");
	r = sys_pivot_root(".", ".");
	if (r < 0)
		return err_sys(err, r, "pivot into the new root");
	/* Both roots are now stacked on "."; the old one is on top. */
	r = sys_umount(".", SYS_MNT_DETACH);
	if (r < 0)
		return err_sys(err, r, "let go of the old root");
	if (chdir("/") < 0)
		return err_sys(err, -errno, "enter the new root");
	target_forget(b);
	b->host = fd_close(b->host);
	b->root = fd_close(b->root);
	b->aux = fd_close(b->aux);
	return 0;
}
