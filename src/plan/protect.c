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

enum { VIEWS_MAX = 4 };

/* The folder of the items that are looked at. As long as none of the names in it is a place or
 * hidden by itself, all of them are shown where the folder is. */
struct folder {
	const char *dir;  /* one of the protection's; NULL: none yet */
	const char *kept; /* the plan's copy of it */
	bool is_plain;
	bool is_inner; /* protected with a folder around it */
	struct view {
		const struct place *place; /* writable, and what decides there */
		char *inside;
		bool is_pinned;
	} views[VIEWS_MAX];
	size_t len;
};

struct protect {
	const struct protection *protection;
	const struct places *places;
	const struct strv *hides;
	struct plan *plan;
	struct strv *pins, *readonly;
	struct folder folder;
};

static bool is_bound(const struct protected_path *item)
{
	return item->type == PROTECTED_FILE || item->type == PROTECTED_DIR;
}

/* Is PATH at ITEM or below it? */
static bool item_covers(const struct protected_path *item, const char *path)
{
	size_t dir = strcmp(item->dir, "/") == 0 ? 0 : strlen(item->dir);
	size_t name = strlen(item->name);

	if (strncmp(path, item->dir, dir) != 0 || path[dir] != '/' ||
	    strncmp(path + dir + 1, item->name, name) != 0)
		return false;
	path += dir + 1 + name;
	return *path == '/' || !*path;
}

bool protection_covers(const struct protection *protection, const char *path)
{
	for (size_t i = 0; i < protection->len; i++)
		if (is_bound(&protection->items[i]) && item_covers(&protection->items[i], path))
			return true;
	return false;
}

/* What lies in a protected folder is protected with it. Is DIR one, or in one? */
static bool is_inner(const struct protection *protection, const char *dir)
{
	for (size_t i = 0; i < protection->len; i++)
		if (protection->items[i].type == PROTECTED_DIR &&
		    item_covers(&protection->items[i], dir))
			return true;
	return false;
}

/* Is PATH a name in DIR, which is not the root? */
static bool is_name_in(const char *dir, const char *path)
{
	if (!path || !path_covers(dir, path))
		return false;
	path += strlen(dir);
	return *path && !strchr(path + 1, '/');
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
	return r < 0 ? r : plan_add_guard(p->plan, p->folder.kept, item, bound ? path : NULL);
}

static int protect_singly(struct protect *p, const struct protected_path *item)
{
	_cleanup_(freep) char *path = path_join(item->dir, item->name);
	int r = 0;

	if (!path)
		return -ENOMEM;
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

static void folder_release(struct folder *folder)
{
	for (size_t i = 0; i < folder->len; i++)
		free(folder->views[i].inside);
	folder->len = 0;
}

/* Where PLACE shows the folder. Takes INSIDE. */
static void add_view(struct protect *p, const struct place *place, char *inside)
{
	struct folder *folder = &p->folder;

	for (size_t i = 0; i < p->places->len && folder->is_plain; i++)
		folder->is_plain = !is_name_in(inside, p->places->items[i].dst);
	for (size_t i = 0; i < p->hides->len && folder->is_plain; i++)
		folder->is_plain = !is_name_in(inside, p->hides->items[i]);
	if (places_at(p->places, inside) != place || paths_cover(p->hides, inside)) {
		free(inside);
	} else if (folder->len == VIEWS_MAX) {
		folder->is_plain = false;
		free(inside);
	} else {
		folder->views[folder->len++] = (struct view){.place = place, .inside = inside};
	}
}

static int enter_folder(struct protect *p, const char *dir)
{
	struct folder *folder = &p->folder;

	folder_release(folder);
	*folder = (struct folder){.dir = dir,
				  .kept = plan_guarded_dir(p->plan, dir),
				  .is_plain = !str_eq(dir, "/"),
				  .is_inner = is_inner(p->protection, dir)};
	if (!folder->kept)
		return -ENOMEM;
	for (size_t i = 0; i < p->places->len && folder->is_plain && !folder->is_inner; i++) {
		const struct place *place = &p->places->items[i];
		char *inside;

		if (is_name_in(dir, place->src))
			folder->is_plain = false;
		if (place->access != ACCESS_WRITE || !path_covers(place->src, dir))
			continue;
		inside = place_name_of(place, dir);
		if (!inside)
			return -ENOMEM;
		add_view(p, place, inside);
	}
	return 0;
}

static int protect_in(struct protect *p, const struct protected_path *item, struct view *view)
{
	const struct folder *folder = &p->folder;
	_cleanup_(freep) char *path = NULL;

	if (view->is_pinned && item->type != PROTECTED_PARENT && !is_bound(item))
		return plan_add_guard(p->plan, folder->kept, item, NULL);
	path = path_join(view->inside, item->name);
	view->is_pinned = true;
	return path ? protect_at(p, item, view->place, path) : -ENOMEM;
}

static int protect_item(struct protect *p, const struct protected_path *item)
{
	struct folder *folder = &p->folder;
	int r = item->dir == folder->dir ? 0 : enter_folder(p, item->dir);

	if (r < 0 || folder->is_inner)
		return r;
	if (!folder->is_plain)
		return protect_singly(p, item);
	for (size_t i = 0; i < folder->len && r == 0; i++)
		r = protect_in(p, item, &folder->views[i]);
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
	folder_release(&p.folder);
	return r;
}
