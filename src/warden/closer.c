/* SPDX-License-Identifier: MIT */
#include "warden/closer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/quick.h"
#include "base/sys.h"
#include "warden/scratch.h"

_Noreturn static void await_hangup(int channel, const char *scratch)
{
	struct pollfd fd = {.fd = channel, .events = POLLRDHUP};

	/* A session of its own: the kernel shares out time by session, if it likes. */
	(void)setsid();
	be_quick();
	sys_close_range(0, 2, 0);
	while (poll(&fd, 1, -1) < 0 && errno == EINTR)
		;
	(void)kill(-1, SIGKILL);
	if (scratch)
		scratch_remove_left(scratch);
	_exit(0);
}

int closer_start(int channel, const char *scratch, struct err *err)
{
	int pidfd = -1, r = sys_fork(&pidfd);

	if (r == 0)
		await_hangup(channel, scratch);
	if (r < 0)
		return err_sys(err, r, "create a process");
	fd_close(pidfd);
	return 0;
}
