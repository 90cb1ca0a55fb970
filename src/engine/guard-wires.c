/* SPDX-License-Identifier: MIT */
#include "engine/guard-wires.h"

#include "base/fd.h"
#include "engine/guard.h"
#include "plan/plan.h"

bool wires_needs_both(const struct guard_item *item)
{
	return item->what->dst && !item->what->link;
}

static void count_trip(struct guard *g, int fd)
{
	for (size_t i = 0; i < g->dirs_len; i++) {
		struct guard_dir *dir = &g->dirs[i];

		if (fd == dir->coming) {
			dir->came++;
		} else if (fd == dir->going) {
			dir->went_first |= dir->came == 0;
			dir->went++;
		}
	}
}

/* Was a name of DIR away for a moment? To replace a file means that one more comes
 * than goes: its new version comes, goes as such, and comes as the file, or simply
 * comes from elsewhere. */
static bool may_have_been_vacant(const struct guard_dir *dir)
{
	return dir->went_first || (dir->went > 0 && dir->came <= dir->went);
}

bool wires_take(struct guard *g)
{
	bool tripped = false, overflow = false;
	enum trip trip;
	int fd = -1;

	while ((trip = tripwire_next(&g->tripwire, &fd)) != TRIP_NONE) {
		overflow |= trip == TRIP_OVERFLOW;
		if (trip == TRIP_WIRE)
			count_trip(g, fd);
		tripped = true;
	}
	for (size_t i = 0; i < g->items_len; i++)
		g->items[i].vacant |= overflow || may_have_been_vacant(&g->dirs[g->items[i].dir]);
	return tripped;
}

void wires_cut(struct guard *g)
{
	for (size_t i = 0; i < g->dirs_len; i++) {
		g->dirs[i].coming = fd_close(g->dirs[i].coming);
		g->dirs[i].going = fd_close(g->dirs[i].going);
	}
	tripwire_close(&g->tripwire);
}

static bool lay_wire(struct guard *g, struct guard_item *item)
{
	struct guard_dir *dir = &g->dirs[item->dir];

	if (dir->coming < 0)
		dir->coming = tripwire_add(dir->fd, false);
	if (dir->coming < 0 || !wires_needs_both(item))
		return dir->coming >= 0;
	if (dir->going < 0)
		dir->going = tripwire_add(dir->fd, true);
	return dir->going >= 0;
}

void wires_lay(struct guard *g)
{
	bool laid = tripwire_open(&g->tripwire) == 0;

	for (size_t i = 0; i < g->items_len && laid; i++)
		laid = lay_wire(g, &g->items[i]);
	if (!laid)
		wires_cut(g);
}
