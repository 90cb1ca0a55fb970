/* SPDX-License-Identifier: MIT */
#include "cli/cmd-run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/run-history.h"
#include "api/run-notes.h"
#include "api/run.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/common-ask.h"
#include "cli/common.h"
#include "config/load.h"
#include "observe/profile.h"
#include "stage/stage.h"

enum { SHELLS_MAX = 65536 };

struct run_args {
	enum verb_id verb;
	struct run_request request;
	bool json;
	bool explain;
	const char *result; /* FILE, or NULL */
	struct outfile result_file;
	const char *spec_fd, *profile_fd_text; /* as given */
	struct str spec;                       /* what --spec-fd held */
	int result_fd, profile_fd;
	struct profile profile;
};

static void run_args_release(struct run_args *args)
{
	ask_release(&args->request.ask);
	outfile_close(&args->result_file);
	fd_close(args->result_fd);
	fd_close(args->profile_fd);
	profile_release(&args->profile);
	str_release(&args->spec);
}

static int set_option(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct run_args *args = data;
	struct ask *ask = &args->request.ask;

	if (ask_takes(opt))
		return ask_set(ask, &args->request.workspace, opt, value, err);
	switch (opt->id) {
	case OPT_EXPLAIN:
		args->explain = true;
		return 0;
	case OPT_JSON:
		args->json = true;
		return 0;
	case OPT_RESULT:
		args->result = value;
		return 0;
	case OPT_SPEC_FD:
		args->spec_fd = value;
		return 0;
	case OPT_RESULT_FD:
		/* At once: there it is said what is wrong with the options after it. */
		return fd_take("--result-fd", value, &args->result_fd, err);
	case OPT_PROFILE_FD:
		args->profile_fd_text = value;
		ask->profile = true;
		return 0;
	default:
		BUG("an option of run that nobody handles");
	}
}

/* Is NAME a line of /etc/shells? */
static bool is_login_shell(const char *name)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(fd_closep) int fd = fd_open("/etc/shells", O_RDONLY);
	size_t len = strlen(name);

	if (name[0] != '/' || fd < 0 || fd_read_all(fd, SHELLS_MAX, &text) < 0)
		return false;
	for (const char *line = text.data; *line; line += strcspn(line, "\n"), line += *line != 0)
		if (strcspn(line, "\n") == len && memcmp(line, name, len) == 0)
			return true;
	return false;
}

/* Whether the user's shell is there is known inside, and decided there. */
static int set_shell(struct run_args *args, struct err *err)
{
	static char *argv[] = {"/bin/sh", "-c", "[ -x \"$0\" ] && exec \"$0\"; exec /bin/sh", NULL,
			       NULL};
	static char *plain[] = {"/bin/sh", NULL};
	char *shell = getenv("SHELL");

	if (!isatty(STDIN_FILENO) && !args->explain)
		return err_hint(
			err,
			err_set(err, ERR_USAGE, -ENOTTY, "shell: standard input is no terminal"),
			"to run a script: pale run -- sh");
	argv[3] = shell;
	args->request.args = shell && is_login_shell(shell) ? argv : plain;
	return 0;
}

static int set_command(struct run_args *args, const struct opt_args *operands, struct err *err)
{
	struct run_request *request = &args->request;
	int r;

	request->stdio = (struct stdio){{0, args->json ? 2 : 1, 2}};
	if (args->verb == VERB_SHELL)
		return set_shell(args, err);
	if (operands->len == 0) {
		r = err_set(err, ERR_USAGE, -EINVAL, "run: nothing to run");
		return err_hint(err, r,
				"pale run NAME, or pale run -- CMD; pale commands lists names");
	}
	/* A `--` after NAME is an argument like any other: it ended no options. */
	if (operands->dashdash != 0)
		request->name = *operands->operands;
	request->args = operands->operands + (request->name != NULL);
	return 0;
}

