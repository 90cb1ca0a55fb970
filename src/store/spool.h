/* SPDX-License-Identifier: MIT */
/*
 * spool - where a run leaves what the history is to know, without a database.
 *
 *     "\n" "P1 " CRC " " JSON "\n"
 *
 * One write(2) for each record, to the end of a file that all runs of a workspace
 * share. A record begins and ends with a newline, so that one that was torn harms
 * no other; the CRC tells whole ones. Who reads renames the file first, under a
 * lock that writers share; see fold.h.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct str;

#define SPOOL_NAME       "spool"
#define SPOOL_RECORD_MAX (256 * 1024) /* with its newlines */

/* Begin a record in LINE, which is empty; its JSON is to be appended. 0 or -ENOMEM. */
int spool_line_begin(struct str *line);
/* -EFBIG: it is longer than SPOOL_RECORD_MAX. */
int spool_line_end(struct str *line);
/* The JSON of a line without its newlines; false: it is no whole record. */
bool spool_line_open(const char *line, size_t len, const char **ret_json, size_t *ret_len);

/* Append LINE to the spool of the state folder STATE. Waits for a lock half a second
 * at most. */
int spool_append(int state, const struct str *line, struct err *err);
/* The same for who does it often: *KEPT is the spool as it was opened the last time, or below 0. */
int spool_append_kept(int state, int *kept, const struct str *line, struct err *err);

/* Open the spool and lock it, HOW as in flock(2); the name leads to it as long as the
 * lock is held. A descriptor or -errno; -ENOENT (only without CREATE) leaves err. */
int spool_lock(int state, int how, bool create, struct err *err);

/*
 * A run that goes on holds a lock in the file `living`, on the byte that its id
 * stands for. The kernel lets go of it however the run ends.
 */
int living_take(int state, const char *id); /* a descriptor to keep, or -errno */
bool living_is(int state, const char *id);
