/* SPDX-License-Identifier: MIT */
#include "session/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/run-history.h"
#include "api/run-stage.h"
#include "backend/standing.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/lean.h"
#include "base/own-args.h"
#include "base/size.h"
#include "result/event.h"
#include "session/keeper-impl.h"
#include "stage/stage.h"
#include "store/record.h"
#include "store/spool.h"

#define IDLE_MS (30ull * 60 * 1000)

/* What the keeper tells who started it, once. */
struct outcome_report {
	int r;
	struct err err;
};

uint64_t keeper_idle(const struct config *config)
{
	static const char *const path[] = {"session", "idle", NULL};
	struct setting setting;
	uint64_t ms = IDLE_MS;

	if (config_get(config, path, &setting) && setting.value->type == TOML_STRING)
		(void)duration_parse(setting.value->string.bytes, &ms, NULL);
	return ms;
}

static void on_terminal(void *data, uint32_t id, int master)
{
	struct keeper *k = data;
	struct job *job = job_by_id(k, id);

	if (job && job->client)
		client_answer(job->client, SESSION_TERMINAL, NULL, &master, 1);
	fd_close(master);
}

static void on_stopped(void *data, uint32_t id)
{
	struct job *job = job_by_id(data, id);

	if (job && job->client && job->flags & SESSION_PTY)
		client_answer(job->client, SESSION_STOPPED, NULL, NULL, 0);
}

static void on_refused(void *data, uint32_t id, struct violations *found, struct violation *new)
{
	struct job *job = job_by_id(data, id);

	if (!job)
		return;
	job->run.rules = keeper_rules(job->keeper);
	run_history_refused(&job->run, found, new);
}

static void on_ended(void *data, uint32_t id, struct result *result, const struct err *failed)
{
	struct job *job = job_by_id(data, id);

	if (job) {
		job_end(job, result, failed);
		return;
	}
	if (result) {
		events_release(&result->events);
		violations_release(&result->violations);
	}
}

static void on_gone(void *data)
{
	struct keeper *k = data;

	k->is_gone = true;
	k->loop.done = true;
}

static void on_end(void *data, short revents)
{
	struct keeper *k = data;

	(void)revents;
	k->loop.done = true;
}

/* As a rule nobody sends one; a shutdown of the machine does. */
static int watch_signals(struct keeper *k, struct err *err)
{
	static const int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	sigset_t set;

	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigemptyset(&set);
	for (size_t i = 0; i < array_len(taken); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_SETMASK, &set, NULL);
	k->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return k->signals < 0 ? err_sys(err, -errno, "signalfd") : 0;
}

static void put_facts(const struct keeper *k, struct json *json)
{
	const struct run *run = k->run;
	char boot[STAGE_BOOT_MAX] = "", idle[SIZE_TEXT_MAX];

	(void)stage_boot_id(boot, NULL);
	json_begin_object(json, NULL);
	json_add_uint(json, "version", SESSION_VERSION);
	json_add_string(json, "session", k->place.name);
	json_add_string(json, "workspace", run->context.workspace.root);
	json_add_int(json, "pid", getpid());
	json_add_uint(json, "started_ms", clock_wall_ms());
	json_add_string(json, "boot", boot);
	fingerprint_json(&k->fingerprint, json);
	json_add_string(json, "mode", run->resolved.mode);
	json_add_string(json, "stage", run->plan->stage);
	json_add_string(json, "engine", engine_name(run->plan->engine));
	json_begin_object(json, "grade");
	json_add_string(json, "world", run->plan->world);
	json_add_uint(json, "ceiling", run->plan->ceiling);
	json_end_object(json);
	json_add_string(json, "idle",
			k->idle_ms == UINT64_MAX ? NULL : duration_format(k->idle_ms, idle));
	json_end_object(json);
}

static int write_facts(const struct keeper *k, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	struct json json = {.out = &text};
	_cleanup_(fd_closep) int fd = openat(k->place.dir, SESSION_FILE,
					     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
					     S_IRUSR | S_IWUSR);
	int r;

	put_facts(k, &json);
	if (json_finish(&json) < 0 || str_append_char(&text, '\n') < 0)
		return err_oom(err);
	r = fd < 0 ? -errno : fd_write_all(fd, text.data, text.len);
	return r < 0 ? err_sys(err, r, "write what the session is") : 0;
}

