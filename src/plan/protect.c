/* SPDX-License-Identifier: MIT */
#include "plan/protect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/op.h"
#include "plan/place.h"
#include "plan/protected.h"

struct protect {
	const struct protection *protection;
	const struct places *places;
	const struct strv *hides;
	struct plan *plan;
	struct strv *pins, *readonly;
};

static bool is_bound(const struct protected_path *item)
{
	return item->type == PROTECTED_FILE || item->type == PROTECTED_DIR;
}

/* Is PATH at ITEM or below it? */
static bool item_covers(const struct protected_path *item, const char *path, bool strictly)
{
	size_t dir = strcmp(item->dir, "/") == 0 ? 0 : strlen(item->dir);
	size_t name = strlen(item->name);

	if (strncmp(path, item->dir, dir) != 0 || path[dir] != '/' ||
	    strncmp(path + dir + 1, item->name, name) != 0)
		return false;
	path += dir + 1 + name;
	return *path == '/' || (!*path && !strictly);
}

bool protection_covers(const struct protection *protection, const char *path)
{
	for (size_t i = 0; i < protection->len; i++)
		if (is_bound(&protection->items[i]) &&
		    item_covers(&protection->items[i], path, false))
			return true;
	return false;
}

/* What lies in a protected folder is protected with it. */
static bool is_inner(const struct protection *protection, const char *path)
{
	for (size_t i = 0; i < protection->len; i++)
		if (protection->items[i].type == PROTECTED_DIR &&
		    item_covers(&protection->items[i], path, true))
			return true;
	return false;
}

/* ITEM, which PLACE shows as PATH. */
static int protect_at(struct protect *p, const struct protected_path *item,
		      const struct place *place, const char *path)
{
	bool bound = is_bound(item);
	int r = place_pin_parents(place, path, p->pins);

	if (r == 0 && item->type == PROTECTED_PARENT && strcmp(place->dst, path) != 0)
		r = strv_add(p->pins, path);
	if (r == 0 && bound)
		r = strv_add(p->readonly, path);
	return r < 0 ? r
		     : plan_add_guard(p->plan, item->dir, item->name, bound ? path : NULL,
				      item->link, item->id);
}

static int protect_item(struct protect *p, const struct protected_path *item)
{
	_cleanup_(freep) char *path = path_join(item->dir, item->name);
	int r = 0;

	if (!path)
		return -ENOMEM;
	if (is_inner(p->protection, path))
		return 0;
	for (size_t i = 0; i < p->places->len && r == 0; i++) {
		const struct place *place = &p->places->items[i];
		_cleanup_(freep) char *inside = NULL;

		if (place->access != ACCESS_WRITE || !path_covers(place->src, path))
			continue;
		inside = place_name_of(place, path);
		if (!inside)
			return -ENOMEM;
		if (places_at(p->places, inside) == place && !paths_cover(p->hides, inside))
			r = protect_at(p, item, place, inside);
	}
	return r;
}

int protect_compile(const struct protection *protection, const struct places *places,
		    const struct strv *hides, struct plan *plan, struct strv *pins,
		    struct strv *readonly)
{
	struct protect p = {.protection = protection,
			    .places = places,
			    .hides = hides,
			    .plan = plan,
			    .pins = pins,
			    .readonly = readonly};
	int r = 0;

	for (size_t i = 0; i < protection->len && r == 0; i++)
		r = protect_item(&p, &protection->items[i]);
	return r;
}
