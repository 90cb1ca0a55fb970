/* SPDX-License-Identifier: MIT */
#include "cli/cmd-exec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/lean.h"
#include "base/size.h"
#include "cli/common.h"
#include "config/keys.h"
#include "session/session.h"

struct exec_args {
	struct session_call call;
	bool json;
	const char *result;
	struct outfile result_file;
	int result_fd;
};

static int set_limit(struct session_call *call, enum dim dim, const char *value, struct err *err)
{
	char *end;
	int r = 0;

	if (dim == DIM_TIMEOUT)
		r = duration_parse(value, &call->timeout_ms, err);
	else if (dim == DIM_CPU)
		r = duration_parse(value, &call->cpu_ms, err);
	else if (dim == DIM_MEMORY)
		r = size_parse(value, &call->memory, err);
	else if (dim == DIM_MAX_OUTPUT)
		r = size_parse(value, &call->max_output, err);
	else {
		errno = 0;
		call->pids = strtoull(value, &end, 10);
		if (value[0] < '0' || value[0] > '9' || *end || errno || call->pids == 0)
			r = err_set(err, ERR_USAGE, -EINVAL, "\"%.40s\" is no number of processes",
				    value);
	}
	if (r < 0) {
		err_wrap(err, r, "--%s", spec_keys[dim].option);
		err->code = ERR_USAGE;
	}
	return r;
}

static int set_option(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct exec_args *args = data;

	if (opt->id >= OPT_DIM)
		return set_limit(&args->call, (enum dim)(opt->id - OPT_DIM), value, err);
	switch (opt->id) {
	case OPT_SESSION:
		args->call.session = value;
		return 0;
	case OPT_BACKGROUND:
		args->call.background = true;
		return 0;
	case OPT_LINE:
		args->call.shell = true;
		return 0;
	case OPT_ASK:
		args->call.asks = true;
		return 0;
	case OPT_CWD:
		args->call.cwd = value;
		return 0;
	case OPT_SETENV:
		return strv_add(&args->call.set, value) < 0 ? err_oom(err) : 0;
	case OPT_WORKSPACE:
		args->call.workspace = value;
		return 0;
	case OPT_JSON:
		args->json = true;
		return 0;
	case OPT_RESULT:
		args->result = value;
		return 0;
	case OPT_RESULT_FD:
		/* At once: there it is said what is wrong with the options after it. */
		return fd_take("--result-fd", value, &args->result_fd, err);
	default:
		BUG("an option of exec that nobody handles");
	}
}

static int prepare(struct exec_args *args, struct err *err)
{
	struct session_call *call = &args->call;
	int r = 0;

	if (call->shell && call->argv[1]) {
		r = err_set(err, ERR_USAGE, -EINVAL, "exec --shell takes one line");
		return err_hint(err, r, "in quotes: pale exec --shell -- 'cd src && make'");
	}
	if (args->result)
		r = outfile_open("--result", args->result, &args->result_file, err);
	if (r < 0)
		return r;
	call->stdio = (struct stdio){{0, args->json ? 2 : 1, 2}};
	call->stdio.lifeline = args->result_fd >= 0 ? args->result_fd : 0;
	call->wants_json = args->json || args->result_fd >= 0 || args->result;
	call->quiet = args->json || args->result_fd >= 0;
	return 0;
}

/* What the keeper wrote; or, when nothing was run, the little that is known. */
static int put_json(const struct exec_args *args, const struct session_answer *answer,
		    const struct err *failed, struct str *out)
{
	struct json json = {.out = out};

	if (answer->json.len > 0)
		return str_append_bytes(out, answer->json.data, answer->json.len);
	json_begin_object(&json, NULL);
	json_add_string(&json, "run", answer->run[0] ? answer->run : NULL);
	json_add_string(&json, "session", args->call.session ? args->call.session : "default");
	if (failed) {
		run_error_json(failed, &json);
	} else {
		json_add_bool(&json, "background", true);
	}
	json_end_object(&json);
	return json_finish(&json);
}

static int deliver(const struct exec_args *args, const struct session_answer *answer,
		   const struct err *failed)
{
	_cleanup_(str_release) struct str text = {0};
	struct err err = {0};
	int status = 0, r;

	if (!args->call.wants_json)
		return 0;
	if (put_json(args, answer, failed, &text) < 0 || str_append_char(&text, '\n') < 0)
		return report_oom();
	if (args->json)
		status = emit(&text);
	if (args->result_fd >= 0) {
		r = fd_write_all(args->result_fd, text.data, text.len);
		if (r < 0) {
			err_sys(&err, r, "--result-fd");
			status = report(&err);
		}
	}
	if (args->result_file.dir >= 0 && outfile_write(&args->result_file, &text, &err) < 0)
		status = report(&err);
	return status;
}

/* For `pale wait` and the like: without it nobody finds the command again. */
static int print_id(const struct session_answer *answer)
{
	_cleanup_(str_release) struct str out = {0};

	return str_appendf(&out, "%s\n", answer->run) < 0 ? report_oom() : emit(&out);
}

static int finish(const struct exec_args *args, struct session_answer *answer)
{
	for (size_t i = 0; i < answer->notes.len && !args->call.quiet; i++)
		report(&answer->notes.items[i]);
	if (args->call.background && !args->call.wants_json && print_id(answer) != 0)
		return STATUS_ERROR;
	if (deliver(args, answer, NULL) != 0 && answer->status == 0)
		return STATUS_ERROR;
	return answer->status;
}

static int fail(const struct exec_args *args, const struct err *err)
{
	const struct session_answer nothing = {0};

	if (!args->call.quiet)
		report(err);
	deliver(args, &nothing, err);
	return run_error_status(err);
}

int cmd_exec(enum verb_id id, int argc, char **argv)
{
	struct exec_args args = {.call = {.timeout_ms = UINT64_MAX,
					  .cpu_ms = UINT64_MAX,
					  .memory = UINT64_MAX,
					  .pids = UINT64_MAX,
					  .max_output = UINT64_MAX,
					  .notes = -1},
				 .result_file = OUTFILE_NONE,
				 .result_fd = -1};
	struct session_answer answer = {0}; /* not released: the process ends */
	struct opt_args operands;
	struct err err = {0};
	int r;

	lean_small_heap();
	r = verb_parse(id, argc, argv, set_option, &args, &operands, &err);
	if (r > 0)
		return 0;
	if (r < 0) {
		args.json = asks_json(argc, argv);
		args.call.wants_json = args.call.quiet = args.json || args.result_fd >= 0;
		return fail(&args, &err);
	}
	args.call.argv = operands.operands;
	r = prepare(&args, &err);
	if (r == 0)
		r = session_call(&args.call, &answer, &err);
	return r < 0 ? fail(&args, &err) : finish(&args, &answer);
}
