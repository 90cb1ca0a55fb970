/* SPDX-License-Identifier: MIT */
/*
 * overlay - a folder of the host whose writes go elsewhere: into our own folder, and
 * are thrown away, or to a stage.
 *
 * Layers must be attached in this mount namespace when the overlay is made, which
 * then has copies of its own. Those of a stage are in the old root, and go with it: nothing
 * inside leads to them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "engine/mount-impl.h"
#include "engine/mount.h"
#include "engine/staged.h"
#include "engine/target.h"
#include "plan/plan.h"

/* A folder of the kernel's that no plan has anything of. */
#define POINT "proc/driver"

struct layers {
	int lower, upper, work;
	bool is_kept; /* written by later runs, too */
};

/* fsconfig() takes 256 bytes of text, in which some have a meaning; a descriptor's
 * name is always short. */
static int set_layer(int fs, const char *key, int layer, struct err *err)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", layer);
	r = sys_fsconfig(fs, FSCONFIG_SET_STRING, key, path);
	return r < 0 ? err_sys(err, r, "overlay option %s", key) : 0;
}

/* Volatile: nothing is synced when it goes. Who reads a stage that outlived a crash
 * of the machine knows. */
static int configure(int fs, const struct layers *layers, struct err *err)
{
	int r = set_layer(fs, "lowerdir", layers->lower, err);

	if (r == 0)
		r = set_layer(fs, "upperdir", layers->upper, err);
	if (r == 0)
		r = set_layer(fs, "workdir", layers->work, err);
	if (r < 0)
		return r;
	r = sys_fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL);
	if (r == 0 && layers->is_kept)
		r = sys_fsconfig(fs, FSCONFIG_SET_FLAG, "volatile", NULL);
	if (r == 0)
		r = sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
	return r < 0 ? err_sys(err, r, "create the overlay") : 0;
}

static int make_overlay(const struct layers *layers, unsigned attrs, struct err *err)
{
	_cleanup_(fd_closep) int fs = sys_fsopen("overlay");
	int r;

	if (fs < 0)
		return err_sys(err, fs, "open filesystem overlay");
	r = configure(fs, layers, err);
	if (r < 0)
		return r;
	r = sys_fsmount(fs, attrs);
	return r < 0 ? err_sys(err, r, "mount the overlay") : r;
}

