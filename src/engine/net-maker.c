/* SPDX-License-Identifier: MIT */
#include "engine/net-maker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/raw.h"
#include "engine/userns.h"

enum { STACK = 32768, NOT_STARTED = -1 };

/* In the memory of the supervisor, errno included: the calls that may fail in a run that goes on
 * must not touch it. */
static bool make_and_pass(const struct net_maker *maker)
{
	struct err err;
	int network;

	if (raw_call(SYS_setns, maker->owner, CLONE_NEWUSER, 0) < 0 ||
	    raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0) < 0 ||
	    raw_call(SYS_unshare, CLONE_NEWNET, 0, 0) < 0)
		return false;
	network = (int)raw_call(SYS_openat, AT_FDCWD, (long)"/proc/self/ns/net",
				O_RDONLY | O_CLOEXEC);
	return network >= 0 && userns_pass(maker->channel, PASSED_NETWORK, &network, 1, &err) == 0;
}

static int work(void *data)
{
	_exit(make_and_pass(data) ? 0 : 1);
}

void net_maker_start(struct net_maker *maker, int owner, int channel)
{
	static char stack[STACK] __attribute__((aligned(64)));

	*maker = (struct net_maker){.owner = owner, .channel = channel};
	maker->pid = clone(work, stack + sizeof(stack), CLONE_VM | SIGCHLD, maker);
	if (maker->pid < 0)
		maker->pid = NOT_STARTED;
}

/* One that somebody stopped would never end. */
static bool has_made(pid_t pid)
{
	int status = 0;
	pid_t r;

	do {
		r = waitpid(pid, &status, WUNTRACED);
		if (r > 0 && WIFSTOPPED(status))
			(void)kill(pid, SIGKILL);
	} while ((r < 0 && errno == EINTR) || (r > 0 && WIFSTOPPED(status)));
	return r > 0 && status == 0;
}

int net_maker_wait(struct net_maker *maker, struct err *err)
{
	pid_t pid = maker->pid;

	maker->pid = 0;
	if (pid == 0 || (pid != NOT_STARTED && has_made(pid)))
		return 0;
	return userns_pass(maker->channel, PASSED_NETWORK, NULL, 0, err);
}
