/* SPDX-License-Identifier: MIT */
#include "api/check-child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/json-read.h"
#include "base/spawn.h"
#include "base/sys.h"

#define MS 1000000ull

enum {
	RESULT_FD = 3,
	FIRST_FREE_FD,
	ASK_MS = 2000,    /* for an orderly end, before insisting */
	INSIST_MS = 5000, /* before pale itself is killed */
	DRAIN_MAX = 1 << 20,
};

void check_child_init(struct check_child *child, char *name)
{
	*child = (struct check_child){
		.name = name,
		.job = STARTED_NONE,
		.output = -1,
		.capture = {.max = CHECK_OUTPUT_MAX},
		.memory = USAGE_UNKNOWN,
	};
}

void check_child_release(struct check_child *child)
{
	started_release(&child->job, &child->answer);
	answer_release(&child->answer);
	fd_close(child->output);
	capture_release(&child->capture);
	free(child->result.limit);
	free(child->result.message);
	free(child->result.hint);
	free(child->result.run);
	free(child->name);
	*child = (struct check_child){.job = STARTED_NONE, .output = -1};
}

int check_program(char **ret_program, struct err *err)
{
	/* The other way round than `pale` looks for pale-verbs. */
	static const char *const places[] = {"pale", "../../bin/pale"};
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (len < 0)
		return err_sys(err, -errno, "read /proc/self/exe");
	self[len] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < array_len(places); i++) {
		_cleanup_(freep) char *path = str_printf("%.*s/%s", (int)(slash - self), self,
							 places[i]);

		if (!path)
			return err_oom(err);
		if (access(path, X_OK) == 0) {
			*ret_program = take_ptr(path);
			return 0;
		}
	}
	err_set(err, ERR_SYSTEM, -ENOENT, "pale is not where it belongs: beside %s", self);
	return err_hint(err, -ENOENT, "install it there, or as ../../bin/pale from there");
}

/* --- starting --- */

struct ends {
	int lifeline, result; /* ours, the child's */
	int read, write;
};

static void ends_release(struct ends *ends)
{
	fd_close(ends->lifeline);
	fd_close(ends->result);
	fd_close(ends->read);
	fd_close(ends->write);
}

