/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/sys.h"
#include "engine/bwrap.h"
#include "engine/engine.h"
#include "engine/userns.h"
#include "plan/plan.h"
#include "warden/protocol.h"

enum { TRIAL_MS = 1000 };

/* The first steps of a sandbox, where a host that refuses them does so. */
_Noreturn static void child(const struct plan *plan, int channel)
{
	struct warden_report report = {.kind = WARDEN_FAILED};
	int r = userns_enter(plan, channel, &report.err);

	if (r == 0) {
		r = sys_make_private("/");
		if (r < 0)
			userns_refused(err_sys(&report.err, r, "detach from the host's mounts"),
				       &report.err);
	}
	if (r < 0)
		(void)warden_send_report(channel, &report);
	_exit(0);
}

static int await(const struct plan *plan, pid_t pid, int pidfd, int channel, struct err *err)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	struct warden_report report;
	int r = userns_grant(plan, pid, channel, err);

	if (r == 0 && poll(&end, 1, TRIAL_MS) <= 0)
		r = err_set(err, ERR_SYSTEM, -ETIMEDOUT, "the trial of the namespaces hangs");
	(void)sys_pidfd_send_signal(pidfd, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (r < 0 || warden_receive_report(channel, &report) < 0)
		return r;
	*err = report.err;
	return -err->errnum;
}

static int try_native(const struct plan *plan, struct err *err)
{
	int pidfd = -1, pair[2], r;
	struct sys_clone_args args = {.flags = plan->namespaces | CLONE_PIDFD,
				      .pidfd = (uint64_t)(uintptr_t)&pidfd,
				      .exit_signal = SIGCHLD};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, -errno, "socketpair");
	r = sys_clone3(&args);
	if (r == 0)
		child(plan, pair[1]);
	fd_close(pair[1]);
	if (r < 0)
		userns_refused(err_sys(err, r, "create the namespaces"), err);
	else
		r = await(plan, r, pidfd, pair[0], err);
	fd_close(pair[0]);
	fd_close(pidfd);
	if (r < 0 && err->code == ERR_NO_NAMESPACES)
		userns_hint(err);
	return r;
}

int engine_try(const struct plan *plan, struct err *err)
{
	const char *program;

	if (!plan->confined || plan->engine == ENGINE_LANDLOCK)
		return 0;
	if (plan->engine == ENGINE_NATIVE)
		return try_native(plan, err);
	program = bwrap_find(err);
	return program ? bwrap_try(program, err) : -ENOENT;
}

const char *engine_find_bwrap(struct err *err)
{
	const char *program = bwrap_find(err);

	return program && bwrap_try(program, err) == 0 ? program : NULL;
}
