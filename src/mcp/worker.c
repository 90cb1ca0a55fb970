/* SPDX-License-Identifier: MIT */
#include "mcp/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/spawn.h"
#include "base/sys.h"

#define MS 1000000ull

enum {
	FIRST_FREE_FD = WORKER_TEXT_FD + WORKER_TEXTS,
	ASK_MS = 2000,    /* for an orderly end */
	INSIST_MS = 3000, /* before it is killed */
	DRAIN_MAX = 1 << 20,
	P_PIDFD_ = 3,
	EXIT_UNKNOWN = 125,
};

void worker_init(struct worker *worker)
{
	*worker = (struct worker){
		.pidfd = -1,
		.result = -1,
		.out = -1,
		.err = -1,
		.output = {.max = WORKER_OUTPUT_MAX},
	};
}

static int reap(struct worker *worker, int options)
{
	siginfo_t info = {0};

	if (waitid((idtype_t)P_PIDFD_, (id_t)worker->pidfd, &info, WEXITED | options) < 0) {
		if (errno != ECHILD)
			return -errno;
		/* Somebody else has it. */
		info = (siginfo_t){.si_pid = worker->pid, .si_code = CLD_EXITED};
		info.si_status = EXIT_UNKNOWN;
	}
	if (info.si_pid == 0)
		return 0;
	worker->status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
	worker->pid = 0;
	return 1;
}

void worker_release(struct worker *worker)
{
	if (worker->pid > 0) {
		(void)sys_pidfd_send_signal(worker->pidfd, SIGKILL);
		while (reap(worker, 0) == -EINTR)
			;
	}
	fd_close(worker->pidfd);
	fd_close(worker->result);
	fd_close(worker->out);
	fd_close(worker->err);
	str_release(&worker->answer);
	str_release(&worker->data);
	tail_release(&worker->output);
	worker_init(worker);
}

/* --- starting --- */

/* Ours and the worker's ends. */
struct ends {
	int ours[3]; /* result, out, err */
	int fds[FIRST_FREE_FD];
};

static void ends_release(struct ends *ends)
{
	for (size_t i = 0; i < array_len(ends->ours); i++)
		fd_close(ends->ours[i]);
	for (size_t i = 0; i < array_len(ends->fds); i++)
		fd_close(ends->fds[i]);
}

static int make_pipe(int *ours, int *theirs)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	*ours = pair[0];
	*theirs = pair[1];
	return fcntl(*ours, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int make_file(const char *text, int *ret)
{
	int r = 0;

	*ret = memfd_create("input", MFD_CLOEXEC);
	if (*ret < 0)
		return -errno;
	if (*text)
		r = fd_write_all(*ret, text, strlen(text));
	return r == 0 && lseek(*ret, 0, SEEK_SET) < 0 ? -errno : r;
}

static int copy(int fd, int *ret)
{
	*ret = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	return *ret < 0 ? -errno : 0;
}

static int ends_open(struct ends *ends, const struct work *work)
{
	int pair[2], r = make_pipe(&ends->ours[1], &ends->fds[1]);

	if (r == 0)
		r = work->is_command ? copy(ends->fds[1], &ends->fds[2])
				     : make_pipe(&ends->ours[2], &ends->fds[2]);
	if (r == 0 && work->input)
		r = make_file(work->input, &ends->fds[0]);
	for (size_t i = 0; r == 0 && i < WORKER_TEXTS; i++)
		if (work->texts[i])
			r = make_file(work->texts[i], &ends->fds[WORKER_TEXT_FD + i]);
	if (r == 0 && work->passed >= 0)
		r = copy(work->passed, &ends->fds[WORKER_PASSED_FD]);
	if (r == 0 && work->has_result) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			return -errno;
		ends->ours[0] = pair[0];
		ends->fds[WORKER_RESULT_FD] = pair[1];
	}
	for (size_t i = 0; r == 0 && i < array_len(ends->fds); i++)
		if (ends->fds[i] >= 0)
			r = fd_lift(&ends->fds[i], FIRST_FREE_FD);
	return r;
}

static int spawn(const struct ends *ends, const char *program, const char *workdir,
		 const struct work *work, pid_t *ret_pid)
{
	sigset_t defaults;

	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	/* A group of its own: what a terminal sends is for us alone. */
	return spawn_start(&(struct spawn){.program = program,
					   .argv = work->argv->items,
					   .cwd = workdir,
					   .fds = ends->fds,
					   .fds_len = array_len(ends->fds),
					   .own_group = true,
					   .defaults = &defaults},
			   ret_pid);
}

