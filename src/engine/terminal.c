/* SPDX-License-Identifier: MIT */
#include "engine/terminal.h"
#include "base/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void terminal_init(struct terminal *t)
{
	*t = (struct terminal){.in = -1, .out = -1, .master = -1};
}

/* An open file of our own, so that O_NONBLOCK changes nobody else's. Where that
 * is refused (a terminal that belongs to another user) a copy has to do: writes
 * to a terminal that was stopped can block us then. */
static int reopen(int fd, int flags)
{
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = fd_open(path, flags | O_NONBLOCK | O_NOCTTY);
	return own >= 0 ? own : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

void terminal_reopen(struct terminal *t, const struct stdio *stdio)
{
	int out = t->like.mask & 2 ? 1 : t->like.mask & 4 ? 2 : 0;

	if (t->like.interactive)
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
	if (tcgetattr(t->in, &t->like.modes) == 0) {
		raw = t->like.modes;
		cfmakeraw(&raw);
		t->raw = tcsetattr(t->in, TCSANOW, &raw) == 0;
	}
	return true;
}

void terminal_leave(struct terminal *t)
{
	/* In the background it is somebody else's to set. */
	if (t->raw && terminal_is_foreground(t))
		(void)tcsetattr(t->in, TCSANOW, &t->like.modes);
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
