/* SPDX-License-Identifier: MIT */
#include "api/check.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "backend/local.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/sys.h"
#include "config/value.h"
#include "policy/resolve.h"

#define MS 1000000ull

enum {
	CAPACITY_DEFAULT = 64,
	LOOK_MS = 500,  /* for a lane, even if nobody told us */
	WEIGH_MS = 500, /* memory */
};

/* --- what is asked for --- */

static unsigned number(const struct config *config, const char *key, unsigned fallback)
{
	const char *const path[] = {"lanes", key, NULL};
	struct setting setting;

	if (!config_get(config, path, &setting))
		return fallback;
	return (unsigned)setting.value->integer; /* within its range: it was checked */
}

struct lane_limits lane_limits_read(const struct context *context)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return (struct lane_limits){
		.max_parallel = number(&context->config, "max_parallel",
				       cores > 0 ? (unsigned)cores : 1),
		.queue_capacity = number(&context->config, "queue_capacity", CAPACITY_DEFAULT),
	};
}

static int no_such_command(const char *name, const struct strv *known, struct err *err)
{
	const char *near = str_nearest(name, (const char *const *)known->items, known->len);

	err_set(err, ERR_USAGE, -ENOENT, "no command '%s', and nothing was run", name);
	if (near)
		return err_hint(err, -ENOENT, "did you mean '%s'?", near);
	return err_hint(err, -ENOENT, "pale commands lists them");
}

static int add_name(const char *name, const struct strv *known, struct strv *ret, struct err *err)
{
	if (!strv_has(known, name))
		return no_such_command(name, known, err);
	if (strv_has(ret, name))
		return err_set(err, ERR_USAGE, -EEXIST, "'%s' is named twice, and nothing was run",
			       name);
	return strv_add(ret, name) < 0 ? err_oom(err) : 0;
}

/* Of [lanes] check. */
static int add_listed(const struct context *context, const struct strv *known, struct strv *ret,
		      struct err *err)
{
	static const char *const path[] = {"lanes", "check", NULL};
	_cleanup_(strv_release) struct strv names = {0};
	struct setting setting;
	int r = 0;

	if (!config_get(&context->config, path, &setting))
		return strv_copy(ret, known) < 0 ? err_oom(err) : 0;
	if (toml_texts(setting.value, &names) < 0)
		return err_oom(err);
	for (size_t i = 0; i < names.len && r == 0; i++)
		r = add_name(names.items[i], known, ret, err);
	return r < 0 ? setting_error(&setting, r, err) : 0;
}

int check_names(const struct context *context, char *const *names, struct strv *ret,
		struct err *err)
{
	_cleanup_(strv_release) struct strv known = {0};
	int r = 0;

	if (command_names(&context->config, &known) < 0)
		return err_oom(err);
	if (!*names)
		r = add_listed(context, &known, ret, err);
	for (; *names && r == 0; names++)
		r = add_name(*names, &known, ret, err);
	if (r == 0 && ret->len == 0) {
		err_set(err, ERR_USAGE, -ENOENT, "there is no command to check");
		return err_hint(err, -ENOENT, "pale commands register NAME CMD adds one");
	}
	return r;
}

/* --- opening --- */

static int make_children(struct check *check, const struct strv *names)
{
	check->children = calloc(names->len, sizeof(*check->children));
	if (!check->children)
		return -ENOMEM;
	for (size_t i = 0; i < names->len; i++)
		check_child_init(&check->children[i], NULL);
	for (size_t i = 0; i < names->len; i++) {
		check->children[i].name = strdup(names->items[i]);
		if (!check->children[i].name)
			return -ENOMEM;
	}
	return 0;
}

/* State that cannot be written is no reason not to run. */
static void stop_sharing(struct check *check, const struct err *why)
{
	struct lane_user self = check->book.self;

	lane_book_close(&check->book);
	check->book.self = self;
	check->is_unshared = true;
	check->unshared = *why;
}

