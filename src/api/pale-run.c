/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/pale-impl.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/json-read.h"
#include "base/json.h"
#include "base/sys.h"
#include "result/result.h"

#define PROBE_MS 30000

struct pale_run {
	struct pale_context *context;
	uint64_t number, workspace, begin_ns;
	pid_t owner;          /* who started it: a copy that fork(2) made shares its socket */
	pthread_mutex_t lock; /* for all below */
	struct started job;
	struct answer answer;
	bool settled; /* from here on nothing changes any more */
	enum pale_outcome outcome;
	int exit_code, signal;
	uint64_t numbers[PALE_NET_RECEIVED + 1];
	char *limit;
	bool has_error;
	struct err err;
};

static uint64_t workspace_id(const char *path)
{
	uint8_t digest[SHA256_SIZE];
	struct sha256 hash;
	uint64_t id;

	if (!path)
		return 0;
	sha256_init(&hash);
	sha256_add(&hash, path, strlen(path));
	sha256_end(&hash, digest);
	memcpy(&id, digest, sizeof(id));
	return id;
}

static struct pale_run *run_new(struct pale_context *context, const struct spec *spec)
{
	struct pale_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->context = context_ref(context);
	run->workspace = workspace_id(spec->workspace);
	run->owner = getpid();
	run->job = STARTED_NONE;
	run->outcome = PALE_RUNNING;
	run->exit_code = -1;
	for (size_t i = 0; i < array_len(run->numbers); i++)
		run->numbers[i] = PALE_UNKNOWN;
	pthread_mutex_init(&run->lock, NULL);
	return run;
}

static void run_delete(struct pale_run *run)
{
	pthread_mutex_destroy(&run->lock);
	pale_context_free(run->context);
	answer_release(&run->answer);
	free(run->limit);
	free(run);
}

int pale_spawn(struct pale_context *context, const struct pale_spec *spec,
	       const struct pale_request *request, struct pale_run **ret_run,
	       struct pale_error *error)
{
	struct pale_run *run = NULL;
	struct pale_request asked;
	struct err err = {0};
	int r = request_read(request, &asked, &err);

	if (r == 0) {
		run = run_new(context, &spec->spec);
		r = run ? 0 : err_oom(&err);
	}
	if (r == 0) {
		run->begin_ns = clock_mono_ns();
		r = launch(context, &spec->spec, &asked, false, &run->job, &err);
	}
	if (r < 0) {
		if (run)
			run_delete(run);
		return give_error(error, &err, r);
	}
	run->number = context_begin(context, run->workspace);
	*ret_run = run;
	return 0;
}

static void get_number(struct json_slice group, const char *key, uint64_t *ret)
{
	struct json_slice value;

	if (json_get(group, key, &value))
		(void)json_get_uint(value, ret);
}

/* False: this is not what pale prints. */
static bool read_result(struct pale_run *run)
{
	struct json_slice root, value;
	uint64_t n;

	if (!json_slice_init(&root, str_text(&run->answer.json), run->answer.json.len) ||
	    !json_get(root, "outcome", &value))
		return false;
	/* Without memory of its own: it would take a run that did well for one that did not. */
	for (int i = 0; i <= PALE_ERROR && run->outcome == PALE_RUNNING; i++)
		if (json_is_text(value, outcome_name((enum outcome)i)))
			run->outcome = (enum pale_outcome)i;
	if (run->outcome == PALE_RUNNING)
		return false;
	if (json_get(root, "exit_code", &value) && json_get_uint(value, &n))
		run->exit_code = (int)n;
	if (json_get(root, "signal", &value) && json_get_uint(value, &n))
		run->signal = (int)n;
	get_number(root, "duration_ms", &run->numbers[PALE_DURATION_MS]);
	if (json_get(root, "usage", &value)) {
		get_number(value, "memory_peak", &run->numbers[PALE_MEMORY_PEAK]);
		get_number(value, "cpu_ms", &run->numbers[PALE_CPU_MS]);
		get_number(value, "pids_peak", &run->numbers[PALE_PIDS_PEAK]);
		get_number(value, "written", &run->numbers[PALE_WRITTEN]);
		get_number(value, "connections", &run->numbers[PALE_CONNECTIONS]);
		get_number(value, "net_sent", &run->numbers[PALE_NET_SENT]);
		get_number(value, "net_received", &run->numbers[PALE_NET_RECEIVED]);
	}
	if (json_get(root, "limit", &value))
		run->limit = json_get_string(value);
	run->has_error = answer_error(&run->answer, &run->err);
	return true;
}

