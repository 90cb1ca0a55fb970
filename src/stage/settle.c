/* SPDX-License-Identifier: MIT */
/*
 * What is applied or discarded leaves the upper layer, and the rest must look as it
 * did. A folder that hides all that the base has in it cannot show some of it again:
 * it becomes one that hides each single entry that is still to be hidden. All of
 * that comes before anything leaves, so that it can be repeated after a crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "stage/access.h"
#include "stage/closed.h"
#include "stage/stage.h"
#include "stage/settle-impl.h"
#include "stage/txn-run.h"
#include "stage/upper.h"

int settler_move(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	int r;

	do
		r = sys_result(syscall(SYS_renameat2, from_dir, from, to_dir, to, flags));
	while (r == -EINTR);
	return r;
}

bool settler_leaves(const struct settler *s, const struct txn_item *item)
{
	return item->root == s->root_index && item->settles && !item->stays;
}

/* The first item at PATH or below it that leaves; NULL: none does. */
static const struct txn_item *first_below(const struct settler *s, const char *path)
{
	size_t low = 0, high = s->txn->n_items;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct txn_item *item = &s->txn->items[middle];

		if (item->root < s->root_index ||
		    (item->root == s->root_index && change_path_compare(item->path, path) < 0))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->txn->n_items; low++) {
		const struct txn_item *item = &s->txn->items[low];

		if (item->root != s->root_index || !change_path_below(path, item->path))
			return NULL;
		if (settler_leaves(s, item))
			return item;
	}
	return NULL;
}

void settler_remove_scratch(const struct settler *s)
{
	if (unlinkat(s->txn->staged_fd, SCRATCH, 0) < 0 && errno == EISDIR)
		unlinkat(s->txn->staged_fd, SCRATCH, AT_REMOVEDIR);
}

int settler_make_folder(const struct settler *s, int upper, const char *name, const char *path,
			const struct node *like, bool opaque, unsigned flags)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, like->mtime};
	_cleanup_(fd_closep) int fd = -1;
	int r = 0;

	settler_remove_scratch(s);
	if (mkdirat(s->txn->staged_fd, SCRATCH, 0700) < 0)
		return -errno;
	fd = path_open_nolink(s->txn->staged_fd, SCRATCH, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return fd;
	if (opaque)
		r = upper_set_opaque(fd, true);
	if (r == 0 && geteuid() == 0 && fchown(fd, like->uid, like->gid) < 0)
		r = -errno;
	if (r == 0 && (fchmod(fd, like->mode | 0700) < 0 || futimens(fd, times) < 0))
		r = -errno;
	/* One that cannot be written cannot be moved either: its mode comes last, and is
	 * written down before. */
	if (r == 0 && (like->mode & 0700) != 0700)
		r = s->relaxed.note(s->relaxed.data, s->root_index, path, like->mode);
	if (r == 0)
		r = settler_move(s->txn->staged_fd, SCRATCH, upper, name, flags);
	if (r < 0)
		return r;
	if (flags == RENAME_EXCHANGE)
		settler_remove_scratch(s);
	if ((like->mode & 0700) != 0700 && fchmod(fd, like->mode) < 0) {
		r = -errno;
		if (flags != RENAME_EXCHANGE)
			unlinkat(upper, name, AT_REMOVEDIR);
	}
	return r;
}

/* PATH is of the base alone, in a folder of the upper layer that hides it. */
static int hide(const struct settler *s, int upper, const char *name, const char *path,
		const struct node *base)
{
	const struct txn_item *first = s->txn->is_discard ? first_below(s, path) : NULL;
	int r;

	if (first && str_eq(first->path, path))
		return 0; /* to be seen again, and all that is in it */
	if (first && base->type == NODE_DIR)
		return settler_make_folder(s, upper, name, path, base, true, RENAME_NOREPLACE);
	r = upper_make_whiteout(upper, name);
	return r == -EEXIST ? 0 : r;
}

/* Is the staged file of PATH in the base already? */
static bool has_left(const struct settler *s, const char *path)
{
	size_t i = txn_find_item(s->txn, s->root_index, path);

	return i != (size_t)-1 && settler_leaves(s, &s->txn->items[i]) &&
	       txn_is_shared(s->txn, &s->txn->items[i]);
}

