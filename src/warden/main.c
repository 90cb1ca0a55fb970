/* SPDX-License-Identifier: MIT */
#include "warden/main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/quick.h"
#include "base/sys.h"
#include "confine/confine.h"
#include "confine/landlock.h"
#include "result/result.h"
#include "warden/allow.h"
#include "warden/job.h"
#include "warden/protocol.h"
#include "warden/pty.h"
#include "warden/sockets.h"
#include "warden/step.h"
#include "warden/warden.h"

enum { CHANNEL = 3, LARGEST_FD = 1 << 20 };

/* Descriptors above 2 that are open, CHANNEL first. */
static int parse_fds(int argc, char *const *args, int fds[WARDEN_FDS])
{
	if (argc != WARDEN_FDS)
		return -EINVAL;
	for (int i = 0; i < WARDEN_FDS; i++) {
		char *end;
		long fd = strtol(args[i], &end, 10);

		if (*end || fd < CHANNEL || fd > LARGEST_FD || fcntl((int)fd, F_GETFD) < 0)
			return -EBADF;
		fds[i] = (int)fd;
	}
	return 0;
}

/* Keep 0, 1, 2 and the channel. */
static int place_fds(const int fds[WARDEN_FDS], struct err *err)
{
	for (int i = 0; i < 3; i++)
		if (dup2(fds[2 + i], i) < 0)
			return err_sys(err, -errno, "pass descriptor %d", i);
	if (fds[0] != CHANNEL ? dup3(fds[0], CHANNEL, O_CLOEXEC) < 0
			      : fcntl(CHANNEL, F_SETFD, FD_CLOEXEC) < 0)
		return err_sys(err, -errno, "keep the channel");
	if (sys_close_range(CHANNEL + 1, ~0U, 0) < 0)
		return err_sys(err, -errno, "close inherited descriptors");
	return 0;
}

/* Who built the sandbox may have taken the capabilities, and with them the
 * right to drop any. */
static int apply(const struct op *step, const struct landlock *landlock, struct err *err)
{
	if (step->kind == OP_DROP_CAPS && confine_has_no_caps())
		return 0;
	if (step->kind == OP_EVERYWHERE)
		return sockets_begin(CHANNEL, err);
	return step_apply(step, landlock, err);
}

/* With a pid namespace our end is everybody's. Without one somebody has to end
 * the command's tree: that is us, when the channel hangs up. */
static int die_with_parent(const struct job *job, struct err *err)
{
	if (prctl(PR_SET_PDEATHSIG, job->owns_pidns ? SIGKILL : 0, 0, 0, 0) < 0)
		return err_sys(err, -errno, "die with the parent");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(err, -errno, "become undumpable");
	return 0;
}

static int story(const struct job *job, struct landlock *landlock, int *ret_terminal,
		 struct err *err)
{
	/* First: a rule to come may forbid it. */
	int r = pty_replace(CHANNEL, ret_terminal, err);

	if (r == 0)
		r = allow_begin(job->steps, job->steps_len, landlock, err);
	if (job->stands)
		allow_keep(landlock);
	for (size_t i = 0; i < job->steps_len && r == 0; i++)
		r = apply(&job->steps[i], landlock, err);
	if (r == 0 && chdir(job->cwd) < 0)
		r = err_sys(err, -errno, "enter %s", job->cwd);
	return r < 0 ? r : die_with_parent(job, err);
}

static int read_job(int fd, struct str *text, struct job *ret, struct err *err)
{
	int r = fd_read_all(fd, JOB_SIZE_MAX, text);

	return r < 0 ? err_sys(err, r, "read the warden's job") : job_parse(text, ret, err);
}

int warden_main(int argc, char *const *args, int (*tool)(char *const *argv))
{
	struct warden_report failed = {.kind = WARDEN_FAILED};
	struct landlock landlock = LANDLOCK_NONE;
	struct str text = {0};
	struct job job;
	int fds[WARDEN_FDS], terminal = -1;

	be_quick();
	if (parse_fds(argc, args, fds) < 0)
		return EXIT_NOT_RUN;
	(void)prctl(PR_SET_NAME, "pale", 0, 0, 0);
	if (read_job(fds[1], &text, &job, &failed.err) < 0 || place_fds(fds, &failed.err) < 0) {
		(void)warden_send_report(fds[0], &failed);
		_exit(1);
	}
	if (story(&job, &landlock, &terminal, &failed.err) == 0)
		warden_run(
			&(struct warden_job){.argv = job.argv,
					     .env = job.env,
					     .tool = job.is_tool ? tool : NULL,
					     .stands = job.stands,
					     .owns_pidns = job.owns_pidns,
					     .landlock = landlock.ruleset >= 0 ? &landlock : NULL,
					     .observed = step_observed(job.steps, job.steps_len),
					     .channel = CHANNEL,
					     .terminal = terminal});
	(void)warden_send_report(CHANNEL, &failed);
	_exit(1);
}
