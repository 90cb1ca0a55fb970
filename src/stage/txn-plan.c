/* SPDX-License-Identifier: MIT */
#include "stage/txn-plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/diff.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "stage/access.h"
#include "stage/choose.h"
#include "stage/index.h"
#include "stage/patch.h"
#include "stage/three-way.h"
#include "stage/txn.h"

enum { EDIT_MAX = 64 * 1024 * 1024 };

static enum txn_action action_of(const struct change *change, const struct verdict *verdict)
{
	if (verdict->outcome == APPLY_DROPPED)
		return TXN_NONE;
	if (change->kind == CHANGE_DELETE)
		return TXN_TAKE;
	if (change->kind == CHANGE_ADD)
		return TXN_PUT;
	if (change->new.type == NODE_DIR && change->old.type == NODE_DIR)
		return TXN_NONE;
	return TXN_SWAP;
}

static void take_text(struct txn_item *item, struct str *text)
{
	item->has_text = true;
	item->text_len = text->len;
	sha256_hex(text->data ? text->data : "", text->len, item->digest);
	item->text = take_ptr(text->data);
}

/* The old text with some of the edits. */
static int make_edited(struct txn *txn, const struct change *change,
		       const struct apply_edits *edits, struct txn_item *item, struct err *err)
{
	_cleanup_(str_release) struct str old = {0}, new = {0}, out = {0};
	_cleanup_(freep) struct diff_hunk *hunks = NULL;
	struct diff diff;
	bool all = true;
	int r = 0;

	if (change->new.type != NODE_FILE ||
	    (change->kind != CHANGE_MODIFY && change->kind != CHANGE_ADD))
		return err_set(err, ERR_USAGE, -EINVAL, "%s has no hunks", change->path);
	if (change->old.type == NODE_FILE)
		r = change_read_old(txn->stage, change, EDIT_MAX, &old, err);
	if (r == 0)
		r = change_read_new(txn->stage, change, EDIT_MAX, &new, err);
	if (r < 0)
		return r;
	r = diff_compute(str_text(&old), old.len, str_text(&new), new.len, DIFF_NATURAL, &diff);
	if (r < 0)
		return err_sys(err, r, "compare %s", change->path);
	hunks = calloc(diff.len + 1, sizeof(*hunks));
	for (size_t i = 0; hunks && i < diff.len; i++)
		hunks[i] = (struct diff_hunk){.first_edit = i, .edits = 1};
	if (!hunks)
		r = err_oom(err);
	else if (edits->n != diff.len)
		r = err_set(err, ERR_USAGE, -EINVAL, "%s has %zu edits, not %zu", change->path,
			    diff.len, edits->n);
	else if (patch_apply_hunks(&diff, hunks, diff.len, edits->chosen, &out) < 0)
		r = err_oom(err);
	diff_release(&diff);
	for (size_t i = 0; i < edits->n; i++)
		all = all && edits->chosen[i];
	if (r < 0 || all)
		return r;
	take_text(item, &out);
	item->settles = false;
	if (change->old.type == NODE_FILE)
		item->mode = change->old.mode & 01777;
	return 0;
}

static int plan_one(struct txn *txn, const struct change *change, const struct verdict *verdict,
		    const struct index *index, struct err *err)
{
	struct txn_item *item = txn_add_item(txn, change->root, change->path);
	_cleanup_(str_release) struct str text = {0};
	int r;

	if (!item || node_copy(&item->old, &change->old) < 0 ||
	    node_copy(&item->staged, &change->new) < 0)
		return err_oom(err);
	item->kind = change->kind;
	item->action = txn->is_discard ? TXN_NONE : action_of(change, verdict);
	item->settles = true;
	item->is_protected = change->flags & CHANGE_IS_PROTECTED;
	item->mode = change->new.mode & 01777;
	if (txn->is_discard)
		return 0;
	if (verdict->edits)
		return make_edited(txn, change, verdict->edits, item, err);
	if (verdict->outcome != APPLY_MERGED)
		return 0;
	r = change_merge(txn->stage, index, change, &text, &item->mode, err);
	if (r < 0)
		return r == -EBUSY ? err_set(err, ERR_SYSTEM, -EAGAIN,
					     "%s changed while it was merged", change->path)
				   : r;
	item->mode &= 01777;
	take_text(item, &text);
	return 0;
}

