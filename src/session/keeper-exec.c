/* SPDX-License-Identifier: MIT */
/* What becomes of a wish for a command: checked here, whoever asks. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/run-history.h"
#include "backend/standing.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/size.h"
#include "config/value.h"
#include "plan/environ.h"
#include "plan/op.h"
#include "session/file-tool.h"
#include "session/keeper-impl.h"
#include "warden/pty.h"

#define OUTPUT_KEPT (4u << 20) /* of a command in the background, unless max_output says less */

struct wish {
	struct session_exec fixed;
	const char *cwd;
	char **argv, **env, **set;
	uint32_t flags;
	int fds[3]; /* -1: none; owned */
	int notes;
};

static void wish_release(struct wish *w)
{
	free(w->argv);
	free(w->env);
	free(w->set);
	for (size_t i = 0; i < array_len(w->fds); i++)
		fd_close(w->fds[i]);
	fd_close(w->notes);
}

static bool parse(struct wish *w, struct session_message *m)
{
	struct session_cursor c = session_cursor(m);
	size_t n_fds = (w->flags & SESSION_BACKGROUND ? 0 : 3) + !!(w->flags & SESSION_NOTES);

	if (!session_take(&c, &w->fixed, sizeof(w->fixed)) || w->fixed.n_argv == 0 ||
	    m->n_fds != n_fds)
		return false;
	if (w->flags & SESSION_SHELL &&
	    (w->fixed.n_argv != 1 || w->flags & (SESSION_TOOL | SESSION_NOTES)))
		return false;
	w->cwd = session_take_string(&c);
	w->argv = w->cwd ? session_take_strings(&c, w->fixed.n_argv) : NULL;
	w->env = w->argv ? session_take_strings(&c, w->fixed.n_env) : NULL;
	w->set = w->env ? session_take_strings(&c, w->fixed.n_set) : NULL;
	if (!w->set || !session_take_end(&c))
		return false;
	for (size_t i = 0; i < 3 && !(w->flags & SESSION_BACKGROUND); i++)
		w->fds[i] = m->fds[i];
	if (w->flags & SESSION_NOTES)
		w->notes = m->fds[n_fds - 1];
	m->n_fds = 0;
	return true;
}

static int check_policy(struct keeper *k, struct err *err)
{
	const char *changed = fingerprint_changed(&k->fingerprint);
	const char *name = k->place.name;

	if (!changed) {
		int r = keeper_covers_check(k, err);

		if (r == 0)
			r = keeper_protected_check(k, err);
		if (r != -ESTALE)
			return r;
	} else {
		err_set(err, ERR_POLICY, -ESTALE, "%s has changed since session '%s' was started",
			changed, name);
	}
	return err_hint(err, -ESTALE,
			"a session keeps its policy: pale session stop %s, and start it anew",
			name);
}

/* One call may ask for less than the session allows, and never for more. */
static int lower(uint64_t asked, enum dim dim, const struct keeper *k, uint64_t *ret,
		 struct err *err)
{
	uint64_t most = *spec_limit_const(&k->run->resolved.spec, dim);
	bool is_time = dim == DIM_TIMEOUT || dim == DIM_CPU;
	char wanted[SIZE_TEXT_MAX], held[SIZE_TEXT_MAX];

	if (asked < spec_keys[dim].min)
		return err_set(err, ERR_USAGE, -ERANGE, "--%s: less than the least, %s",
			       spec_keys[dim].option,
			       (is_time ? duration_format : size_format)(spec_keys[dim].min, held));
	if (asked == UINT64_MAX || asked <= most) {
		*ret = asked < most ? asked : most;
		return 0;
	}
	(is_time ? duration_format : size_format)(asked, wanted);
	(is_time ? duration_format : size_format)(most, held);
	err_set(err, ERR_POLICY, -EPERM, "--%s %s is more than session '%s' allows: %s = %s",
		spec_keys[dim].option, wanted, k->place.name, dim_name(dim), held);
	return err_hint(err, -EPERM, "ask for less, or start a session that allows more");
}

/* What the session's plan says of a limit holds for the session. */
static void judge_limit(struct job *job, uint64_t asked, enum dim dim, enum enforcement state,
			const char *by)
{
	struct plan *plan = &job->plan;

	if (asked >= *spec_limit_const(job->run.granted, dim))
		return;
	*spec_limit(&job->run.resolved.spec, dim) = asked;
	for (size_t i = 0; i < plan->verdicts_len; i++)
		if (str_eq(plan->verdicts[i].dimension, dim_name(dim))) {
			plan->verdicts[i].state = state;
			plan->verdicts[i].by = by;
			return;
		}
	plan_verdict(plan, dim_name(dim), state, by);
}

