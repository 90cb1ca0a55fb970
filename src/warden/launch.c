/* SPDX-License-Identifier: MIT */
#include "warden/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/quick.h"
#include "base/sys.h"
#include "confine/confine.h"
#include "confine/landlock.h"
#include "plan/plan.h"
#include "result/result.h"
#include "warden/exec.h"
#include "warden/parcel.h"
#include "warden/protocol.h"
#include "warden/step.h"
#include "warden/warden.h"

enum { NOTES = 3 };

static struct rlimit limits[RLIM_NLIMITS];

struct attempt {
	const struct warden_job *job;
	const struct launch *command;
	/* Written by the child in our memory. */
	int error;
	struct err *err; /* set when it failed before the program was tried */
};

/* A session of its own. With a terminal it is the session of its parent, and the
 * command a job in its foreground: the kernel would not let Ctrl-Z stop a group
 * that nobody in its session looks after. Signals are blocked, or setting the
 * foreground from the background would stop us. */
static int start_session(int terminal, struct err *err)
{
	if (terminal < 0)
		return setsid() < 0 ? err_sys(err, -errno, "start a session") : 0;
	if (setpgid(0, 0) < 0 || tcsetpgrp(terminal, getpid()) < 0)
		return err_sys(err, -errno, "bring the command to the foreground");
	return 0;
}

/* What came for it is above 3; 0, 1, 2 and the channel are below. *channel moves when its
 * place is wanted. */
static int place_fds(const struct launch *c, int *channel, struct err *err)
{
	for (int i = 0; i < 3; i++)
		if (c->fds[i] >= 0 && dup2(c->fds[i], i) < 0)
			return err_sys(err, -errno, "pass descriptor %d", i);
	if (c->notes < 0)
		return 0;
	*channel = fcntl(*channel, F_DUPFD_CLOEXEC, NOTES + 1);
	if (*channel < 0 || dup2(c->notes, NOTES) < 0)
		return err_sys(err, -errno, "pass descriptor %d", NOTES);
	return 0;
}

static int set_scene(const struct launch *c, int *channel, struct err *err)
{
	int unused = -1, r = place_fds(c, channel, err);

	if (r == 0 && c->screen)
		r = pty_open(c->screen, *channel, c->id, &unused, err);
	if (r == 0 && chdir(c->cwd) < 0)
		r = err_sys(err, -errno, "enter %s", c->cwd);
	(void)umask(c->umask);
	return r;
}

/* Nobody but the supervisor may hold the listener. Where none is to be had the boundary is
 * the same, and nobody looks; but for a broker, who has to be told. */
int launch_observe(const struct op *observed, int *ret_listener, struct err *err)
{
	unsigned variant = step_seccomp(observed);
	int fd = confine_seccomp_observed(variant, step_audience(observed));
	int r = 0;

	/* A broker that is told of nothing opens nothing. */
	if (fd < 0 && ((fd != -EBUSY && fd != -EINVAL) || observed->flags & OP_BROKERED))
		return err_sys(err, fd, "install the observed seccomp filter");
	if (fd < 0)
		r = confine_seccomp(variant, err);
	if (r == 0)
		*ret_listener = fd < 0 ? -1 : fd;
	return r;
}

int launch_report(uint32_t id, int channel, int listener, struct err *err)
{
	struct warden_report starting = {.kind = WARDEN_STARTING, .id = id};
	int r = listener < 0 ? warden_send_report(channel, &starting)
			     : warden_send_fds(channel, WARDEN_LISTENER, id, &listener, 1);

	fd_close(listener);
	return r < 0 ? err_sys(err, r, "report to the supervisor") : 0;
}

/* That of an errand tells the pid; of the only command the warden has said that it starts. */
static int report_start(const struct warden_job *job, const struct launch *c, int channel,
			struct err *err)
{
	int r = 0, listener = -1;

	if (job->observed && !c->is_observed)
		r = launch_observe(job->observed, &listener, err);
	return r == 0 && (c->is_errand || listener >= 0)
		       ? launch_report(c->id, channel, listener, err)
		       : r;
}

int launch_keep_limits(struct err *err)
{
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (getrlimit(i, &limits[i]) < 0)
			return err_sys(err, -errno, "read limit %d", i);
	return 0;
}

/* Better no command than one that fails for a reason that is none of its own. */
static int set_limits(struct err *err)
{
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (setrlimit(i, &limits[i]) < 0)
			return err_sys(err, -errno, "set limit %d", i);
	return 0;
}

static int unblock_signals(struct err *err)
{
	sigset_t none;

	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? err_sys(err, -errno, "unblock signals")
							 : 0;
}

