/* SPDX-License-Identifier: MIT */
#include "engine/tripwire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* Queued one by one, each with its descriptor. When the queue is full the kernel
 * sends a plain SIGIO instead. */
#define TRIP_SIGNAL (SIGRTMIN)

int tripwire_open(struct tripwire *wire)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigaddset(&set, TRIP_SIGNAL);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	wire->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return wire->signals < 0 ? -errno : 0;
}

int tripwire_add(int dir, bool leaving)
{
	_cleanup_(fd_closep) int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fcntl(fd, F_SETSIG, TRIP_SIGNAL) < 0 ||
	    fcntl(fd, F_NOTIFY, (leaving ? DN_DELETE : DN_CREATE) | DN_MULTISHOT) < 0)
		return -errno;
	return take_fd(fd);
}

enum trip tripwire_next(struct tripwire *wire, int *ret_fd)
{
	struct signalfd_siginfo info;

	if (read(wire->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return TRIP_NONE;
	if (info.ssi_signo != (uint32_t)TRIP_SIGNAL)
		return TRIP_OVERFLOW;
	*ret_fd = info.ssi_fd;
	return TRIP_WIRE;
}

void tripwire_close(struct tripwire *wire)
{
	wire->signals = fd_close(wire->signals);
}