int check_open(struct check *check, const struct context *context, const struct strv *names,
	       const struct check_request *request, struct err *err)
{
	struct err why = {0};
	unsigned jobs;
	int r;

	check->limits = lane_limits_read(context);
	jobs = check->limits.max_parallel;
	if (request->jobs > 0 && request->jobs < jobs)
		jobs = request->jobs;
	check->workspace = strdup(context->workspace.root);
	if (!check->workspace ||
	    lanes_init(&check->lanes, names->len, jobs, request->fail_fast) < 0 ||
	    make_children(check, names) < 0)
		return err_oom(err);
	r = check_program(&check->program, err);
	if (r < 0)
		return r;
	if (lane_book_open(&context->workspace, true, &check->book, &why) < 0)
		stop_sharing(check, &why);
	r = lane_book_enter(&check->book, names->len, jobs, &check->limits, &check->ready, &why);
	if (r < 0 && r != -EBUSY && r != -ENOMEM) {
		stop_sharing(check, &why);
		r = lane_book_enter(&check->book, names->len, jobs, &check->limits, &check->ready,
				    &why);
	}
	if (r < 0)
		*err = why;
	return r;
}

void check_release(struct check *check)
{
	/* All are told before the first is waited for. */
	for (size_t i = 0; check->children && i < check->lanes.len; i++)
		if (check->children[i].job.fd >= 0)
			started_end(&check->children[i].job);
	for (size_t i = 0; check->children && i < check->lanes.len; i++)
		check_child_release(&check->children[i]);
	lane_book_close(&check->book);
	lanes_release(&check->lanes);
	free(check->children);
	free(check->program);
	free(check->workspace);
	*check = (struct check)CHECK_NONE;
}

/* --- one step --- */

static void tell(struct check *check)
{
	struct lanes_count count = lanes_count(&check->lanes);
	struct err why = {0};

	check->ready = 0;
	if (lane_book_tell(&check->book, (unsigned)count.running, (unsigned)count.queued, &why) < 0)
		stop_sharing(check, &why);
}

/* A lane for the next one: 1, or 0. */
static int claim(struct check *check)
{
	struct err why = {0};
	int r = lane_book_claim(&check->book, &check->limits, &why);

	if (r >= 0)
		return r;
	stop_sharing(check, &why);
	return lane_book_claim(&check->book, &check->limits, NULL);
}

/* One that cannot even be started is an end like others, and gives its lane back. */
static void start(struct check *check, size_t i)
{
	struct check_child *child = &check->children[i];
	struct err why = {0};

	lanes_start(&check->lanes, i, clock_mono_ns());
	if (check_child_start(child, check->program, check->workspace, &why) == 0)
		return;
	child->result = (struct check_result){.outcome = OUTCOME_ERROR,
					      .status = EXIT_NOT_RUN,
					      .exit_code = -1,
					      .duration_ms = USAGE_UNKNOWN,
					      .memory_peak = USAGE_UNKNOWN,
					      .message = strdup(why.message)};
	lanes_end(&check->lanes, i, OUTCOME_ERROR, EXIT_NOT_RUN, clock_mono_ns());
	tell(check);
}

static void start_what_may(struct check *check)
{
	size_t i;

	check->looked_ns = clock_mono_ns();
	while (lanes_next(&check->lanes, &i)) {
		if (check->ready == 0 && claim(check) <= 0)
			return;
		check->ready -= check->ready > 0;
		start(check, i);
	}
}

static void weigh(struct check *check, uint64_t now)
{
	if (!check->weigh || now - check->weighed_ns < WEIGH_MS * MS)
		return;
	check->weighed_ns = now;
	for (size_t i = 0; i < check->lanes.len; i++)
		if (check->lanes.tasks[i].state == TASK_RUNNING)
			check->children[i].memory = local_memory(check->children[i].job.pid);
}

