/* SPDX-License-Identifier: MIT */
#include "stage/txn-run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "stage/access.h"
#include "stage/txn-order.h"
#include "stage/txn.h"

enum { TRIES = 8 };

static int rename2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	int r;

	do
		r = sys_result(syscall(SYS_renameat2, from_dir, from, to_dir, to, flags));
	while (r == -EINTR);
	return r;
}

/* An item, where it is, and what is on both sides now. */
struct place {
	struct txn_item *item;
	int parent, store;
	const char *name;
	char key[24];
	struct node base, other;
};

static void place_release(struct place *place)
{
	place->parent = fd_close(place->parent);
	node_release(&place->base);
	node_release(&place->other);
}

static int look_at_base(struct place *place)
{
	node_release(&place->base);
	return node_read(place->parent, place->name, &place->base);
}

static int look_at_store(struct place *place)
{
	node_release(&place->other);
	return node_read(place->store, place->key, &place->other);
}

static int place_begin(struct txn *txn, size_t i, struct place *place)
{
	struct txn_item *item = &txn->items[i];

	*place = (struct place){
		.item = item, .store = txn->roots[item->root].store_fd, .parent = -1};
	txn_key(i, place->key);
	return look_at_store(place);
}

static int place_open(const struct txn *txn, struct place *place)
{
	const struct txn_item *item = place->item;

	place->parent = open_parent(txn->roots[item->root].base_fd, item->path, &place->name);
	return place->parent < 0 ? place->parent : look_at_base(place);
}

static bool is_it(const struct node *now, const struct node *wanted)
{
	return now->type != NODE_ABSENT && now->type == wanted->type && now->ino == wanted->ino;
}

/* Is what came out of the base what was expected there? 1, 0 or -errno. */
static int is_expected(const struct place *place, const struct node *wanted)
{
	const struct node *got = &place->other;
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(fd_closep) int fd = -1;
	int r;

	if (got->type != NODE_DIR)
		return node_is_unmoved(got, wanted);
	if (!is_it(got, wanted))
		return 0;
	fd = path_open_nolink(place->store, place->key, O_RDONLY | O_DIRECTORY, 0);
	r = fd < 0 ? fd : dir_names(fd, &names);
	return r < 0 ? r : names.len == 0;
}

/* The same of what a rename has just taken. */
static int took_expected(struct place *place, const struct node *wanted)
{
	int r = look_at_store(place);

	return r < 0 ? r : is_expected(place, wanted);
}

/* Somebody saved before the exchange: theirs goes back. They may save again meanwhile, so what
 * comes out for it must be what lay there before, PLACED; else that is the newest. */
static void exchange_back(struct place *place, struct node *placed)
{
	for (int try = 0; try < TRIES; try++) {
		struct node back = place->other;

		place->other = (struct node){0};
		if (rename2(place->store, place->key, place->parent, place->name, RENAME_EXCHANGE) <
			    0 ||
		    look_at_store(place) < 0 || node_is_unmoved(&place->other, placed)) {
			node_release(&back);
			return;
		}
		node_release(placed);
		*placed = back;
	}
}

static int take(struct place *place, const struct node *wanted)
{
	int r = rename2(place->parent, place->name, place->store, place->key, RENAME_NOREPLACE);

	if (r < 0)
		return r;
	r = took_expected(place, wanted);
	if (r > 0)
		return 0;
	rename2(place->store, place->key, place->parent, place->name, RENAME_NOREPLACE);
	return r < 0 ? r : -ESTALE;
}

static int put(struct place *place)
{
	int r = rename2(place->store, place->key, place->parent, place->name, RENAME_NOREPLACE);

	return r == -EEXIST ? -ESTALE : r;
}

static int swap(struct place *place, const struct node *wanted)
{
	_cleanup_(node_release) struct node placed = place->other;
	int r;

	place->other = (struct node){0};
	r = rename2(place->store, place->key, place->parent, place->name, RENAME_EXCHANGE);
	if (r < 0)
		return r;
	r = took_expected(place, wanted);
	if (r > 0)
		return 0;
	exchange_back(place, &placed);
	return r < 0 ? r : -ESTALE;
}

