/* SPDX-License-Identifier: MIT */
#include "cli/cmd-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json-read.h"
#include "cli/common-ask.h"
#include "cli/common.h"
#include "session/file-tool.h"

struct file_args {
	struct file_job job;
	const char *old, *new, *old_fd, *new_fd;
	int result_fd;
	bool json;
	bool asks; /* for a boundary */
};

/* How it went. */
struct file_end {
	struct str reply, result;
	struct file_verdict verdict;
};

static void file_args_release(struct file_args *args)
{
	file_job_release(&args->job);
	fd_close(args->result_fd);
}

static int set_number(const struct opt *opt, const char *value, uint64_t *ret, struct err *err)
{
	char *end;

	errno = 0;
	*ret = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno)
		return err_set(err, ERR_USAGE, -EINVAL, "--%s: \"%.100s\" is no number", opt->name,
			       value);
	return 0;
}

static int set_sort(const char *value, bool *ret, struct err *err)
{
	*ret = str_eq(value, "name");
	return *ret || str_eq(value, "mtime")
		       ? 0
		       : err_set(err, ERR_USAGE, -EINVAL,
				 "--sort: \"%.100s\" is neither mtime nor name", value);
}

/* An option of the tools' own. */
static int set_own(const struct opt *opt, const char *value, struct file_args *args,
		   struct err *err)
{
	struct file_request *request = &args->job.request;

	switch (opt->id) {
	case OPT_OFFSET:
		return set_number(opt, value, &request->offset, err);
	case OPT_LIMIT:
		return set_number(opt, value, &request->limit, err);
	case OPT_CONTEXT:
		return set_number(opt, value, &request->context, err);
	case OPT_MAX:
		return set_number(opt, value, &request->max, err);
	case OPT_DIGEST:
		request->digest = value;
		return 0;
	case OPT_OLD:
		args->old = value;
		return 0;
	case OPT_NEW:
		args->new = value;
		return 0;
	case OPT_OLD_FD:
		args->old_fd = value;
		return 0;
	case OPT_NEW_FD:
		args->new_fd = value;
		return 0;
	case OPT_ALL:
		request->all = true;
		return 0;
	case OPT_FIXED:
		request->fixed = true;
		return 0;
	case OPT_IGNORE_CASE:
		request->ignore_case = true;
		return 0;
	case OPT_NO_IGNORE:
		request->no_ignore = true;
		return 0;
	case OPT_GLOB:
		return strv_add(&request->globs, value) < 0 ? err_oom(err) : 0;
	case OPT_SORT:
		return set_sort(value, &request->by_name, err);
	default:
		BUG("an option of file that nobody handles");
	}
}

static int set_option(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct file_args *args = data;

	if (opt->id == OPT_SESSION)
		args->job.session = value;
	else if (opt->id == OPT_JSON)
		args->json = true;
	else if (opt->id == OPT_RESULT_FD)
		return fd_take("--result-fd", value, &args->result_fd, err);
	else if (ask_takes(opt)) {
		args->asks |= opt->id != OPT_WORKSPACE;
		return ask_set(&args->job.run.ask, &args->job.run.workspace, opt, value, err);
	} else
		return set_own(opt, value, args, err);
	return 0;
}

static const enum file_tool tools[VERB_COUNT_] = {
	[VERB_FILE_READ] = FILE_READ, [VERB_FILE_WRITE] = FILE_WRITE, [VERB_FILE_EDIT] = FILE_EDIT,
	[VERB_FILE_GREP] = FILE_GREP, [VERB_FILE_GLOB] = FILE_GLOB,
};

static int set_operands(struct file_args *args, const struct opt_args *operands, struct err *err)
{
	struct file_request *request = &args->job.request;
	bool searches = request->tool == FILE_GREP || request->tool == FILE_GLOB;

	if (searches)
		request->pattern = operands->operands[0];
	for (int i = searches; i < operands->len; i++)
		if (strv_add(&request->paths, operands->operands[i]) < 0)
			return err_oom(err);
	if (searches && request->paths.len == 0 && strv_add(&request->paths, ".") < 0)
		return err_oom(err);
	return 0;
}

