/* SPDX-License-Identifier: MIT */
#include "api/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "api/run-asking.h"
#include "api/run-history.h"
#include "api/run-mounts.h"
#include "api/run-refused.h"
#include "api/run-stage.h"
#include "backend/local.h"
#include "backend/run-ear.h"
#include "backend/standing.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/path.h"
#include "base/private-dir.h"
#include "config/caches.h"
#include "config/state-dir.h"
#include "plan/bound.h"
#include "plan/host.h"
#include "policy/lattice.h"
#include "policy/outer.h"
#include "policy/trust.h"
#include "stage/stage.h"

/* Sorts by time: milliseconds, then chance. */
int run_make_id(char ret[RUN_ID_SIZE], struct err *err)
{
	enum { TIME_DIGITS = 11, DIGITS = 10 };
	static const char digits[] = "0123456789abcdef";
	uint64_t ms = (uint64_t)clock_wall_ms(), chance;

	if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
		return err_sys(err, -errno, "getrandom");
	for (size_t i = TIME_DIGITS; i > 0; i--, ms >>= 4)
		ret[i - 1] = digits[ms & 15];
	ret[TIME_DIGITS] = '-';
	for (size_t i = 1; i <= DIGITS; i++, chance >>= 4)
		ret[TIME_DIGITS + i] = digits[chance & 15];
	ret[TIME_DIGITS + DIGITS + 1] = '\0';
	return 0;
}

static int no_such_command(const struct run *run, const char *name, struct err *err)
{
	struct strv names = {0};
	const char *near = NULL;

	if (command_names(&run->context.config, &names) == 0)
		near = str_nearest(name, (const char *const *)names.items, names.len);
	err_set(err, ERR_USAGE, -ENOENT, "no command '%s'; to run the program: pale run -- %s",
		name, name);
	if (near)
		err_hint(err, -ENOENT, "did you mean '%s'?", near);
	strv_release(&names);
	return -ENOENT;
}

/* Does the line say itself where its arguments go? */
static bool places_arguments(const char *line)
{
	return strstr(line, "$@") || strstr(line, "${@") || strstr(line, "$*") ||
	       strstr(line, "${*");
}

/* Could what is put behind the line be swallowed or become a command? */
static bool has_open_end(const char *line)
{
	size_t len = strlen(line);

	while (len > 0 && strchr(" \t", line[len - 1]))
		len--;
	return strpbrk(line, "#\n") || (len > 0 && strchr(";&|", line[len - 1]));
}

/* A shell line gets further arguments as "$@": as arguments, never as text. */
static int shell_argv(const struct command *command, bool more, struct strv *ret, struct err *err)
{
	bool append = more && !places_arguments(command->cmd);
	int r;

	if (append && has_open_end(command->cmd))
		return err_hint(err,
				err_set(err, ERR_USAGE, -EINVAL,
					"the line of '%s' does not say where arguments go",
					command->name),
				"write \"$@\" in its cmd, at the place where they belong");
	r = strv_add(ret, "/bin/sh");
	if (r == 0)
		r = strv_add(ret, "-c");
	if (r == 0)
		r = append ? strv_addf(ret, "%s \"$@\"", command->cmd)
			   : strv_add(ret, command->cmd);
	if (r == 0 && more)
		r = strv_add(ret, command->name);
	return r < 0 ? err_oom(err) : 0;
}

static int command_argv(const struct command *command, char *const *args, struct strv *ret,
			struct err *err)
{
	int r = 0;

	if (command->cmd)
		r = shell_argv(command, args && *args, ret, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < command->argv.len && r == 0; i++)
		r = strv_add(ret, command->argv.items[i]);
	for (; args && *args && r == 0; args++)
		r = strv_add(ret, *args);
	return r < 0 ? err_oom(err) : 0;
}

static int find_argv(struct run *run, const struct run_request *request, struct strv *ret,
		     struct err *err)
{
	struct command command = {0};
	int r;

	if (!request->name) {
		for (char *const *arg = request->args; *arg; arg++)
			if (strv_add(ret, *arg) < 0)
				return err_oom(err);
		return 0;
	}
	r = command_find(&run->context.config, request->name, &command, err);
	if (r == -ENOENT)
		return no_such_command(run, request->name, err);
	if (r < 0)
		return r;
	r = command_argv(&command, request->args, ret, err);
	command_release(&command);
	return r;
}