/* What is in the store tells whether a step is still to be made: the folder that it
 * was in may not be there, or be something else. */
static bool is_settled(const struct txn_item *item, const struct node *other, bool forward)
{
	if (item->action == TXN_TAKE)
		return forward ? is_it(other, &item->old) : other->type == NODE_ABSENT;
	return !forward && is_it(other, &item->made);
}

/* Of the upper layers; stays open for the next item. */
struct staged_folder {
	struct folder folder;
	unsigned root;
};

static void staged_folder_release(struct staged_folder *last)
{
	folder_release(&last->folder);
}

/* The folder of the staged file itself, which is what ITEM puts: -ESTALE where it is not
 * any more. */
static int open_staged(const struct txn *txn, const struct txn_item *item,
		       struct staged_folder *last, const char **ret_name)
{
	_cleanup_(node_release) struct node now = {0};
	int parent, r;

	if (item->root != last->root)
		folder_release(&last->folder);
	last->root = item->root;
	parent = folder_parent(&last->folder, txn->roots[item->root].upper_fd, item->path,
			       ret_name);
	if (parent < 0)
		return is_absent(parent) ? -ESTALE : parent;
	r = node_read(parent, *ret_name, &now);
	if (r < 0)
		return r;
	return node_is_unmoved(&now, &item->made) ? parent : -ESTALE;
}

static int put_staged(const struct txn *txn, struct place *place, struct staged_folder *last)
{
	const char *name;
	int parent = open_staged(txn, place->item, last, &name);
	int r = parent < 0 ? parent
			   : rename2(parent, name, place->parent, place->name, RENAME_NOREPLACE);

	return r == -EEXIST ? -ESTALE : r;
}

/* It never left the stage: there is nothing to take back. 1, 0 or -errno. */
static int is_still_staged(const struct txn *txn, const struct place *place,
			   struct staged_folder *last)
{
	const char *name;
	int r;

	if (place->other.type != NODE_ABSENT || !txn_is_shared(txn, place->item))
		return 0;
	r = open_staged(txn, place->item, last, &name);
	return r == -ESTALE ? 0 : r < 0 ? r : 1;
}

static int forward_one(const struct txn *txn, struct place *place, struct staged_folder *last)
{
	struct txn_item *item = place->item;

	switch (item->action) {
	case TXN_PUT:
		if (is_it(&place->base, &item->made))
			return 0;
		if (is_it(&place->other, &item->made))
			return put(place);
		return txn_is_shared(txn, item) ? put_staged(txn, place, last) : -ESTALE;
	case TXN_TAKE:
		return is_it(&place->base, &item->old) ? take(place, &item->old) : -ESTALE;
	case TXN_SWAP:
		if (is_it(&place->base, &item->made)) {
			int r = is_expected(place, &item->old);

			return r > 0 ? 0 : r < 0 ? r : -ESTALE;
		}
		return is_it(&place->base, &item->old) && is_it(&place->other, &item->made)
			       ? swap(place, &item->old)
			       : -ESTALE;
	case TXN_NONE:
		break;
	}
	return 0;
}

/* As it was put there, and not written to since. */
static bool is_ours(const struct place *place)
{
	const struct node *made = &place->item->made;

	return is_it(&place->base, made) &&
	       (made->type == NODE_DIR || node_is_unmoved(&place->base, made));
}

/* What the store has and we did not make is from the base, also when it is not what was expected
 * there and we were killed before it could go back. A store in the base is not ours alone. */
static bool is_from_base(const struct txn *txn, const struct place *place)
{
	const struct txn_item *item = place->item;

	return is_it(&place->other, &item->old) ||
	       (!txn->roots[item->root].is_apart && place->other.type != NODE_ABSENT &&
		!is_it(&place->other, &item->made));
}

