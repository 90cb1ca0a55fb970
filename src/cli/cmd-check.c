/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/check.h"
#include "api/context.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/check-report.h"
#include "cli/check-screen.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "policy/trust.h"

enum { DRAW_MS = 100 };

/* What a check needs besides itself while it goes on. */
struct going {
	struct check *check;
	struct check_screen screen;
	bool json;   /* nothing but JSON on standard output */
	bool on_tty; /* where rows go: escape what could deceive */
	int signals; /* signalfd */
	int caught;  /* the signal that ends it, or 0 */
	bool *told;  /* of each task: its end was printed */
	int shown;   /* 0, or -errno: why nothing can be printed any more */
	uint64_t began_ms;
	uint64_t began_ns;
};

static void going_release(struct going *going)
{
	fd_close(going->signals);
	free(going->told);
}

/* --- signals --- */

/* Ignored ones stay so: a signalfd never sees them. */
static int catch_signals(struct going *going, struct err *err)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < array_len(numbers); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	going->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return going->signals < 0 ? err_sys(err, -errno, "signalfd") : 0;
}

static void stop_for_a_while(struct going *going)
{
	check_screen_wipe(&going->screen);
	check_pass(going->check, SIGTSTP);
	raise(SIGSTOP);
}

static void obey_signals(struct going *going)
{
	struct signalfd_siginfo info;

	while (read(going->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGINT:
		case SIGTERM:
		case SIGHUP:
			going->caught = (int)info.ssi_signo;
			check_stop(going->check, going->caught);
			break;
		case SIGTSTP:
			stop_for_a_while(going);
			break;
		case SIGCONT:
			check_screen_forget(&going->screen);
			check_pass(going->check, SIGCONT);
			break;
		default:
			break;
		}
	}
}

/* --- what is printed for good --- */

/* Line by line, so that none of them can steer a terminal. */
static int put_output(const struct going *going, const struct str *text, struct str *out)
{
	const char *at = str_text(text), *end = at + text->len;
	int r = 0;

	if (!going->on_tty)
		r = str_append_bytes(out, at, text->len);
	while (going->on_tty && at < end && r == 0) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		/* Tabs do no harm, and columns are lost without them. */
		for (const char *tab = at; r == 0 && at < stop; at = tab + (tab < stop)) {
			tab = memchr(at, '\t', (size_t)(stop - at));
			tab = tab ? tab : stop;
			r = str_append_escaped(out, at, (size_t)(tab - at));
			if (r == 0 && tab < stop)
				r = str_append_char(out, '\t');
		}
		if (r == 0 && newline)
			r = str_append_char(out, '\n');
		at = newline ? newline + 1 : end;
	}
	if (r == 0 && text->len > 0 && text->data[text->len - 1] != '\n')
		r = str_append_char(out, '\n');
	return r;
}

/* What pale has to say about a failure. */
static int put_hints(const struct check_result *result, struct str *out)
{
	int r = 0;

	if (result->hint) {
		r = str_append(out, "  hint: ");
		if (r == 0)
			r = str_append_escaped(out, result->hint, strlen(result->hint));
		if (r == 0)
			r = str_append_char(out, '\n');
	}
	if (r < 0 || result->refused == 0 || !result->run)
		return r;
	return str_appendf(out, "  %llu attempt%s refused: pale why %s\n",
			   (unsigned long long)result->refused,
			   result->refused == 1 ? " was" : "s were", result->run);
}

static int put_block(const struct going *going, size_t task, struct str *out)
{
	const struct check_child *child = &going->check->children[task];
	_cleanup_(str_release) struct str text = {0}, name = {0};
	int r = capture_text(&child->capture, &text);

	if (r == 0)
		r = str_append_escaped(&name, child->name, strlen(child->name));
	if (r == 0)
		r = put_hints(&child->result, out);
	if (r < 0 || text.len == 0)
		return r;
	r = str_appendf(out, "--- %s: output\n", name.data);
	if (r == 0)
		r = put_output(going, &text, out);
	return r < 0 ? r : str_appendf(out, "--- %s: end\n", name.data);
}

/* The rows of tasks that have ended since, with the output of those that failed. */
static int put_ends(struct going *going, struct str *out)
{
	const struct lanes *lanes = &going->check->lanes;
	int r = 0;

	for (size_t i = 0; i < lanes->len && r == 0; i++) {
		enum task_state state = lanes->tasks[i].state;

		if (going->told[i] || state == TASK_QUEUED || state == TASK_RUNNING)
			continue;
		going->told[i] = true;
		r = check_screen_row(&going->screen, going->check, i, UINT32_MAX, out, NULL);
		if (r == 0)
			r = str_append_char(out, '\n');
		if (r == 0 && task_failed(going->check, i))
			r = put_block(going, i, out);
	}
	return r;
}

