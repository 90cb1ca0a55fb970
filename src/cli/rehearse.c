/* SPDX-License-Identifier: MIT */
#include "cli/rehearse.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/check-child.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/spawn.h"
#include "policy/spec-text.h"
#include "review/staged.h"
#include "stage/throwaway.h"

#define STAGE_KIND "pale-rehearsal"

enum {
	SPEC_FD = 3, /* in the `pale` process */
	RESULT_FD,
	PROFILE_FD,
	FIRST_FREE_FD,
	ANSWER_MAX = 64 << 20,
};

/* --- the stage --- */

static int collect_changes(const char *state_dir, const char *name, struct strv *ret,
			   struct err *err)
{
	_cleanup_(stage_freep) struct stage *stage = NULL;
	_cleanup_(changes_freep) struct changes *changes = NULL;
	int r = stage_open(state_dir, name, false, &stage, err);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = changes_read(stage, &changes, err);
	for (size_t i = 0; r == 0 && i < changes->n; i++) {
		const struct change *at = &changes->items[i];

		if (at->flags & CHANGE_IS_SAME || !change_stands_alone(changes, i))
			continue;
		if (strv_take(ret, path_join(stage->roots[at->root].path, at->path)) < 0)
			r = err_oom(err);
	}
	return r;
}

/* --- the process --- */

struct fds {
	int passed[FIRST_FREE_FD]; /* what becomes 0 to PROFILE_FD; -1: not passed */
	int lifeline;              /* our end of RESULT_FD */
	int signals;
};

static void fds_release(struct fds *fds)
{
	for (size_t i = 0; i < array_len(fds->passed); i++)
		fd_close(fds->passed[i]);
	fd_close(fds->lifeline);
	fd_close(fds->signals);
}

static int keep_high(int fd, int *ret)
{
	if (fd < 0)
		return -errno;
	*ret = fd;
	return fd_lift(ret, FIRST_FREE_FD);
}

static int fds_open(struct fds *fds, const struct str *spec, bool profile, const sigset_t *ours,
		    struct err *err)
{
	const int stdio[3] = {STDIN_FILENO, STDERR_FILENO, STDERR_FILENO};
	int pair[2], r = 0;

	for (int i = 0; i < 3 && r == 0; i++)
		r = keep_high(dup(stdio[i]), &fds->passed[i]);
	if (r == 0)
		r = keep_high(memfd_create("spec", MFD_CLOEXEC), &fds->passed[SPEC_FD]);
	if (r == 0)
		r = fd_write_all(fds->passed[SPEC_FD], str_text(spec), spec->len);
	if (r == 0 && lseek(fds->passed[SPEC_FD], 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0 && profile)
		r = keep_high(memfd_create("profile", MFD_CLOEXEC), &fds->passed[PROFILE_FD]);
	if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		r = -errno;
	if (r == 0) {
		fds->lifeline = pair[0];
		r = keep_high(pair[1], &fds->passed[RESULT_FD]);
	}
	if (r == 0) {
		fds->signals = signalfd(-1, ours, SFD_CLOEXEC | SFD_NONBLOCK);
		r = fds->signals < 0 ? -errno : 0;
	}
	return r < 0 ? err_sys(err, r, "descriptors for pale run") : 0;
}

static int start(const char *program, char *const *argv, const struct fds *fds,
		 const sigset_t *mask, pid_t *ret_pid)
{
	return spawn_start(&(struct spawn){.program = program,
					   .argv = argv,
					   .fds = fds->passed,
					   .fds_len = array_len(fds->passed),
					   .mask = mask},
			   ret_pid);
}

static int make_argv(const struct rehearsal *rehearsal, const char *program, const char *stage,
		     struct strv *ret)
{
	int r = strv_add(ret, program);