/* Nobody else's work is touched: -ESTALE. */
static int backward_one(const struct txn *txn, struct place *place)
{
	struct txn_item *item = place->item;

	switch (item->action) {
	case TXN_PUT:
		if (!is_it(&place->base, &item->made))
			return 0;
		return is_ours(place) ? take(place, &item->made) : -ESTALE;
	case TXN_TAKE:
		if (is_it(&place->base, &item->old))
			return 0;
		return is_from_base(txn, place) ? put(place) : -ESTALE;
	case TXN_SWAP:
		if (is_it(&place->base, &item->old))
			return 0;
		if (!is_from_base(txn, place))
			return -ESTALE;
		if (place->base.type == NODE_ABSENT)
			return put(place);
		return is_ours(place) ? swap(place, &item->made) : -ESTALE;
	case TXN_NONE:
		break;
	}
	return 0;
}

static void wait_a_little(int try)
{
	struct timespec time = {.tv_nsec = 500000L << try};

	nanosleep(&time, NULL);
}

/* A folder above may be renamed at this very moment, a disk may answer again. */
static int one(struct txn *txn, size_t i, bool forward, struct staged_folder *last)
{
	int r = 0;

	for (int try = 0; try < TRIES; try++) {
		_cleanup_(place_release) struct place place = {.parent = -1};

		if (try > 0)
			wait_a_little(try);
		r = place_begin(txn, i, &place);
		if (r == 0 && is_settled(place.item, &place.other, forward))
			return 0;
		if (r == 0 && !forward)
			r = is_still_staged(txn, &place, last);
		if (r > 0)
			return 0;
		if (r == 0)
			r = place_open(txn, &place);
		if (r == 0)
			r = forward ? forward_one(txn, &place, last) : backward_one(txn, &place);
		if (r == 0 || r == -ESTALE || r == -ENOSPC || r == -EDQUOT || r == -EROFS ||
		    r == -EXDEV)
			break;
	}
	return r;
}

static bool lacks_permission(const struct node *dir)
{
	return dir->type == NODE_DIR && (dir->mode & 0700) != 0700 && geteuid() != 0 &&
	       dir->uid == geteuid();
}

/* A folder that stays keeps its mode, too: to us it is not there. */
static int open_dir(const struct txn *txn, const struct txn_dir *dir)
{
	size_t i = txn_find_item(txn, dir->root, dir->path);

	if (i != (size_t)-1 && txn->items[i].stays)
		return -ENOENT;
	return path_open_nolink(txn->roots[dir->root].base_fd, *dir->path ? dir->path : ".",
				O_PATH | O_DIRECTORY, 0);
}

/* Its owner may write into a folder that says otherwise, after a word. */
static int relax(struct txn *txn, struct err *err)
{
	for (size_t i = 0; i < txn->n_dirs; i++) {
		const struct txn_dir *dir = &txn->dirs[i];
		_cleanup_(fd_closep) int fd = -1;
		struct stat st;
		int r;

		if (!lacks_permission(&dir->before) && (dir->mode & 0700) == 0700)
			continue;
		fd = open_dir(txn, dir);
		if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
			continue;
		r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
		if (r == 0 && st.st_uid == geteuid() && geteuid() != 0 &&
		    (st.st_mode & 0700) != 0700)
			r = fd_chmod(fd, (st.st_mode & 07777) | 0700);
		if (r < 0)
			return err_sys(err, r, "open %s for writing", dir->path);
	}
	return 0;
}

/* Is it the folder that was planned with? Others may have put another in its place, which
 * is not theirs to change. */
static bool is_planned(const struct txn *txn, const struct txn_dir *dir, const struct stat *st)
{
	size_t i = txn_find_item(txn, dir->root, dir->path);

	if (dir->before.type == NODE_DIR && dir->before.ino == st->st_ino)
		return true;
	/* Made by us, or from another mount and copied back. */
	return i != (size_t)-1 &&
	       (txn->items[i].made.ino == st->st_ino || txn->items[i].old.ino == st->st_ino);
}

/* Of a folder that only holds items, all that we change is what relax() does. Any other mode
 * is of somebody who set it since. */
static bool is_mode_ours(const struct txn *txn, const struct txn_dir *dir, const struct stat *st)
{
	return txn_find_item(txn, dir->root, dir->path) != (size_t)-1 ||
	       (st->st_mode & 07777) == (dir->before.mode | 0700);
}