static int uncover_entry(const struct settler *s, int upper, int base, const char *dir,
			 const char *name)
{
	_cleanup_(node_release) struct node un = {0}, bn = {0};
	_cleanup_(freep) char *path = *dir ? path_join(dir, name) : strdup(name);
	int r = path ? upper_read(upper, name, UPPER_PLAIN, &un) : -ENOMEM;

	if (r == 0)
		r = node_read(base, name, &bn);
	if (r < 0 || bn.type == NODE_ABSENT)
		return r;
	if (un.type == NODE_ABSENT)
		return has_left(s, path) ? 0 : hide(s, upper, name, path, &bn);
	if (un.type == NODE_DIR && bn.type == NODE_DIR) {
		_cleanup_(fd_closep) int fd = path_open_nolink(upper, name, O_RDONLY | O_DIRECTORY,
							       0);

		return fd < 0 ? fd : upper_set_opaque(fd, true);
	}
	return 0;
}

static int uncover_all(const struct settler *s, int upper, int base, const char *path)
{
	_cleanup_(strv_release) struct strv names = {0};
	int r = dir_names(base, &names);

	for (size_t i = 0; i < names.len && r == 0; i++)
		r = uncover_entry(s, upper, base, path, names.items[i]);
	return r;
}

/* Is the mode of the base's folder PATH given to it whenever this is repeated? */
static bool sets_mode(const struct settler *s, const char *path, const struct stat *st)
{
	for (size_t i = 0; i < s->txn->n_dirs; i++) {
		const struct txn_dir *dir = &s->txn->dirs[i];

		if (dir->root == s->root_index && str_eq(dir->path, path))
			return dir->before.ino == st->st_ino && dir->mode == (st->st_mode & 07777);
	}
	return false;
}

/* A folder of the base that lets nobody in, its owner included, for a moment. */
static int uncover_closed(const struct settler *s, int upper, const char *path)
{
	_cleanup_(fd_closep) int closed = path_open_nolink(s->root->base_fd, path,
							   O_PATH | O_DIRECTORY, 0);
	_cleanup_(fd_closep) int base = -1;
	struct stat st;
	int r;

	if (closed < 0 || fstat(closed, &st) < 0 || !sets_mode(s, path, &st))
		return -EACCES;
	r = fd_chmod(closed, (st.st_mode & 07777) | 0700);
	if (r < 0)
		return r;
	base = path_open_nolink(s->root->base_fd, path, O_RDONLY | O_DIRECTORY, 0);
	r = base < 0 ? base : uncover_all(s, upper, base, path);
	return fd_chmod(closed, st.st_mode & 07777) < 0 ? -EACCES : r;
}

/* The opaque folder PATH becomes a plain one that looks the same. */
static int uncover(struct settler *s, int upper, const char *path)
{
	_cleanup_(fd_closep) int base = path_open_nolink(s->root->base_fd, *path ? path : ".",
							 O_RDONLY | O_DIRECTORY, 0);
	int r = base;

	if (base >= 0)
		r = uncover_all(s, upper, base, path);
	else if (base == -EACCES && *path)
		r = closed_is_empty(s->root->base_fd, path);
	else if (base == -ENOENT || base == -ENOTDIR || base == -ELOOP)
		r = 0;
	if (r == 0 && base == -EACCES)
		r = uncover_closed(s, upper, path);
	return r < 0 ? r : upper_set_opaque(upper, false);
}

/* A deleted folder of which something is wanted again. */
static int unwhite(struct settler *s, const char *path)
{
	_cleanup_(node_release) struct node like = {0};
	_cleanup_(fd_closep) int base = -1;
	const char *name;
	int parent, r;

	base = path_open_nolink(s->root->base_fd, path, O_PATH | O_DIRECTORY, 0);
	if (base < 0)
		return base == -ENOENT || base == -ENOTDIR || base == -ELOOP ? 0 : base;
	parent = relaxed_open_parent(&s->relaxed, s->root->upper_fd, path, &name);
	r = parent < 0 ? parent : node_read(base, "", &like);
	if (r < 0)
		return r;
	/* At no moment is the whole folder to be seen. */
	return settler_make_folder(s, parent, name, path, &like, true, RENAME_EXCHANGE);
}