static int read_text(const char *option, const char *text, const char *fd_text, struct str *ret,
		     struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	if (!text == !fd_text)
		return err_set(err, ERR_USAGE, -EINVAL, "edit: --%s or --%s-fd is needed", option,
			       option);
	if (text)
		return str_append(ret, text) < 0 ? err_oom(err) : 0;
	r = fd_take(option, fd_text, &fd, err);
	if (r < 0)
		return r;
	r = fd_read_all(fd, FILE_CONTENT_MAX, ret);
	if (r == -EFBIG)
		return err_set(err, ERR_USAGE, r, "--%s-fd: more than 64 MiB", option);
	return r < 0 ? err_sys(err, r, "--%s-fd", option) : 0;
}

static int read_edit(struct file_args *args, struct err *err)
{
	_cleanup_(str_release) struct str old = {0}, new = {0};
	struct str *input = &args->job.input;
	int r = read_text("old", args->old, args->old_fd, &old, err);

	if (r == 0)
		r = read_text("new", args->new, args->new_fd, &new, err);
	if (r < 0)
		return r;
	r = str_appendf(input, "%zu %zu\n", old.len, new.len);
	if (r == 0)
		r = str_append_bytes(input, str_text(&old), old.len);
	if (r == 0)
		r = str_append_bytes(input, str_text(&new), new.len);
	return r < 0 ? err_oom(err) : 0;
}

static int read_input(struct file_args *args, struct err *err)
{
	int r;

	if (args->job.request.tool == FILE_EDIT)
		return read_edit(args, err);
	if (args->job.request.tool != FILE_WRITE)
		return 0;
	r = fd_read_all(STDIN_FILENO, FILE_CONTENT_MAX, &args->job.input);
	if (r == -EFBIG)
		return err_set(err, ERR_USAGE, r, "write: more than 64 MiB on standard input");
	return r < 0 ? err_sys(err, r, "write: standard input") : 0;
}

static int prepare(struct file_args *args, const struct opt_args *operands, struct err *err)
{
	int r = set_operands(args, operands, err);

	if (r == 0 && args->asks && args->job.session)
		r = err_set(err, ERR_USAGE, -EINVAL,
			    "a session has its boundary already: --session takes no other");
	if (r == 0)
		r = ask_check(&args->job.run.ask, err);
	if (r == 0)
		r = file_job_check(&args->job, err);
	if (r == 0)
		r = read_input(args, err);
	args->job.run.stdio.lifeline = args->result_fd >= 0 ? args->result_fd : 0;
	return r;
}

static void error_json(const char *code, const struct str *message, const struct str *hint,
		       struct json *json)
{
	_cleanup_(freep) char *text = strndup(str_text(message), message->len);
	_cleanup_(freep) char *help = strndup(str_text(hint), hint->len);

	json_begin_object(json, "error");
	json_add_string(json, "code", code);
	json_add_string(json, "message", text);
	json_add_string(json, "hint", help && *help ? help : NULL);
	json_end_object(json);
}

/* What is said of the run as such. */
static void result_json(const struct str *result, struct json *json)
{
	static const char *const members[] = {
		"run",    "session",    "outcome", "duration_ms",
		"events", "violations", "stage",   "violations_dropped"};
	struct json_slice whole, value;

	if (!json_slice_init(&whole, str_text(result), result->len))
		return;
	for (size_t i = 0; i < array_len(members); i++)
		if (json_get(whole, members[i], &value))
			json_add_raw_bytes(json, members[i], value.text, value.len);
}

