/* SPDX-License-Identifier: MIT */
#include "warden/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "warden/protocol.h"

bool pty_probe(struct pty *pty, int number, int fd)
{
	struct termios modes;

	if (tcgetattr(fd, &modes) < 0)
		return false;
	if (pty->mask == 0) {
		pty->modes = modes;
		(void)ioctl(fd, TIOCGWINSZ, &pty->size);
	}
	pty->mask |= 1u << number;
	pty->interactive |= number == STDIN_FILENO;
	return true;
}

/* The caller's settings. Without a keyboard his terminal is not in raw mode,
 * and does what is to be done to the output. */
static int set_modes(const struct pty *pty, int slave, struct err *err)
{
	struct termios modes = pty->modes;

	if (!pty->interactive)
		modes.c_oflag &= ~(tcflag_t)OPOST;
	if (tcsetattr(slave, TCSANOW, &modes) < 0 || ioctl(slave, TIOCSWINSZ, &pty->size) < 0)
		return err_sys(err, -errno, "set up the command's terminal");
	return 0;
}

static int open_pair(const struct pty *pty, int *ret_master, int *ret_slave, struct err *err)
{
	int unlocked = 0;
	/* Nothing can be read from one that is for output only. */
	int flags = pty->interactive ? O_RDWR : O_WRONLY;

	*ret_master = fd_open("/dev/ptmx", O_RDWR | O_NOCTTY);
	if (*ret_master < 0)
		return err_sys(err, -errno, "open a terminal for the command");
	if (ioctl(*ret_master, TIOCSPTLCK, &unlocked) < 0)
		return err_sys(err, -errno, "unlock the command's terminal");
	*ret_slave = ioctl(*ret_master, TIOCGPTPEER, flags | O_NOCTTY | O_CLOEXEC);
	return *ret_slave < 0 ? err_sys(err, -errno, "open the command's end of its terminal") : 0;
}

int pty_open(const struct pty *pty, int channel, uint32_t id, int *ret_terminal, struct err *err)
{
	_cleanup_(fd_closep) int master = -1;
	_cleanup_(fd_closep) int slave = -1;
	int r;

	if (!pty->mask)
		return 0;
	r = open_pair(pty, &master, &slave, err);
	if (r == 0)
		r = set_modes(pty, slave, err);
	if (r < 0)
		return r;
	for (int fd = 0; fd <= 2; fd++)
		if (pty->mask & 1u << fd && dup2(slave, fd) < 0)
			return err_sys(err, -errno, "pass the terminal as descriptor %d", fd);
	r = warden_send_terminal(channel, id, master);
	if (r < 0)
		return err_sys(err, r, "pass the command's terminal");
	/* Else it just stays open: an end of file means that we are gone. */
	if (pty->interactive)
		*ret_terminal = slave;
	slave = -1;
	return 0;
}

int pty_replace(int channel, int *ret_terminal, struct err *err)
{
	struct pty pty = {0};

	for (int fd = 0; fd <= 2; fd++)
		/* One that cannot be asked may be the caller's terminal; one that
		 * has hung up (EIO) is no more. */
		if (!pty_probe(&pty, fd, fd) && errno != ENOTTY && errno != EINVAL && errno != EIO)
			return err_sys(err, -errno, "look at descriptor %d", fd);
	/* -EPERM: we lead one already. */
	if (pty.interactive && setsid() < 0 && getsid(0) != getpid())
		return err_sys(err, -errno, "start a session");
	return pty_open(&pty, channel, 0, ret_terminal, err);
}