int launch_prepare_ahead(const struct warden_job *job, uint32_t id, struct err *err)
{
	int r = set_limits(err), listener;

	if (r == 0)
		r = start_session(-1, err);
	if (r == 0)
		r = unblock_signals(err);
	if (r == 0)
		r = launch_observe(job->observed, &listener, err);
	return r == 0 ? launch_report(id, job->channel, listener, err) : r;
}

int launch_prepare_rest(const struct warden_job *job, const struct launch *command, struct err *err)
{
	int channel = job->channel, r = set_scene(command, &channel, err);

	if (r == 0 && job->landlock)
		r = landlock_enter(job->landlock, err);
	return r;
}

/* Which descriptor is what, as errand_pack() has it. */
static void sort_fds(const struct parcel *p, struct launch *command)
{
	size_t next = p->order.order.value & ERRAND_APART ? 1 : 0;

	for (int i = 0; i < 3; i++)
		command->fds[i] = p->order.pty.mask & 1u << i ? -1 : p->fds[next++];
	command->notes = p->order.order.value & ERRAND_NOTES ? p->fds[next] : -1;
}

struct launch launch_of(const struct parcel *p, const struct parcel_words *words)
{
	struct launch command = {.is_errand = true,
				 .id = p->order.order.id,
				 .terminal = -1,
				 .umask = p->order.umask & 0777,
				 .is_tool = p->order.order.value & ERRAND_TOOL,
				 .argv = words->at.argv,
				 .env = words->at.env,
				 .cwd = words->at.cwd};

	sort_fds(p, &command);
	return command;
}

/* What only the command's process does to itself. */
static int prepare_child(const struct warden_job *job, const struct launch *c, struct err *err)
{
	int channel = job->channel, r = c->is_errand ? set_limits(err) : 0;

	if (r == 0 && c->is_errand)
		r = set_scene(c, &channel, err);
	if (r == 0)
		r = start_session(c->terminal, err);
	if (r < 0)
		return r;
	if (!job->owns_pidns && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(err, -errno, "die with the parent");
	if (job->landlock) {
		r = c->is_errand ? landlock_enter_anew(job->landlock, err)
				 : landlock_enter(job->landlock, err);
		if (r < 0)
			return r;
	}
	r = unblock_signals(err);
	return r < 0 ? r : report_start(job, c, channel, err);
}

/* Runs on a stack of its own in the warden's memory, while the warden waits. */
static int launch_child(void *data)
{
	struct attempt *a = data;

	a->error = prepare_child(a->job, a->command, a->err);
	if (a->error == 0) {
		a->error = exec_program(a->command->argv, a->command->env);
		exec_error(a->error, a->command->argv[0], a->err);
	}
	_exit(1);
}

_Noreturn static void tool_child(const struct warden_job *job, const struct launch *c, int failure)
{
	struct err err = {0};
	unsigned first = c->is_errand && c->notes >= 0 ? NOTES + 1 : STDERR_FILENO + 1;

	if (prepare_child(job, c, &err) < 0) {
		(void)fd_write_all(failure, &err, sizeof(err));
		_exit(1);
	}
	if (sys_close_range(first, ~0U, 0) < 0)
		_exit(EXIT_NOT_RUN);
	warden_forget_environment();
	be_usual();
	_exit(job->tool(c->argv));
}

/* What the warden holds, a tool holds as well, until it is confined. */
static pid_t launch_tool(const struct warden_job *job, const struct launch *c, struct err *err)
{
	struct err failed;
	int pair[2], pidfd;
	ssize_t n;
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, -errno, "make a pipe");
	pid = sys_fork(&pidfd);
	if (pid == 0)
		tool_child(job, c, pair[1]);
	fd_close(pair[1]);
	if (pid < 0) {
		fd_close(pair[0]);
		return err_sys(err, pid, "start the tool's process");
	}
	fd_close(pidfd);
	do
		n = read(pair[0], &failed, sizeof(failed));
	while (n < 0 && errno == EINTR);
	fd_close(pair[0]);
	if (n != (ssize_t)sizeof(failed))
		return pid;
	waitpid(pid, NULL, 0);
	*err = failed;
	return failed.errnum ? -failed.errnum : -EPIPE;
}

pid_t launch_command(const struct warden_job *job, const struct launch *command, struct err *err)
{
	static char stack[32768] __attribute__((aligned(16)));
	struct attempt attempt = {.job = job, .command = command, .err = err};
	pid_t pid;

	if (command->is_tool)
		return launch_tool(job, command, err);
	pid = clone(launch_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
		    &attempt);
	if (pid < 0)
		return err_sys(err, -errno, "start the command's process");
	if (attempt.error == 0)
		return pid;
	waitpid(pid, NULL, 0);
	return attempt.error;
}