/* An event of the workspace, as what verbs do. */
static void remember(struct keeper *k, const char *kind)
{
	_cleanup_(str_release) struct str line = {0};
	char key[96];
	const struct deed deed = {.id = key,
				  .kind = kind,
				  .severity = "info",
				  .code = k->place.name,
				  .stage = k->run->plan->stage,
				  .time_ms = clock_wall_ms()};

	if (!run_history_is_on(k->run) || k->run->history.state <= 0)
		return;
	snprintf(key, sizeof(key), "%s-%s", kind, k->run->id);
	if (record_deed(&deed, &line) == 0)
		(void)spool_append_kept(k->run->history.state, &k->spool, &line, NULL);
}

/* What happened to protected names while no command ran has no result to be in. */
static void on_tampered(void *data, const struct events *events)
{
	static unsigned count;
	struct keeper *k = data;

	if (!run_history_is_on(k->run) || k->run->history.state <= 0)
		return;
	for (size_t i = 0; i < events->len; i++) {
		_cleanup_(str_release) struct str line = {0};
		const struct event *event = &events->items[i];
		char key[96];
		const struct deed deed = {.id = key,
					  .kind = "sandbox.tamper",
					  .severity = "critical",
					  .dimension = event->dimension,
					  .code = tamper_action_name(event->action),
					  .stage = k->run->plan->stage,
					  .path = event->path,
					  .where = event->where,
					  .time_ms = clock_wall_ms()};

		snprintf(key, sizeof(key), "tamper-%s-%u", k->run->id, ++count);
		if (record_deed(&deed, &line) == 0)
			(void)spool_append_kept(k->run->history.state, &k->spool, &line, NULL);
	}
}

static int watch(struct keeper *k, struct err *err)
{
	int r = keeper_listen(k, err);

	if (r < 0)
		return r;
	if (loop_add(&k->loop, k->signals, POLLIN, on_end, k) < 0)
		return err_oom(err);
	if (k->lifeline >= 0 && loop_add(&k->loop, k->lifeline, POLLRDHUP, on_end, k) < 0)
		return err_oom(err);
	k->idle = (struct loop_timer){.at_ns = LOOP_NEVER, .fn = on_end, .data = k};
	loop_add_timer(&k->loop, &k->idle);
	keeper_stir(k);
	return 0;
}

/* What still ran was ended with the sandbox. Whoever waits for it is told so. */
static void end_job(struct job *job)
{
	struct result killed = {.outcome = OUTCOME_SIGNALED, .exit_code = -1, .signal = SIGKILL};

	job->notes = fd_close(job->notes);
	job->lost = calloc(1, sizeof(*job->lost));
	if (job->lost)
		err_set(job->lost, ERR_SYSTEM, -EPIPE,
			"session '%s' has ended, and the command with it", job->keeper->place.name);
	job_end(job, &killed, NULL);
}

static void end_jobs(struct keeper *k)
{
	for (struct job *job = k->jobs; job; job = k->jobs) {
		if (!job->is_ended)
			end_job(job);
		if (k->jobs == job)
			job_free(job);
	}
}

static void close_all(struct keeper *k)
{
	struct result whole = {0};

	k->standing = standing_close(k->standing, &whole);
	end_jobs(k);
	keeper_hang_up_all(k);
	keeper_unask(k, NULL);
	strv_release(&k->said_no);
	on_tampered(k, &whole.events);
	events_release(&whole.events);
	violations_release(&whole.violations);
	(void)run_stage_end(k->run, true, NULL);
	remember(k, "session.end");
	session_place_remove(&k->place);
	shell_state_release(&k->shell);
}

static int tell_parent(int pipe, int r, const struct err *err)
{
	struct outcome_report report = {.r = r};

	if (r < 0)
		report.err = *err;
	return fd_write_all(pipe, &report, sizeof(report));
}

static int stand(struct keeper *k, const struct run_request *request, struct err *err)
{
	const struct standing_ear ear = {.terminal = on_terminal,
					 .stopped = on_stopped,
					 .refused = on_refused,
					 .ended = on_ended,
					 .ask = keeper_ask,
					 .tampered = on_tampered,
					 .gone = on_gone,
					 .data = k};
	static struct standing_ear kept;
	int r = watch_signals(k, err);

	kept = ear;
	if (r == 0)
		r = run_raise(k->run, request, &k->loop, &kept, &k->standing, err);
	if (r == 0)
		r = spec_readable(&k->run->resolved.spec, &k->shown) < 0 ? err_oom(err) : 0;
	if (r == 0)
		r = write_facts(k, err);
	return r < 0 ? r : watch(k, err);
}