/* Only its owner may give a folder a time other than now. That of a folder which is shared with
 * others, and not ours, stays what our writing made it. */
static int set_time(int fd, const struct stat *st, struct timespec mtime)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, mtime};

	if (utimensat(fd, "", times, AT_EMPTY_PATH) == 0)
		return 0;
	return errno == EPERM && st->st_uid != geteuid() ? 0 : -errno;
}

static int set_dir(const struct txn *txn, const struct txn_dir *dir, bool forward)
{
	bool sets_time = forward ? dir->sets_time : dir->before.type == NODE_DIR;
	mode_t mode = forward ? dir->mode : dir->before.mode;
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;
	int r;

	if (!forward && dir->before.type != NODE_DIR)
		return 0;
	fd = open_dir(txn, dir);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0; /* deleted, as it should be, or by somebody else */
	r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && !is_planned(txn, dir, &st))
		return 0;
	if (r == 0 && (st.st_mode & 07777) != mode && is_mode_ours(txn, dir, &st))
		r = fd_chmod(fd, mode);
	if (r == 0 && sets_time)
		r = set_time(fd, &st, forward ? dir->mtime : dir->before.mtime);
	return r;
}

/* Children first: a folder may close itself. */
static int set_dirs(struct txn *txn, bool forward, struct err *err)
{
	for (size_t i = txn->n_dirs; i > 0; i--) {
		const struct txn_dir *dir = &txn->dirs[i - 1];
		int r = 0;

		for (int try = 0; try < TRIES; try++) {
			if (try > 0)
				wait_a_little(try);
			r = set_dir(txn, dir, forward);
			if (r == 0)
				break;
		}
		if (r < 0)
			return err_sys(err, r, "set mode and time of %s",
				       *dir->path ? dir->path : "the workspace");
	}
	return 0;
}

static int explain(const struct txn_item *item, int r, struct err *err)
{
	if (r == -ESTALE)
		return err_set(err, ERR_SYSTEM, r, "%s was changed by somebody else meanwhile",
			       item->path);
	if (r == -EXDEV)
		return err_set(
			err, ERR_UNSUPPORTED, r,
			"nothing can be moved to %s: the folder that it is in is on another file "
			"system, a subvolume, or encrypted by itself",
			item->path);
	if (r != -EINVAL)
		return err_sys(err, r, "change %s", item->path);
	err_set(err, ERR_UNSUPPORTED, r,
		"the file system of %s cannot exchange two files, as network and shared folders",
		item->path);
	return err_hint(err, r, "pale diff | git apply writes what is staged; then pale discard");
}

int txn_forward(struct txn *txn, struct err *err)
{
	_cleanup_(staged_folder_release) struct staged_folder last = {0};
	_cleanup_(freep) size_t *order = NULL;
	size_t n = 0;
	int r = txn_order(txn, &order, &n) < 0 ? err_oom(err) : relax(txn, err);

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct txn_item *item = &txn->items[order[i]];

		if (item->stays)
			continue;
		r = one(txn, order[i], true, &last);
		if (r < 0)
			explain(item, r, err);
	}
	return r < 0 ? r : set_dirs(txn, true, err);
}

int txn_backward(struct txn *txn, struct err *err)
{
	_cleanup_(staged_folder_release) struct staged_folder last = {0};
	_cleanup_(freep) size_t *order = NULL;
	size_t n = 0;
	int r = txn_order(txn, &order, &n) < 0 ? err_oom(err) : relax(txn, err);
	int failed = 0;

	if (r < 0)
		return r;
	/* All that can be taken back is: one that cannot stops nothing else. */
	for (size_t i = n; i > 0; i--) {
		const struct txn_item *item = &txn->items[order[i - 1]];

		if (item->stays)
			continue;
		r = one(txn, order[i - 1], false, &last);
		/* Or the folder that it was in is gone; a link in its place may be gone the next time. */
		if (r == -ESTALE || r == -ENOENT)
			txn->is_partial = true;
		else if (r < 0 && failed == 0)
			failed = explain(item, r, err);
	}
	r = set_dirs(txn, false, failed ? NULL : err);
	return failed ? failed : r;
}
