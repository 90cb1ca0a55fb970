/* SPDX-License-Identifier: MIT */
/*
 * bwrap-args - a plan as arguments of bubblewrap.
 *
 * Sources go by descriptor (--bind-fd), so that what is mounted is what was
 * opened and checked: bwrap compares both. Mount points go by name, bwrap knows
 * no other way, and makes those that are missing: so none may be missing where
 * the host would get a new folder.
 */
#pragma once
#include <stdbool.h>

#include "base/path.h"
#include "base/str.h"

struct err;
struct plan;

enum bwrap_type { BWRAP_ABSENT, BWRAP_DIR, BWRAP_FILE, BWRAP_UNKNOWN };

/* Questions about the host, which tests answer by themselves. */
struct bwrap_host {
	/* A descriptor of PATH, if it is still the file ID; or -errno and err. */
	int (*open_source)(void *data, const char *path, const struct file_id *id, struct err *err);
	int (*open_empty)(void *data, struct err *err); /* … of an empty file */
	int (*open_text)(void *data, const char *text, struct err *err);
	enum bwrap_type (*type)(void *data, const char *path); /* no link is followed */
	void *data;
};

/* Append the options. -ENOTSUP: bwrap cannot do what the plan says. */
int bwrap_args(const struct plan *plan, const struct bwrap_host *host, struct strv *out,
	       struct err *err);
