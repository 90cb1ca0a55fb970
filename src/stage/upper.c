/* SPDX-License-Identifier: MIT */
#include "stage/upper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "stage/access.h"
#include "stage/closed.h"

#define XATTR_OPAQUE   "user.overlay.opaque"
#define XATTR_WHITEOUT "user.overlay.whiteout"
#define XATTR_ORIGIN   "user.overlay.origin"
#define MEMORY_MAX     ((size_t)1 << 30) /* names that wait to be visited */

int upper_mark(int dir_fd)
{
	char value[4];
	ssize_t n = fgetxattr(dir_fd, XATTR_OPAQUE, value, sizeof(value));

	/* Longer than any that the kernel knows: none. */
	if (n < 0 && errno != ENODATA && errno != ENOTSUP && errno != ERANGE)
		return -errno;
	if (n == 1 && value[0] == 'y')
		return UPPER_OPAQUE;
	return n == 1 && value[0] == 'x' ? UPPER_XWHITEOUT : UPPER_PLAIN;
}

int upper_set_opaque(int dir_fd, bool opaque)
{
	int r = opaque ? fsetxattr(dir_fd, XATTR_OPAQUE, "y", 1, 0)
		       : fremovexattr(dir_fd, XATTR_OPAQUE);

	return r < 0 && !(errno == ENODATA && !opaque) ? -errno : 0;
}

bool upper_is_copied(int dirfd, const char *name)
{
	_cleanup_(fd_closep) int fd = open_staged_file(dirfd, name, 0);

	if (fd == -ESTALE)
		fd = path_open_nolink(dirfd, name, O_RDONLY | O_DIRECTORY, 0);
	return fd >= 0 && fgetxattr(fd, XATTR_ORIGIN, NULL, 0) >= 0;
}

int upper_make_whiteout(int dirfd, const char *name)
{
	return mknodat(dirfd, name, S_IFCHR, makedev(0, 0)) < 0 ? -errno : 0;
}

int upper_read(int dirfd, const char *name, enum upper_mark dir_mark, struct node *ret)
{
	int r = node_read(dirfd, name, ret);

	if (r == 0 && dir_mark == UPPER_XWHITEOUT && ret->type == NODE_FILE && ret->size == 0) {
		_cleanup_(fd_closep) int fd = open_staged_file(dirfd, name, ret->ino);

		if (fd >= 0 && fgetxattr(fd, XATTR_WHITEOUT, NULL, 0) >= 0)
			ret->type = NODE_WHITEOUT;
	}
	return r;
}

/* A folder that is to be visited: of the upper layer, or only of the base. */
struct frame {
	char *path;
	char *by; /* the entry that hides what the base has here; NULL: none */
	struct node by_node;
	unsigned depth;
	bool is_gone;
	bool has_base; /* the base has a folder there */
};

struct walk {
	int upper, base;
	const struct upper_visitor *visitor;
	struct relaxed *relaxed;
	struct err *err;
	struct frame *frames;
	size_t n, cap, bytes;
};

static int push(struct walk *w, const struct frame *frame)
{
	struct frame *slot;

	w->bytes += strlen(frame->path);
	if (w->bytes > MEMORY_MAX)
		return err_set(w->err, ERR_UNSUPPORTED, -E2BIG,
			       "the stage has more folders than can be walked");
	if (w->n == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 64;
		struct frame *grown = reallocarray(w->frames, cap, sizeof(*grown));

		if (!grown)
			return err_oom(w->err);
		w->frames = grown;
		w->cap = cap;
	}
	slot = &w->frames[w->n];
	*slot = *frame;
	slot->path = strdup(frame->path);
	slot->by = frame->by ? strdup(frame->by) : NULL;
	if (!slot->path || (frame->by && !slot->by)) {
		free(slot->path);
		free(slot->by);
		return err_oom(w->err);
	}
	w->n++;
	return 0;
}

static void frame_release(struct frame *frame)
{
	free(frame->path);
	free(frame->by);
}

static void walk_release(struct walk *w)
{
	while (w->n > 0)
		frame_release(&w->frames[--w->n]);
	free(w->frames);
}

static bool too_deep(const char *path, unsigned depth)
{
	return depth >= UPPER_DEPTH_MAX || strlen(path) >= UPPER_PATH_MAX;
}

bool upper_is_too_deep(const char *path)
{
	unsigned depth = 0;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
		depth++;
	return too_deep(path, depth);
}

static char *join(const char *dir, const char *name)
{
	return *dir ? path_join(dir, name) : strdup(name);
}