/* Before anything can refuse it: the history finds it by its name. */
static int name_command(struct run *run, const char *name, struct err *err)
{
	const char *const table[] = {"commands", name, NULL};
	struct setting s;

	if (!name || !config_get(&run->context.config, table, &s))
		return 0;
	run->command = strdup(name);
	return run->command ? 0 : err_oom(err);
}

/* Made only when something goes there. */
static int name_quarantine(struct run *run, struct err *err)
{
	const char *state = run->context.workspace.state_dir;

	if (!state)
		return 0;
	run->plan->quarantine = str_printf("%s/quarantine/%s", state, run->id);
	return run->plan->quarantine ? 0 : err_oom(err);
}

/* The folders of the sessions are made before anybody is shown their place. */
static int make_runtimes(const struct site *site, const struct spec *spec, bool *ret_made,
			 struct err *err)
{
	for (size_t i = 0; i < SITE_RUNTIMES; i++) {
		const char *path = site_shows_runtime(site, spec, i);
		int fd = path ? private_dir_open(path, true, err) : -1;

		if (!path)
			continue;
		/* Where everything is shown, a place that cannot be made is no obstacle. */
		if (fd < 0 && spec->filesystem == FILESYSTEM_UNRESTRICTED)
			continue;
		if (fd < 0)
			return fd;
		fd_close(fd);
		*ret_made = true;
	}
	return 0;
}

static int probe_site(const struct run *run, struct site *ret, struct err *err)
{
	const struct context *context = &run->context;
	const struct spec *spec = &run->resolved.spec;
	bool made = false;
	int r = site_probe(spec, &context->user, context->workspace.cwd, environ, ret, err);

	if (r == 0)
		r = make_runtimes(ret, spec, &made, err);
	if (r < 0 || !made)
		return r;
	site_release(ret);
	return site_probe(spec, &context->user, context->workspace.cwd, environ, ret, err);
}

/* WITHOUT: it is known that namespaces are refused here. */
static int make_plan(struct run *run, char *const *argv, bool without, struct err *err)
{
	const struct context *context = &run->context;
	struct host host = {0};
	struct site site = {0};
	int r = host_probe(&host, err);

	host.no_idmap = run->no_idmap;
	host.outer = run->has_outer ? &run->outer : NULL;
	host.outer_path = run->has_outer ? outer_path() : NULL;
	host.outer_staged = run->outer_staged;

	if (r == 0 && without) {
		const char *bwrap = local_find_bwrap(NULL);

		host.no_namespaces = true;
		host.bwrap = bwrap ? strdup(bwrap) : NULL;
	}
	if (r == 0)
		r = probe_site(run, &site, err);
	if (r == 0)
		r = site_add_caches(&site, &run->resolved.spec, &context->workspace, err);
	if (r == 0)
		r = bound_probe(&run->resolved.spec, &host, &site, err);
	if (r == 0)
		r = plan_compile(&run->resolved, &host, &site, argv, &run->plan, err);
	if (r == 0)
		r = name_quarantine(run, err);
	if (r == 0)
		run->plan->tool = run->tool;
	/* Before anything is mounted over it. */
	if (r == 0 && run->site && covers_take(&site.covers, run->plan, &site) < 0)
		r = err_oom(err);
	if (r == 0 && run->site) {
		site_release(run->site);
		*run->site = site;
		site = (struct site){0};
	}
	site_release(&site);
	host_release(&host);
	return r;
}

/* Inside of a sandbox nobody gets more than that allows. */
static int apply_outer(struct run *run, struct err *err)
{
	struct spec meet;
	int r = outer_read(&run->context.user, &run->outer, &run->outer_staged, err);

	if (r == -ENOENT)
		return 0;
	run->has_outer = r == 0;
	if (r == 0)
		r = spec_meet(&run->resolved.spec, &run->outer, &meet, err);
	if (r < 0)
		return r;
	spec_release(&run->resolved.spec);
	run->resolved.spec = meet;
	return 0;
}

