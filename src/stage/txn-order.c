/* SPDX-License-Identifier: MIT */
#include "stage/txn-order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "stage/txn.h"

static bool has(const char *root, const char *name)
{
	_cleanup_(freep) char *path = path_join(root, name);

	return !path || access(path, F_OK) == 0;
}

bool git_is_root(const char *root)
{
	for (const char *at = root; at; at = strchr(at, '/'), at += !!at)
		if (strncasecmp(at, ".git", 4) == 0 && (!at[4] || at[4] == '/'))
			return true;
	/* A bare one; other folders are called so, too. */
	return str_ends(root, ".git") && has(root, "HEAD") && has(root, "objects");
}

const char *git_inside(const char *root, const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/'), at += !!at)
		if (strncasecmp(at, ".git/", 5) == 0)
			return at + 5;
	return git_is_root(root) ? path : NULL;
}

bool git_is_index(const char *root, const char *path)
{
	const char *inside = git_inside(root, path);
	const char *name = inside ? strrchr(inside, '/') : NULL;

	return inside && str_eq(name ? name + 1 : inside, "index");
}

bool git_is_reference(const char *inside)
{
	static const char *const folders[] = {"refs/", "logs/"};
	static const char *const files[] = {"HEAD",      "packed-refs", "index",
					    "ORIG_HEAD", "FETCH_HEAD",  "MERGE_HEAD"};
	const char *name;

	/* Of a worktree or a module, too. */
	for (size_t i = 0; i < array_len(folders); i++)
		if (str_starts(inside, folders[i]))
			return true;
	name = strrchr(inside, '/');
	name = name ? name + 1 : inside;
	for (size_t i = 0; i < array_len(files); i++)
		if (str_eq(name, files[i]))
			return true;
	return str_starts(inside, "worktrees/") || str_starts(inside, "modules/");
}

enum phase {
	PHASE_DELETE,
	PHASE_FOLDERS,
	PHASE_FILES,
	PHASE_REFERENCES,
	PHASE_DELETE_LAST,
};

struct step {
	enum phase phase;
	size_t item;
};

/* Must what is at PATH go before something takes its place above? */
static bool is_below_swap(const struct txn *txn, size_t i, size_t swap)
{
	return swap != (size_t)-1 && txn->items[swap].root == txn->items[i].root &&
	       change_path_below(txn->items[swap].path, txn->items[i].path);
}

static enum phase phase_of(const struct txn *txn, const struct txn_item *item, bool below_swap)
{
	const char *inside = git_inside(txn->roots[item->root].path, item->path);

	if (item->action == TXN_TAKE)
		return inside && !below_swap ? PHASE_DELETE_LAST : PHASE_DELETE;
	if (item->made.type == NODE_DIR || item->staged.type == NODE_DIR)
		return PHASE_FOLDERS;
	return inside && git_is_reference(inside) ? PHASE_REFERENCES : PHASE_FILES;
}

static int compare(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	bool reverse = x->phase == PHASE_DELETE || x->phase == PHASE_DELETE_LAST;

	if (x->phase != y->phase)
		return x->phase < y->phase ? -1 : 1;
	return (x->item < y->item) != reverse ? -1 : 1;
}

int txn_order(const struct txn *txn, size_t **ret, size_t *ret_n)
{
	struct step *steps = calloc(txn->n_items + 1, sizeof(*steps));
	size_t *order = calloc(txn->n_items + 1, sizeof(*order));
	size_t n = 0, swap = (size_t)-1;

	if (!steps || !order) {
		free(steps);
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < txn->n_items; i++) {
		const struct txn_item *item = &txn->items[i];

		if (item->action == TXN_SWAP && item->old.type == NODE_DIR)
			swap = i;
		if (item->action != TXN_NONE)
			steps[n++] = (struct step){
				.phase = phase_of(txn, item, is_below_swap(txn, i, swap)),
				.item = i};
	}
	qsort(steps, n, sizeof(*steps), compare);
	for (size_t i = 0; i < n; i++)
		order[i] = steps[i].item;
	free(steps);
	*ret = order;
	*ret_n = n;
	return 0;
}