static int tell_gone(struct walk *w, const struct frame *frame, const char *path,
		     const struct node *node, bool is_unreadable)
{
	struct upper_gone gone = {.path = path,
				  .base = node,
				  .by = frame->by,
				  .by_node = &frame->by_node,
				  .is_unreadable = is_unreadable};

	return w->visitor->gone ? w->visitor->gone(w->visitor->data, &gone) : 0;
}

static int visit_gone(struct walk *w, const struct frame *frame, const char *path,
		      const struct node *node)
{
	bool stop = node->type == NODE_DIR && too_deep(path, frame->depth);
	int r = tell_gone(w, frame, path, node, stop);

	if (r < 0 || node->type != NODE_DIR || stop)
		return r;
	return push(w, &(struct frame){.path = (char *)path,
				       .by = frame->by,
				       .by_node = frame->by_node,
				       .depth = frame->depth + 1,
				       .is_gone = true});
}

/* Every entry of the base's folder FD that is not in EXCEPT. */
static int visit_rest(struct walk *w, const struct frame *frame, int fd, const struct strv *except)
{
	_cleanup_(strv_release) struct strv names = {0};
	size_t seen = 0;
	int r = dir_names(fd, &names);

	for (size_t i = 0; i < names.len && r == 0; i++) {
		_cleanup_(node_release) struct node node = {0};
		_cleanup_(freep) char *path = NULL;

		while (except && seen < except->len &&
		       strcmp(except->items[seen], names.items[i]) < 0)
			seen++;
		if (except && seen < except->len && str_eq(except->items[seen], names.items[i]))
			continue;
		r = node_read(fd, names.items[i], &node);
		path = join(frame->path, names.items[i]);
		if (r == 0 && !path)
			r = -ENOMEM;
		if (r == 0 && node.type != NODE_ABSENT)
			r = visit_gone(w, frame, path, &node);
	}
	return r;
}

static bool is_replaced(int fd)
{
	return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP;
}

/* A folder of the base that was there a moment ago. What was seen so far and what is
 * seen now may never have been there together. */
static int base_moved(struct walk *w, const char *path)
{
	return err_set(w->err, ERR_SYSTEM, -EAGAIN, "%s changed while it was looked at", path);
}

/* A folder of the base that we may not list. */
static int visit_closed(struct walk *w, const struct frame *frame)
{
	struct node node = {.type = NODE_DIR};
	int r = closed_is_empty(w->base, frame->path);

	if (r < 0 && r != -EACCES)
		return err_sys(w->err, r, "list %s", frame->path);
	return r == 1 ? 0 : tell_gone(w, frame, frame->path, &node, true);
}

static int visit_gone_dir(struct walk *w, const struct frame *frame)
{
	_cleanup_(fd_closep) int fd = path_open_nolink(w->base, frame->path, O_RDONLY | O_DIRECTORY,
						       0);

	if (is_replaced(fd))
		return base_moved(w, frame->path);
	if (fd == -EACCES)
		return visit_closed(w, frame);
	if (fd < 0)
		return err_sys(w->err, fd, "list %s", frame->path);
	return visit_rest(w, frame, fd, NULL);
}

static int descend(struct walk *w, const struct upper_entry *entry, const struct frame *parent)
{
	bool both = entry->base->type == NODE_DIR;
	struct frame frame = {.path = (char *)entry->path,
			      .by = parent->by,
			      .by_node = parent->by_node,
			      .depth = parent->depth + 1,
			      .has_base = both};

	if (entry->is_too_deep)
		return 0;
	if (!frame.by && (entry->is_opaque || !both)) {
		frame.by = frame.path;
		frame.by_node = *entry->upper;
	}
	return push(w, &frame);
}

/* A whiteout, or a file, where the base has a folder. */
static int cover(struct walk *w, const struct upper_entry *entry, unsigned depth)
{
	struct frame frame = {.path = (char *)entry->path,
			      .by = (char *)entry->path,
			      .by_node = *entry->upper,
			      .depth = depth + 1,
			      .is_gone = true};

	frame.by_node.target = NULL;
	return push(w, &frame);
}

static int read_mark(struct walk *w, const char *path)
{
	_cleanup_(fd_closep) int fd = relaxed_open(w->relaxed, w->upper, path,
						   O_RDONLY | O_DIRECTORY);

	if (fd == -ENOTDIR || fd == -ELOOP)
		return -ENOENT;
	return fd < 0 ? fd : upper_mark(fd);
}