/* pale itself was killed, or is not pale. */
static void invent_result(struct pale_run *run)
{
	struct json json = {.out = &run->answer.json};

	run->outcome = PALE_ERROR;
	run->has_error = true;
	if (run->answer.lost) {
		err_set(&run->err, ERR_LOST, -EPIPE, "%s was killed before it had a result",
			run->context->program);
		err_hint(&run->err, -EPIPE,
			 "the command may have been executed; it has ended with it");
	} else {
		err_set(&run->err, ERR_SYSTEM, -EPIPE, "%s ended without a result",
			run->context->program);
		err_hint(&run->err, -EPIPE,
			 "it is not pale, or went wrong; what it ran has ended, too");
	}
	str_truncate(json.out, 0);
	json_begin_object(&json, NULL);
	json_add_string(&json, "outcome", outcome_name(OUTCOME_ERROR));
	json_add_null(&json, "exit_code");
	json_add_null(&json, "signal");
	json_begin_object(&json, "error");
	json_add_string(&json, "code", err_code_name(run->err.code));
	json_add_string(&json, "message", run->err.message);
	json_add_string(&json, "hint", run->err.hint);
	json_end_object(&json);
	json_end_object(&json);
}

/* Under the lock, once the answer is complete. True: it was not settled before. */
static bool settle(struct pale_run *run)
{
	if (run->settled)
		return false;
	if (!read_result(run))
		invent_result(run);
	if (run->outcome == PALE_TIMEOUT && !run->limit)
		run->limit = strdup("timeout");
	else if (run->outcome == PALE_OOM && !run->limit)
		run->limit = strdup("memory");
	if (run->numbers[PALE_DURATION_MS] == PALE_UNKNOWN && !run->has_error)
		run->numbers[PALE_DURATION_MS] = (clock_mono_ns() - run->begin_ns) / 1000000;
	__atomic_store_n(&run->settled, true, __ATOMIC_RELEASE);
	return true;
}

/* Without the lock: annotators may ask about the run. */
static void announce(const struct pale_run *run)
{
	context_end(run->context,
		    (struct pale_event){.run = run->number,
					.workspace = run->workspace,
					.duration_ms = run->numbers[PALE_DURATION_MS],
					.outcome = (uint32_t)run->outcome},
		    str_text(&run->answer.json));
}

int pale_run_fd(const struct pale_run *run)
{
	return run->job.fd;
}

int pale_run_wait(struct pale_run *run, int timeout_ms, struct pale_error *error)
{
	int r = started_wait(&run->job, &run->answer, timeout_ms, &run->lock);
	struct err err = {0};
	bool first;

	if (r < 0) {
		err_sys(&err, r, "wait for the run");
		return give_error(error, &err, r);
	}
	pthread_mutex_lock(&run->lock);
	first = settle(run);
	pthread_mutex_unlock(&run->lock);
	if (first)
		announce(run);
	return 0;
}

static bool is_passed_on(int sig)
{
	switch (sig) {
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
	case SIGQUIT:
	case SIGUSR1:
	case SIGUSR2:
	case SIGTSTP:
	case SIGCONT:
		return true;
	default:
		return false;
	}
}

