/* SPDX-License-Identifier: MIT */
/*
 * fingerprint - which files a policy was made of, told by stat(2) alone.
 *
 * The configuration files, or that they are absent, .paleignore, what was agreed to by `pale
 * trust`, and the workspace itself. Nothing is parsed: what only looks changed counts as
 * changed.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct context;
struct err;
struct json;

enum { FINGERPRINT_FILES = 6 };

struct fingerprint {
	struct fingerprint_file {
		char *path; /* NULL: there is no such place */
		dev_t dev;
		ino_t ino; /* 0: absent */
		off_t size;
		struct timespec mtime, ctime;
	} files[FINGERPRINT_FILES];
};

/* How the file at its path, which is borrowed, looks now; and whether it does so still. */
void fingerprint_look(struct fingerprint_file *file);
bool fingerprint_is_same(const struct fingerprint_file *was);

int fingerprint_take(const struct context *context, struct fingerprint *ret, struct err *err);
/* The name of a file that is not what it was, or NULL. */
const char *fingerprint_changed(const struct fingerprint *fingerprint);
/* Is there a .paleignore? */
bool fingerprint_has_ignore(const struct fingerprint *fingerprint);
/* The name of a file of which nobody can tell whether it changed before T, by the clock that the
 * kernel dates files by (CLOCK_REALTIME_COARSE), or after it; or NULL. */
const char *fingerprint_newer(const struct fingerprint *fingerprint, struct timespec t);
void fingerprint_json(const struct fingerprint *fingerprint, struct json *json); /* a digest */
void fingerprint_release(struct fingerprint *fingerprint);
