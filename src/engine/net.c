/* SPDX-License-Identifier: MIT */
#include "engine/net.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"

static int helper_failed(struct net *net, const char *what)
{
	net->failure.r = -errno;
	net->failure.what = what;
	return 1;
}

/* Shares errno with us as well, which does no harm: it is written only by a
 * call that fails, and then the run fails. */
static int make_namespace(void *data)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	struct net *net = data;
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return helper_failed(net, "create the private network");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return helper_failed(net, "open a socket in the private network");
	if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		return helper_failed(net, "bring the private loopback up");
	close(fd);
	fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return helper_failed(net, "open the private network");
	net->fd = fd;
	return 0;
}

int net_begin(struct net *net, struct err *err)
{
	static char stack[16384] __attribute__((aligned(16)));

	*net = (struct net){.fd = -1};
	net->helper = clone(make_namespace, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD,
			    net);
	if (net->helper < 0)
		return err_sys(err, -errno, "start the network's helper");
	return 0;
}

int net_join(struct net *net, struct err *err)
{
	int status, r;
	pid_t pid;

	do {
		pid = waitpid(net->helper, &status, 0);
	} while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return err_sys(err, -errno, "wait for the network's helper");
	if (net->failure.r < 0)
		return err_sys(err, net->failure.r, "%s", net->failure.what);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || net->fd < 0)
		return err_set(err, ERR_SYSTEM, -EIO, "the network's helper was killed");
	r = setns(net->fd, CLONE_NEWNET) < 0 ? -errno : 0;
	net->fd = fd_close(net->fd);
	return r < 0 ? err_sys(err, r, "enter the private network") : 0;
}
