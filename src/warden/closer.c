/* SPDX-License-Identifier: MIT */
#include "warden/closer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/lean.h"
#include "base/sys.h"
#include "confine/confine.h"
#include "warden/scratch.h"
#include "warden/step.h"
#include "warden/warden.h"

/* The warden's own filter is to come: it would be the command's, too, and hide from its
 * observer what it refuses. */
static bool is_confined(const struct warden_job *job)
{
	return !job->observed || confine_seccomp(step_seccomp(job->observed), NULL) == 0;
}

_Noreturn static void await_hangup(const struct warden_job *job)
{
	struct pollfd fd = {.fd = job->channel, .events = POLLRDHUP};

	/* A session of its own: the kernel shares out time by session, if it likes. */
	(void)setsid();
	sys_close_range(0, 2, 0);
	if (is_confined(job))
		while (lean_poll(&fd, 1, -1) < 0 && errno == EINTR)
			;
	(void)kill(-1, SIGKILL);
	if (job->scratch)
		scratch_remove_left(job->scratch);
	_exit(0);
}

int closer_start(const struct warden_job *job, struct err *err)
{
	int pidfd = -1, r = sys_fork(&pidfd);

	if (r == 0)
		await_hangup(job);
	if (r < 0)
		return err_sys(err, r, "create a process");
	fd_close(pidfd);
	return 0;
}