int worker_start(struct worker *worker, const char *program, const char *workdir,
		 const struct work *work)
{
	_cleanup_(ends_release) struct ends ends = {{-1, -1, -1}, {-1, -1, -1, -1, -1, -1, -1}};
	pid_t pid = 0;
	int r = ends_open(&ends, work);

	if (r == 0)
		r = spawn(&ends, program, workdir, work, &pid);
	if (r < 0)
		return r;
	worker->pidfd = sys_result(syscall(SYS_pidfd_open, pid, 0));
	if (worker->pidfd < 0) {
		r = worker->pidfd;
		worker->pidfd = -1;
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return r;
	}
	worker->pid = pid;
	worker->is_command = work->is_command;
	worker->result = take_fd(ends.ours[0]);
	worker->out = take_fd(ends.ours[1]);
	worker->err = take_fd(ends.ours[2]);
	return 0;
}

/* --- what comes back --- */

size_t worker_fds(const struct worker *worker, struct pollfd fds[WORKER_FDS])
{
	const int all[WORKER_FDS] = {worker->pidfd, worker->result, worker->out, worker->err};
	size_t len = 0;

	for (size_t i = 0; i < array_len(all) && worker->pid > 0; i++)
		if (all[i] >= 0)
			fds[len++] = (struct pollfd){.fd = all[i], .events = POLLIN};
	return len;
}

static int keep(struct worker *worker, const int *fd, const char *bytes, size_t len)
{
	if (fd == &worker->err || (fd == &worker->out && worker->is_command))
		return tail_add(&worker->output, bytes, len);
	if (fd == &worker->result)
		return worker->answer.len + len > WORKER_DATA_MAX
			       ? 0
			       : str_append_bytes(&worker->answer, bytes, len);
	if (worker->data.len + len > WORKER_DATA_MAX) {
		worker->is_cut = true;
		len = WORKER_DATA_MAX - worker->data.len;
	}
	return str_append_bytes(&worker->data, bytes, len);
}

static ssize_t get(const struct worker *worker, const int *fd, char *buf, size_t size)
{
	return fd == &worker->result ? recv(*fd, buf, size, MSG_DONTWAIT) : read(*fd, buf, size);
}

/* Bounded, so that a flood of one does not keep us from the others. */
static int drain(struct worker *worker, int *fd)
{
	char buf[32768];

	for (size_t taken = 0; *fd >= 0 && taken < DRAIN_MAX;) {
		ssize_t n = get(worker, fd, buf, sizeof(buf));
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0) {
			*fd = fd_close(*fd);
			return 0;
		}
		taken += (size_t)n;
		r = keep(worker, fd, buf, (size_t)n);
		if (r < 0)
			return r;
	}
	return 0;
}

int worker_step(struct worker *worker)
{
	int ended = reap(worker, WNOHANG);
	int r = drain(worker, &worker->out);

	/* Looked at first: what it wrote before its end is there now. Whoever else holds
	 * the pipes is not waited for. */
	if (r == 0)
		r = drain(worker, &worker->err);
	if (r == 0)
		r = drain(worker, &worker->result);
	if (r < 0 || ended <= 0)
		return r;
	worker->pidfd = fd_close(worker->pidfd);
	worker->result = fd_close(worker->result);
	worker->out = fd_close(worker->out);
	worker->err = fd_close(worker->err);
	return 1;
}

int worker_exit(const struct worker *worker)
{
	return WIFEXITED(worker->status) ? WEXITSTATUS(worker->status)
					 : 128 + WTERMSIG(worker->status);
}

/* --- ending --- */

uint64_t worker_due(const struct worker *worker)
{
	if (worker->pid <= 0 || worker->told_ns == 0 || worker->urgency >= 2)
		return UINT64_MAX;
	return worker->told_ns + (worker->urgency == 0 ? ASK_MS : INSIST_MS) * MS;
}

void worker_end(struct worker *worker, uint64_t now_ns)
{
	if (worker->pid <= 0 || (worker->told_ns > 0 && now_ns < worker_due(worker)))
		return;
	if (worker->told_ns == 0 && worker->result >= 0) {
		(void)shutdown(worker->result, SHUT_WR);
	} else if (worker->told_ns == 0 || worker->urgency == 0) {
		(void)sys_pidfd_send_signal(worker->pidfd, SIGTERM);
		worker->urgency += worker->told_ns > 0;
	} else {
		(void)sys_pidfd_send_signal(worker->pidfd, SIGKILL);
		worker->urgency = 2;
	}
	/* It may be stopped, and would not notice. */
	(void)sys_pidfd_send_signal(worker->pidfd, SIGCONT);
	worker->told_ns = now_ns;
}