	if (r == 0)
		r = strv_add(ret, "run");
	if (r == 0)
		r = strv_addf(ret, "--spec-fd=%d", SPEC_FD);
	if (r == 0)
		r = strv_addf(ret, "--result-fd=%d", RESULT_FD);
	if (r == 0 && rehearsal->profile)
		r = strv_addf(ret, "--profile-fd=%d", PROFILE_FD);
	if (r == 0)
		r = strv_addf(ret, "--stage=%s", stage);
	if (r == 0)
		r = strv_addf(ret, "--workspace=%s", rehearsal->context->workspace.root);
	if (r == 0)
		r = strv_add(ret, "--");
	for (char *const *arg = rehearsal->argv; *arg && r == 0; arg++)
		r = strv_add(ret, *arg);
	return r;
}

/* Signals go to the run, which ends the command; at the second one it has no choice. */
static void pass_signal(const struct fds *fds, pid_t pid, int *interrupted)
{
	struct signalfd_siginfo info;

	while (read(fds->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		kill(pid, *interrupted ? SIGKILL : (int)info.ssi_signo);
		*interrupted = (int)info.ssi_signo;
	}
}

/* Until it closes its end: then it exits. */
static int listen_to(const struct fds *fds, pid_t pid, struct str *answer, int *interrupted)
{
	for (;;) {
		struct pollfd polled[] = {{.fd = fds->lifeline, .events = POLLIN},
					  {.fd = fds->signals, .events = POLLIN}};
		char buf[8192];
		ssize_t n;

		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (polled[1].revents)
			pass_signal(fds, pid, interrupted);
		if (!polled[0].revents)
			continue;
		n = recv(fds->lifeline, buf, sizeof(buf), MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return 0;
		if (answer->len + (size_t)n > ANSWER_MAX)
			return -EFBIG;
		if (str_append_bytes(answer, buf, (size_t)n) < 0)
			return -ENOMEM;
	}
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int read_profile(const struct fds *fds, struct evidence *ret, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	int fd = fds->passed[PROFILE_FD], r;

	if (fd < 0)
		return 0;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(err, -errno, "the profile");
	r = fd_read_all(fd, ANSWER_MAX, &text);
	return r < 0 ? err_sys(err, r, "the profile")
		     : evidence_read_profile(ret, str_text(&text), text.len, err);
}

static int run(const struct rehearsal *rehearsal, const char *stage, struct fds *fds,
	       const sigset_t *mask, struct evidence *ret, struct err *err)
{
	_cleanup_(strv_release) struct strv argv = {0};
	_cleanup_(str_release) struct str answer = {0};
	_cleanup_(freep) char *program = NULL;
	int interrupted = 0, r = check_program(&program, err);
	pid_t pid;

	if (r < 0)
		return r;
	if (make_argv(rehearsal, program, stage, &argv) < 0)
		return err_oom(err);
	r = start(program, argv.items, fds, mask, &pid);
	if (r < 0)
		return err_sys(err, r, "start %s", program);
	fds->passed[RESULT_FD] = fd_close(fds->passed[RESULT_FD]);
	r = listen_to(fds, pid, &answer, &interrupted);
	fds->lifeline = fd_close(fds->lifeline);
	reap(pid);
	if (r < 0)
		return err_sys(err, r, "listen to pale run");
	if (interrupted)
		return err_set(err, ERR_SYSTEM, -EINTR, "interrupted; nothing was kept");
	r = evidence_read_result(ret, str_text(&answer), answer.len, err);
	return r < 0 ? r : read_profile(fds, ret, err);
}

/* Signals are ours from before the stage exists until it is gone. */
static int guarded(const struct rehearsal *rehearsal, const struct str *spec, struct evidence *ret,
		   struct err *err)
{
	_cleanup_(fds_release) struct fds fds = {{-1, -1, -1, -1, -1, -1}, -1, -1};
	const char *state = rehearsal->context->workspace.state_dir;
	char stage[STAGE_NAME_MAX + 1];
	struct err dropped = {0};
	sigset_t ours, before;
	int r, d;

	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGQUIT);
	r = throwaway_name(STAGE_KIND, stage, err);
	if (r < 0)
		return r;
	sigprocmask(SIG_BLOCK, &ours, &before);
	r = fds_open(&fds, spec, rehearsal->profile, &ours, err);
	if (r == 0)
		r = run(rehearsal, stage, &fds, &before, ret, err);
	if (r == 0)
		r = collect_changes(state, stage, &ret->changed, err);
	d = throwaway_drop(state, stage, &dropped);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r == 0 && d < 0) {
		*err = dropped;
		return err_wrap(err, d, "remove the stage of the rehearsal, %s", stage);
	}
	return r;
}

int rehearse(const struct rehearsal *rehearsal, struct evidence *ret, struct err *err)
{
	_cleanup_(evidence_release) struct evidence evidence = {0};
	_cleanup_(str_release) struct str spec = {0};
	int r;

	if (!rehearsal->context->workspace.state_dir)
		return err_hint(err,
				err_set(err, ERR_SYSTEM, -ENOENT,
					"no place for what the command writes: no home is known"),
				"set XDG_STATE_HOME");
	r = spec_print(rehearsal->spec, &spec, err);
	if (r < 0)
		return r;
	throwaway_sweep(rehearsal->context->workspace.state_dir, STAGE_KIND);
	r = guarded(rehearsal, &spec, &evidence, err);
	if (r < 0)
		return r;
	evidence.asked = take_ptr(spec.data);
	*ret = evidence;
	evidence = (struct evidence){0};
	return 0;
}

int rehearsal_argv(const struct command *command, struct strv *ret, struct err *err)
{
	int r = 0;

	if (command->cmd) {
		r = strv_add(ret, "/bin/sh");
		if (r == 0)
			r = strv_add(ret, "-c");
		if (r == 0)
			r = strv_add(ret, command->cmd);
	}
	for (size_t i = 0; i < command->argv.len && r == 0; i++)
		r = strv_add(ret, command->argv.items[i]);
	return r < 0 ? err_oom(err) : 0;
}
