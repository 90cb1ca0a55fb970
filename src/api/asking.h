/* SPDX-License-Identifier: MIT */
/*
 * asking - the user of this terminal, about names that a command wants to reach.
 *
 * The terminal is the controlling one of this process, never the command's. While it asks, nothing
 * of the command's is shown, and nothing that is typed gets to it. Whoever cannot be asked, in the
 * background, without a terminal, for too long or too often, has said no.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct asking;
struct loop;
struct run;

enum { ASKING_MAX = 10, ASKING_MS = 60000 };

/* RUN outlives it; NULL: no memory. */
struct asking *asking_new(const struct run *run);
/* From here on it can ask; see struct network_ear. */
void asking_begin(struct asking *asking, struct loop *loop);
void asking_ask(struct asking *asking, const char *name, uint16_t port, const char *program,
		void (*answer)(void *answer_data, bool allow), void *answer_data);
void asking_end(struct asking *asking);            /* what is open is refused */
struct asking *asking_free(struct asking *asking); /* NULL ok */
