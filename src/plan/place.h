/* SPDX-License-Identifier: MIT */
/*
 * place - what the sandbox shows at a path.
 *
 * A list of them says what is where before anything is mounted: collected in
 * any order, settled once (what is hidden or adds nothing goes, parents come
 * first), then asked.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/path.h"
#include "base/str.h"

/* Tight to loose. */
enum access {
	ACCESS_PRIVATE, /* an empty folder of the sandbox's own */
	ACCESS_READ,
	ACCESS_OVERLAY, /* writes are thrown away */
	ACCESS_WRITE,
};

struct place {
	const char *dst; /* borrowed, like src */
	const char *src; /* the host's name, without links; NULL when private */
	enum access access;
	unsigned flags; /* OP_IDMAP, OP_FILE */
	mode_t mode;    /* when private */
	struct file_id id;
	bool is_root;   /* the host's "/": there before all others */
	bool is_system; /* shown to everybody */
	bool is_cache;  /* of pale's own state: hidden by its name only */
	bool is_staged; /* a folder of the stage */
	bool is_part;   /* … writable below such a folder */
	bool is_socket; /* an overlay around it would show a name that leads nowhere */
};

struct places {
	struct place *items;
	size_t len, cap;
};

int places_add(struct places *places, struct place place); /* 0 or -ENOMEM */
void places_release(struct places *places);
/* Does a place that somebody asked for show PATH? */
bool places_show(const struct places *places, const char *path);

/* Drop what HIDDEN, which is folded, covers, by either name, and what adds nothing to the folder
 * around it: writable beats readable. Sort by path. */
void places_settle(struct places *places, const struct strv *hidden);

/* A further one, after that; it must be hidden by nothing. */
int places_insert(struct places *places, struct place place); /* 0 or -ENOMEM */
/* After that: the place that decides what is at PATH, or NULL. */
const struct place *places_at(const struct places *places, const char *path);
/* Where the host's PATH appears in PLACE: a new string, or NULL without memory. */
char *place_name_of(const struct place *place, const char *path);
/* Every folder between PLACE, which is writable, and PATH in it: as mount points
 * none can be renamed away for the next run. */
int place_pin_parents(const struct place *place, const char *path, struct strv *pins);
