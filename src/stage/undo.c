/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "stage/access.h"
#include "stage/apply.h"
#include "stage/choose.h"
#include "stage/content.h"
#include "stage/git-index.h"
#include "stage/stage.h"
#include "stage/synced.h"
#include "stage/txn-order.h"
#include "stage/txn-run.h"
#include "stage/txn.h"
#include "stage/writers.h"

enum { INDEX_MAX = 256 << 20 };

static int look(const struct txn *txn, const struct txn_item *item, struct node *ret)
{
	_cleanup_(fd_closep) int parent = -1;
	const char *name;

	*ret = (struct node){0};
	if (!*item->path)
		return node_read(txn->roots[item->root].base_fd, "", ret);
	parent = open_parent(txn->roots[item->root].base_fd, item->path, &name);
	if (parent == -ENOENT || parent == -ENOTDIR || parent == -ELOOP)
		return 0;
	return parent < 0 ? parent : node_read(parent, name, ret);
}

static bool is_same_index(int a, int b)
{
	_cleanup_(str_release) struct str one = {0}, other = {0};

	return content_read(a, INDEX_MAX, &one) == 0 && content_read(b, INDEX_MAX, &other) == 0 &&
	       git_index_is_same(str_text(&one), one.len, str_text(&other), other.len);
}

/* Is what was applied in file INO, which is there now? */
static bool has_applied_content(const struct txn *txn, size_t i, ino_t ino)
{
	const struct txn_item *item = &txn->items[i];
	_cleanup_(fd_closep) int parent = -1, base = -1, staged = -1;
	char key[24], digest[SHA256_HEX];
	const char *name;

	parent = open_parent(txn->roots[item->root].base_fd, item->path, &name);
	base = parent < 0 ? parent : open_file(parent, name, ino);
	if (base < 0)
		return false;
	if (item->digest[0])
		return content_digest(base, digest) == 0 && str_eq(digest, item->digest);
	staged = open_file(txn->staged_fd, txn_key(i, key), 0);
	if (staged < 0)
		return false;
	if (content_equal(base, staged) == 1)
		return true;
	return git_is_index(txn->roots[item->root].path, item->path) &&
	       lseek(base, 0, SEEK_SET) == 0 && lseek(staged, 0, SEEK_SET) == 0 &&
	       is_same_index(base, staged);
}

/* Somebody has written the same anew, as git does with its index when it only looks: that is as
 * good as what was left, and takes its place. */
static int adopt(struct txn *txn, size_t i, const struct node *now)
{
	struct txn_item *item = &txn->items[i];
	int r;

	if (now->type != NODE_FILE || item->made.type != NODE_FILE ||
	    now->mode != item->made.mode || now->nlink > 1 || txn_is_shared(txn, item) ||
	    !has_applied_content(txn, i, now->ino))
		return 0;
	r = node_copy(&item->made, now);
	if (r == 0)
		r = node_copy(&item->left, now);
	txn->is_adopted = true;
	return r < 0 ? r : 1;
}

static bool is_as_left(const struct txn *txn, size_t i, const struct node *now)
{
	const struct txn_item *item = &txn->items[i];
	const struct node *left = item->left.type != NODE_ABSENT ? &item->left : &item->made;

	if (left->type == NODE_ABSENT || now->type != left->type || now->ino != left->ino)
		return now->type == left->type && now->type == NODE_ABSENT;
	if (now->type == NODE_DIR) /* a folder has its mode only when all is done */
		return left == &item->made || now->mode == left->mode;
	if (node_is_same(now, left))
		return true;
	if (!node_is_unmoved(now, left) || now->type != NODE_FILE)
		return node_is_unmoved(now, left);
	/* The staged file itself, and nobody could say how it was left, since a folder above was
	 * elsewhere at that moment: it goes back to the stage as it is, so nothing is lost. */
	if (txn_is_shared(txn, item))
		return item->left.type == NODE_ABSENT;
	return has_applied_content(txn, i, item->made.ino);
}

static bool made_folder(const struct txn_item *item)
{
	return item->made.type == NODE_DIR && (item->action == TXN_PUT || item->action == TXN_SWAP);
}

/* A folder that was made can go when nothing but what was applied is in it. 1, 0 or
 * -errno. */
static int can_go(const struct txn *txn, const struct txn_item *item)
{
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(fd_closep) int fd = path_open_nolink(txn->roots[item->root].base_fd, item->path,
						       O_RDONLY | O_DIRECTORY, 0);

	int r = fd == -EACCES ? 0 : fd < 0 ? fd : dir_names(fd, &names);

	if (r < 0)
		return r;
	for (size_t i = 0; i < names.len; i++) {
		_cleanup_(freep) char *path = path_join(item->path, names.items[i]);
		size_t k = path ? txn_find_item(txn, item->root, path) : (size_t)-1;

		if (k == (size_t)-1 || txn->items[k].stays || txn->items[k].action != TXN_PUT)
			return 0;
	}
	return 1;
}

