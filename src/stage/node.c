/* SPDX-License-Identifier: MIT */
#include "stage/node.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/sys.h"

enum { TRIES = 100 };
/* compressed, immutable, append, nodump, encrypted, verity, dax */
#define SYS_STATX_ATTRS 0x300874ULL

static struct timespec to_timespec(struct sys_stat_time t)
{
	return (struct timespec){.tv_sec = t.sec, .tv_nsec = t.nsec};
}

static enum node_type type_of(const struct sys_stat *st)
{
	switch (st->mode & S_IFMT) {
	case S_IFREG:
		return NODE_FILE;
	case S_IFDIR:
		return NODE_DIR;
	case S_IFLNK:
		return NODE_LINK;
	case S_IFIFO:
		return NODE_FIFO;
	case S_IFSOCK:
		return NODE_SOCKET;
	case S_IFCHR:
		return st->rdev_major == 0 && st->rdev_minor == 0 ? NODE_WHITEOUT : NODE_DEVICE;
	default:
		return NODE_DEVICE;
	}
}

static int read_target(int dirfd, const char *name, char **ret)
{
	_cleanup_(freep) char *text = malloc(PATH_MAX + 1);
	ssize_t n = text ? readlinkat(dirfd, name, text, PATH_MAX) : -1;
	char *fitting;

	if (!text)
		return -ENOMEM;
	if (n < 0)
		return -errno;
	text[n] = '\0';
	fitting = realloc(text, (size_t)n + 1);
	if (fitting)
		text = fitting;
	*ret = take_ptr(text);
	return 0;
}

static int read_once(int dirfd, const char *name, struct node *ret)
{
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name[0] ? 0 : AT_EMPTY_PATH);
	struct sys_stat st = {0};
	struct node node;
	int r;

	do
		r = sys_statx(dirfd, name, flags, &st);
	while (r == -EINTR);
	if (r == -ENOENT || r == -ENOTDIR) {
		*ret = (struct node){.type = NODE_ABSENT};
		return 0;
	}
	if (r < 0)
		return r;
	node = (struct node){
		.type = type_of(&st),
		.mode = st.mode & 07777,
		.uid = st.uid,
		.gid = st.gid,
		.dev = makedev(st.dev_major, st.dev_minor),
		.ino = st.ino,
		.nlink = st.nlink,
		.size = st.size,
		.mtime = to_timespec(st.mtime),
		.ctime = to_timespec(st.ctime),
		.is_marked = st.attributes & SYS_STATX_ATTRS,
	};
	if (st.mask & SYS_STATX_BTIME)
		node.btime = to_timespec(st.btime);
	if (node.type == NODE_LINK) {
		r = read_target(dirfd, name, &node.target);
		if (r == -ENOENT || r == -EINVAL) /* replaced meanwhile */
			r = -EAGAIN;
	}
	if (r < 0)
		return r;
	*ret = node;
	return 0;
}

int node_read(int dirfd, const char *name, struct node *ret)
{
	int r = -EAGAIN;

	for (int try = 0; try < TRIES && r == -EAGAIN; try++)
		r = read_once(dirfd, name, ret);
	return r;
}

void node_release(struct node *node)
{
	free(node->target);
	*node = (struct node){0};
}

int node_copy(struct node *dst, const struct node *src)
{
	char *target = src->target ? strdup(src->target) : NULL;

	if (src->target && !target)
		return -ENOMEM;
	*dst = *src;
	dst->target = target;
	return 0;
}

const char *node_type_name(enum node_type type)
{
	static const char *const names[] = {
		[NODE_ABSENT] = "nothing",  [NODE_FILE] = "a file",
		[NODE_DIR] = "a folder",    [NODE_LINK] = "a link",
		[NODE_FIFO] = "a fifo",     [NODE_SOCKET] = "a socket",
		[NODE_DEVICE] = "a device", [NODE_WHITEOUT] = "a whiteout",
	};

	return (size_t)type < array_len(names) ? names[type] : "unknown";
}

int timespec_compare(struct timespec a, struct timespec b)
{
	if (a.tv_sec != b.tv_sec)
		return a.tv_sec < b.tv_sec ? -1 : 1;
	return a.tv_nsec < b.tv_nsec ? -1 : a.tv_nsec > b.tv_nsec;
}

bool node_is_unmoved(const struct node *a, const struct node *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == NODE_ABSENT)
		return true;
	return a->ino == b->ino && a->mode == b->mode && a->size == b->size &&
	       str_eq(a->target, b->target) && timespec_compare(a->mtime, b->mtime) == 0;
}

bool node_is_same(const struct node *a, const struct node *b)
{
	return node_is_unmoved(a, b) && timespec_compare(a->ctime, b->ctime) == 0;
}
