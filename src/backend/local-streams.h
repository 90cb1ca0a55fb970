/* SPDX-License-Identifier: MIT */
/*
 * local-streams - what a command's 0, 1 and 2 are, for who has it run by somebody else: as in a
 * run of our own, terminals and pipes for input are never passed on, and output has its limit.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct loop;
struct pty;
struct stdio;
struct local_streams;

/* Is one of the caller's not to be passed on as it is, whatever the limit? */
bool local_streams_are_needed(const struct stdio *stdio);
/* STDIO is the caller's. MAX_OUTPUT: UINT64_MAX for none. */
int local_streams_new(const struct stdio *stdio, uint64_t max_output, struct local_streams **ret,
		      struct err *err);
/* What the command begins with: /dev/null where it is to have a terminal. */
void local_streams_fds(const struct local_streams *s, int ret[3]);
const struct pty *local_streams_pty(const struct local_streams *s); /* NULL: no terminal */
/* Once they were passed on. TELL: a signal that the command is to get. */
int local_streams_start(struct local_streams *s, struct loop *loop,
			void (*tell)(void *data, int sig), void *data);
void local_streams_attach(struct local_streams *s, int master);
void local_streams_suspend(struct local_streams *s);
void local_streams_resume(struct local_streams *s);
void local_streams_hold(struct local_streams *s, bool held); /* carry nothing for now */
void local_streams_resize(struct local_streams *s);
/* True: nothing is left to carry; else the loop is done when nothing is. */
bool local_streams_end(struct local_streams *s);
/* How much was dropped. NULL ok. */
uint64_t local_streams_free(struct local_streams *s);