/* PATH is above something that leaves. */
static int open_up(struct settler *s, const char *path)
{
	_cleanup_(node_release) struct node node = {0};
	_cleanup_(fd_closep) int fd = -1;
	int r = 0;

	if (*path) {
		const char *name;
		int parent = relaxed_open_parent(&s->relaxed, s->root->upper_fd, path, &name);

		if (is_absent(parent)) /* or below a link */
			return 0;
		r = parent < 0 ? parent : upper_read(parent, name, UPPER_PLAIN, &node);
		if (r == 0 && node.type == NODE_WHITEOUT && s->txn->is_discard) {
			const struct txn_item *first = first_below(s, path);

			if (first && !str_eq(first->path, path)) {
				r = unwhite(s, path);
				node.type = NODE_DIR;
			}
		}
		if (r < 0 || node.type != NODE_DIR)
			return r;
	}
	fd = relaxed_open(&s->relaxed, s->root->upper_fd, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
	r = upper_mark(fd);
	return r == UPPER_OPAQUE ? uncover(s, fd, path) : r < 0 ? r : 0;
}

/* Of the folders above LAST, which left before, all were; of itself not, if it hid one of the base. */
static bool was_seen_to(const char *path, const struct txn_item *last)
{
	return last && change_path_below(path, last->path) &&
	       (last->old.type != NODE_DIR || !str_eq(path, last->path));
}

static int open_all(struct settler *s)
{
	const struct txn_item *last = NULL;
	int r = open_up(s, "");

	for (size_t i = 0; i < s->txn->n_items && r == 0; i++) {
		const struct txn_item *item = &s->txn->items[i];
		_cleanup_(freep) char *path = NULL;

		if (!settler_leaves(s, item))
			continue;
		path = strdup(item->path);
		if (!path)
			return -ENOMEM;
		for (char *slash = strchr(path, '/'); slash && r == 0;
		     slash = strchr(slash + 1, '/')) {
			*slash = '\0';
			if (!was_seen_to(path, last))
				r = open_up(s, path);
			*slash = '/';
		}
		last = item;
	}
	return r;
}

/* NULL: its mode is its own. */
static struct relaxed_item *relaxed_item(const struct settler *s, ino_t ino)
{
	for (size_t i = 0; i < s->relaxed.n; i++)
		if (s->relaxed.items[i].ino == ino)
			return &s->relaxed.items[i];
	return NULL;
}

/* A folder that stays, for what else is in it, loses the mode that was discarded. */
static int drop_mode(const struct settler *s, const struct txn_item *item, int fd)
{
	struct relaxed_item *relaxed = relaxed_item(s, item->staged.ino);

	if (!s->txn->is_discard || item->kind != CHANGE_MODE)
		return 0;
	if (relaxed)
		relaxed->mode = item->old.mode;
	return fd_chmod(fd, item->old.mode | (relaxed ? 0700 : 0));
}

static int remove_dir(struct settler *s, const struct txn_item *item, int parent, const char *name,
		      const struct node *node, const char *key)
{
	bool with_all = s->txn->is_discard && upper_is_too_deep(item->path);
	_cleanup_(fd_closep) int fd = path_open_nolink(parent, name, O_RDONLY | O_DIRECTORY, 0);
	_cleanup_(strv_release) struct strv names = {0};
	int r;

	if (fd == -EACCES) {
		_cleanup_(fd_closep) int path = path_open_nolink(parent, name, O_PATH, 0);

		if (path < 0 || fd_chmod(path, node->mode | 0700) < 0)
			return fd;
		fd = path_open_nolink(parent, name, O_RDONLY | O_DIRECTORY, 0);
	}
	r = fd < 0 ? fd : dir_names(fd, &names);
	if (r == 0 && !with_all && names.len > 0)
		return drop_mode(s, item, fd);
	if (r < 0)
		return r;
	/* To move it, it must be writable. */
	if (geteuid() != 0 && (node->mode & 0700) != 0700 && fchmod(fd, node->mode | 0700) < 0)
		return -errno;
	return settler_move(parent, name, s->txn->staged_fd, key, RENAME_NOREPLACE);
}

static int remove_file(const struct settler *s, const struct txn_item *item, int parent,
		       const char *name, const struct node *node, const char *key)
{
	/* An undo that failed had given it back, and the base has it again. */
	if (txn_is_shared(s->txn, item) && node->nlink > 1)
		return unlinkat(parent, name, 0) < 0 ? -errno : 0;
	return settler_move(parent, name, s->txn->staged_fd, key, RENAME_NOREPLACE);
}

/* The layer itself: it only has a mode. */
static int settle_layer(const struct settler *s, const struct txn_item *item)
{
	bool drops = s->txn->is_discard;
	int r = drops ? fd_chmod(s->root->upper_fd, item->old.mode) : 0;

	return r < 0 ? r
		     : stage_give_mode(s->txn->stage, s->root_index,
				       drops ? item->old.mode : item->staged.mode);
}

static int remove_one(struct settler *s, size_t i)
{
	const struct txn_item *item = &s->txn->items[i];
	_cleanup_(node_release) struct node node = {0};
	const char *name;
	char key[24];
	int parent, r;

	if (!*item->path)
		return settle_layer(s, item);
	parent = relaxed_open_parent(&s->relaxed, s->root->upper_fd, item->path, &name);
	if (parent == -ENOENT || parent == -ENOTDIR || parent == -ELOOP)
		return 0;
	r = parent < 0 ? parent : node_read(parent, name, &node);
	if (r < 0 || node.type == NODE_ABSENT)
		return r;
	txn_key(i, key);
	if (item->kind == CHANGE_DELETE) {
		if (node.type != NODE_WHITEOUT && !(node.type == NODE_FILE && node.size == 0))
			return 0;
		return unlinkat(parent, name, 0) < 0 ? -errno : 0;
	}
	if (node.ino != item->staged.ino)
		return 0;
	/* What is in one that is too deep was not listed, and can only go with it. */
	if (node.type == NODE_DIR)
		return remove_dir(s, item, parent, name, &node, key);
	return remove_file(s, item, parent, name, &node, key);
}

static bool has_same_parent(const char *a, const char *b)
{
	const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
	size_t len = x ? (size_t)(x - a) : 0;

	return len == (y ? (size_t)(y - b) : 0) && strncmp(a, b, len) == 0;
}

/* To be kept for undo. */
static bool leaves_itself(const struct settler *s, const char *path)
{
	size_t i = txn_find_item(s->txn, s->root_index, path);

	return i != (size_t)-1 && settler_leaves(s, &s->txn->items[i]);
}

/* Folders that are there only for what was in them. */
static int prune(struct settler *s, const char *path)
{
	_cleanup_(freep) char *dir = strdup(path);
	char *slash;

	if (!dir)
		return -ENOMEM;
	while ((slash = strrchr(dir, '/'))) {
		_cleanup_(fd_closep) int fd = -1, base = -1;
		struct stat upper_st, base_st;
		const char *name;
		int parent;

		*slash = '\0';
		if (leaves_itself(s, dir))
			return 0;
		fd = relaxed_open(&s->relaxed, s->root->upper_fd, dir, O_RDONLY | O_DIRECTORY);
		if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
			continue;
		if (fd < 0)
			return fd;
		base = path_open_nolink(s->root->base_fd, dir, O_PATH | O_DIRECTORY, 0);
		if (base < 0 || upper_mark(fd) != UPPER_PLAIN || !dir_is_empty(fd) ||
		    fstat(fd, &upper_st) < 0 || fstat(base, &base_st) < 0)
			return 0;
		/* Its mode is a change that was not chosen. */
		if (relaxed_item(s, upper_st.st_ino))
			upper_st.st_mode = S_IFDIR | relaxed_item(s, upper_st.st_ino)->mode;
		if ((upper_st.st_mode & 07777) != (base_st.st_mode & 07777))
			return 0;
		parent = relaxed_open_parent(&s->relaxed, s->root->upper_fd, dir, &name);
		if (parent < 0)
			return parent;
		if (unlinkat(parent, name, AT_REMOVEDIR) < 0)
			return errno == ENOENT || errno == ENOTEMPTY ? 0 : -errno;
	}
	return 0;
}

/* What is in a folder goes before it, with what is only there for that. */
static int settle_root(struct settler *s)
{
	const struct txn_item *last = NULL;
	int r = open_all(s);

	for (size_t i = s->txn->n_items; i > 0 && r == 0; i--) {
		const struct txn_item *item = &s->txn->items[i - 1];

		if (!settler_leaves(s, item))
			continue;
		/* All in one folder are gone. */
		if (last && !has_same_parent(last->path, item->path))
			r = prune(s, last->path);
		if (r == 0)
			r = remove_one(s, i - 1);
		last = item;
	}
	return r == 0 && last ? prune(s, last->path) : r;
}

static int each_root(struct txn *txn, int (*fn)(struct settler *s), struct err *err)
{
	for (size_t i = 0; i < txn->n_roots; i++) {
		struct settler s = {.txn = txn,
				    .root = &txn->roots[i],
				    .root_index = (unsigned)i,
				    .relaxed = txn_relaxed(txn, (unsigned)i),
				    .err = err};
		int r;

		if (s.root->upper_fd < 0)
			continue;
		r = fn(&s);
		relaxed_restore(&s.relaxed, s.root->upper_fd);
		if (r < 0)
			return err_sys(err, r, "update the stage %s", txn->stage_name);
	}
	return 0;
}

int txn_settle(struct txn *txn, struct err *err)
{
	return each_root(txn, settle_root, err);
}

int txn_restage(struct txn *txn, struct err *err)
{
	return each_root(txn, settler_restage, err);
}