int txn_plan(struct txn *txn, const struct changes *changes, const struct verdict *verdicts,
	     const struct index *index, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < changes->n && r == 0; i++)
		if (verdicts[i].is_taken)
			r = plan_one(txn, &changes->items[i], &verdicts[i], index, err);
	return r;
}

static int read_dir(int root, const char *path, struct node *ret)
{
	_cleanup_(fd_closep) int fd = path_open_nolink(root, *path ? path : ".",
						       O_PATH | O_DIRECTORY, 0);

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -EACCES) {
		*ret = (struct node){0};
		return 0;
	}
	return fd < 0 ? fd : node_read(fd, "", ret);
}

static int compare_dirs(const void *a, const void *b)
{
	const struct txn_dir *x = a, *y = b;
	int order;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	order = change_path_compare(x->path, y->path);
	return order ? order : (int)y->is_item - (int)x->is_item;
}

static int add_dir(struct txn *txn, unsigned root, const char *path, size_t len, size_t item)
{
	_cleanup_(freep) char *copy = strndup(path, len);
	struct txn_dir *last = txn->n_dirs ? &txn->dirs[txn->n_dirs - 1] : NULL, *dir;

	if (!copy)
		return -ENOMEM;
	if (item == (size_t)-1 && last && last->root == root && str_eq(last->path, copy))
		return 0;
	dir = txn_add_dir(txn, root, copy);
	if (!dir)
		return -ENOMEM;
	dir->is_item = item != (size_t)-1;
	dir->item = item;
	return 0;
}

/* The folder that holds each item, and those that are items. */
static int list_dirs(struct txn *txn)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < txn->n_items && r == 0; i++) {
		const struct txn_item *item = &txn->items[i];
		const char *slash = strrchr(item->path, '/');

		if (item->action != TXN_NONE)
			r = add_dir(txn, item->root, item->path,
				    slash ? (size_t)(slash - item->path) : 0, (size_t)-1);
		if (r == 0 && (item->staged.type == NODE_DIR || item->old.type == NODE_DIR))
			r = add_dir(txn, item->root, item->path, strlen(item->path), i);
	}
	if (r < 0 || txn->n_dirs == 0)
		return r;
	qsort(txn->dirs, txn->n_dirs, sizeof(*txn->dirs), compare_dirs);
	for (size_t i = 1; i < txn->n_dirs; i++) {
		struct txn_dir *last = &txn->dirs[kept], *next = &txn->dirs[i];

		if (last->root == next->root && str_eq(last->path, next->path))
			free(next->path);
		else
			txn->dirs[++kept] = *next;
	}
	txn->n_dirs = kept + 1;
	return 0;
}

static mode_t parent_mode(const struct txn *txn, const struct txn_dir *dir)
{
	const char *slash = strrchr(dir->path, '/');
	_cleanup_(freep) char *path = strndup(dir->path, slash ? (size_t)(slash - dir->path) : 0);
	struct txn_dir key = {.root = dir->root, .path = path};
	const struct txn_dir *found = NULL;

	for (int item = 0; path && item < 2 && !found; item++) {
		key.is_item = item;
		found = bsearch(&key, txn->dirs, txn->n_dirs, sizeof(key), compare_dirs);
	}
	return found ? found->mode : 0;
}

/* The set-group bit of a folder says who shares it: a new one has it from above,
 * as it would have when made there. Others are not applied. */
static void fill_item(const struct txn *txn, struct txn_dir *dir)
{
	const struct txn_item *item = &txn->items[dir->item];
	bool made = item->staged.type == NODE_DIR && item->action != TXN_TAKE;
	mode_t mode = item->staged.mode & 01777;

	if (item->old.type == NODE_DIR)
		dir->before = item->old;
	if (!made)
		mode = item->old.mode;
	else if (item->old.type == NODE_DIR)
		mode |= item->old.mode & 06000;
	else
		mode |= item->staged.mode & parent_mode(txn, dir) & 02000;
	dir->mode = mode;
	dir->sets_time = made;
	dir->mtime = item->staged.mtime;
}

static int fill_dir(const struct txn *txn, struct txn_dir *dir)
{
	const struct txn_root *root = &txn->roots[dir->root];
	struct node upper = {0};
	int r = read_dir(root->base_fd, dir->path, &dir->before);

	if (r == 0)
		r = read_dir(root->upper_fd, dir->path, &upper);
	dir->mode = dir->before.mode;
	dir->sets_time = upper.type == NODE_DIR;
	dir->mtime = upper.mtime;
	return r;
}

