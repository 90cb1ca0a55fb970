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

enum {
	SHELL_NOTES_MAX = 256 * 1024,
	SHELL_VARIABLES_MAX = 4096,
	SHELL_VARIABLE_MAX = 120 * 1024, /* less than the kernel takes for one */
};

struct err;

struct shell_state {
	char *cwd;       /* NULL: nothing is known yet */
	struct strv env; /* NAME=VALUE, all that is exported */
};

void shell_state_release(struct shell_state *state);
void shell_forget(struct strv *env); /* variables may be secrets: they are wiped */

/* The command that runs LINE in the folder CWD (NULL: where it is started), and writes to
 * descriptor 3. */
int shell_argv(const char *cwd, const char *line, struct strv *ret);
/* STATE's variables in place of ENV, or ENV where nothing is known yet; SET over them. */
int shell_env(const struct shell_state *state, char *const *set, struct strv *env);

/* A new descriptor for it to write to. */
int shell_notes_open(int *ret_fd, struct err *err);
/* What was written to FD becomes STATE; but for variables that are still as SET gave them to
 * this one line, which are as before it. -ENODATA: not all of it is there; -EBADMSG: it is
 * something else; STATE is as it was. */
int shell_notes_read(int fd, char *const *set, struct shell_state *state, struct err *err);
/* The same of LEN bytes. */
int shell_notes_parse(const char *notes, size_t len, char *const *set, struct shell_state *state);
