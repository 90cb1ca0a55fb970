/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/diff.h"
#include "base/err.h"
#include "base/fd.h"
#include "stage/access.h"
#include "stage/content.h"
#include "stage/history.h"
#include "stage/index.h"
#include "stage/stage.h"
#include "stage/txn-order.h"
#include "stage/txn-run.h"
#include "stage/txn.h"

/* -EACCES: it is in a folder that closed itself. LAST keeps the folder for the next. */
static int look_in(struct folder *last, int dirfd, const char *path, struct node *ret)
{
	const char *name;
	int parent, r;

	if (!*path)
		return node_read(dirfd, "", ret);
	parent = folder_parent(last, dirfd, path, &name);
	r = parent < 0 ? parent : node_read(parent, name, ret);
	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP) {
		*ret = (struct node){0};
		r = 0;
	}
	return r;
}

static int look(int dirfd, const char *path, struct node *ret)
{
	_cleanup_(folder_release) struct folder once = {0};

	return look_in(&once, dirfd, path, ret);
}

/* ENTRY->base is what is there now: a copy of it, for a merge later on. */
static int keep_copy(const struct txn *txn, struct index_entry *entry, struct err *err)
{
	_cleanup_(fd_closep) int parent = -1, fd = -1;
	_cleanup_(str_release) struct str text = {0};
	const char *name;

	if (entry->base.type != NODE_FILE || entry->base.size > INDEX_COPY_MAX)
		return 0;
	parent = open_parent(txn->roots[entry->root].base_fd, entry->path, &name);
	fd = parent < 0 ? parent : open_file(parent, name, entry->base.ino);
	if (fd < 0 || content_read(fd, INDEX_COPY_MAX, &text) < 0)
		return 0;
	sha256_hex(str_text(&text), text.len, entry->digest);
	if (diff_is_binary(str_text(&text), text.len) &&
	    !git_is_index(txn->roots[entry->root].path, entry->path))
		return 0;
	return index_keep_copy(txn->stage, entry->digest, &text, err);
}

/* The base of a path that stays staged is what it is now. */
static int refresh(const struct txn *txn, struct index_entry *entry, struct err *err)
{
	int r;

	node_release(&entry->base);
	entry->digest[0] = '\0';
	entry->is_conflict = false;
	r = look(txn->roots[entry->root].base_fd, entry->path, &entry->base);
	if (r < 0)
		return r == -EACCES ? 0 : r;
	return keep_copy(txn, entry, err);
}

static int copy_entry(const struct index_entry *from, struct index *index)
{
	struct index_entry copy = *from;

	copy.path = strdup(from->path);
	copy.run = strdup(from->run ? from->run : "");
	copy.base.target = NULL;
	if (!copy.path || !copy.run || node_copy(&copy.base, &from->base) < 0) {
		free(copy.path);
		free(copy.run);
		return -ENOMEM;
	}
	return index_add(index, &copy);
}

/* Our own renames changed the ctime: that is no change of the host's. */
static int accept_base(const struct txn *txn, const struct txn_item *item,
		       struct index_entry *entry, struct err *err)
{
	struct node now = {0};
	int r = look(txn->roots[item->root].base_fd, item->path, &now);

	if (r < 0)
		return r == -EACCES ? 0 : r;
	if (node_is_unmoved(&now, &entry->base) ||
	    (item->action != TXN_NONE && entry->base.type == now.type &&
	     entry->base.mode == now.mode && entry->base.size == now.size &&
	     timespec_compare(entry->base.mtime, now.mtime) == 0)) {
		node_release(&entry->base);
		entry->base = now;
		return entry->digest[0] ? keep_copy(txn, entry, err) : 0;
	}
	node_release(&now);
	return 0;
}

/* One that was hidden by a folder above before, and is by an entry of its own now. */
static int add_entry(const struct txn *txn, const struct txn_item *item, struct index *index,
		     struct timespec now)
{
	const struct txn_root *root = &txn->roots[item->root];
	_cleanup_(node_release) struct node upper = {0}, base = {0};
	struct index_entry entry = {.root = item->root, .path = item->path, .t0 = now};
	int r = look(root->upper_fd, item->path, &upper);
	bool hidden = r == -EACCES;