static void judge_limits(struct job *job, uint64_t timeout_ms, const struct session_exec *asked)
{
	judge_limit(job, timeout_ms, DIM_TIMEOUT, ENFORCED, "timer inside of the session");
	judge_limit(job, asked->cpu_ms, DIM_CPU, DEGRADED,
		    "the CPU time of its processes is added up now and then");
	judge_limit(job, asked->memory, DIM_MEMORY, DEGRADED,
		    "the memory of its processes is added up now and then");
	judge_limit(job, asked->pids, DIM_PIDS, DEGRADED, "its processes are counted now and then");
	judge_limit(job, asked->max_output, DIM_MAX_OUTPUT, ENFORCED, "pump of the session");
}

/* Of a command alone they are added up, whatever the session has. */
static int check_sight(const struct job *job, const struct errand *errand, struct err *err)
{
	const struct {
		enum dim dim;
		uint64_t limit;
	} counted[] = {
		{DIM_CPU, errand->cpu_ms}, {DIM_MEMORY, errand->memory}, {DIM_PIDS, errand->pids}};

	for (size_t i = 0; i < array_len(counted); i++) {
		if (counted[i].limit == UINT64_MAX ||
		    job->run.resolved.allow_degraded & DIM_BIT(counted[i].dim))
			continue;
		if (rung_sees_processes())
			return 0;
		err_set(err, ERR_UNSUPPORTED, -ENOTSUP,
			"cannot be enforced here: %s of a command (/proc does not show what would "
			"be added up)",
			dim_name(counted[i].dim));
		return err_hint(err, -ENOTSUP,
				"mount /proc without hidepid, or start the session with "
				"--allow-degraded %s",
				dim_name(counted[i].dim));
	}
	return 0;
}

static int set_limits(struct job *job, const struct wish *w, struct errand *errand, struct err *err)
{
	const struct keeper *k = job->keeper;
	int r = lower(w->fixed.timeout_ms, DIM_TIMEOUT, k, &errand->timeout_ms, err);

	if (r == 0)
		r = lower(w->fixed.cpu_ms, DIM_CPU, k, &errand->cpu_ms, err);
	if (r == 0)
		r = lower(w->fixed.memory, DIM_MEMORY, k, &errand->memory, err);
	if (r == 0)
		r = lower(w->fixed.pids, DIM_PIDS, k, &errand->pids, err);
	if (r == 0)
		r = lower(w->fixed.max_output, DIM_MAX_OUTPUT, k, &job->plan.max_output, err);
	if (r < 0)
		return r;
	/* What holds for the session as a whole holds without being looked at here. */
	if (w->fixed.memory == UINT64_MAX)
		errand->memory = UINT64_MAX;
	if (w->fixed.pids == UINT64_MAX)
		errand->pids = UINT64_MAX;
	if (w->flags & SESSION_TOOL)
		job->plan.max_output = UINT64_MAX;
	if (w->flags & SESSION_TOOL && errand->timeout_ms == UINT64_MAX)
		errand->timeout_ms = TOOL_TIMEOUT_MS;
	job->plan.timeout_ms = errand->timeout_ms;
	judge_limits(job, errand->timeout_ms, &w->fixed);
	return check_sight(job, errand, err);
}

static bool is_shown(const struct keeper *k, const char *path)
{
	for (size_t i = 0; i < k->shown.len; i++)
		if (path_covers(k->shown.items[i], path))
			return true;
	return false;
}

/* What is not a folder inside is found out there. */
static int choose_cwd(struct job *job, const struct wish *w, struct err *err)
{
	const struct keeper *k = job->keeper;
	_cleanup_(freep) char *path = NULL;

	if (w->cwd[0] != '/' || path_normalize("/", w->cwd, &path) < 0)
		return err_set(err, ERR_USAGE, -EINVAL, "--cwd: \"%.200s\" is no path", w->cwd);
	if (is_shown(k, path)) {
		job->plan.cwd = take_ptr(path);
		return 0;
	}
	if (!(w->flags & SESSION_CWD_ASKED)) {
		job->plan.cwd = strdup(k->run->plan->cwd);
		return job->plan.cwd ? 0 : err_oom(err);
	}
	err_set(err, ERR_USAGE, -ENOENT, "%s is not shown in session '%s'", path, k->place.name);
	return err_hint(err, -ENOENT, "a folder in %s, or in what paths_readable names",
			k->run->context.workspace.root);
}