static size_t git_len(const struct txn *txn, const struct txn_item *item)
{
	const char *inside = git_inside(txn->roots[item->root].path, item->path);

	return inside ? (size_t)(inside - item->path) : (size_t)-1;
}

/* A repository is taken back as a whole, or not at all: an index that was written
 * since may name objects that only came with it. */
static void keep_repositories(struct txn *txn)
{
	for (size_t i = 0; i < txn->n_items; i++) {
		const struct txn_item *item = &txn->items[i];
		size_t len = git_len(txn, item);

		if (!item->stays || len == (size_t)-1 ||
		    (i > 0 && txn->items[i - 1].stays && git_len(txn, &txn->items[i - 1]) == len))
			continue;
		for (size_t k = 0; k < txn->n_items; k++) {
			struct txn_item *other = &txn->items[k];

			if (!other->stays && other->root == item->root &&
			    git_len(txn, other) == len &&
			    strncmp(other->path, item->path, len) == 0)
				other->stays = other->stays_for_others = true;
		}
	}
}

/* Nothing can come back into a folder that stays something else. */
static int keep_below(struct txn *txn, struct err *err)
{
	for (size_t i = 0; i < txn->n_items; i++) {
		struct txn_item *item = &txn->items[i];
		_cleanup_(freep) char *path = strdup(item->path);
		char *slash;

		if (!path)
			return err_oom(err);
		while (item->action == TXN_TAKE && !item->stays && (slash = strrchr(path, '/'))) {
			size_t k;

			*slash = '\0';
			k = txn_find_item(txn, item->root, path);
			if (k != (size_t)-1 && txn->items[k].stays)
				item->stays = true;
		}
	}
	return 0;
}

/* What a program goes on to write would be written where nobody looks. An undo that leaves something
 * is not done again, and this passes: so nothing is begun. */
static int refuse_written(const struct txn *txn, const struct txn_item *item,
			  const struct node *now, struct writers *writers, struct err *err)
{
	if (now->type != NODE_FILE || item->made.type != NODE_FILE ||
	    !writers_find(writers, txn->stage, item->root, item->path, now->ino))
		return 0;
	err_set(err, ERR_SYSTEM, -ETXTBSY, "%s: a program has it open for writing", item->path);
	return err_hint(err, -ETXTBSY, "end it, then try again: nothing was taken back");
}

/* Is the folder still there that it was taken from, or does it come back as well? 1, 0 or -errno. */
static int has_place(const struct txn *txn, const struct txn_item *item)
{
	_cleanup_(freep) char *path = strdup(item->path);
	_cleanup_(fd_closep) int fd = -1;
	size_t k = (size_t)-1;
	char *slash;

	if (!path)
		return -ENOMEM;
	do {
		slash = strrchr(path, '/');
		*(slash ? slash : path) = '\0';
		k = txn_find_item(txn, item->root, path);
	} while (slash && k != (size_t)-1 && txn->items[k].action == TXN_TAKE);
	/* Something took the place of it, and is judged by itself. */
	if (k != (size_t)-1 && txn->items[k].action == TXN_SWAP)
		return 1;
	fd = path_open_nolink(txn->roots[item->root].base_fd, *path ? path : ".",
			      O_PATH | O_DIRECTORY, 0);
	return fd >= 0 || fd == -EACCES ? 1 : is_absent(fd) ? 0 : fd;
}

/* Which items can be taken back; children first, since they decide on folders. */
static int judge(struct txn *txn, const struct apply_progress *progress, struct err *err)
{
	_cleanup_(writers_release) struct writers writers = {0};

	for (size_t i = txn->n_items; i > 0; i--) {
		struct txn_item *item = &txn->items[i - 1];
		_cleanup_(node_release) struct node now = {0};
		int r = apply_step(progress, txn->n_items - i, txn->n_items, item->path, err);

		if (r < 0)
			return r;
		if (txn->is_discard || (item->action == TXN_NONE && item->staged.type != NODE_DIR))
			continue;
		r = look(txn, item, &now);
		/* In a folder that closed itself: looked at again once it is open. */
		if (r == -EACCES)
			continue;
		if (r == 0 && !is_as_left(txn, i - 1, &now))
			r = adopt(txn, i - 1, &now);
		else if (r == 0)
			r = item->action == TXN_TAKE ? has_place(txn, item) : 1;
		if (r > 0 && refuse_written(txn, item, &now, &writers, err) < 0)
			return -ETXTBSY;
		item->stays = r == 0;
		if (r > 0 && made_folder(item)) {
			r = can_go(txn, item);
			item->stays = r == 0;
		}
		if (r < 0)
			return err_sys(err, r, "look at %s", item->path);
	}
	keep_repositories(txn);
	return keep_below(txn, err);
}