static int ends_open(struct ends *ends)
{
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ends->lifeline = pair[0];
	ends->result = pair[1];
	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	ends->read = pair[0];
	ends->write = pair[1];
	r = fd_lift(&ends->result, FIRST_FREE_FD);
	if (r == 0)
		r = fd_lift(&ends->write, FIRST_FREE_FD);
	if (r == 0 && fcntl(ends->read, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	return r;
}

/* A group of its own: Ctrl-C is for us, and we pass it on in our own way. */
static int start(const struct ends *ends, const char *program, char *const *argv, pid_t *ret_pid)
{
	const int fds[FIRST_FREE_FD] = {-1, ends->write, ends->write, ends->result};
	sigset_t defaults;

	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	return spawn_start(&(struct spawn){.program = program,
					   .argv = argv,
					   .fds = fds,
					   .fds_len = array_len(fds),
					   .own_group = true,
					   .defaults = &defaults},
			   ret_pid);
}

int check_child_start(struct check_child *child, const char *program, const char *workspace,
		      struct err *err)
{
	_cleanup_(ends_release) struct ends ends = {-1, -1, -1, -1};
	_cleanup_(freep) char *option = str_printf("--workspace=%s", workspace);
	char *argv[] = {"pale", "run", "--result-fd=3", option, child->name, NULL};
	pid_t pid;
	int r = option ? ends_open(&ends) : -ENOMEM;

	if (r == 0)
		r = start(&ends, program, argv, &pid);
	if (r < 0)
		return err_sys(err, r, "start %s", program);
	child->job.pid = pid;
	child->job.pidfd = sys_result(syscall(SYS_pidfd_open, pid, 0));
	if (child->job.pidfd < 0)
		child->job.pidfd = -1;
	child->job.fd = take_fd(ends.lifeline);
	child->output = take_fd(ends.read);
	return 0;
}

/* --- what comes back --- */

static int outcome_by_name(const char *name)
{
	for (int i = OUTCOME_OK; i <= OUTCOME_ERROR; i++)
		if (str_eq(name, outcome_name((enum outcome)i)))
			return i;
	return -1;
}

static bool is_object(const struct answer *answer, struct json_slice *ret)
{
	return json_slice_init(ret, str_text(&answer->json), answer->json.len) && ret->len > 1 &&
	       ret->text[0] == '{' && ret->text[ret->len - 1] == '}';
}

/* Those that programs make as a matter of course do not count. */
static uint64_t count_refused(struct json_slice root)
{
	struct json_slice list, item, probe;
	uint64_t refused = 0;
	size_t cursor = 0;

	if (!json_get(root, "violations", &list))
		return 0;
	while (json_next_item(list, &cursor, &item))
		if (!json_get(item, "probe", &probe) || probe.text[0] != 't')
			refused += json_get_number(item, "count", 1);
	return refused;
}

static int error_status(const char *code)
{
	if (str_eq(code, err_code_name(ERR_NOT_FOUND)))
		return EXIT_NOT_FOUND;
	return str_eq(code, err_code_name(ERR_NOT_EXECUTABLE)) ? EXIT_NOT_EXECUTABLE : EXIT_NOT_RUN;
}

/* Our `pale` wrote it, or died before it could. */
static void read_answer(struct check_child *child)
{
	struct check_result *result = &child->result;
	struct json_slice root, part;
	_cleanup_(freep) char *outcome = NULL, *code = NULL;
	int known;

	*result = (struct check_result){.outcome = OUTCOME_ERROR,
					.status = EXIT_NOT_RUN,
					.exit_code = -1,
					.duration_ms = USAGE_UNKNOWN,
					.memory_peak = USAGE_UNKNOWN};
	if (!is_object(&child->answer, &root)) {
		str_truncate(&child->answer.json, 0);
		result->message = strdup("pale itself was ended");
		/* By then the command may have been executed: 125 would deny that. */
		if (child->answer.killed)
			result->status = EXIT_SIGNAL + child->answer.killed;
		return;
	}
	outcome = json_get_text(root, "outcome");
	known = outcome_by_name(outcome);
	if (known >= 0)
		result->outcome = (enum outcome)known;
	result->exit_code = (int)json_get_number(root, "exit_code", UINT64_MAX);
	result->signal = (int)json_get_number(root, "signal", 0);
	result->limit = json_get_text(root, "limit");
	result->run = json_get_text(root, "run");
	result->refused = count_refused(root);
	result->duration_ms = json_get_number(root, "duration_ms", USAGE_UNKNOWN);
	if (json_get(root, "usage", &part))
		result->memory_peak = json_get_number(part, "memory_peak", USAGE_UNKNOWN);
	if (json_get(root, "error", &part)) {
		code = json_get_text(part, "code");
		result->message = json_get_text(part, "message");
		result->hint = json_get_text(part, "hint");
		result->status = error_status(code);
		return;
	}
	result->status = result_status(&(struct result){.outcome = result->outcome,
							.exit_code = result->exit_code,
							.signal = result->signal});
}

/* Bounded, so that a flood of one does not keep us from the others. */
static int drain(struct check_child *child)
{
	char buf[65536];

	for (size_t taken = 0; child->output >= 0 && taken < DRAIN_MAX;) {
		ssize_t n = read(child->output, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0) {
			child->output = fd_close(child->output);
			return 0;
		}
		taken += (size_t)n;
		if (capture_add(&child->capture, buf, (size_t)n) < 0)
			return -ENOMEM;
	}
	return 0;
}

int check_child_step(struct check_child *child)
{
	int r = drain(child);

	if (r == 0)
		r = started_drain(&child->job, &child->answer);
	if (r <= 0)
		return r;
	/* What it wrote last. Whoever else holds the pipe is not waited for. */
	r = drain(child);
	child->output = fd_close(child->output);
	child->job.fd = fd_close(child->job.fd);
	child->job.pidfd = fd_close(child->job.pidfd);
	read_answer(child);
	return r < 0 ? r : 1;
}

/* --- ending --- */

static uint64_t patience_ns(const struct check_child *child)
{
	return (child->urgency == 0 ? ASK_MS : INSIST_MS) * MS;
}

uint64_t check_child_due(const struct check_child *child)
{
	if (child->told_ns == 0 || child->urgency >= 2)
		return UINT64_MAX;
	return child->told_ns + patience_ns(child);
}

static void tell(struct check_child *child, int signal)
{
	if (child->job.pidfd >= 0)
		(void)sys_pidfd_send_signal(child->job.pidfd, signal);
}

void check_child_end(struct check_child *child, int signal, uint64_t now_ns)
{
	if (child->told_ns == 0) {
		child->told_ns = now_ns;
		tell(child, signal);
		tell(child, SIGCONT);
		return;
	}
	if (now_ns < check_child_due(child))
		return;
	child->told_ns = now_ns;
	if (child->urgency++ == 0)
		started_end(&child->job);
	else
		tell(child, SIGKILL);
}
