/* SPDX-License-Identifier: MIT */
#include "stage/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/tree-remove.h"
#include "stage/access.h"
#include "stage/apply.h"
#include "stage/txn.h"

enum { KEPT = 20 };

static bool is_id(const char *name)
{
	return strlen(name) == 22 && strspn(name, "0123456789-") == 22;
}

/* Oldest first. */
static int list_ids(int applies_fd, struct strv *ret)
{
	_cleanup_(fd_closep) int fd = openat(applies_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(strv_release) struct strv names = {0};
	int r = fd < 0 ? -errno : dir_names(fd, &names);

	for (size_t i = 0; i < names.len && r == 0; i++)
		if (is_id(names.items[i]))
			r = strv_add(ret, names.items[i]);
	return r;
}

void history_prune(const struct txn *txn)
{
	_cleanup_(strv_release) struct strv ids = {0};

	if (list_ids(txn->applies_fd, &ids) < 0)
		return;
	for (size_t i = 0; i + KEPT < ids.len; i++)
		if (!str_eq(ids.items[i], txn->id))
			tree_remove(txn->applies_fd, ids.items[i]);
}

static size_t root_of(const struct txn *txn, const char *path)
{
	for (size_t i = 0; i < txn->n_roots; i++)
		if (txn->roots[i].base_fd >= 0 && str_eq(txn->roots[i].path, path))
			return i;
	return (size_t)-1;
}

/* ITEM is of an earlier one. False: TXN has not returned what that had left. */
static bool take_ctime(const struct txn *txn, size_t root, struct txn_item *item)
{
	size_t i = txn_find_item(txn, (unsigned)root, item->path);
	_cleanup_(node_release) struct node now = {0};
	_cleanup_(fd_closep) int parent = -1;
	const char *name;

	if (i == (size_t)-1 || !node_is_same(&txn->items[i].old, &item->left))
		return false;
	parent = open_parent(txn->roots[root].base_fd, item->path, &name);
	if (parent < 0 || node_read(parent, name, &now) < 0 || !node_is_unmoved(&now, &item->left))
		return false;
	item->left.ctime = now.ctime;
	return true;
}

static void tell(const struct txn *txn, const char *id)
{
	_cleanup_(txn_freep) struct txn *earlier = NULL;
	bool any = false;

	if (txn_load(txn->state_dir, txn->applies_fd, -1, id, &earlier, NULL) < 0 ||
	    earlier->state != TXN_DONE)
		return;
	for (size_t i = 0; i < earlier->n_items; i++) {
		struct txn_item *item = &earlier->items[i];
		size_t root = root_of(txn, earlier->roots[item->root].path);

		/* Others are compared with what was staged. */
		if (root != (size_t)-1 && txn_is_shared(earlier, item))
			any |= take_ctime(txn, root, item);
	}
	if (any)
		(void)txn_write_left(earlier, NULL);
}

/* Had it taken a file out of the base? */
static bool took_any(const struct txn *txn)
{
	for (size_t i = 0; i < txn->n_items; i++)
		if (txn->items[i].action != TXN_NONE && txn->items[i].old.type == NODE_FILE)
			return true;
	return false;
}

void history_returned(const struct txn *txn)
{
	_cleanup_(strv_release) struct strv ids = {0};

	if (!took_any(txn) || list_ids(txn->applies_fd, &ids) < 0)
		return;
	for (size_t i = 0; i < ids.len; i++)
		if (!str_eq(ids.items[i], txn->id))
			tell(txn, ids.items[i]);
}

static int read_entry(const char *state_dir, int applies_fd, const char *id,
		      struct apply_entry *ret)
{
	_cleanup_(txn_freep) struct txn *txn = NULL;
	int r = txn_load(state_dir, applies_fd, -1, id, &txn, NULL);

	if (r < 0)
		return r;
	if (txn->state != TXN_DONE && txn->state != TXN_UNDONE)
		return -ENOENT;
	*ret = (struct apply_entry){.is_discard = txn->is_discard,
				    .is_undone = txn->state == TXN_UNDONE,
				    .n_items = txn->n_items};
	snprintf(ret->id, sizeof(ret->id), "%s", id);
	snprintf(ret->stage, sizeof(ret->stage), "%s", txn->stage_name);
	return 0;
}

int applies_list(const char *state_dir, struct apply_entry **ret, size_t *ret_n, struct err *err)
{
	_cleanup_(strv_release) struct strv ids = {0};
	_cleanup_(fd_closep) int fd = -1;
	struct apply_entry *entries;
	size_t n = 0;
	int r = applies_open(state_dir, false, &fd, err);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0)
		r = list_ids(fd, &ids);
	if (r < 0 && r != -ENOENT)
		return err_sys(err, r, "list %s/applies", state_dir);
	entries = calloc(ids.len + 1, sizeof(*entries));
	if (!entries)
		return err_oom(err);
	for (size_t i = ids.len; i > 0; i--)
		n += read_entry(state_dir, fd, ids.items[i - 1], &entries[n]) == 0;
	*ret = entries;
	*ret_n = n;
	return 0;
}
