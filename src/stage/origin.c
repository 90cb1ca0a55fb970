/* SPDX-License-Identifier: MIT */
#include "stage/origin.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "stage/access.h"
#include "stage/roots.h"
#include "stage/upper.h"

struct origin {
	uint64_t size;
	struct timespec mtime, ctime;
};

static int add(struct origins *origins, const struct node *base)
{
	if (base->type != NODE_FILE)
		return 0;
	if (origins->n == origins->cap) {
		size_t cap = origins->cap ? origins->cap * 2 : 64;
		struct origin *grown = reallocarray(origins->items, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		origins->items = grown;
		origins->cap = cap;
	}
	origins->items[origins->n++] = (struct origin){base->size, base->mtime, base->ctime};
	return 0;
}

static int take_entry(void *data, const struct upper_entry *entry)
{
	return add(data, entry->base);
}

static int take_gone(void *data, const struct upper_gone *gone)
{
	return add(data, gone->base);
}

/* What cannot be read is not found. */
static void read_all(struct origins *origins, const struct stage *stage, unsigned root)
{
	struct upper_visitor visitor = {.entry = take_entry, .gone = take_gone, .data = origins};
	_cleanup_(fd_closep) int upper = -1, base = -1;
	struct relaxed relaxed = {0};

	origins_release(origins);
	origins->is_read = true;
	origins->root = root;
	if (root_open_both(stage, root, &upper, &base, NULL) <= 0)
		return;
	(void)upper_walk(upper, base, &visitor, &relaxed, NULL);
	relaxed_restore(&relaxed, upper);
}

bool origins_find(struct origins *origins, const struct stage *stage, unsigned root,
		  const struct node *upper, struct timespec t0)
{
	/* Many files have one time where somebody gave it to them. */
	if (upper->mtime.tv_nsec == 0)
		return false;
	if (!origins->is_read || origins->root != root)
		read_all(origins, stage, root);
	for (size_t i = 0; i < origins->n; i++) {
		const struct origin *origin = &origins->items[i];

		if (origin->size == upper->size &&
		    timespec_compare(origin->mtime, upper->mtime) == 0 &&
		    timespec_compare(origin->ctime, t0) <= 0)
			return true;
	}
	return false;
}

void origins_release(struct origins *origins)
{
	free(origins->items);
	*origins = (struct origins){0};
}