static int read_spec(struct run_args *args, int fd, struct err *err)
{
	int r = fd_read_all(fd, CONFIG_MAX_BYTES, &args->spec);

	(void)lseek(fd, 0, SEEK_SET);
	if (r < 0)
		return err_sys(err, r, "--spec-fd");
	if (strlen(str_text(&args->spec)) != args->spec.len)
		return err_set(err, ERR_USAGE, -EINVAL, "--spec-fd: a NUL byte");
	args->request.ask.spec = str_text(&args->spec);
	return 0;
}

/* What --spec-fd, --result-fd and --profile-fd name; all different. */
static int take_descriptors(struct run_args *args, int *ret_spec, struct err *err)
{
	const struct {
		const char *option, *text;
		int *fd;
	} all[] = {
		{"--result-fd", NULL, &args->result_fd},
		{"--spec-fd", args->spec_fd, ret_spec},
		{"--profile-fd", args->profile_fd_text, &args->profile_fd},
	};

	for (size_t i = 0; i < array_len(all); i++) {
		int r = all[i].text ? fd_take(all[i].option, all[i].text, all[i].fd, err) : 0;

		if (r < 0)
			return r;
		for (size_t k = 0; k < i && all[i].text; k++)
			if (*all[k].fd == *all[i].fd)
				return err_set(err, ERR_USAGE, -EINVAL, "%s and %s are the same",
					       all[k].option, all[i].option);
	}
	return 0;
}

static int use_descriptors(struct run_args *args, struct err *err)
{
	struct ask *ask = &args->request.ask;
	int spec_fd = -1; /* stays open: a pale that starts over reads it again */
	int r = take_descriptors(args, &spec_fd, err);

	if (r < 0)
		return r;
	args->request.profile = args->profile_fd >= 0 ? &args->profile : NULL;
	if ((ask->spec != NULL) + (ask->preset != NULL) + (spec_fd >= 0) > 1)
		return err_set(err, ERR_USAGE, -EINVAL,
			       "--preset, --spec and --spec-fd exclude each other");
	if (args->result_fd >= 0)
		fds_close_others((const int[]){args->result_fd, spec_fd, args->profile_fd}, 3);
	args->request.stdio.lifeline = args->result_fd >= 0 ? args->result_fd : 0;
	return spec_fd < 0 ? 0 : read_spec(args, spec_fd, err);
}

static int prepare(struct run *run, struct run_args *args, struct err *err)
{
	int r = ask_check(&args->request.ask, err);

	if (r == 0)
		r = use_descriptors(args, err);
	if (r == 0 && args->result)
		r = outfile_open("--result", args->result, &args->result_file, err);
	return r < 0 ? r : run_prepare(run, &args->request, err);
}

/* Nobody reads the messages on standard error: they are in the result. */
static bool is_quiet(const struct run_args *args)
{
	return args->json || args->result_fd >= 0;
}

/* To --result-fd. */
static int hand_back(const struct str *text, const struct run_args *args)
{
	struct err err;
	int r = fd_write_all(args->result_fd, str_text(text), text->len);

	if (r == 0)
		return 0;
	err_sys(&err, r, "--result-fd");
	return report(&err);
}

/* To --json, --result and --result-fd, where they were asked for. ERR: it was not run. */
static int deliver(const struct run *run, const struct err *failed, const struct run_args *args)
{
	_cleanup_(str_release) struct str text = {0};
	struct json json = {.out = &text};
	struct err err;
	int status = 0;

	if (!is_quiet(args) && args->result_file.dir < 0)
		return 0;
	run_json(run, failed, &json);
	if (json_finish(&json) < 0 || str_append_char(&text, '\n') < 0)
		return report_oom();
	if (args->json)
		status = emit(&text);
	if (args->result_fd >= 0)
		status |= hand_back(&text, args);
	if (args->result_file.dir >= 0 && outfile_write(&args->result_file, &text, &err) < 0)
		status = report(&err);
	return status;
}

/* To --profile-fd. */
static int deliver_profile(const struct run_args *args)
{
	_cleanup_(str_release) struct str text = {0};
	struct json json = {.out = &text};
	struct err err;
	int r;

	if (args->profile_fd < 0)
		return 0;
	profile_json(&args->profile, NULL, &json);
	if (json_finish(&json) < 0 || str_append_char(&text, '\n') < 0)
		return report_oom();
	r = fd_write_all(args->profile_fd, text.data, text.len);
	if (r == 0)
		return 0;
	err_sys(&err, r, "--profile-fd");
	return report(&err);
}