static int visit_entry(struct walk *w, const struct frame *frame, int upper, enum upper_mark mark,
		       int base, const char *name)
{
	_cleanup_(node_release) struct node un = {0}, bn = {0};
	_cleanup_(freep) char *path = join(frame->path, name);
	struct upper_entry entry = {.path = path,
				    .upper = &un,
				    .base = &bn,
				    .upper_dir = upper,
				    .base_dir = base,
				    .name = name};
	int r;

	if (!path)
		return err_oom(w->err);
	r = upper_read(upper, name, mark, &un);
	if (r == 0 && base >= 0)
		r = node_read(base, name, &bn);
	/* What we cannot see there counts as nothing: apply puts nothing over it. */
	if (r == -EACCES && un.type != NODE_ABSENT)
		r = 0;
	if (r < 0)
		return err_sys(w->err, r, "look at %s", path);
	if (un.type == NODE_ABSENT)
		return 0;
	if (un.type == NODE_DIR) {
		r = read_mark(w, path);
		if (r == -ENOENT)
			return 0; /* a run is still writing */
		if (r < 0)
			return err_sys(w->err, r, "look at the staged %s", path);
		entry.is_opaque = r == UPPER_OPAQUE;
		entry.is_too_deep = too_deep(path, frame->depth);
	}
	r = w->visitor->entry ? w->visitor->entry(w->visitor->data, &entry) : 0;
	if (r < 0)
		return r;
	if (un.type == NODE_DIR)
		return descend(w, &entry, frame);
	return bn.type == NODE_DIR ? cover(w, &entry, frame->depth) : 0;
}

static int visit_dir(struct walk *w, const struct frame *frame)
{
	_cleanup_(fd_closep) int upper = relaxed_open(w->relaxed, w->upper, frame->path,
						      O_RDONLY | O_DIRECTORY);
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(fd_closep) int base = -1;
	int mark, r;

	if (upper == -ENOENT || upper == -ENOTDIR || upper == -ELOOP)
		return 0; /* a run is still writing */
	if (upper < 0)
		return err_sys(w->err, upper, "list the staged %s", frame->path);
	mark = upper_mark(upper);
	if (mark < 0)
		return err_sys(w->err, mark, "look at the staged %s", frame->path);
	if (frame->has_base) {
		base = path_open_nolink(w->base, *frame->path ? frame->path : ".",
					O_RDONLY | O_DIRECTORY, 0);
		/* Names can be looked up in a folder that cannot be listed. */
		if (base == -EACCES)
			base = path_open_nolink(w->base, *frame->path ? frame->path : ".",
						O_PATH | O_DIRECTORY, 0);
		if (is_replaced(base))
			return base_moved(w, frame->path);
		if (base < 0)
			return err_sys(w->err, base, "list %s", frame->path);
	}
	r = dir_names(upper, &names);
	if (r < 0)
		return err_sys(w->err, r, "list the staged %s", frame->path);
	for (size_t i = 0; i < names.len && r == 0; i++)
		r = visit_entry(w, frame, upper, (enum upper_mark)mark, base, names.items[i]);
	if (r == 0 && frame->by && base >= 0)
		r = visit_rest(w, frame, base, &names);
	if (r == -EBADF) /* searched, not listed */
		return visit_closed(w, frame);
	return r;
}

static int run(struct walk *w)
{
	int r = 0;

	while (w->n > 0 && r == 0) {
		struct frame frame = w->frames[--w->n];

		w->bytes -= strlen(frame.path);
		r = frame.is_gone ? visit_gone_dir(w, &frame) : visit_dir(w, &frame);
		frame_release(&frame);
	}
	return r;
}

static int visit_root(struct walk *w)
{
	_cleanup_(node_release) struct node un = {0}, bn = {0};
	struct upper_entry entry = {.path = "",
				    .upper = &un,
				    .base = &bn,
				    .upper_dir = w->upper,
				    .base_dir = w->base,
				    .name = ""};
	int r = node_read(w->upper, "", &un);

	if (r == 0)
		r = node_read(w->base, "", &bn);
	if (r == 0)
		r = read_mark(w, "");
	if (r < 0)
		return err_sys(w->err, r, "look at the stage");
	entry.is_opaque = r == UPPER_OPAQUE;
	r = w->visitor->entry ? w->visitor->entry(w->visitor->data, &entry) : 0;
	return r < 0 ? r
		     : push(w, &(struct frame){.path = (char *)"",
					       .by = entry.is_opaque ? (char *)"" : NULL,
					       .by_node = un,
					       .has_base = true});
}

int upper_walk(int upper, int base, const struct upper_visitor *visitor, struct relaxed *relaxed,
	       struct err *err)
{
	_cleanup_(walk_release) struct walk w = {
		.upper = upper, .base = base, .visitor = visitor, .relaxed = relaxed, .err = err};
	int r = visit_root(&w);

	return r < 0 ? r : run(&w);
}
