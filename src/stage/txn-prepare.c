/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree-remove.h"
#include "stage/access.h"
#include "stage/apply.h"
#include "stage/make.h"
#include "stage/txn-run.h"
#include "stage/txn.h"

static const char *store_name(const struct txn *txn, char buf[48])
{
	snprintf(buf, 48, ".pale-%s", txn->id);
	return buf;
}

/* The root's folder keeps its time, whatever comes and goes in it. */
static void set_root_time(const struct txn *txn, const struct txn_root *root,
			  const struct stat *before)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, before->st_mtim};

	for (size_t i = 0; i < txn->n_dirs; i++) {
		const struct txn_dir *dir = &txn->dirs[i];

		if (*dir->path || &txn->roots[dir->root] != root)
			continue;
		if (txn->state == TXN_DONE && dir->sets_time)
			times[1] = dir->mtime;
		else if (txn->state != TXN_DONE && dir->before.type == NODE_DIR)
			times[1] = dir->before.mtime;
	}
	if (txn->state == TXN_BEGUN)
		times[1] = root->base.mtime;
	utimensat(root->base_fd, "", times, AT_EMPTY_PATH);
}

int txn_make_stores(struct txn *txn, struct err *err)
{
	char name[48];
	bool synced = false;

	store_name(txn, name);
	for (size_t i = 0; i < txn->n_roots; i++) {
		struct txn_root *root = &txn->roots[i];
		struct stat before;

		if (!root->is_apart || root->base_fd < 0 || root->store_fd >= 0)
			continue;
		/* Whoever finds the folder must find why it is there. */
		if (!synced && syncfs(txn->dir_fd) < 0)
			return err_sys(err, -errno, "sync %s/applies", txn->state_dir);
		synced = true;
		if (fstat(root->base_fd, &before) < 0 ||
		    (mkdirat(root->base_fd, name, 0700) < 0 && errno != EEXIST))
			return err_sys(err, -errno, "make a folder in %s", root->path);
		set_root_time(txn, root, &before);
		root->store_fd = txn_open_store(txn, root);
		if (root->store_fd == -EPERM)
			return err_set(err, ERR_SYSTEM, -EPERM,
				       "%s/%s is not what was made there: somebody interferes",
				       root->path, name);
		if (root->store_fd < 0)
			return err_sys(err, root->store_fd, "open a folder in %s", root->path);
	}
	return 0;
}

static int drop_store(const struct txn *txn, struct txn_root *root)
{
	struct stat before;
	char name[48];
	int r;

	if (fstat(root->base_fd, &before) < 0)
		return -errno;
	if (root->store_fd < 0)
		root->store_fd = txn_open_store(txn, root);
	/* What else has that name by now is not ours to empty. */
	if (root->store_fd == -ENOENT || root->store_fd == -EPERM || root->store_fd == -ENOTDIR ||
	    root->store_fd == -ELOOP)
		return 0;
	r = root->store_fd < 0 ? root->store_fd : tree_empty(root->store_fd);
	if (r == 0 && unlinkat(root->base_fd, store_name(txn, name), AT_REMOVEDIR) < 0 &&
	    errno != ENOENT)
		r = -errno;
	root->store_fd = fd_close(root->store_fd);
	set_root_time(txn, root, &before);
	return r;
}

/* What went back to the stage has one name again. */
static int drop_shared(const struct txn *txn)
{
	int failed = 0;

	for (size_t i = 0; i < txn->n_items; i++) {
		const struct txn_item *item = &txn->items[i];
		char key[24];

		if (txn_is_shared(txn, item) && !item->stays &&
		    txn->roots[item->root].store_fd >= 0 &&
		    unlinkat(txn->roots[item->root].store_fd, txn_key(i, key), 0) < 0 &&
		    errno != ENOENT)
			failed = -errno;
	}
	return failed;
}

int txn_drop_stores(struct txn *txn)
{
	int failed = txn->state == TXN_UNDONE ? drop_shared(txn) : 0;

	for (size_t i = 0; i < txn->n_roots; i++) {
		struct txn_root *root = &txn->roots[i];
		int r = root->is_apart && root->base_fd >= 0 ? drop_store(txn, root) : 0;

		if (r < 0)
			failed = r;
	}
	return failed;
}

/* Names of one file in the upper layer become names of one file. */
struct links {
	struct link {
		unsigned root;
		ino_t ino;
		size_t item;
	} * items;
	size_t n, cap;
};

static void links_release(struct links *links)
{
	free(links->items);
}

