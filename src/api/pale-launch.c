/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/pale-impl.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/spawn.h"
#include "base/json-read.h"
#include "base/sys.h"
#include "policy/spec-text.h"

enum {
	SPEC_FD = 3, /* in the `pale` process */
	RESULT_FD,
	FIRST_FREE_FD,
	ANSWER_MAX = 64 << 20,
	END_MS = 5000, /* for an orderly end, before insisting */
	P_PIDFD_ = 3,
};

/* Sealed: what was checked is what will be read. */
static int text_fd(const struct str *text, int *ret_fd)
{
	_cleanup_(fd_closep) int fd = memfd_create("spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, str_text(text), text->len);
	if (r == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		r = -errno;
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		r = fd_lift(&fd, FIRST_FREE_FD);
	if (r == 0)
		*ret_fd = take_fd(fd);
	return r;
}

/* What the `pale` process gets as 0 to RESULT_FD. */
struct passed {
	int fds[FIRST_FREE_FD]; /* -1: /dev/null */
	int lifeline;           /* our end */
};

static void passed_close(struct passed *passed)
{
	for (size_t i = 0; i < array_len(passed->fds); i++)
		passed->fds[i] = fd_close(passed->fds[i]);
}

static void passed_release(struct passed *passed)
{
	passed_close(passed);
	fd_close(passed->lifeline);
}

static int passed_init(struct passed *passed, const struct str *text, const int fds[3],
		       struct err *err)
{
	int pair[2], r;

	for (int i = 0; i < 3; i++) {
		if (fds[i] < 0)
			continue;
		passed->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
		if (passed->fds[i] < 0)
			return err_sys(err, -errno, "descriptor %d", fds[i]);
	}
	r = text_fd(text, &passed->fds[SPEC_FD]);
	if (r < 0)
		return err_sys(err, r, "memfd_create");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, -errno, "socketpair");
	passed->lifeline = pair[0];
	passed->fds[RESULT_FD] = pair[1];
	r = fd_lift(&passed->fds[RESULT_FD], FIRST_FREE_FD);
	return r < 0 ? err_sys(err, r, "descriptor") : 0;
}

/* The mask is emptied: threads of servers block signals that the command needs. */
static int start(const struct passed *passed, const char *program, const char *cwd,
		 char *const *argv, char *const *env, pid_t *ret_pid)
{
	return spawn_start(&(struct spawn){.program = program,
					   .argv = argv,
					   .env = env,
					   .cwd = cwd,
					   .fds = passed->fds,
					   .fds_len = array_len(passed->fds)},
			   ret_pid);
}

static int explain_spawn(const char *program, const char *cwd, int r, struct err *err)
{
	if (cwd && access(program, X_OK) == 0)
		return err_sys(err, r, "start %s in %s", program, cwd);
	err_sys(err, r, "start %s", program);
	return err_hint(err, r, "pale must be installed there, or name it in pale_context_new()");
}

static int make_argv(const char *program, const struct spec *spec,
		     const struct pale_request *request, const char *text, bool explain,
		     struct strv *argv)
{
	int r = strv_add(argv, program);

	if (r == 0)
		r = strv_add(argv, "run");
	if (r == 0 && text) {
		r = strv_add(argv, "--spec");
		if (r == 0)
			r = strv_add(argv, text);
	} else if (r == 0) {
		r = strv_addf(argv, "--spec-fd=%d", SPEC_FD);
		if (r == 0)
			r = strv_addf(argv, "--result-fd=%d", RESULT_FD);
	}
	if (r == 0 && explain)
		r = strv_add(argv, "--explain");
	if (r == 0 && spec->workspace)
		r = strv_addf(argv, "--workspace=%s", spec->workspace);
	for (const char *const *dim = request->allow_degraded; dim && *dim && r == 0; dim++)
		r = strv_addf(argv, "--allow-degraded=%s", *dim);
	if (r == 0)
		r = strv_add(argv, "--");
	for (const char *const *arg = request->argv; *arg && r == 0; arg++)
		r = strv_add(argv, *arg);
	return r;
}

/* If somebody has reaped the child already, its number may be another's: then
 * nothing is to be signalled. */
static int open_child(pid_t pid)
{
	int pidfd = sys_result(syscall(SYS_pidfd_open, pid, 0));
	siginfo_t info;

	if (pidfd >= 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		pidfd = fd_close(pidfd);
	return pidfd < 0 ? -1 : pidfd;
}

int launch(const struct pale_context *context, const struct spec *spec,
	   const struct pale_request *request, bool explain, struct started *ret, struct err *err)
{
	_cleanup_(passed_release) struct passed passed = {{-1, -1, -1, -1, -1}, -1};
	_cleanup_(spec_release) struct spec effective = {0};
	_cleanup_(strv_release) struct strv argv = {0};
	_cleanup_(str_release) struct str text = {0};
	char *const *env = request->env ? (char *const *)request->env : environ;
	pid_t pid;
	int r = spec_effective(spec, &effective, err);

	if (r == 0)
		r = spec_print(&effective, &text, err);
	if (r < 0)
		return r;
	if (make_argv(context->program, &effective, request, NULL, explain, &argv) < 0)
		return err_oom(err);
	r = passed_init(&passed, &text, request->fds, err);
	if (r < 0)
		return r;
	r = start(&passed, context->program, request->cwd, argv.items, env, &pid);
	if (r < 0)
		return explain_spawn(context->program, request->cwd, r, err);
	passed_close(&passed); /* where descriptors are scarce, so that there is one more */
	ret->pid = pid;
	ret->pidfd = open_child(pid);
	ret->fd = take_fd(passed.lifeline);
	return 0;
}

/* One block: the pointers, then the text that they point to. */
static char **pack(const struct strv *v)
{
	size_t size = (v->len + 1) * sizeof(char *);
	char **packed, *at;

	for (size_t i = 0; i < v->len; i++)
		size += strlen(v->items[i]) + 1;
	packed = malloc(size);
	if (!packed)
		return NULL;
	at = (char *)(packed + v->len + 1);
	for (size_t i = 0; i < v->len; i++) {
		size_t len = strlen(v->items[i]) + 1;

		packed[i] = memcpy(at, v->items[i], len);
		at += len;
	}
	packed[v->len] = NULL;
	return packed;
}

int pale_argv(struct pale_context *context, const struct pale_spec *spec,
	      const struct pale_request *request, char ***ret_argv, struct pale_error *error)
{
	_cleanup_(spec_release) struct spec effective = {0};
	_cleanup_(strv_release) struct strv argv = {0};
	_cleanup_(str_release) struct str text = {0};
	struct pale_request asked;
	struct err err = {0};
	char **packed = NULL;
	int r = request_read(request, &asked, &err);

	if (r == 0)
		r = spec_effective(&spec->spec, &effective, &err);
	if (r == 0)
		r = spec_print(&effective, &text, &err);
	if (r == 0 &&
	    make_argv(context->program, &effective, &asked, str_text(&text), false, &argv) == 0)
		packed = pack(&argv);
	if (r == 0 && !packed)
		r = err_oom(&err);
	if (r < 0)
		return give_error(error, &err, r);
	*ret_argv = packed;
	return 0;
}

/* Its socket is closed: it is exiting, if it has not been reaped by others. */
static void reap(struct started *job, struct answer *answer)
{
	siginfo_t info = {0};
	int r;

	answer->lost = true;
	if (job->pidfd < 0)
		return;
	do
		r = waitid((idtype_t)P_PIDFD_, (id_t)job->pidfd, &info, WEXITED);
	while (r < 0 && errno == EINTR);
	answer->lost = info.si_code != CLD_EXITED;
	if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
		answer->killed = info.si_status;
}

int started_drain(struct started *job, struct answer *answer)
{
	char buf[8192];

	while (!answer->ended) {
		/* First the room: what was received and could not be kept would be lost. */
		int r = str_reserve(&answer->json, sizeof(buf));
		ssize_t n = r < 0 ? 0 : recv(job->fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (r < 0)
			return r;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n > 0 && answer->json.len < ANSWER_MAX) {
			(void)str_append_bytes(&answer->json, buf, (size_t)n);
		} else if (n <= 0) {
			reap(job, answer);
			answer->ended = true;
		}
	}
	return 1;
}

static int remaining_ms(int timeout_ms, uint64_t begin_ns)
{
	uint64_t past = (clock_mono_ns() - begin_ns) / 1000000;

	if (timeout_ms < 0)
		return -1;
	return past >= (uint64_t)timeout_ms ? 0 : timeout_ms - (int)past;
}

int started_wait(struct started *job, struct answer *answer, int timeout_ms, pthread_mutex_t *lock)
{
	uint64_t begin_ns = clock_mono_ns();

	for (;;) {
		struct pollfd fd = {.fd = job->fd, .events = POLLIN};
		int r, left;

		if (lock)
			pthread_mutex_lock(lock);
		r = started_drain(job, answer);
		if (lock)
			pthread_mutex_unlock(lock);
		if (r != 0)
			return r < 0 ? r : 0;
		left = remaining_ms(timeout_ms, begin_ns);
		if (left == 0)
			return -ETIMEDOUT;
		if (poll(&fd, 1, left) < 0 && errno != EINTR)
			return -errno;
	}
}

/* It may be stopped, and would not notice. */
void started_end(const struct started *job)
{
	(void)shutdown(job->fd, SHUT_WR);
	if (job->pidfd >= 0)
		(void)sys_pidfd_send_signal(job->pidfd, SIGCONT);
}

void started_release(struct started *job, struct answer *answer)
{
	if (job->fd >= 0 && !answer->ended) {
		started_end(job);
		if (started_wait(job, answer, END_MS, NULL) < 0 && job->pidfd >= 0) {
			(void)sys_pidfd_send_signal(job->pidfd, SIGKILL);
			reap(job, answer);
		}
	}
	fd_close(job->fd);
	fd_close(job->pidfd);
	*job = STARTED_NONE;
}

void answer_release(struct answer *answer)
{
	str_release(&answer->json);
}

/* Of the codes that pale prints, which? */
static enum err_code code_of(struct json_slice name)
{
	for (int code = ERR_SYSTEM; code <= ERR_LAST; code++)
		if (json_is_text(name, err_code_name((enum err_code)code)))
			return (enum err_code)code;
	return ERR_SYSTEM;
}

static int errno_of(enum err_code code)
{
	switch (code) {
	case ERR_USAGE:
	case ERR_CONFIG:
		return EINVAL;
	case ERR_POLICY:
	case ERR_TRUST:
		return EPERM;
	case ERR_UNSUPPORTED:
	case ERR_NO_IDMAP:
	case ERR_NO_NAMESPACES:
		return ENOTSUP;
	case ERR_NOT_FOUND:
		return ENOENT;
	case ERR_NOT_EXECUTABLE:
		return EACCES;
	case ERR_SYSTEM:
	case ERR_LOST:
		break;
	}
	return EIO;
}

bool answer_error(const struct answer *answer, struct err *ret)
{
	_cleanup_(freep) char *message = NULL, *hint = NULL;
	struct json_slice root, error, value;
	enum err_code code = ERR_SYSTEM;
	int r;

	if (!json_slice_init(&root, str_text(&answer->json), answer->json.len) ||
	    !json_get(root, "error", &error))
		return false;
	if (json_get(error, "code", &value))
		code = code_of(value);
	if (json_get(error, "message", &value))
		message = json_get_string(value);
	if (json_get(error, "hint", &value))
		hint = json_get_string(value);
	r = -errno_of(code);
	err_set(ret, code, r, "%s", message ? message : "pale could not run it");
	err_hint(ret, r, "%s", hint ? hint : "");
	return true;
}