int pale_run_kill(struct pale_run *run, int sig, struct pale_error *error)
{
	struct err err = {0};
	int r = 0;

	pthread_mutex_lock(&run->lock);
	if (sig != SIGKILL && !is_passed_on(sig))
		r = err_set(&err, ERR_USAGE, -EINVAL, "signal %d cannot be passed on", sig);
	else if (run->answer.ended || run->job.pidfd < 0)
		r = err_set(&err, ERR_SYSTEM, -ESRCH, "the run has ended");
	else if (sig == SIGKILL)
		started_end(&run->job);
	else
		r = sys_pidfd_send_signal(run->job.pidfd, sig);
	pthread_mutex_unlock(&run->lock);
	if (r < 0 && !err.message[0])
		err_sys(&err, r, "signal the run");
	return r < 0 ? give_error(error, &err, r) : 0;
}

void pale_run_free(struct pale_run *run)
{
	if (!run)
		return;
	if (run->owner != getpid()) {
		fd_close(run->job.fd);
		fd_close(run->job.pidfd);
	} else {
		started_release(&run->job, &run->answer);
		if (settle(run))
			announce(run);
	}
	run_delete(run);
}

/* What is below is written once, before `settled`. */
static bool is_settled(const struct pale_run *run)
{
	return __atomic_load_n(&run->settled, __ATOMIC_ACQUIRE);
}

enum pale_outcome pale_run_outcome(const struct pale_run *run)
{
	return is_settled(run) ? run->outcome : PALE_RUNNING;
}

int pale_run_exit_code(const struct pale_run *run)
{
	return is_settled(run) ? run->exit_code : -1;
}

int pale_run_signal(const struct pale_run *run)
{
	return is_settled(run) ? run->signal : 0;
}

int pale_run_status(const struct pale_run *run)
{
	struct result result;

	if (!is_settled(run))
		return -1;
	result = (struct result){.outcome = (enum outcome)run->outcome,
				 .exit_code = run->exit_code,
				 .signal = run->signal};
	if (run->has_error && run->err.code == ERR_NOT_FOUND)
		return EXIT_NOT_FOUND;
	if (run->has_error && run->err.code == ERR_NOT_EXECUTABLE)
		return EXIT_NOT_EXECUTABLE;
	if (run->has_error && run->err.code == ERR_LOST)
		return EXIT_SIGNAL + SIGKILL;
	return result_status(&result);
}

uint64_t pale_run_number(const struct pale_run *run, enum pale_number number)
{
	if (!is_settled(run) || (unsigned)number >= array_len(run->numbers))
		return PALE_UNKNOWN;
	return run->numbers[number];
}

const char *pale_run_limit(const struct pale_run *run)
{
	return is_settled(run) ? run->limit : NULL;
}

const char *pale_run_json(const struct pale_run *run)
{
	return is_settled(run) ? str_text(&run->answer.json) : "";
}

int pale_run_error(const struct pale_run *run, struct pale_error *error)
{
	if (!is_settled(run) || !run->has_error)
		return 0;
	give_error(error, &run->err, 0);
	return 1;
}

/* Why a trial did not work. */
static int explain_trial(const struct pale_run *run, struct pale_error *error)
{
	struct err err = {0};

	if (run->has_error)
		return give_error(error, &run->err, -run->err.errnum);
	err_set(&err, ERR_UNSUPPORTED, -ENOTSUP, "a trial run of `true` ended with status %d",
		pale_run_status(run));
	return give_error(error, &err, -ENOTSUP);
}

int pale_probe(struct pale_context *context, const char *workspace, struct pale_error *error)
{
	static const char *const argv[] = {"true", NULL};
	struct pale_request request = PALE_REQUEST_INIT;
	struct pale_spec *spec = NULL;
	struct pale_run *run = NULL;
	int r = pale_spec_from_preset(workspace, "workspace", &spec, error);

	request.argv = argv;
	for (int i = 0; i < 3; i++)
		request.fds[i] = -1;
	if (r == 0)
		r = pale_spawn(context, spec, &request, &run, error);
	if (r == 0)
		r = pale_run_wait(run, PROBE_MS, error);
	if (r == 0 && pale_run_outcome(run) != PALE_OK)
		r = explain_trial(run, error);
	pale_run_free(run);
	pale_spec_free(spec);
	return r;
}
