/* SPDX-License-Identifier: MIT */
/*
 * What had left the upper layer comes back to it: a discard that is taken back, an
 * apply that is undone or failed. What is newer there stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "stage/access.h"
#include "stage/settle-impl.h"
#include "stage/stage.h"
#include "stage/upper.h"

static int restage_layer(const struct settler *s, const struct txn_item *item)
{
	int r = s->txn->is_discard ? fd_chmod(s->root->upper_fd, item->staged.mode) : 0;

	return r < 0 ? r : stage_give_mode(s->txn->stage, s->root_index, item->old.mode);
}

/* Every folder of the upper layer above PATH. 1: they are there; 0: it cannot be. */
static int make_parents(struct settler *s, const char *path)
{
	_cleanup_(freep) char *dir = strdup(path);
	int r = dir ? 1 : -ENOMEM;

	for (char *slash = dir ? strchr(dir, '/') : NULL; slash && r == 1;
	     slash = strchr(slash + 1, '/')) {
		_cleanup_(node_release) struct node un = {0}, bn = {0};
		_cleanup_(fd_closep) int base = -1;
		const char *name;
		int parent;

		*slash = '\0';
		parent = relaxed_open_parent(&s->relaxed, s->root->upper_fd, dir, &name);
		r = parent < 0 ? parent : node_read(parent, name, &un);
		if (r == 0 && un.type == NODE_ABSENT) {
			base = path_open_nolink(s->root->base_fd, dir, O_PATH | O_DIRECTORY, 0);
			if (base < 0 && base != -ENOENT && base != -ENOTDIR && base != -ELOOP)
				r = base;
			if (base >= 0)
				r = node_read(base, "", &bn);
			if (base >= 0 && r == 0)
				r = settler_make_folder(s, parent, name, dir, &bn, false,
							RENAME_NOREPLACE);
			un.type = base >= 0 ? NODE_DIR : NODE_ABSENT;
		}
		if (r == 0)
			r = un.type == NODE_DIR;
		*slash = '/';
	}
	return r;
}

static int base_has(const struct settler *s, const char *path)
{
	_cleanup_(node_release) struct node node = {0};
	_cleanup_(fd_closep) int parent = -1;
	const char *name;
	int r;

	parent = open_parent(s->root->base_fd, path, &name);
	if (parent == -ENOENT || parent == -ENOTDIR || parent == -ELOOP)
		return 0;
	r = parent < 0 ? parent : node_read(parent, name, &node);
	return r < 0 ? r : node.type != NODE_ABSENT;
}

/* What item I has for the upper layer, in staged/ or in the store. */
static int find_kept(const struct settler *s, size_t i, const char *key, struct node *ret,
		     bool *ret_shared)
{
	const struct txn_item *item = &s->txn->items[i];
	int r = node_read(s->txn->staged_fd, key, ret);

	*ret_shared = r == 0 && ret->type == NODE_ABSENT && txn_is_shared(s->txn, item);
	if (*ret_shared)
		r = node_read(s->root->store_fd, key, ret);
	return r < 0 ? r : ret->type != NODE_ABSENT;
}

static size_t parent_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* Did somebody delete it since, with a folder that was made again and hides all that the base has
 * there, also in what is below it? One that came back with this very txn does not, nor any before
 * the txn was done; and a deletion is needed in none: it would be shown, as an entry that cannot be
 * opened. 1, 0 or -errno. */
static int is_hidden(struct settler *s, const char *item_path, bool is_deletion, bool *ret_opaque)
{
	_cleanup_(freep) char *path = strdup(item_path);
	int r = path ? 0 : -ENOMEM;
	bool newer = is_deletion;

	*ret_opaque = false;
	for (char *slash = path ? strchr(path, '/') : NULL; slash && r == 0;
	     slash = strchr(slash + 1, '/')) {
		_cleanup_(node_release) struct node next = {0};
		_cleanup_(fd_closep) int fd = -1;
		size_t len = strcspn(slash + 1, "/");
		char end = slash[1 + len];
		int mark;

		*slash = slash[1 + len] = '\0';
		fd = relaxed_open(&s->relaxed, s->root->upper_fd, path, O_RDONLY | O_DIRECTORY);
		if (is_absent(fd))
			return 0;
		mark = fd < 0 ? fd : upper_mark(fd);
		r = mark < 0 ? mark : 0;
		if (mark == UPPER_OPAQUE) {
			*ret_opaque = true;
			newer |= s->txn->state == TXN_UNDOING &&
				 txn_find_item(s->txn, s->root_index, path) == (size_t)-1;
		}
		if (*ret_opaque && r == 0)
			r = node_read(fd, slash + 1, &next);
		if (*ret_opaque && r == 0 && next.type == NODE_ABSENT)
			r = newer;
		*slash = '/';
		slash[1 + len] = end;
	}
	return r;
}

/* The same, of items one after the other. */
static int was_deleted(struct settler *s, const struct txn_item *item)
{
	size_t len = parent_len(item->path);
	bool opaque;
	int r;

	if (s->plain && parent_len(s->plain) == len && strncmp(s->plain, item->path, len) == 0)
		return 0;
	r = is_hidden(s, item->path, item->kind == CHANGE_DELETE, &opaque);
	s->plain = r == 0 && !opaque ? item->path : NULL;
	return r;
}

static int move_back(const struct settler *s, const struct txn_item *item, const char *key,
		     int parent, const char *name)
{
	_cleanup_(fd_closep) int fd = -1;
	int r = settler_move(s->txn->staged_fd, key, parent, name, RENAME_NOREPLACE);

	if (r < 0 || item->staged.type != NODE_DIR)
		return r;
	fd = path_open_nolink(parent, name, O_PATH, 0);
	return fd < 0 ? fd : fd_chmod(fd, item->staged.mode);
}