static int explain(const struct run *run, const struct run_args *args)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out};

	if (is_quiet(args)) {
		plan_json(run->plan, &json);
		if (args->result_fd < 0)
			return emit_json(&json) ? EXIT_NOT_RUN : 0;
		if (json_finish(&json) < 0 || str_append_char(&out, '\n') < 0)
			return report_oom(), EXIT_NOT_RUN;
		return hand_back(&out, args) ? EXIT_NOT_RUN : 0;
	}
	if (plan_print(run->plan, &out) < 0)
		return report_oom(), EXIT_NOT_RUN;
	return emit(&out) ? EXIT_NOT_RUN : 0;
}

static void report_recovered(const struct recover_report *recovered)
{
	bool back = recovered->outcome == RECOVER_TAKEN_BACK;

	if (back || recovered->outcome == RECOVER_FINISHED)
		fprintf(stderr, "pale: an interrupted %s (%s) was %s\n", recovered->what,
			recovered->id, back ? "taken back" : "carried to its end");
}

/* What waits, and what to do about it. */
static void report_stage(const struct run *run, const struct run_args *args)
{
	const struct run_staged *staged = &run->staged;
	_cleanup_(str_release) struct str way = {0};

	if (staged->err.message[0])
		report(&staged->err);
	if (staged->is_known && staged->changes > 0 &&
	    put_pale(&way, "review", args->request.workspace, run->plan->stage) == 0)
		fprintf(stderr, "%llu file%s staged: %s\n", (unsigned long long)staged->changes,
			staged->changes == 1 ? "" : "s", str_text(&way));
}

/* That it ran, how it ended: somebody may look for it later. */
static void report_history(const struct run *run)
{
	struct err err = run->history.err;

	if (!err.message[0])
		return;
	err_wrap(&err, 0, "this run could not be written to the history");
	report(&err);
}

static void say(void *data, const struct err *note)
{
	(void)data;
	report(note);
}

static int finish(struct run *run, const struct run_args *args)
{
	int status = result_status(&run->result);

	run_history_end(run, NULL);
	run_tidy();
	if (!is_quiet(args)) {
		run_notes(run, say, NULL);
		report_recovered(&run->recovered);
		report_stage(run, args);
		report_history(run);
	}
	/* A result that could not be delivered is no success. */
	if ((deliver_profile(args) | deliver(run, NULL, args)) != 0 && status == 0)
		return STATUS_ERROR;
	return status;
}

static int fail(struct run *run, const struct err *err, const struct run_args *args)
{
	if (!args->explain)
		run_history_end(run, err);
	run_tidy();
	if (!is_quiet(args)) {
		report(err);
		report_history(run);
	}
	deliver(run, err, args);
	return run_error_status(err);
}

int cmd_run(enum verb_id id, int argc, char **argv)
{
	_cleanup_(run_args_release) struct run_args args = {
		.verb = id, .result_file = OUTFILE_NONE, .result_fd = -1, .profile_fd = -1};
	struct run run = {0}; /* not released: the process ends, which is faster */
	struct opt_args operands;
	struct err err = {0};
	int r;

	r = verb_parse(id, argc, argv, set_option, &args, &operands, &err);
	if (r > 0)
		return 0;
	if (r < 0)
		args.json = asks_json(argc, argv);
	else
		r = set_command(&args, &operands, &err);
	if (r == 0)
		r = prepare(&run, &args, &err);
	if (r == 0 && !is_quiet(&args))
		ask_report_absent(&args.request.ask, &run.context);
	if (r == 0 && args.explain)
		r = run_settle(&run, &err);
	if (r == 0 && args.explain)
		return explain(&run, &args);
	if (r == 0)
		r = run_execute(&run, &args.request, &err);
	return r < 0 ? fail(&run, &err, &args) : finish(&run, &args);
}
