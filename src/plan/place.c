/* SPDX-License-Identifier: MIT */
#include "plan/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

enum { FEW = 32 };

int places_add(struct places *places, struct place place)
{
	if (places->len == places->cap) {
		size_t cap = places->cap ? places->cap * 2 : 32;
		struct place *grown = reallocarray(places->items, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		places->items = grown;
		places->cap = cap;
	}
	places->items[places->len++] = place;
	return 0;
}

void places_release(struct places *places)
{
	free(places->items);
	*places = (struct places){0};
}

bool places_show(const struct places *places, const char *path)
{
	for (size_t i = 0; i < places->len; i++) {
		const struct place *place = &places->items[i];

		if (place->access != ACCESS_PRIVATE && !place->is_root && !place->is_system &&
		    path_covers(place->dst, path))
			return true;
	}
	return false;
}

static bool is_hidden(const struct place *place, const struct strv *hidden)
{
	if (place->access == ACCESS_PRIVATE || place->is_root)
		return false;
	return paths_cover(hidden, place->dst) ||
	       (!place->is_cache && paths_cover(hidden, place->src));
}

/* By path, and of one path the loosest first: it is the one that counts. */
static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->dst, y->dst);

	return order ? order : (int)y->access - (int)x->access;
}

/* qsort() has much to do before it begins. */
static void sort(struct places *places)
{
	struct place *items = places->items;

	if (places->len > FEW) {
		qsort(items, places->len, sizeof(*items), compare);
		return;
	}
	for (size_t i = 1; i < places->len; i++) {
		struct place place = items[i];
		size_t at = i;

		for (; at > 0 && compare(&items[at - 1], &place) > 0; at--)
			items[at] = items[at - 1];
		items[at] = place;
	}
}

/* The first of the sorted ITEMS that is at the first PART bytes of PATH, or NULL. */
static const struct place *find_at(const struct place *items, size_t len, const char *path,
				   size_t part)
{
	size_t low = 0, high = len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (path_compare_part(path, part, items[middle].dst) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < len && path_compare_part(path, part, items[low].dst) == 0 ? &items[low] : NULL;
}

/* The first of those with the longest path around PATH: in this order longer ones come later.
 * A few are compared sooner than searched. */
static const struct place *nearest(const struct place *items, size_t len, const char *path)
{
	const struct place *found = NULL;

	for (size_t i = 0; len <= FEW && i < len; i++)
		if (path_covers(items[i].dst, path) &&
		    !(found && strcmp(found->dst, items[i].dst) == 0))
			found = &items[i];
	if (len <= FEW)
		return found;
	for (size_t part = strlen(path); part > 0 && !found; part = path_folder_len(path, part))
		found = find_at(items, len, path, part);
	return found;
}

static bool adds_nothing(const struct place *place, const struct place *around)
{
	if (!around)
		return false;
	if (strcmp(around->dst, place->dst) == 0)
		return !around->is_root;
	if (around->access == ACCESS_PRIVATE || place->access == ACCESS_PRIVATE ||
	    place->is_socket || place->is_cache)
		return false;
	return place->access <= around->access;
}

void places_settle(struct places *places, const struct strv *hidden)
{
	size_t kept = 0;

	if (places->len == 0)
		return;
	sort(places);
	for (size_t i = 0; i < places->len; i++) {
		const struct place *place = &places->items[i];

		if (!is_hidden(place, hidden) &&
		    !adds_nothing(place, nearest(places->items, kept, place->dst)))
			places->items[kept++] = *place;
	}
	places->len = kept;
}

int places_insert(struct places *places, struct place place)
{
	int r = places_add(places, place);

	if (r == 0)
		sort(places);
	return r;
}

const struct place *places_at(const struct places *places, const char *path)
{
	return nearest(places->items, places->len, path);
}

char *place_name_of(const struct place *place, const char *path)
{
	const char *rest = path + (strcmp(place->src, "/") == 0 ? 0 : strlen(place->src));

	return *rest ? path_join(place->dst, rest) : strdup(place->dst);
}

int place_pin_parents(const struct place *place, const char *path, struct strv *pins)
{
	size_t top = strcmp(place->dst, "/") == 0 ? 0 : strlen(place->dst);
	int r = 0;

	if (!path[top])
		return 0; /* the place itself */
	for (const char *p = strchr(path + top + 1, '/'); p && r == 0; p = strchr(p + 1, '/'))
		r = strv_addn(pins, path, (size_t)(p - path));
	return r;
}