int run_prepare(struct run *run, const struct run_request *request, struct err *err)
{
	const struct context *context = &run->context;
	struct strv argv = {0};
	int r;

	run->t0 = clock_now(CLOCK_REALTIME);
	run->tool = request->tool;
	run->site = request->site;
	r = run_make_id(run->id, err);
	if (r == 0)
		r = context_load(request->workspace, &run->context, err);
	if (r == 0)
		r = name_command(run, request->name, err);
	if (r == 0)
		r = trust_check(&context->config, &context->workspace, &context->user, err);
	if (r == 0)
		r = find_argv(run, request, &argv, err);
	if (r == 0)
		r = spec_resolve(&context->config, request->name, &request->ask,
				 &context->workspace, &context->user, &run->resolved, err);
	if (r == 0)
		r = apply_outer(run, err);
	if (r == 0)
		r = make_plan(run, argv.items, false, err);
	/* Refused, it is remembered all the same; without memory, without a name. */
	if (r < 0 && argv.len > 0)
		run->program = strdup(path_basename(argv.items[0]));
	strv_release(&argv);
	return r;
}

/* Both why the last rung will not do, and why the first one was left. */
static int no_rung(const struct err *native, int r, struct err *err)
{
	struct err last = *err;

	err_set(err, last.code, r, "%.480s (engine native was not possible: %.440s)", last.message,
		native->message);
	return err_hint(err, r, "%.250s%s%.250s", native->hint,
			native->hint[0] && last.hint[0] ? "; or " : "", last.hint);
}

/* ERR says that there are no namespaces: nothing was executed, so another engine
 * may be asked. Where one was named, the answer stands. */
static bool is_first_rung(const struct run *run, const struct err *err)
{
	return err->code == ERR_NO_NAMESPACES && str_eq(run->resolved.engine, "auto") &&
	       run->plan->engine == ENGINE_NATIVE;
}

static int descend(struct run *run, struct err *err)
{
	_cleanup_(plan_freep) struct plan *native = take_ptr(run->plan);
	struct err why = *err;
	int r;

	*err = (struct err){0};
	r = make_plan(run, native->argv.items, true, err);
	return r < 0 ? no_rung(&why, r, err) : 0;
}

int run_settle(struct run *run, struct err *err)
{
	struct err refused = {0};
	int r = local_try(run->plan, &refused);

	if (r == 0 || (refused.code != ERR_NO_NAMESPACES && run->plan->engine == ENGINE_NATIVE))
		return 0;
	*err = refused;
	return is_first_rung(run, err) ? descend(run, err) : r;
}

static int plan_again(struct run *run, bool without, struct err *err)
{
	_cleanup_(plan_freep) struct plan *before = take_ptr(run->plan);

	*err = (struct err){0};
	user_resolve(&run->context.user); /* something may have been made */
	return make_plan(run, before->argv.items, without, err);
}

/* What is to be done once all is ready. */
struct way {
	int (*go)(struct run *run, const struct way *way, struct err *err);
	const struct run_request *request;
	bool stays; /* past our return */
	struct loop *loop;
	const struct standing_ear *ear;
	struct standing **standing;
};

static void tell_refused(void *data, struct violations *found, struct violation *new)
{
	run_history_refused(data, found, new);
}

static void tell_start(void *data)
{
	run_history_start(data);
}

static int go_once(struct run *run, const struct way *way, struct err *err)
{
	struct stdio stdio = way->request->stdio;
	struct plan *plan = run->plan;
	struct run_ear ear = {.starts = tell_start, .refused = tell_refused, .data = run};

	/* What a tool says is short by itself, and worth nothing with a part of it missing. */
	if (plan->tool)
		plan->max_output = UINT64_MAX;
	if (plan->tool && plan->timeout_ms == UINT64_MAX)
		plan->timeout_ms = TOOL_TIMEOUT_MS;
	stdio.kept = run->history.output;
	if (plan->net.asks)
		run_asks(&ear);
	return local_run(plan, &stdio, way->request->profile, &ear, &run->result, err);
}

/* Time and CPU time are each command's. */
static int go_stand(struct run *run, const struct way *way, struct err *err)
{
	run->plan->timeout_ms = run->plan->limits.cpu_ms = UINT64_MAX;
	return standing_open(run->plan, way->loop, way->ear, way->standing, err);
}

/* The mounts of a stage are looked at while it is mounted: whichever is sooner to fail, what is known
 * of them says more. */
static int go_staged(struct run *run, const struct way *way, struct err *err)
{
	struct err mounts = {0};
	int r = way->go(run, way, err),
	    in_the_way = r < 0 ? run_check_mounts(run->plan, &mounts) : 0;

	if (in_the_way < 0)
		*err = mounts;
	return in_the_way < 0 ? in_the_way : r;
}