static int find_last(const char *state_dir, char id[32], struct err *err)
{
	_cleanup_(freep) struct apply_entry *entries = NULL;
	size_t n = 0;
	int r = applies_list(state_dir, &entries, &n, err);

	for (size_t i = 0; i < n && r == 0; i++)
		if (!entries[i].is_undone) {
			memcpy(id, entries[i].id, sizeof(entries[i].id));
			return 0;
		}
	return r < 0 ? r
		     : err_set(err, ERR_USAGE, -ENOENT,
			       "there is no apply or discard that could be taken back");
}

static int decide(struct txn *txn, const struct apply_progress *progress, struct err *err)
{
	int r = txn_write_undo(txn, err);

	if (r == 0)
		r = txn_set_pending(txn, true, err);
	if (r == 0)
		r = txn_reload(txn, progress, err);
	if (r == 0 && txn->is_adopted)
		r = txn_write_made(txn, err);
	if (r == 0 && txn->is_adopted)
		r = txn_write_left(txn, err);
	if (r == 0)
		r = txn_write_stays(txn, err);
	if (r == 0)
		r = txn_sync(txn, err);
	if (r == 0)
		r = txn_mark(txn, TXN_UNDOING, true, err);
	if (r < 0 && txn_drop_stores(txn) == 0)
		txn_set_pending(txn, false, NULL);
	return r;
}

static const char *why_it_stays(const struct txn_item *item)
{
	if (!item->stays)
		return "";
	return item->stays_for_others ? "its repository has changed since" : "it has changed since";
}

static int undo(struct txn *txn, const struct apply_progress *progress, struct apply_report *report,
		struct err *err)
{
	struct err why = {0};
	size_t n = 0;
	bool back;
	int r = judge(txn, progress, err);

	for (size_t i = 0; i < txn->n_items && r == 0; i++) {
		const struct txn_item *item = &txn->items[i];

		n += !item->stays;
		if (report_add(report, item->root, item->path, item->kind,
			       item->stays ? APPLY_CHANGED : APPLY_DONE, 0, why_it_stays(item)) < 0)
			r = err_oom(err);
	}
	if (r < 0 || n == 0)
		return r;
	r = decide(txn, progress, err);
	if (r == 0)
		r = txn_finish_undo(txn, &back, &why, err);
	if (r == 0 && back) {
		if (err)
			*err = why;
		r = why.errnum ? -why.errnum : -EIO;
	}
	if (r == 0)
		snprintf(report->id, sizeof(report->id), "%s", txn->id);
	return r;
}

/* The txn ID and its stage, both locked. */
static int open_both(const char *state_dir, const char *id, struct txn **ret_txn,
		     struct stage **ret_stage, struct err *err)
{
	_cleanup_(stage_freep) struct stage *stage = NULL;
	_cleanup_(txn_freep) struct txn *txn = NULL;
	_cleanup_(fd_closep) int applies = -1, lock = -1;
	int r = applies_open(state_dir, false, &applies, err);

	if (r == 0)
		r = applies_lock(applies, &lock, err);
	if (r == 0)
		r = txn_load(state_dir, applies, take_fd(lock), id, &txn, err);
	if (r == -ENOENT)
		return err_set(err, ERR_USAGE, r, "there is no apply %s", id);
	if (r == 0)
		r = stage_open(state_dir, txn->stage_name, false, &stage, err);
	if (r == -ENOENT) {
		err_set(err, ERR_USAGE, r, "the stage %s of apply %s is gone", txn->stage_name, id);
		return err_hint(err, r,
				"what was before that: pale undo --list, then pale undo ID");
	}
	if (r == 0)
		r = stage_lock(stage, true, err);
	if (r == 0)
		r = txn_open_roots(txn, stage, err);
	if (r < 0)
		return r;
	*ret_txn = take_ptr(txn);
	*ret_stage = take_ptr(stage);
	return 0;
}

int stage_undo(const char *state_dir, const char *id, const struct apply_progress *progress,
	       struct apply_report **ret, struct err *err)
{
	_cleanup_(apply_report_freep) struct apply_report *report = NULL;
	_cleanup_(stage_freep) struct stage *stage = NULL;
	_cleanup_(txn_freep) struct txn *txn = NULL;
	char last[32] = "";
	int r = 0;

	if (!id) {
		r = find_last(state_dir, last, err);
		id = last;
	}
	if (r == 0)
		r = open_both(state_dir, id, &txn, &stage, err);
	if (r < 0)
		return r;
	if (txn->state != TXN_DONE)
		return err_set(err, ERR_USAGE, -EINVAL, "%s was taken back already", id);
	report = calloc(1, sizeof(*report));
	if (!report)
		return err_oom(err);
	r = undo(txn, progress, report, err);
	if (r == 0 && *report->id)
		synced_note(stage);
	if (r == 0)
		*ret = take_ptr(report);
	return r;
}