static int take(struct check *check, struct err *err)
{
	struct lanes *lanes = &check->lanes;
	bool changed = false;

	for (size_t i = 0; i < lanes->len; i++) {
		struct check_child *child = &check->children[i];
		int r = 0;

		if (lanes->tasks[i].state == TASK_RUNNING)
			r = check_child_step(child);
		if (r < 0)
			return err_sys(err, r, "read what '%s' prints", child->name);
		if (r == 0)
			continue;
		lanes_end(lanes, i, child->result.outcome, child->result.status, clock_mono_ns());
		changed = true;
	}
	if (changed)
		tell(check);
	return 0;
}

/* Those that were told to end, and when to look again. */
static uint64_t press(struct check *check, uint64_t now)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; i < check->lanes.len; i++) {
		if (!check->lanes.tasks[i].ending)
			continue;
		check_child_end(&check->children[i], check->signal ? check->signal : SIGTERM, now);
		if (check_child_due(&check->children[i]) < due)
			due = check_child_due(&check->children[i]);
	}
	return due;
}

static int wait_ms(const struct check *check, uint64_t due, uint64_t now, int timeout_ms)
{
	size_t i;
	uint64_t ms;

	if (lanes_next(&check->lanes, &i) && check->looked_ns + LOOK_MS * MS < due)
		due = check->looked_ns + LOOK_MS * MS;
	if (due == UINT64_MAX)
		return timeout_ms;
	ms = due > now ? (due - now) / MS + 1 : 0;
	return timeout_ms >= 0 && (uint64_t)timeout_ms < ms ? timeout_ms : (int)ms;
}

static int wait_for(struct check *check, int fd, int ms, struct err *err)
{
	size_t n = 0, max = check->lanes.len * 2 + 2;
	_cleanup_(freep) struct pollfd *polls = calloc(max, sizeof(*polls));
	size_t ignored;

	if (!polls)
		return err_oom(err);
	polls[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
	/* Only who waits for a lane cares for the others. */
	polls[n++] = (struct pollfd){.fd = lanes_next(&check->lanes, &ignored) ? check->book.watch
									       : -1,
				     .events = POLLIN};
	for (size_t i = 0; i < check->lanes.len; i++) {
		if (check->lanes.tasks[i].state != TASK_RUNNING)
			continue;
		polls[n++] = (struct pollfd){.fd = check->children[i].job.fd, .events = POLLIN};
		polls[n++] = (struct pollfd){.fd = check->children[i].output, .events = POLLIN};
	}
	if (poll(polls, n, ms) < 0 && errno != EINTR)
		return err_sys(err, -errno, "poll");
	if (polls[1].revents)
		lane_book_drain(&check->book);
	return 0;
}

int check_step(struct check *check, int fd, int timeout_ms, struct err *err)
{
	uint64_t now, due;
	int r;

	start_what_may(check);
	if (lanes_over(&check->lanes))
		return 0;
	now = clock_mono_ns();
	due = press(check, now);
	r = wait_for(check, fd, wait_ms(check, due, now, timeout_ms), err);
	if (r == 0)
		r = take(check, err);
	if (r < 0)
		return r;
	weigh(check, clock_mono_ns());
	return lanes_over(&check->lanes) ? 0 : 1;
}

void check_stop(struct check *check, int signal)
{
	bool again = check->signal != 0;

	check->signal = signal;
	lanes_stop(&check->lanes);
	for (size_t i = 0; again && i < check->lanes.len; i++)
		if (check->lanes.tasks[i].ending) {
			started_end(&check->children[i].job);
			check->children[i].urgency = 1;
		}
}

void check_pass(struct check *check, int signal)
{
	for (size_t i = 0; i < check->lanes.len; i++)
		if (check->lanes.tasks[i].state == TASK_RUNNING &&
		    check->children[i].job.pidfd >= 0)
			(void)sys_pidfd_send_signal(check->children[i].job.pidfd, signal);
}
