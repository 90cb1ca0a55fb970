/* SPDX-License-Identifier: MIT */
/*
 * slots - the runs that live, as the file of the mount lock has them.
 *
 * A slot is a piece of that file: the run's name and, while it has something mounted,
 * what is needed to share that (live.h). It is taken under the mount lock, and its
 * run's own from then on, which a lock on its first byte says: nobody else writes there
 * while that is held. No file is made or removed for a run.
 */
#pragma once
#include <stdbool.h>

struct err;
struct stage;

enum { SLOT_SIZE = 4096 };

/* Open the file; where it is open already, nothing is done. */
int slots_open(struct stage *stage, struct err *err);
/* What slot NUMBER says. 1: something; 0: it is free; -ENOENT: there are no more, nor
 * behind it. */
int slots_read(const struct stage *stage, unsigned number, char ret[SLOT_SIZE], struct err *err);
/* Does the run that has it live? */
bool slots_is_held(const struct stage *stage, unsigned number);
/* A free one becomes that of RUN_ID, in stage->slot. Under the mount lock. */
int slots_take(struct stage *stage, const char *run_id, struct err *err);
/* RUN_ID has slot NUMBER; MORE is a text behind its name, "" for none. */
int slots_write(const struct stage *stage, unsigned number, const char *run_id, const char *more);
int slots_clear(const struct stage *stage, unsigned number);