static int attempt(struct run *run, const struct way *way, struct err *err)
{
	int r = caches_make(&run->context.workspace, &run->resolved.spec.caches, run->plan->uid,
			    run->plan->gid, err);

	if (r == 0 && !run_is_staged(run))
		r = run_check_mounts(run->plan, err);
	if (r < 0 || !run_is_staged(run))
		return r < 0 ? r : way->go(run, way, err);
	r = run_stage_begin(run, err);
	if (r == 0)
		r = go_staged(run, way, err);
	if (r < 0 || !way->stays)
		(void)run_stage_end(run, r == 0, &run->staged.err);
	return r;
}

/* The user's state must be there when the plan is made, so that it is hidden. A stage
 * needs it; the history can do without. */
static int make_state(struct run *run, struct err *err)
{
	struct run_history *history = &run->history;
	bool staged = run_is_staged(run);
	struct err failed = {0};

	if (!staged && !run_history_is_on(run))
		return 0;
	history->state = state_dir_open(&run->context.workspace, false, &failed);
	if (history->state >= 0)
		return 0;
	if (history->state == -ENOENT)
		history->state = staged ? state_dir_open(&run->context.workspace, true, &failed)
					: run_history_make(run, &failed);
	if (history->state >= 0)
		return plan_again(run, false, err);
	if (!staged) {
		history->err = failed;
		return 0;
	}
	*err = failed;
	return history->state;
}

static int execute(struct run *run, const struct way *way, struct err *err)
{
	struct err why;
	int r = run_recover(run, err);

	if (r == 0)
		r = make_state(run, err);
	if (r < 0)
		return r;
	if (!way->stays)
		run_history_begin(run);
	r = attempt(run, way, err);
	if (r < 0 && err->code == ERR_NO_IDMAP && !run->no_idmap) {
		run->no_idmap = true;
		r = plan_again(run, false, err);
		if (r == 0)
			r = attempt(run, way, err);
	}
	if (r == 0 || !is_first_rung(run, err))
		return r;
	why = *err;
	r = descend(run, err);
	if (r < 0)
		return r;
	r = attempt(run, way, err);
	return r < 0 && run_error_status(err) == EXIT_NOT_RUN ? no_rung(&why, r, err) : r;
}

int run_execute(struct run *run, const struct run_request *request, struct err *err)
{
	const struct way way = {.go = go_once, .request = request};
	int r = execute(run, &way, err);

	run_explain_refused(run);
	return r;
}

void run_tidy(void)
{
	local_tidy();
}

int run_raise(struct run *run, const struct run_request *request, struct loop *loop,
	      const struct standing_ear *ear, struct standing **ret, struct err *err)
{
	const struct way way = {.go = go_stand,
				.request = request,
				.stays = true,
				.loop = loop,
				.ear = ear,
				.standing = ret};

	return execute(run, &way, err);
}

void run_release(struct run *run)
{
	if (run->history.state > 0)
		fd_close(run->history.state);
	if (run->history.living > 0)
		fd_close(run->history.living);
	if (run->history.output > 0)
		fd_close(run->history.output);
	str_release(&run->history.start);
	stage_free(run->stage);
	plan_free(run->plan);
	events_release(&run->result.events);
	violations_release(&run->result.violations);
	resolved_release(&run->resolved);
	spec_release(&run->outer);
	context_release(&run->context);
	free(run->command);
	free(run->program);
	*run = (struct run){0};
}

int run_error_status(const struct err *err)
{
	if (err->code == ERR_NOT_FOUND)
		return EXIT_NOT_FOUND;
	if (err->code == ERR_LOST) /* what held it is gone, and so it was killed */
		return EXIT_SIGNAL + SIGKILL;
	return err->code == ERR_NOT_EXECUTABLE ? EXIT_NOT_EXECUTABLE : EXIT_NOT_RUN;
}

enum outcome run_error_outcome(const struct err *err)
{
	return err->code == ERR_POLICY || err->code == ERR_TRUST || err->code == ERR_UNSUPPORTED ||
			       err->code == ERR_NO_NAMESPACES
		       ? OUTCOME_REFUSED
		       : OUTCOME_ERROR;
}
