/* SPDX-License-Identifier: MIT */
/* pale session start */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json-read.h"
#include "cli/cmd-exec.h"
#include "cli/common-ask.h"
#include "cli/common.h"
#include "session/session-place.h"
#include "session/session.h"

struct start_args {
	struct run_request request;
	struct session_wish wish;
	const char *lifeline;
	bool json;
};

static int set_option(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct start_args *args = data;

	if (ask_takes(opt))
		return ask_set(&args->request.ask, &args->request.workspace, opt, value, err);
	switch (opt->id) {
	case OPT_IDLE:
		args->wish.idle = value;
		return 0;
	case OPT_LIFELINE_FD:
		args->lifeline = value;
		return 0;
	case OPT_JSON:
		args->json = true;
		return 0;
	default:
		BUG("an option of session start that nobody handles");
	}
}

static int prepare(struct start_args *args, const struct opt_args *operands, struct err *err)
{
	struct ask *ask = &args->request.ask;
	int r = ask_check(ask, err);

	args->wish.name = operands->len > 0 ? operands->operands[0] : SESSION_DEFAULT;
	if (r == 0 && ask->spec && ask->preset)
		r = err_set(err, ERR_USAGE, -EINVAL, "--preset and --spec exclude each other");
	if (r == 0 && args->lifeline)
		r = fd_take("--lifeline-fd", args->lifeline, &args->wish.lifeline, err);
	return r;
}

static int tell(const struct start_args *args, struct str *facts)
{
	if (!args->json)
		return STATUS_OK;
	return str_append_char(facts, '\n') < 0 ? report_oom() : emit(facts);
}

static int fail(const struct start_args *args, const struct err *err)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out};

	if (!args->json) {
		report(err);
		return EXIT_NOT_RUN;
	}
	json_begin_object(&json, NULL);
	json_add_string(&json, "session", args->wish.name);
	run_error_json(err, &json);
	json_end_object(&json);
	(void)emit_json(&json);
	return EXIT_NOT_RUN;
}

int cmd_session_start(enum verb_id id, int argc, char **argv)
{
	struct start_args args = {.wish.lifeline = -1};
	_cleanup_(str_release) struct str facts = {0};
	struct opt_args operands;
	struct err err = {0};
	int r = verb_parse(id, argc, argv, set_option, &args, &operands, &err);

	if (r > 0)
		return 0;
	if (r == 0)
		r = prepare(&args, &operands, &err);
	if (r == 0)
		r = session_raise(&args.request, &args.wish, args.json ? &facts : NULL, &err);
	return r < 0 ? fail(&args, &err) : tell(&args, &facts);
}
