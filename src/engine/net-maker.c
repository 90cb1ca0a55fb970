/* SPDX-License-Identifier: MIT */
#include "engine/net-maker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "engine/userns.h"

enum { STACK = 32768 };

static int make(const struct net_maker *maker, struct err *err)
{
	if (setns(maker->owner, CLONE_NEWUSER) < 0)
		return userns_refused(err_sys(err, -errno, "enter the sandbox's user namespace"),
				      err);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(err, -errno, "die with the parent");
	if (unshare(CLONE_NEWNET) < 0)
		return userns_refused(err_sys(err, -errno, "create the network"), err);
	return 0;
}

static int make_and_pass(const struct net_maker *maker, struct err *err)
{
	_cleanup_(fd_closep) int network = -1;
	int r = make(maker, err);

	if (r < 0)
		return r;
	network = fd_open("/proc/self/ns/net", O_RDONLY);
	if (network < 0)
		return err_sys(err, -errno, "open the private network");
	return userns_pass(maker->channel, PASSED_NETWORK, &network, 1, err);
}

/* Memory and errno are also those of the supervisor: nothing is written there unless something
 * fails, and then so does the run. */
static int work(void *data)
{
	struct net_maker *maker = data;

	_exit(make_and_pass(maker, &maker->err) < 0);
}

int net_maker_start(struct net_maker *maker, int owner, int channel, struct err *err)
{
	static char stack[STACK] __attribute__((aligned(64)));

	*maker = (struct net_maker){.owner = owner, .channel = channel};
	maker->pid = clone(work, stack + sizeof(stack), CLONE_VM | SIGCHLD, maker);
	if (maker->pid >= 0)
		return 0;
	maker->pid = 0;
	return err_sys(err, -errno, "create a process");
}

int net_maker_wait(struct net_maker *maker, struct err *err)
{
	int status, r;

	if (maker->pid == 0)
		return 0;
	do
		r = waitpid(maker->pid, &status, 0);
	while (r < 0 && errno == EINTR);
	maker->pid = 0;
	if (r > 0 && status == 0)
		return 0;
	if (maker->err.message[0])
		*err = maker->err;
	else
		err_set(err, ERR_SYSTEM, -EPIPE, "the private network was not made");
	return err->errnum ? -err->errnum : -EPIPE;
}