static int show(struct going *going, bool more)
{
	_cleanup_(str_release) struct str out = {0};
	int r = going->json ? 0 : put_ends(going, &out);

	if (r == 0 && !more)
		r = check_screen_wipe(&going->screen);
	if (r < 0 || (more && (going->screen.on || out.len > 0)))
		return r < 0 ? r : check_screen_draw(&going->screen, going->check, &out);
	return out.len ? fd_write_all(going->screen.fd, out.data, out.len) : 0;
}

/* --- from the beginning to the end --- */

static int read_jobs(const char *text, unsigned *ret, struct err *err)
{
	char *end;
	unsigned long n;

	if (!text)
		return 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || n > 100000)
		return err_set(err, ERR_USAGE, -EINVAL, "--jobs: \"%s\" is no number", text);
	if (n == 0)
		return err_set(err, ERR_USAGE, -EINVAL, "--jobs: with 0 nothing would ever run");
	*ret = (unsigned)n;
	return 0;
}

/* Until everything has ended. */
static int go(struct going *going, struct err *err)
{
	int r = 1;

	while (r > 0) {
		r = check_step(going->check, going->signals, going->screen.on ? DRAW_MS : -1, err);
		if (r < 0)
			break;
		obey_signals(going);
		if (going->shown == 0)
			going->shown = show(going, r > 0);
	}
	if (r < 0)
		check_screen_wipe(&going->screen);
	return r;
}

static int report_summary(const struct going *going, uint64_t duration_ms, int status)
{
	_cleanup_(str_release) struct str out = {0};
	struct err err = {0};
	int r;

	if (going->shown < 0) {
		err_sys(&err, going->shown, "cannot write");
		return report(&err);
	}
	r = going->json ? check_json(going->check, duration_ms, status, &out)
			: check_summary(going->check, duration_ms, &out);
	if (r == 0 && !going->json)
		r = str_append_char(&out, '\n');
	return r < 0 ? report_oom() : emit(&out);
}

static int report_junit(const struct going *going, const struct outfile *file, uint64_t duration_ms)
{
	_cleanup_(str_release) struct str out = {0};
	struct err err = {0};

	if (file->dir < 0)
		return 0;
	if (check_junit(going->check, going->began_ms, duration_ms, &out) < 0)
		return report_oom();
	return outfile_write(file, &out, &err) < 0 ? report(&err) : 0;
}

static int run(struct check *check, bool json, const struct outfile *junit, struct err *err)
{
	_cleanup_(going_release) struct going going = {
		.check = check,
		.json = json,
		.on_tty = isatty(STDOUT_FILENO),
		.signals = -1,
		.told = calloc(check->lanes.len, sizeof(bool)),
		.began_ms = clock_wall_ms(),
		.began_ns = clock_mono_ns(),
	};
	uint64_t duration_ms;
	int r, status;

	if (!going.told)
		return err_oom(err);
	check_screen_open(&going.screen, json ? STDERR_FILENO : STDOUT_FILENO,
			  check_name_width(check), going.began_ns);
	check->weigh = going.screen.on;
	r = catch_signals(&going, err);
	if (r == 0)
		r = go(&going, err);
	if (r < 0)
		return r;
	duration_ms = (clock_mono_ns() - going.began_ns) / 1000000;
	status = going.caught ? 128 + going.caught : lanes_worst(&check->lanes);
	if (report_summary(&going, duration_ms, status) != 0 && status == 0)
		status = STATUS_ERROR;
	if (report_junit(&going, junit, duration_ms) != 0 && status == 0)
		status = STATUS_ERROR;
	return status;
}

static void report_unshared(const struct check *check)
{
	struct err note = check->unshared;

	if (!check->is_unshared)
		return;
	err_wrap(&note, 0, "the lanes are not shared with other checks");
	report(&note);
}

int cmd_check(int argc, char **argv)
{
	_cleanup_(context_release) struct context context = {0};
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(outfile_close) struct outfile junit = OUTFILE_NONE;
	_cleanup_(check_release) struct check check = CHECK_NONE;
	struct check_request request = {0};
	struct args args = {0};
	struct err err = {0};
	int r = verb_begin(VERB_CHECK, argc, argv, &args, &context, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = read_jobs(args.values[OPT_JOBS], &request.jobs, &err);
	if (r == 0)
		r = check_names(&context, args.operands, &names, &err);
	if (r == 0)
		r = trust_check(&context.config, &context.workspace, &context.user, &err);
	if (r == 0 && args.values[OPT_JUNIT])
		r = outfile_open("--junit", args.values[OPT_JUNIT], &junit, &err);
	request.fail_fast = args.values[OPT_FAIL_FAST] != NULL;
	if (r == 0)
		r = check_open(&check, &context, &names, &request, &err);
	if (r == 0) {
		report_unshared(&check);
		r = run(&check, args.values[OPT_JSON] != NULL, &junit, &err);
	}
	if (r < 0)
		args.values[OPT_JSON] || asks_json(argc, argv) ? emit_error(NULL, &err)
							       : report(&err);
	return r < 0 ? EXIT_NOT_RUN : r;
}
