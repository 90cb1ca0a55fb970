/* SPDX-License-Identifier: MIT */
/*
 * Sockets of the host's processes, where the sandbox shows their files.
 *
 * An overlay has files of its own, to which nobody is bound: there they stay as they are, and
 * can be removed like any other. A server may end while the sandbox is made, and its file and
 * folder with it: each operation is optional.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "plan/host.h"
#include "plan/layout-impl.h"
#include "plan/op.h"
#include "plan/plan.h"

static bool shows_files_of_host(const struct place *place)
{
	return (place->access == ACCESS_READ || place->access == ACCESS_WRITE) &&
	       !place->is_staged && !place->is_part && !place->is_socket;
}

static int hide_socket(struct layout *l, const char *path)
{
	int r = 0;

	for (size_t i = 0; i < l->places.len && r == 0; i++) {
		const struct place *place = &l->places.items[i];
		_cleanup_(freep) char *name = NULL;

		if (!shows_files_of_host(place) || !path_covers(place->src, path))
			continue;
		name = place_name_of(place, path);
		if (!name)
			return -ENOMEM;
		if (places_at(&l->places, name) != place || layout_is_hidden(l, name) ||
		    layout_is_kernel_path(name))
			continue;
		r = strv_add(&l->sockets, name);
		/* Whoever moved it would find it under another name than the next run does.
		 * Where everything is writable, files are no boundary anyway. */
		if (r == 0 && place->access == ACCESS_WRITE && !l->write_root)
			r = place_pin_parents(place, name, &l->socket_pins);
	}
	return r;
}

int layout_hide_sockets(struct layout *l)
{
	int r = 0;

	/* Without mounts of its own a sandbox has no local sockets at all. */
	for (size_t i = 0; i < l->site->bound.len && r == 0 && !l->bare; i++)
		r = hide_socket(l, l->site->bound.items[i]);
	strv_sort_unique(&l->sockets);
	strv_sort_unique(&l->socket_pins);
	return r;
}

static bool is_pinned(const struct layout *l, const char *path)
{
	for (size_t i = 0; i < l->readonly.len; i++)
		if (path_covers(l->readonly.items[i], path))
			return true;
	return strv_has(&l->pins, path);
}

int layout_pin_sockets(struct layout *l)
{
	int r = 0;

	for (size_t i = 0; i < l->socket_pins.len && r == 0; i++)
		if (!is_pinned(l, l->socket_pins.items[i]))
			r = plan_add(l->plan, OP_PIN, NULL, l->socket_pins.items[i], OP_OPTIONAL);
	return r;
}

int layout_emit_sockets(struct layout *l)
{
	int r = 0;

	for (size_t i = 0; i < l->sockets.len && r == 0; i++)
		r = plan_add(l->plan, OP_HIDE, NULL, l->sockets.items[i], OP_OPTIONAL);
	return r;
}
