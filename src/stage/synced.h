/* SPDX-License-Identifier: MIT */
/*
 * synced - what of a stage a crash of the machine may have cut.
 *
 * A volatile overlay writes nothing to the disk by itself. An apply, a discard or an undo does, with
 * all that is staged, and stage_note_synced() says so in the log of the runs. What a run of an
 * earlier boot has left since then is in doubt: nobody can tell an orderly restart from a crash.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct change;
struct changes;
struct err;
struct stage;

/* RET has one for each of CHANGES; *RET_N: how many are in doubt. */
int synced_find_doubtful(const struct stage *stage, const struct changes *changes, bool *ret,
			 size_t *ret_n, struct err *err);
/* What is staged was written to the disk: that is noted, unless a run may have left what is in doubt. */
void synced_note(struct stage *stage);
/* -EUCLEAN */
int synced_refuse(const struct change *change, struct err *err);
