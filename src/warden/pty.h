/* SPDX-License-Identifier: MIT */
/*
 * pty - the command's own terminal, in place of the caller's.
 *
 * Opened inside, from the /dev/pts that the command sees, so that it can find
 * its name; the other end goes to the supervisor.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <termios.h>

struct err;

/* The caller's terminal, after which the command's is made. */
struct pty {
	unsigned mask;        /* bit N: descriptor N is a terminal */
	bool interactive;     /* the keyboard, too: else it is for output only */
	struct termios modes; /* its settings, without changes of ours */
	struct winsize size;
};

/* Is descriptor NUMBER, which is FD here, a terminal? Then it is to be replaced. */
bool pty_probe(struct pty *pty, int number, int fd);
/* Open the command's terminal, put it in place of 0, 1 and 2 where the caller had
 * his, and send its other end through CHANNEL, with ID. It stays open for as long as we
 * live; *ret_terminal is it when it is to control the command's session, else it is left as it was.
 * Without a terminal in PTY nothing happens. */
int pty_open(const struct pty *pty, int channel, uint32_t id, int *ret_terminal, struct err *err);
/* The same for whoever was not told: look at 0, 1 and 2, and be the leader of a
 * session that has no terminal yet. */
int pty_replace(int channel, int *ret_terminal, struct err *err);