static bool is_assignment(const char *text)
{
	_cleanup_(freep) char *name = strndup(text, strcspn(text, "="));

	return name && strchr(text, '=') && variable_is_valid(name);
}

/* The rules of the plan, over the client's variables. */
static int make_env(struct job *job, const struct wish *w, struct err *err)
{
	struct site site = *job->keeper->site;
	struct resolved *resolved = &job->run.resolved;
	struct strv set = {0};
	int r = strv_copy(&set, &resolved->env_set);

	site.env = (struct strv){.items = w->env, .len = w->fixed.n_env};
	for (char **text = w->set; *text && r == 0; text++) {
		if (!is_assignment(*text)) {
			strv_release(&set);
			return err_set(err, ERR_USAGE, -EINVAL,
				       "--setenv: \"%.100s\" is not NAME=VALUE", *text);
		}
		if (!(w->flags & SESSION_SHELL)) /* which has them for this line alone */
			r = strv_add(&set, *text);
	}
	resolved->env_set = set;
	if (r == 0)
		r = environ_compile(&job->plan, resolved, &site);
	if (r == 0 && w->flags & SESSION_SHELL)
		r = job_shell_env(job, w->set, err);
	strv_release(&set);
	resolved->env_set = (struct strv){0};
	return r < 0 ? err_oom(err) : 0;
}

static int take_argv(struct job *job, const struct wish *w, struct err *err)
{
	if (w->flags & SESSION_SHELL)
		return job_shell_begin(job, w->argv[0], w->flags & SESSION_CWD_ASKED, err);
	for (char **arg = w->argv; *arg; arg++)
		if (strv_add(&job->argv, *arg) < 0)
			return err_oom(err);
	job->plan.argv = job->argv;
	return 0;
}

/* A tool is told where it may work by us, and what it says is looked at when it has ended. */
static int take_tool(struct job *job, const struct wish *w, struct err *err)
{
	int r = file_tool_complete(&job->run, &job->argv, err);

	if (r < 0)
		return r;
	job->plan.argv = job->argv;
	job->reply = fcntl(w->fds[1], F_DUPFD_CLOEXEC, 3);
	return job->reply < 0 ? err_sys(err, -errno, "dup") : 0;
}