	if (r == 0 || hidden)
		r = look(root->base_fd, item->path, &base);
	if (r == -EACCES)
		return 0;
	if (r < 0 || (upper.type == NODE_ABSENT && !hidden) || !node_is_unmoved(&base, &item->old))
		return r;
	entry.base = base;
	entry.upper_ino = upper.ino;
	entry.upper_ctime = upper.ctime;
	return copy_entry(&entry, index);
}

static int update_item(struct txn *txn, const struct txn_item *item, bool backward,
		       struct index *index, struct timespec now, struct err *err)
{
	struct index_entry *entry = index_find(index, item->root, item->path);

	if (!entry)
		return backward ? add_entry(txn, item, index, now) : 0;
	if (backward)
		return accept_base(txn, item, entry, err);
	if (item->action == TXN_NONE || item->settles)
		return 0;
	entry->t0 = now;
	return refresh(txn, entry, err);
}

/* What is not staged any more needs no entry. */
static int drop_gone(struct txn *txn, struct index *index)
{
	_cleanup_(folder_release) struct folder last = {0};
	unsigned root = 0;
	int r = 0;

	for (size_t i = 0; i < index->n && r == 0; i++) {
		struct index_entry *entry = &index->items[i];
		_cleanup_(node_release) struct node node = {0};

		if (entry->root >= txn->n_roots || txn->roots[entry->root].upper_fd < 0)
			continue;
		if (entry->root != root)
			folder_release(&last);
		root = entry->root;
		r = look_in(&last, txn->roots[root].upper_fd, entry->path, &node);
		if (r == 0 && node.type == NODE_ABSENT)
			index_drop(index, entry);
		if (r == -EACCES)
			r = 0;
	}
	return r;
}

static void mark_calm(const struct txn *txn, struct index *index, struct timespec now)
{
	for (size_t i = 0; i < txn->calm.len; i++) {
		char *path;
		unsigned long root = strtoul(txn->calm.items[i], &path, 10);
		struct index_entry *entry = *path == ' '
						    ? index_find(index, (unsigned)root, path + 1)
						    : NULL;

		if (entry)
			entry->t0 = now;
	}
}

static bool is_base_of(const struct index_entry *entry, const struct txn_item *item)
{
	return entry->base.type == NODE_DIR && item->made.type == NODE_DIR
		       ? entry->base.ino == item->made.ino
		       : node_is_unmoved(&entry->base, &item->made);
}

/* Of what was applied in part, and of what a later run has made of what was applied, the base was
 * another one meanwhile. */
static bool had_other_base(const struct txn *txn, const struct index_entry *entry)
{
	size_t i = txn_find_item(txn, entry->root, entry->path);
	const struct txn_item *item = i == (size_t)-1 ? NULL : &txn->items[i];

	return item && item->action != TXN_NONE && !item->stays &&
	       (!item->settles || is_base_of(entry, item));
}

static int give_base(struct index_entry *entry, const struct index_entry *from)
{
	memcpy(entry->digest, from->digest, sizeof(entry->digest));
	entry->t0 = from->t0;
	entry->is_conflict = from->is_conflict;
	node_release(&entry->base);
	return node_copy(&entry->base, &from->base);
}

/* What the index said of what is staged again, and conflicts. What is not staged by itself
 * is dropped later. */
static int bring_back(struct txn *txn, bool backward, struct index *index)
{
	_cleanup_(index_freep) struct index *before = calloc(1, sizeof(*before));
	int r = before ? index_parse(str_text(&txn->index), txn->index.len, before) : -ENOMEM;

	for (size_t i = 0; before && i < before->n && r == 0; i++) {
		struct index_entry *entry = index_find(index, before->items[i].root,
						       before->items[i].path);

		if (backward)
			index_lend_copy(txn->stage, before->items[i].digest, txn->dir_fd, true);
		if (!entry)
			r = copy_entry(&before->items[i], index);
		else if (backward && had_other_base(txn, entry))
			r = give_base(entry, &before->items[i]);
	}
	if (r == 0)
		index_sort(index);
	return r;
}

int txn_update_index(struct txn *txn, bool backward, struct err *err)
{
	_cleanup_(index_freep) struct index *index = NULL;
	struct timespec now;
	int r = index_load(txn->stage, &index, err);

	if (r < 0)
		return r;
	clock_gettime(CLOCK_REALTIME, &now);
	r = bring_back(txn, backward, index);
	for (size_t i = 0; i < txn->n_items && r == 0; i++)
		r = update_item(txn, &txn->items[i], backward, index, now, err);
	mark_calm(txn, index, now);
	if (r == 0)
		r = drop_gone(txn, index);
	if (r < 0)
		return err_sys(err, r, "update the index of stage %s", txn->stage_name);
	index_sort(index);
	return index_save(txn->stage, index, err);
}