static struct link *links_find(const struct links *links, unsigned root, ino_t ino)
{
	size_t i = links->cap ? ino % links->cap : 0;

	for (; links->cap && links->items[i].ino; i = (i + 1) % links->cap)
		if (links->items[i].ino == ino && links->items[i].root == root)
			return &links->items[i];
	return NULL;
}

static int links_add(struct links *links, struct link link)
{
	size_t i;

	if (links->n * 2 >= links->cap) {
		struct links grown = {.cap = links->cap ? links->cap * 4 : 64};
		int r = 0;

		grown.items = calloc(grown.cap, sizeof(*grown.items));
		if (!grown.items)
			return -ENOMEM;
		for (i = 0; i < links->cap && r == 0; i++)
			if (links->items[i].ino)
				r = links_add(&grown, links->items[i]);
		free(links->items);
		*links = grown;
	}
	for (i = link.ino % links->cap; links->items[i].ino; i = (i + 1) % links->cap)
		;
	links->items[i] = link;
	links->n++;
	return 0;
}

/* To what else has its number. */
static bool is_linked(const struct txn_item *item)
{
	return item->staged.type == NODE_FILE && item->staged.nlink > 1 && !item->is_protected;
}

/* The host's file with other lines in it: what else it has is not asked about. */
static int make_edited(const struct txn *txn, size_t i)
{
	const struct txn_item *item = &txn->items[i];
	const struct txn_root *root = &txn->roots[item->root];
	_cleanup_(fd_closep) int parent = -1, like = -1;
	struct node node = item->staged;
	const char *name;
	char key[24];

	if (item->old.type == NODE_FILE) {
		node.uid = item->old.uid;
		node.gid = item->old.gid;
		parent = open_parent(root->base_fd, item->path, &name);
	}
	if (parent >= 0)
		like = open_file(parent, name, item->old.ino);
	return make_text(item->text, item->text_len, &node, item->mode, like, root->store_fd,
			 txn_key(i, key));
}

static int make_new(struct txn *txn, size_t i, struct links *links, struct relaxed *relaxed)
{
	struct txn_item *item = &txn->items[i];
	const struct txn_root *root = &txn->roots[item->root];
	char key[24], other[24];
	const struct link *first;
	const char *name;
	int parent, r;

	txn_key(i, key);
	if (item->has_text)
		return make_edited(txn, i);
	first = is_linked(item) ? links_find(links, item->root, item->staged.ino) : NULL;
	if (first)
		return linkat(root->store_fd, txn_key(first->item, other), root->store_fd, key, 0) <
				       0
			       ? -errno
			       : 0;
	parent = relaxed_search_parent(relaxed, root->upper_fd, item->path, &name);
	if (parent < 0)
		return parent;
	r = make_copy(parent, name, &item->staged, item->mode, root->store_fd, key);
	if (r == 0 && is_linked(item))
		r = links_add(
			links,
			(struct link){.root = item->root, .ino = item->staged.ino, .item = i});
	return r;
}

/* The staged file itself is what goes into the base. 1, 0 or -errno. */
static int share(const struct txn *txn, struct txn_item *item, struct relaxed *relaxed)
{
	const struct txn_root *root = &txn->roots[item->root];
	const char *name;
	int parent, r;

	if (item->action != TXN_PUT || !item->settles || item->has_text || root->is_apart)
		return 0;
	parent = relaxed_search_parent(relaxed, root->upper_fd, item->path, &name);
	if (parent < 0)
		return parent;
	/* Folders that were opened for this moment are closed again when it is moved. */
	r = relaxed->n > 0 ? 0 : make_needs_no_copy(parent, name, &item->staged, item->mode);
	if (r <= 0)
		return r;
	r = node_copy(&item->made, &item->staged);
	return r < 0 ? r : 1;
}

/* One of the host's, with all that belongs to it. */
static int copy_all(int from_dir, const char *from, const struct node *node, mode_t mode,
		    int to_dir, const char *to)
{
	int r = make_copy(from_dir, from, node, mode, to_dir, to);

	return r == 0 && node->type == NODE_FILE ? make_acl(from_dir, from, to_dir, to, mode) : r;
}