static int aux_dir(struct builder *b, const char *name, struct err *err)
{
	int fd;

	if (mkdirat(b->aux, name, 0755) < 0 && errno != EEXIST)
		return err_sys(err, -errno, "make the overlay's folder %s", name);
	fd = openat(b->aux, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(err, -errno, "open the overlay's folder %s", name) : fd;
}

/* The mount of OP's source, attached at our own folder NAME. */
static int attach_aside(struct builder *b, const struct op *op, const char *name, struct err *err)
{
	_cleanup_(fd_closep) int point = aux_dir(b, name, err);
	_cleanup_(fd_closep) int mount = -1;
	int r;

	if (point < 0)
		return point;
	mount = mount_source(b, op, err);
	if (mount < 0)
		return mount;
	r = sys_move_mount(mount, point);
	if (r < 0)
		return err_sys(err, r, "attach the overlay's layer %s", name);
	return take_fd(mount);
}

int overlay_apply(struct builder *b, const struct op *op, struct err *err)
{
	_cleanup_(fd_closep) int lower = op->src ? attach_aside(b, op, "lower", err)
						 : target_open(b, op->dst, TARGET_EXISTING, 0);
	_cleanup_(fd_closep) int upper = -1;
	_cleanup_(fd_closep) int work = -1;
	_cleanup_(fd_closep) int mount = -1;

	if (lower < 0)
		return op->src ? lower : err_sys(err, lower, "open %s", op->dst);
	upper = aux_dir(b, "upper", err);
	if (upper < 0)
		return upper;
	work = aux_dir(b, "work", err);
	if (work < 0)
		return work;
	mount = make_overlay(&(struct layers){lower, upper, work, false},
			     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (mount < 0)
		return err_wrap(err, mount, "throw away what is written in %s", op->dst);
	return mount_attach(b, mount, op, err);
}

/* --- staged --- */

/* A layer: by its name, or as the mount that the parent made of it. */
static int open_layer(struct builder *b, const struct op *op, struct err *err)
{
	int fd, r;

	if (b->channel >= 0)
		return mount_source(b, op, err);
	fd = path_open_nolink(b->host, op->src + 1, O_PATH | O_DIRECTORY, 0);
	if (fd < 0)
		return err_sys(err, fd, "open %s", op->src);
	r = mount_check_identity(fd, op, err);
	if (r < 0)
		fd_close(fd);
	return r < 0 ? r : fd;
}

static int open_below(int dir, const char *name, struct err *err)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_sys(err, -errno, "open the stage's folder %s", name) : fd;
}

/* Those that the parent made, one upon the other. 1: not in the old root, so that they are to
 * be detached by themselves, which takes a grace period of the kernel for each. */
static int attach_layers(struct builder *b, int lower, int both, struct err *err)
{
	_cleanup_(fd_closep) int point = path_open_nolink(b->host, POINT, O_PATH | O_DIRECTORY, 0);
	int r = point < 0 ? point : sys_move_mount(lower, point);
	bool aside = r < 0;

	if (aside) {
		fd_close(point);
		point = aux_dir(b, "lower", err);
		if (point < 0)
			return point;
		r = sys_move_mount(lower, point);
	}
	if (r == 0)
		r = sys_move_mount(both, lower);
	return r < 0 ? err_sys(err, r, "attach the layers of the stage") : aside;
}

/* To unmount takes what is on top there, first the one and then the other. */
static int detach_layers(int lower, struct err *err)
{
	char path[64];
	int r = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", lower);
	for (int i = 0; i < 2 && r == 0; i++)
		r = sys_umount(path, SYS_MNT_DETACH);
	return r < 0 ? err_sys(err, r, "detach the layers of the stage") : 0;
}

static int make_staged(struct builder *b, int lower, int both, const struct op *op, struct err *err)
{
	_cleanup_(fd_closep) int upper = open_below(both, "upper", err);
	_cleanup_(fd_closep) int work = upper < 0 ? upper : open_below(both, "work", err);
	_cleanup_(fd_closep) int mount = -1;
	unsigned attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	int r = work < 0 ? work : 0;

	if (r == 0 && b->channel >= 0)
		r = attach_layers(b, lower, both, err);
	if (r < 0)
		return r;
	if (op->flags & OP_RDONLY)
		attrs |= MOUNT_ATTR_RDONLY;
	mount = make_overlay(&(struct layers){lower, upper, work, true}, attrs, err);
	if (mount < 0)
		return err_hint(err, err_wrap(err, mount, "stage the writes in %s", op->dst),
				"set XDG_STATE_HOME to a folder on a local disk (ext4, xfs, "
				"btrfs), or run it without --staged or --ephemeral");
	if (r == 1)
		r = detach_layers(lower, err);
	return r < 0 ? r : take_fd(mount);
}

static int mount_staged(struct builder *b, const struct op *op, const struct staging_root *root,
			struct err *err)
{
	struct op layers = {.kind = OP_BIND,
			    .src = root->layers,
			    .id = root->id,
			    .flags = op->flags & OP_IDMAP};
	_cleanup_(fd_closep) int lower = open_layer(b, op, err);
	_cleanup_(fd_closep) int both = lower < 0 ? lower : open_layer(b, &layers, err);

	return both < 0 ? both : make_staged(b, lower, both, op, err);
}

/* The mount of another run, which may have it read-only. */
static int take_joined(struct builder *b, const struct op *op, struct err *err)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
				  .propagation = SYS_MS_PRIVATE};
	int r, mount = staged_joined(b->staging, b->staged_len);

	if (op->flags & OP_RDONLY)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	else
		attr.attr_clr |= MOUNT_ATTR_RDONLY;
	r = sys_mount_setattr(mount, 0, &attr);
	return r < 0 ? err_sys(err, r, "share the mount of %s", op->dst) : mount;
}

int staged_apply(struct builder *b, const struct op *op, struct err *err)
{
	const struct staging_root *root;
	int mount;

	if (!b->staging || b->staged_len >= b->staging->len)
		return err_set(err, ERR_SYSTEM, -EPROTO, "no stage was given for %s", op->dst);
	root = &b->staging->roots[b->staged_len];
	mount = root->joined >= 0 ? take_joined(b, op, err) : mount_staged(b, op, root, err);
	if (mount < 0)
		return mount;
	b->staged[b->staged_len++] = mount;
	return mount_attach(b, mount, op, err);
}
