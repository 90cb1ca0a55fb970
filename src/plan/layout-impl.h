/* SPDX-License-Identifier: MIT */
/* layout-impl - what the two halves of layout share: places, and operations. */
#pragma once
#include <stdbool.h>

#include "base/str.h"
#include "plan/place.h"

struct err;
struct host;
struct plan;
struct site;
struct site_path;
struct spec;

struct layout {
	struct plan *plan;
	const struct spec *spec;
	const struct host *host;
	const struct site *site;
	size_t site_next; /* of its paths: where to begin to look for one */
	bool whole_root;  /* the host's "/" is the root */
	bool write_root;
	bool bare;          /* no mounts: what is allowed is a list of rules */
	bool staged;        /* what is written goes to a stage */
	struct strv hidden; /* existing paths, without links, none below another */
	struct places places;
	struct strv hides, pins, readonly; /* as seen inside */
	struct strv sockets, socket_pins;  /* the same, of what may end at any time */
};

/* What is at a path that the spec names. */
const struct site_path *layout_find_site(struct layout *l, const char *path);
/* /proc, /dev and /sys are the sandbox's own. */
bool layout_is_kernel_path(const char *path);
/* Is it, or a folder around it? PATH as seen inside, once l->hides is filled. */
bool layout_is_hidden(const struct layout *l, const char *path);
/* Fill l->hidden and l->places; not settled yet. */
int layout_collect_hidden(struct layout *l, struct err *err);
int layout_collect_places(struct layout *l, struct err *err);
/* Which of the settled places are the stage's. */
int layout_stage(struct layout *l, struct err *err);
/* What is hidden of SITE->bound, once everything else is; then, as operations, what keeps it in
 * its place, and what hides it. 0 or -ENOMEM. */
int layout_hide_sockets(struct layout *l);
int layout_pin_sockets(struct layout *l);
int layout_emit_sockets(struct layout *l);
