/* SPDX-License-Identifier: MIT */
#include "engine/net.h"

#include <errno.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"

int net_loopback_up(struct err *err)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(err, -errno, "open a socket in the private network");
	if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		return err_sys(err, -errno, "bring the private loopback up");
	return 0;
}
