/* SPDX-License-Identifier: MIT */
/*
 * load - the three files as one configuration, every value with its origin.
 *
 * Closest wins for scalars, tables merge per key, lists replace. Each file is
 * checked on its own against the key tables before anything is looked up:
 * unknown keys, wrong types and values out of range are errors with
 * file:line:column.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "config/toml.h"

struct err;
struct strv;

enum layer { LAYER_SYSTEM, LAYER_USER, LAYER_WORKSPACE, LAYER_COUNT_ };

/* Where a value was written. `file` is a path, an option ("--network") or
 * "built in"; line 0 when there is none. Borrowed. */
struct origin {
	const char *file;
	unsigned line;
};

struct config_file {
	char *path; /* NULL: absent */
	struct toml *doc;
};

struct config {
	struct config_file files[LAYER_COUNT_];
};

struct setting {
	const struct toml_value *value;
	struct origin origin;
	enum layer layer;
};

#define CONFIG_MAX_BYTES (1 << 20)

/* Load what exists. A path may be NULL. A file that others can write, that
 * belongs to neither root nor the caller, that is no regular file or larger
 * than CONFIG_MAX_BYTES is refused, and so is a workspace file that is a
 * symbolic link: what it points to would not be protected from the command.
 * When root runs in somebody's checkout, a workspace file of the folder's owner
 * is accepted. */
int config_load(const char *system_file, const char *user_file, const char *workspace_file,
		struct config *ret, struct err *err);
/* Check one file as LAYER, for `pale config check FILE`. */
int config_check_file(const char *path, enum layer layer, struct err *err);
void config_release(struct config *config);

/* PATH is dotted by arguments, ending in NULL: {"commands", "test", "cmd", NULL}. */
bool config_get(const struct config *config, const char *const *path, struct setting *ret);
bool config_get_at(const struct config *config, enum layer layer, const char *const *path,
		   struct setting *ret);
/* The keys of a table over all layers, sorted, once each. */
int config_names(const struct config *config, const char *const *path, struct strv *ret);

/* "FILE:LINE" or "FILE", for messages, in BUF. The beginning of a long path is
 * left out. */
#define ORIGIN_TEXT_MAX 256
const char *origin_text(const struct origin *origin, char *buf, size_t size);
/* Put "FILE:LINE:COLUMN: " in front of what ERR says. */
int position_error(const char *file, struct toml_pos pos, int r, struct err *err);
int setting_error(const struct setting *setting, int r, struct err *err);