static int plan_dirs(struct txn *txn)
{
	int r = list_dirs(txn);

	for (size_t i = 0; i < txn->n_dirs && r == 0; i++) {
		struct txn_dir *dir = &txn->dirs[i];

		if (dir->is_item)
			fill_item(txn, dir);
		else
			r = fill_dir(txn, dir);
	}
	return r;
}

/* Is anything below the entry touched? Items are sorted. */
static bool touches(const struct txn *txn, const struct index_entry *entry)
{
	size_t low = 0, high = txn->n_items;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct txn_item *item = &txn->items[middle];

		if (item->root < entry->root ||
		    (item->root == entry->root && change_path_compare(item->path, entry->path) < 0))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < txn->n_items && txn->items[low].root == entry->root &&
	       change_path_below(entry->path, txn->items[low].path);
	     low++)
		if (txn->items[low].action != TXN_NONE)
			return true;
	return false;
}

static bool has_conflict(const struct changes *changes, const struct index_entry *entry)
{
	for (size_t i = 0; i < changes->n; i++)
		if (changes->items[i].root == entry->root &&
		    (changes->items[i].flags & CHANGE_IS_CONFLICT) &&
		    change_path_below(entry->path, changes->items[i].path))
			return true;
	return false;
}

/* Entries that hide folders of the base are judged by what is below them, which we
 * are about to change ourselves. */
static int plan_calm(struct txn *txn, const struct changes *changes, const struct index *index)
{
	bool any = false;

	for (size_t i = 0; i < changes->n && !any; i++)
		any = changes->items[i].flags & CHANGE_IS_CONFLICT;
	for (size_t i = 0; i < index->n; i++) {
		const struct index_entry *entry = &index->items[i];
		int r;

		if (entry->base.type != NODE_DIR || !touches(txn, entry) ||
		    (any && has_conflict(changes, entry)))
			continue;
		r = strv_addf(&txn->calm, "%u %s", entry->root, entry->path);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Folders that are deleted, and shown again for what is discarded of them. */
static int plan_deleted(struct txn *txn, const struct changes *changes)
{
	for (size_t i = 0; i < txn->n_items; i++) {
		const struct txn_item *item = &txn->items[i], *last = i ? item - 1 : NULL;
		_cleanup_(freep) char *path = strdup(item->path);
		int r = path ? 0 : -ENOMEM;

		for (char *slash = path ? strchr(path, '/') : NULL; slash && r == 0;
		     slash = strchr(slash + 1, '/')) {
			const struct change *up;

			*slash = '\0';
			up = changes_find(changes, item->root, path);
			if (up && up->kind == CHANGE_DELETE &&
			    !(last && last->root == item->root &&
			      change_path_below(path, last->path)) &&
			    txn_find_item(txn, item->root, path) == (size_t)-1)
				r = strv_addf(&txn->deleted, "%u %s", item->root, path);
			*slash = '/';
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* What the index says of the items; and conflicts that come from a folder above, which have
 * no entry: they must not be forgotten when they are staged by themselves, now or by undo. */
static int keep_entries(struct txn *txn, const struct changes *changes, const struct index *index)
{
	int r = 0;

	for (size_t i = 0; i < changes->n && r == 0; i++) {
		const struct change *change = &changes->items[i];
		const struct index_entry *known = index_find(index, change->root, change->path);
		struct index_entry own = {.root = change->root,
					  .path = change->path,
					  .run = (char *)"",
					  .base = change->old,
					  .is_conflict = true};

		if (known && txn_find_item(txn, change->root, change->path) != (size_t)-1) {
			r = index_print_entry(known, &txn->index);
			/* Undo makes a new one of what still is what it was. */
			if (!node_is_unmoved(&change->old, &known->base))
				index_lend_copy(txn->stage, known->digest, txn->dir_fd, false);
		}
		if (!known && change->flags & CHANGE_IS_CONFLICT &&
		    txn->roots[change->root].upper_fd >= 0)
			r = index_print_entry(&own, &txn->index);
	}
	return r;
}

int txn_plan_dirs(struct txn *txn, const struct changes *changes, const struct index *index,
		  struct err *err)
{
	int r = keep_entries(txn, changes, index);

	if (r == 0 && !txn->is_discard)
		r = plan_dirs(txn);
	if (r == 0 && txn->is_discard)
		r = plan_deleted(txn, changes);
	if (r == 0)
		r = plan_calm(txn, changes, index);
	return r < 0 ? err_sys(err, r, "plan the change of %s", txn->stage_name) : 0;
}
