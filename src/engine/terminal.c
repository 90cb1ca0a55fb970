/* SPDX-License-Identifier: MIT */
#include "engine/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "warden/protocol.h"

void terminal_init(struct terminal *t)
{
	*t = (struct terminal){.in = -1, .out = -1, .master = -1};
}

bool terminal_probe(struct terminal *t, int number, int fd)
{
	struct termios modes;

	if (tcgetattr(fd, &modes) < 0)
		return false;
	if (t->mask == 0) {
		t->modes = modes;
		(void)ioctl(fd, TIOCGWINSZ, &t->size);
	}
	t->mask |= 1u << number;
	t->interactive |= number == STDIN_FILENO;
	return true;
}

/* The caller's settings. Without a keyboard his terminal is not in raw mode,
 * and does what is to be done to the output. */
static int set_modes(const struct terminal *t, int slave, struct err *err)
{
	struct termios modes = t->modes;

	if (!t->interactive)
		modes.c_oflag &= ~(tcflag_t)OPOST;
	if (tcsetattr(slave, TCSANOW, &modes) < 0 || ioctl(slave, TIOCSWINSZ, &t->size) < 0)
		return err_sys(err, -errno, "set up the command's terminal");
	return 0;
}

static int open_pair(const struct terminal *t, int *ret_master, int *ret_slave, struct err *err)
{
	int unlocked = 0;
	/* Nothing can be read from one that is for output only. */
	int flags = t->interactive ? O_RDWR : O_WRONLY;

	*ret_master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*ret_master < 0)
		return err_sys(err, -errno, "open a terminal for the command");
	if (ioctl(*ret_master, TIOCSPTLCK, &unlocked) < 0)
		return err_sys(err, -errno, "unlock the command's terminal");
	*ret_slave = ioctl(*ret_master, TIOCGPTPEER, flags | O_NOCTTY | O_CLOEXEC);
	return *ret_slave < 0 ? err_sys(err, -errno, "open the command's end of its terminal") : 0;
}

int terminal_open(const struct terminal *t, int channel, int *ret_slave, struct err *err)
{
	_cleanup_(fd_closep) int master = -1;
	_cleanup_(fd_closep) int slave = -1;
	int r;

	r = open_pair(t, &master, &slave, err);
	if (r == 0)
		r = set_modes(t, slave, err);
	if (r < 0)
		return r;
	for (int fd = 0; fd <= 2; fd++)
		if (t->mask & 1u << fd && dup2(slave, fd) < 0)
			return err_sys(err, -errno, "pass the terminal as descriptor %d", fd);
	r = warden_send_terminal(channel, master);
	if (r < 0)
		return err_sys(err, r, "pass the command's terminal");
	*ret_slave = take_fd(slave);
	return 0;
}

/* An open file of our own, so that O_NONBLOCK changes nobody else's. Where that
 * is refused (a terminal that belongs to another user) a copy has to do: writes
 * to a terminal that was stopped can block us then. */
static int reopen(int fd, int flags)
{
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return own >= 0 ? own : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

void terminal_reopen(struct terminal *t, const struct stdio *stdio)
{
	int out = t->mask & 2 ? 1 : t->mask & 4 ? 2 : 0;

	if (t->interactive)
		t->in = reopen(stdio->fd[0], O_RDONLY);
	t->out = reopen(stdio->fd[out], O_WRONLY);
}

bool terminal_is_foreground(const struct terminal *t)
{
	pid_t group = tcgetpgrp(t->in);

	/* Not our controlling terminal: then nobody minds. */
	return group < 0 || group == getpgrp();
}

bool terminal_enter(struct terminal *t)
{
	struct termios raw;

	if (!terminal_is_foreground(t))
		return false;
	if (t->raw)
		return true;
	if (tcgetattr(t->in, &t->modes) == 0) {
		raw = t->modes;
		cfmakeraw(&raw);
		t->raw = tcsetattr(t->in, TCSANOW, &raw) == 0;
	}
	return true;
}

void terminal_leave(struct terminal *t)
{
	/* In the background it is somebody else's to set. */
	if (t->raw && terminal_is_foreground(t))
		(void)tcsetattr(t->in, TCSANOW, &t->modes);
	t->raw = false;
}

void terminal_resize(const struct terminal *t)
{
	struct winsize size;

	if (t->master >= 0 && ioctl(t->out, TIOCGWINSZ, &size) == 0)
		(void)ioctl(t->master, TIOCSWINSZ, &size);
}

void terminal_release(struct terminal *t)
{
	terminal_leave(t);
	fd_close(t->in);
	fd_close(t->out);
	fd_close(t->master);
	terminal_init(t);
}
