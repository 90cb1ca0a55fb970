/* SPDX-License-Identifier: MIT */
/*
 * shell-state - what one line for a shell leaves to the next: its folder and its exported
 * variables.
 *
 * A line is run by a shell of its own, which at its end writes both to a descriptor: a memfd of
 * fixed size, so that it can neither grow nor shrink. What is in there was written inside and is
 * worth as much: it is copied once, taken as a whole or not at all, and only ever goes back
 * inside. The folder is entered by the next shell itself; nothing out here opens it.
 */
#pragma once
#include <stddef.h>

#include "base/str.h"

enum { SHELL_NOTES_MAX = 256 * 1024, SHELL_VARIABLES_MAX = 4096 };

struct err;

struct shell_state {
	char *cwd;       /* NULL: nothing is known yet */
	struct strv env; /* NAME=VALUE, all that is exported */
};

void shell_state_release(struct shell_state *state);

/* The command that runs LINE in the folder CWD (NULL: where it is started), and writes to
 * descriptor 3. */
int shell_argv(const char *cwd, const char *line, struct strv *ret);
/* STATE's variables in place of ENV, SET over them. An empty STATE leaves ENV as it is. */
int shell_env(const struct shell_state *state, char *const *set, struct strv *env);

/* A new descriptor for it to write to. */
int shell_notes_open(int *ret_fd, struct err *err);
/* What was written to FD becomes STATE. -ENODATA: not all of it is there; -EBADMSG: it is
 * something else; STATE is as it was. */
int shell_notes_read(int fd, struct shell_state *state, struct err *err);
/* The same of LEN bytes. */
int shell_notes_parse(const char *notes, size_t len, struct shell_state *state);