/* A folder that stayed, without its mode. */
static int restage_mode(struct settler *s, const struct txn_item *item)
{
	_cleanup_(fd_closep) int fd = path_open_nolink(s->root->upper_fd, item->path,
						       O_PATH | O_DIRECTORY, 0);
	struct stat st;

	if (fd < 0)
		return is_absent(fd) || fd == -EACCES ? 0 : fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_ino == item->staged.ino && (st.st_mode & 07777) == item->old.mode
		       ? fd_chmod(fd, item->staged.mode)
		       : 0;
}

static int restage_one(struct settler *s, size_t i)
{
	const struct txn_item *item = &s->txn->items[i];
	_cleanup_(node_release) struct node node = {0}, kept = {0};
	bool shared = false;
	const char *name;
	char key[24];
	int parent, r;

	if (!*item->path)
		return restage_layer(s, item);
	txn_key(i, key);
	r = item->kind == CHANGE_DELETE ? base_has(s, item->path)
					: find_kept(s, i, key, &kept, &shared);
	if (r == 0 && s->txn->is_discard && item->kind == CHANGE_MODE)
		return restage_mode(s, item);
	if (r == 1) {
		r = was_deleted(s, item);
		r = r < 0 ? r : !r;
	}
	if (r == 1)
		r = make_parents(s, item->path);
	if (r <= 0)
		return r;
	parent = relaxed_open_parent(&s->relaxed, s->root->upper_fd, item->path, &name);
	r = parent < 0 ? parent : node_read(parent, name, &node);
	/* Something newer stays. */
	if (r < 0 || node.type != NODE_ABSENT)
		return r;
	if (item->kind == CHANGE_DELETE)
		return upper_make_whiteout(parent, name);
	/* If this fails the base gets it again, from the store. */
	if (shared)
		return linkat(s->root->store_fd, key, parent, name, 0) < 0 ? -errno : 0;
	return move_back(s, item, key, parent, name);
}

/* Does the upper folder FD show nothing at all of what the base's BASE has, nor anything else?
 * 1, 0 or -errno. NAMES: its entries. */
static int shows_nothing(int fd, int base, struct strv *names)
{
	_cleanup_(strv_release) struct strv below = {0};
	int mark = upper_mark(fd), r = mark < 0 ? mark : dir_names(fd, names);

	for (size_t i = 0; i < names->len && r == 0; i++) {
		_cleanup_(node_release) struct node node = {0};

		r = upper_read(fd, names->items[i], (enum upper_mark)mark, &node);
		if (r == 0 && node.type != NODE_WHITEOUT)
			return 0;
	}
	if (r == 0 && mark != UPPER_OPAQUE)
		r = dir_names(base, &below);
	for (size_t i = 0, k = 0; i < below.len && r == 0; i++) {
		while (k < names->len && strcmp(names->items[k], below.items[i]) < 0)
			k++;
		if (k == names->len || !str_eq(names->items[k], below.items[i]))
			return 0;
	}
	return r < 0 ? r : 1;
}

/* The folder PATH was deleted before some of it was discarded, and is again: unless somebody has
 * made something of it since. */
static int delete_again(struct settler *s, const char *path)
{
	_cleanup_(fd_closep) int base = path_open_nolink(s->root->base_fd, path,
							 O_RDONLY | O_DIRECTORY, 0);
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(fd_closep) int fd = -1;
	struct stat upper_st, base_st;
	const char *name;
	bool opaque;
	int parent, r = is_hidden(s, path, true, &opaque);

	if (base < 0 || r != 0 || opaque)
		return r < 0 ? r : 0;
	parent = relaxed_open_parent(&s->relaxed, s->root->upper_fd, path, &name);
	if (is_absent(parent))
		return 0;
	fd = parent < 0 ? parent : path_open_nolink(parent, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return is_absent(fd) || fd == -EACCES ? 0 : fd;
	if (fstat(fd, &upper_st) < 0 || fstat(base, &base_st) < 0)
		return -errno;
	r = upper_st.st_mode == base_st.st_mode ? shows_nothing(fd, base, &names) : 0;
	if (r <= 0)
		return r;
	/* At no moment is anything in it to be seen. */
	r = upper_set_opaque(fd, true);
	for (size_t i = 0; i < names.len && r == 0; i++)
		r = unlinkat(fd, names.items[i], 0) < 0 ? -errno : 0;
	if (r == 0) {
		settler_remove_scratch(s);
		r = upper_make_whiteout(s->txn->staged_fd, SCRATCH);
	}
	if (r == 0)
		r = settler_move(s->txn->staged_fd, SCRATCH, parent, name, RENAME_EXCHANGE);
	settler_remove_scratch(s);
	return r;
}

/* Those below come later, and go first. */
static int delete_all_again(struct settler *s)
{
	const struct strv *deleted = &s->txn->deleted;
	int r = 0;

	for (size_t i = deleted->len; i > 0 && r == 0; i--) {
		char *path;
		unsigned long root = strtoul(deleted->items[i - 1], &path, 10);

		if (root == s->root_index && *path == ' ')
			r = delete_again(s, path + 1);
	}
	return r;
}

int settler_restage(struct settler *s)
{
	int r = 0;

	for (size_t i = 0; i < s->txn->n_items && r == 0; i++)
		if (settler_leaves(s, &s->txn->items[i]))
			r = restage_one(s, i);
	return r < 0 ? r : delete_all_again(s);
}