/* Who may use a file is for the host to say, not for the command. */
static int keep_acl(const struct txn *txn, size_t i)
{
	const struct txn_item *item = &txn->items[i];
	const struct txn_root *root = &txn->roots[item->root];
	_cleanup_(fd_closep) int parent = -1;
	const char *name;
	char key[24];

	if (item->action != TXN_SWAP || item->old.type != NODE_FILE ||
	    item->staged.type != NODE_FILE)
		return 0;
	parent = open_parent(root->base_fd, item->path, &name);
	return parent < 0 ? 0 : make_acl(parent, name, root->store_fd, txn_key(i, key), item->mode);
}

/* Where the store is in the base: what is there stays elsewhere, for undo. */
static int keep_old(struct txn *txn, size_t i)
{
	const struct txn_item *item = &txn->items[i];
	_cleanup_(fd_closep) int parent = -1, old = -1;
	const char *name;
	char key[24];

	if (mkdirat(txn->dir_fd, "old", 0700) < 0 && errno != EEXIST)
		return -errno;
	old = path_open_nolink(txn->dir_fd, "old", O_PATH | O_DIRECTORY, 0);
	parent = old < 0 ? old : open_parent(txn->roots[item->root].base_fd, item->path, &name);
	if (parent < 0)
		return parent;
	return copy_all(parent, name, &item->old, item->old.mode, old, txn_key(i, key));
}

static bool has_old(const struct txn_item *item)
{
	return item->action == TXN_TAKE || item->action == TXN_SWAP;
}

static int prepare_one(struct txn *txn, size_t i, struct links *links, struct relaxed *relaxed)
{
	struct txn_item *item = &txn->items[i];
	const struct txn_root *root = &txn->roots[item->root];
	char key[24];
	int r = 0;

	r = share(txn, item, relaxed);
	if (r != 0)
		return r < 0 ? r : 0;
	if (item->action == TXN_PUT || item->action == TXN_SWAP) {
		r = make_new(txn, i, links, relaxed);
		if (r == 0)
			r = keep_acl(txn, i);
		if (r == 0)
			r = node_read(root->store_fd, txn_key(i, key), &item->made);
		if (r == 0 && item->made.type == NODE_ABSENT)
			r = -ESTALE;
	}
	if (r == 0 && root->is_apart && has_old(item))
		r = keep_old(txn, i);
	return r;
}

int txn_prepare(struct txn *txn, const struct apply_progress *progress, struct err *err)
{
	_cleanup_(links_release) struct links links = {0};
	struct relaxed *relaxed = calloc(txn->n_roots + 1, sizeof(*relaxed));
	int r = relaxed ? txn_make_stores(txn, err) : err_oom(err);

	for (size_t i = 0; relaxed && i < txn->n_roots; i++)
		relaxed[i] = txn_relaxed(txn, (unsigned)i);
	for (size_t i = 0; i < txn->n_items && r == 0; i++) {
		const struct txn_item *item = &txn->items[i];

		r = apply_step(progress, i, txn->n_items, item->path, err);
		if (r < 0)
			break;
		r = prepare_one(txn, i, &links, &relaxed[item->root]);
		if (r < 0)
			err_sys(err, r, "prepare %s", item->path);
	}
	for (size_t i = 0; relaxed && i < txn->n_roots; i++)
		if (txn->roots[i].upper_fd >= 0)
			relaxed_restore(&relaxed[i], txn->roots[i].upper_fd);
	free(relaxed);
	return r;
}

int txn_reload(struct txn *txn, const struct apply_progress *progress, struct err *err)
{
	_cleanup_(fd_closep) int old = -1;
	int r = txn_make_stores(txn, err);

	for (size_t i = 0; i < txn->n_items && r == 0; i++) {
		struct txn_item *item = &txn->items[i];
		const struct txn_root *root = &txn->roots[item->root];
		_cleanup_(node_release) struct node kept = {0}, now = {0};
		char key[24];

		if (!root->is_apart || !has_old(item) || item->stays)
			continue;
		r = apply_step(progress, i, txn->n_items, item->path, err);
		if (r < 0)
			return r;
		txn_key(i, key);
		if (old < 0)
			old = path_open_nolink(txn->dir_fd, "old", O_PATH | O_DIRECTORY, 0);
		r = old < 0 ? old : node_read(old, key, &kept);
		if (r == 0)
			r = copy_all(old, key, &kept, item->old.mode, root->store_fd, key);
		if (r == 0)
			r = node_read(root->store_fd, key, &now);
		if (r < 0)
			return err_sys(err, r, "restore %s", item->path);
		now.mode = item->old.mode;
		now.mtime = item->old.mtime;
		node_release(&item->old);
		item->old = now;
		now.target = NULL;
	}
	return r;
}