/* Nobody answers what it asks, and what it prints is kept. */
static int send_to_background(struct job *job, struct wish *w, struct err *err)
{
	uint64_t max = job->plan.max_output < OUTPUT_KEPT ? job->plan.max_output : OUTPUT_KEPT;
	_cleanup_(fd_closep) int dir = openat(job->keeper->place.dir, SESSION_OUT,
					      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int writer = -1, r;

	if (dir < 0)
		return err_sys(err, -errno, "the session's folder");
	w->fds[0] = fd_open("/dev/null", O_RDONLY);
	if (w->fds[0] < 0)
		return err_sys(err, -errno, "open /dev/null");
	r = job_output_open(&job->output, dir, job->run.id, max, &writer, err);
	if (r < 0)
		return r;
	w->fds[1] = writer;
	w->fds[2] = fcntl(writer, F_DUPFD_CLOEXEC, 3);
	return w->fds[2] < 0 ? err_sys(err, -errno, "dup") : 0;
}

static void set_pty(const struct wish *w, struct pty *pty, struct errand *errand)
{
	if (!(w->flags & SESSION_PTY) || !(w->fixed.pty_mask & 7))
		return;
	*pty = (struct pty){.mask = w->fixed.pty_mask & 7,
			    .interactive = w->fixed.pty_interactive & 1,
			    .modes = w->fixed.pty_modes,
			    .size = w->fixed.pty_size};
	errand->pty = pty;
}

/* What can be looked at while somebody inside prepares for it. */
static int begin(void *data, struct err *err)
{
	struct job *job = data;
	int r = check_policy(job->keeper, err);

	job->is_checked = true;
	if (r == 0) {
		run_history_begin(&job->run);
		run_history_start(&job->run);
	}
	return r;
}

static int start(struct job *job, struct wish *w, struct errand *errand, struct err *err)
{
	struct keeper *k = job->keeper;
	struct pty pty;
	int stale, r = take_argv(job, w, err);

	if (r == 0)
		r = choose_cwd(job, w, err);
	if (r == 0)
		r = make_env(job, w, err);
	if (r == 0 && w->flags & SESSION_TOOL)
		r = take_tool(job, w, err);
	if (r == 0 && w->flags & SESSION_BACKGROUND)
		r = send_to_background(job, w, err);
	if (r < 0)
		return r;
	*errand = (struct errand){.id = job->id,
				  .argv = job->argv.items,
				  .env = job->plan.env.items,
				  .cwd = job->plan.cwd,
				  .fds = {w->fds[0], w->fds[1], w->fds[2]},
				  .notes = job->notes >= 0 ? job->notes : w->notes,
				  .is_tool = w->flags & SESSION_TOOL,
				  .umask = w->fixed.umask & 0777,
				  .timeout_ms = errand->timeout_ms,
				  .cpu_ms = errand->cpu_ms,
				  .memory = errand->memory,
				  .pids = errand->pids,
				  .begins = begin,
				  .data = job};
	set_pty(w, &pty, errand);
	r = standing_start(k->standing, errand, err);
	if (r == 0 || job->is_checked)
		return r;
	stale = begin(job, err); /* refusals are remembered as well */
	return stale < 0 ? stale : r;
}

static int try(struct client *client, struct wish *w, struct job *job, bool *ret_again,
	       struct err *err)
{
	struct errand errand;
	int stale = 0, r = set_limits(job, w, &errand, err);

	*ret_again = r == 0 && job->plan.max_output != UINT64_MAX &&
		     !(w->flags & (SESSION_PIPED | SESSION_BACKGROUND));
	if (r == 0 && !*ret_again)
		r = start(job, w, &errand, err);
	/* That the policy has changed goes before any other reason. */
	if (!job->is_checked)
		stale = check_policy(client->keeper, err);
	return stale < 0 ? stale : r;
}

/* Variables may be secrets: they stay no longer than it takes to pass them on. */
static void forget_env(struct job *job)
{
	struct strv *env = &job->plan.env;

	for (size_t i = 0; i < env->len; i++)
		explicit_bzero(env->items[i], strlen(env->items[i]));
	strv_release(env);
}

static void answer_started(struct client *client, const struct job *job)
{
	_cleanup_(str_release) struct str body = {0};

	if (session_put_string(&body, job->run.id) == 0)
		client_answer(client, SESSION_STARTED, &body, NULL, 0);
}

/* Whether names are asked about is part of the walls. */
static int check_asks(const struct keeper *k, struct err *err)
{
	if (k->run->plan->net.asks)
		return 0;
	return err_hint(err,
			err_set(err, ERR_USAGE, -EINVAL, "--ask: session '%s' was started without",
				k->place.name),
			"stop it, and start it with: pale session start %s --ask", k->place.name);
}

void keeper_exec(struct client *client, struct session_message *message)
{
	_cleanup_(wish_release) struct wish w = {
		.flags = message->head.flags, .fds = {-1, -1, -1}, .notes = -1};
	struct err err = {0};
	struct job *job = NULL;
	bool again = false;
	int r = 0;

	if (!parse(&w, message))
		r = err_set(&err, ERR_USAGE, -EBADMSG, "a request that cannot be understood");
	else if (w.flags & SESSION_TOOL && w.flags & SESSION_BACKGROUND)
		r = err_set(&err, ERR_USAGE, -EINVAL, "a file tool is not for the background");
	else if (client->job)
		r = err_set(&err, ERR_USAGE, -EBUSY, "a client has one command at a time");
	else if (w.flags & SESSION_ASKS)
		r = check_asks(client->keeper, &err);
	if (r == 0)
		job = job_new(client->keeper, &err);
	if (!job) {
		client_fail(client, &err);
		return;
	}
	job->flags = w.flags;
	r = try(client, &w, job, &again, &err);
	forget_env(job);
	if (r < 0 && job->run.history.plan)
		run_history_end(&job->run, &err);
	if (r < 0)
		client_fail(client, &err);
	else if (again)
		client_number(client, SESSION_PIPES, job->plan.max_output);
	if (r < 0 || again) {
		job_free(job);
		return;
	}
	job->is_started = true;
	job->keeper->n_living++;
	if (w.flags & SESSION_BACKGROUND) {
		job_watch_output(job);
		answer_started(client, job);
	} else {
		client->job = job;
		job->client = client;
	}
}