/* FAILED: there is no reply. */
static int make_json(const struct file_args *args, const struct file_end *end,
		     const struct err *failed, struct str *out)
{
	struct json json = {.out = out};
	struct err failure = failed ? *failed : (struct err){0};
	struct str message = {.data = failure.message, .len = strlen(failure.message)};
	struct str hint = {.data = failure.hint, .len = strlen(failure.hint)};
	const struct file_verdict *verdict = &end->verdict;
	int r = 0;

	json_begin_object(&json, NULL);
	json_add_string(&json, "tool", file_tool_name(args->job.request.tool));
	json_add_bool(&json, "ok", !failed && verdict->code == FILE_OK);
	if (failed)
		error_json(err_code_name(failed->code), &message, &hint, &json);
	else if (verdict->code != FILE_OK)
		error_json(file_code_name(verdict->code), &verdict->message, &verdict->hint, &json);
	if (!failed)
		r = file_show_json(args->job.request.tool, &end->reply, &json);
	result_json(&end->result, &json);
	json_end_object(&json);
	if (r == 0)
		r = json_finish(&json);
	return r < 0 ? r : str_append_char(out, '\n');
}

/* To --json and --result-fd. */
static int deliver(const struct file_args *args, const struct file_end *end,
		   const struct err *failed)
{
	_cleanup_(str_release) struct str text = {0};
	struct err err;
	int status = 0, r;

	if (make_json(args, end, failed, &text) < 0)
		return report_oom();
	if (args->json)
		status = emit(&text);
	r = args->result_fd < 0 ? 0 : fd_write_all(args->result_fd, text.data, text.len);
	if (r == 0)
		return status;
	err_sys(&err, r, "--result-fd");
	return report(&err);
}

static void report_verdict(const struct file_verdict *verdict)
{
	struct err err = {0};

	err_set(&err, ERR_SYSTEM, 0, "%.*s", (int)verdict->message.len,
		str_text(&verdict->message));
	err_hint(&err, 0, "%.*s", (int)verdict->hint.len, str_text(&verdict->hint));
	report(&err);
}

static int show(const struct file_args *args, const struct file_end *end)
{
	_cleanup_(str_release) struct str out = {0}, notes = {0};
	enum file_tool tool = args->job.request.tool;
	bool found_nothing = end->verdict.code == FILE_NO_MATCH && tool != FILE_EDIT;

	if (file_show_text(tool, &end->reply, !isatty(STDOUT_FILENO), &out, &notes) < 0)
		return report_oom();
	if (out.len > 0 && emit(&out) != 0)
		return STATUS_ERROR;
	if (notes.len > 0)
		(void)fd_write_all(STDERR_FILENO, notes.data, notes.len);
	if (end->verdict.code != FILE_OK && !found_nothing)
		report_verdict(&end->verdict);
	return 0;
}

static int finish(const struct file_args *args, struct file_end *end)
{
	int status;

	if (file_reply_check(str_text(&end->reply), end->reply.len, &end->verdict) < 0)
		BUG("a reply that was checked");
	status = end->verdict.code == FILE_OK ? STATUS_OK : STATUS_ERROR;
	if (args->json || args->result_fd >= 0)
		status |= deliver(args, end, NULL);
	else
		status |= show(args, end);
	return status;
}

static int fail(const struct file_args *args, const struct file_end *end, const struct err *err)
{
	if (args->json || args->result_fd >= 0)
		(void)deliver(args, end, err);
	else
		report(err);
	return args->job.began ? STATUS_ERROR : EXIT_NOT_RUN;
}

int cmd_file(enum verb_id id, int argc, char **argv)
{
	_cleanup_(file_args_release) struct file_args args = {.job.request.tool = tools[id],
							      .result_fd = -1};
	struct file_end end = {0}; /* not released: the process ends, which is faster */
	struct opt_args operands;
	struct err err = {0};
	int r = verb_parse(id, argc, argv, set_option, &args, &operands, &err);

	if (r > 0)
		return 0;
	if (r < 0)
		args.json = asks_json(argc, argv);
	else
		r = prepare(&args, &operands, &err);
	if (r == 0)
		r = file_tool_run(&args.job, &end.reply, &end.result, &err);
	return r < 0 ? fail(&args, &end, &err) : finish(&args, &end);
}
