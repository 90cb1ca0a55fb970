/* SPDX-License-Identifier: MIT */
/*
 * terminal - the caller's terminal, and the one that the command gets instead.
 *
 * The command never has the caller's: it could change its settings, read what
 * is typed for others and push input into it. Its own comes from the /dev/pts
 * that it sees, so that it can find its name; the child opens it there and
 * passes the other end over.
 */
#pragma once
#include <stdbool.h>
#include <termios.h>
#include <sys/ioctl.h>

#include "base/fd.h"

struct err;

struct terminal {
	unsigned mask;        /* bit N: descriptor N is the caller's terminal */
	bool interactive;     /* the keyboard, too: else it is for output only */
	struct termios modes; /* the caller's, without our changes */
	struct winsize size;
	int in, out; /* the caller's, opened anew; -1 */
	int master;  /* the command's; -1 */
	bool raw;    /* the caller's is in raw mode now */
};

void terminal_init(struct terminal *t);
/* Is descriptor NUMBER, which is FD here, a terminal? Then it is one of ours. */
bool terminal_probe(struct terminal *t, int number, int fd);
/* In the child: open the command's terminal, put it in place of 0, 1 and 2 where
 * the caller had his, and send its other end. *ret_slave stays open. */
int terminal_open(const struct terminal *t, int channel, int *ret_slave, struct err *err);

/* In the supervisor. */
void terminal_reopen(struct terminal *t, const struct stdio *stdio);
bool terminal_is_foreground(const struct terminal *t);
/* Raw mode, when we are in the foreground: whether we are. */
bool terminal_enter(struct terminal *t);
void terminal_leave(struct terminal *t); /* as it was before */
void terminal_resize(const struct terminal *t);
void terminal_release(struct terminal *t);
