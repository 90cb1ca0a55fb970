/* SPDX-License-Identifier: MIT */
/*
 * asking - the user of this terminal, about names that a command wants to reach.
 *
 * The terminal is the controlling one of this process, never the command's. While it asks, nothing
 * of the command's is shown, and nothing that is typed gets to it. Whoever cannot be asked, in the
 * background, without a terminal, for too long or too often, has said no.
 */
#pragma once
struct asking;
struct network_ear;
struct run;

enum { ASKING_MAX = 10, ASKING_MS = 60000 };

/* RUN, which outlives it and is the EAR's data, asks from here on. 0 or -ENOMEM. */
int run_asking_new(struct run *run, struct network_ear *ear);
struct asking *asking_free(struct asking *asking); /* NULL ok */