/* A folder that somebody moves away meanwhile is known by what is found in it. */
static int look_at_left(struct txn *txn, struct err *err)
{
	_cleanup_(folder_release) struct folder last = {0};
	unsigned root = 0;

	for (size_t i = 0; i < txn->n_items; i++) {
		struct txn_item *item = &txn->items[i];
		int r;

		if (item->action == TXN_NONE && item->staged.type != NODE_DIR)
			continue;
		node_release(&item->left);
		if (item->root != root)
			folder_release(&last);
		root = item->root;
		r = look_in(&last, txn->roots[root].base_fd, item->path, &item->left);
		if (r < 0 && r != -EACCES)
			return err_sys(err, r, "look at %s", item->path);
		/* Somebody else's by now: undo will look for ours. */
		if (item->made.type != NODE_ABSENT && item->left.ino != item->made.ino)
			node_release(&item->left);
	}
	return txn_write_left(txn, err);
}

/* Where the base is on another disk, `pending` must not be gone before. */
static int sync_apart(struct txn *txn, struct err *err)
{
	for (size_t i = 0; i < txn->n_roots; i++)
		if (txn->roots[i].is_apart && txn->roots[i].base_fd >= 0)
			return txn_sync(txn, err);
	return 0;
}

static int end(struct txn *txn, enum txn_state state, struct err *err)
{
	int r = sync_apart(txn, err);

	if (r == 0)
		r = txn_mark(txn, state, false, err);
	if (r < 0)
		return r;
	/* From here on it has happened: whatever is left is swept by the next one. */
	if (txn_drop_stores(txn) == 0)
		txn_set_pending(txn, false, NULL);
	return 0;
}

static int carry_out(struct txn *txn, struct err *err)
{
	int r = txn->is_discard ? 0 : txn_forward(txn, err);

	if (r == 0)
		r = txn_settle(txn, err);
	/* After it: a file that loses a name gets a new ctime. */
	if (r == 0 && !txn->is_discard)
		r = look_at_left(txn, err);
	if (r == 0)
		r = txn_update_index(txn, false, err);
	return r < 0 ? r : end(txn, TXN_DONE, err);
}

int txn_take_back(struct txn *txn, struct err *err)
{
	int r = 0;

	if (txn->state != TXN_BEGUN) {
		if (txn->state != TXN_BACKING)
			r = txn_mark(txn, TXN_BACKING, true, err);
		if (r == 0 && !txn->is_discard)
			r = txn_backward(txn, err);
		if (r == 0)
			r = txn_restage(txn, err);
		if (r == 0)
			r = txn_update_index(txn, true, err);
		if (r == 0)
			history_returned(txn);
	}
	if (r < 0)
		return r;
	if (txn->is_partial)
		return end(txn, TXN_UNDONE, err);
	r = txn_drop_stores(txn);
	return r < 0 ? err_sys(err, r, "remove what was prepared") : txn_remove(txn, err);
}

int txn_finish(struct txn *txn, bool *ret_back, struct err *why, struct err *err)
{
	int r = carry_out(txn, why);

	*ret_back = r < 0;
	if (r == 0)
		return 0;
	r = txn_take_back(txn, err);
	if (r < 0)
		err_hint(err, r, "what was begun is ended by the next pale command here");
	return r;
}

int txn_finish_undo(struct txn *txn, bool *ret_back, struct err *why, struct err *err)
{
	int r = txn->is_discard ? 0 : txn_backward(txn, why);

	if (r == 0)
		r = txn_restage(txn, why);
	if (r == 0)
		r = txn_update_index(txn, true, why);
	if (r == 0)
		history_returned(txn);
	if (r == 0)
		r = end(txn, TXN_UNDONE, why);
	*ret_back = r < 0;
	if (r == 0)
		return 0;
	/* Then it stays applied. */
	r = carry_out(txn, err);
	if (r < 0)
		err_hint(err, r, "what was begun is ended by the next pale command here");
	return r;
}