/* Nothing of who started us may be held: terminals, pipes, folders. */
static void leave(const struct keeper *k, int pipe)
{
	const int keep[] = {k->place.parent, k->place.dir, k->place.lock, k->lifeline, pipe};
	int null = fd_open("/dev/null", O_RDWR);

	(void)setsid();
	(void)umask(077);
	(void)!chdir("/");
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		(void)dup2(null, fd);
	fds_close_others(keep, array_len(keep));
}

static void wipe(char *const *list)
{
	for (; list && *list; list++)
		explicit_bzero(*list, strlen(*list));
}

/* The starter's variables may be secrets. The sandbox stands; commands bring their own. Where git has
 * its configurations is looked up again (keeper-protected.c). */
static void forget_starter(struct keeper *k)
{
	static const char *const names[] = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
					    "XDG_CONFIG_HOME"};
	static char *kept[array_len(names) + 1];
	size_t n = 0;

	for (size_t i = 0; i < array_len(names); i++) {
		const char *value = getenv(names[i]);

		kept[n] = value ? str_printf("%s=%s", names[i], value) : NULL;
		n += kept[n] != NULL;
	}
	for (size_t i = 0; i < k->site->env.len; i++)
		explicit_bzero(k->site->env.items[i], strlen(k->site->env.items[i]));
	wipe(environ);
	environ = kept;
	own_args_forget();
}

_Noreturn static void keep(struct keeper *k, const struct run_request *request, int pipe)
{
	struct err err = {0};
	int r;

	leave(k, pipe);
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	r = stand(k, request, &err);
	if (r == 0)
		remember(k, "session.start");
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	if (r == 0)
		forget_starter(k);
	/* Of a session that nobody knows of, nobody would ever ask. */
	if (tell_parent(pipe, r, &err) == 0 && r == 0) {
		fd_close(pipe);
		k->loop.lean = true;
		lean_trim_heap();
		loop_run(&k->loop);
	}
	close_all(k);
	_exit(r < 0 ? EXIT_NOT_RUN : 0);
}

static int await(int pipe, pid_t child, struct err *err)
{
	struct outcome_report report = {0};
	size_t got = 0;
	ssize_t n = 1;

	while (n > 0 && got < sizeof(report)) {
		n = read(pipe, (char *)&report + got, sizeof(report) - got);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			got += (size_t)n;
	}
	if (got < sizeof(report)) {
		(void)waitpid(child, NULL, 0);
		return err_set(err, ERR_SYSTEM, -EPIPE, "the session ended before it stood");
	}
	if (report.r < 0) {
		(void)waitpid(child, NULL, 0);
		*err = report.err;
		return report.r;
	}
	return 0;
}

int keeper_start(struct run *run, const struct run_request *request, const struct keeper_ask *ask,
		 struct err *err)
{
	struct keeper k = {.run = run,
			   .place = SESSION_PLACE_NONE,
			   .listener = -1,
			   .signals = -1,
			   .spool = -1,
			   .lifeline = ask->lifeline,
			   .fingerprint = *ask->fingerprint,
			   .idle_ms = ask->idle_ms};
	int pipe[2], r = session_place_take(ask->folder, ask->name, &k.place, err);
	pid_t pid;

	if (r < 0)
		return r;
	k.site = request->site;
	if (pipe2(pipe, O_CLOEXEC) < 0) {
		r = err_sys(err, -errno, "pipe");
		session_place_remove(&k.place);
		return r;
	}
	pid = fork();
	if (pid == 0) {
		fd_close(pipe[0]);
		keep(&k, request, pipe[1]);
	}
	r = pid < 0 ? err_sys(err, -errno, "fork") : 0;
	fd_close(pipe[1]);
	if (r == 0) {
		session_place_close(&k.place);
		r = await(pipe[0], pid, err);
	} else {
		session_place_remove(&k.place);
	}
	fd_close(pipe[0]);
	return r;
}
