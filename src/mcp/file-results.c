/* SPDX-License-Identifier: MIT */
/*
 * file-results - the answers of file tools.
 *
 * What a file held when it was read or written is remembered, so that a later write or
 * edit is refused if somebody else has changed it since.
 */
#include <errno.h>
#include <string.h>

#include "mcp/impl.h"
#include "mcp/views.h"

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* With what has happened to the sandbox, which is said once. */
static int put(const struct server *server, struct str *text, const char *structured, bool is_error,
	       struct str *result)
{
	const char *notice = server->session.notice;
	bool ends = text->len == 0 || text->data[text->len - 1] == '\n';
	int r = notice ? str_appendf(text, "%snote: %s\n", ends ? "" : "\n", notice) : 0;

	return r < 0 ? r : result_put(server, result, str_text(text), structured, is_error);
}

/* Why it was not done. */
static int put_refusal(const struct server *server, const struct call *call, json_t *answer,
		       struct str *result)
{
	_cleanup_(str_release) struct str text = {0};
	json_t *error = json_object_get(answer, "error");
	const char *message = text_of(error, "message"), *hint = text_of(error, "hint");
	int r = view_line("", message ? message : "pale ended before it could answer", &text);

	/* The verb knows of digests, which are ours. */
	if (str_eq(text_of(error, "code"), "changed"))
		hint = call->tool - tools == TOOL_WRITE ? "read it again, or set overwrite"
							: "read it again";
	if (r == 0 && hint)
		r = view_line("\nhint: ", hint, &text);
	return r < 0 ? r : put(server, &text, NULL, true, result);
}

/* Nothing found is an answer as well. */
static bool is_done(const struct call *call, json_t *answer)
{
	bool searches = call->tool - tools == TOOL_GREP || call->tool - tools == TOOL_GLOB;

	return json_is_true(json_object_get(answer, "ok")) ||
	       (searches && str_eq(text_of(json_object_get(answer, "error"), "code"), "no_match"));
}

static int put_done(const struct server *server, const struct call *call, json_t *answer,
		    struct str *result)
{
	static const char *const left_out[] = {"tool",        "error",  "outcome",
					       "duration_ms", "events", "violations_dropped"};
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(freep) char *dump = NULL;
	int r = view_file(call->tool, answer, &text);

	for (size_t i = 0; i < array_len(left_out); i++)
		json_object_del(answer, left_out[i]);
	if (json_is_null(json_object_get(answer, "stage")))
		json_object_del(answer, "stage");
	dump = json_dumps(answer, JSON_COMPACT);
	if (r < 0 || !dump)
		return -ENOMEM;
	return put(server, &text, dump, false, result);
}

/* write, step 0: it has looked. True: it may write now. */
static int look(const struct server *server, const struct call *call, json_t *answer,
		struct str *result)
{
	const char *code = text_of(json_object_get(answer, "error"), "code");
	_cleanup_(str_release) struct str text = {0};

	if (str_eq(code, "not_found"))
		return 1;
	/* Something is there. */
	if (json_is_true(json_object_get(answer, "ok")) || str_eq(code, "binary") ||
	    str_eq(code, "too_large")) {
		int r = str_append(&text, "the file exists, and you have not read it: read it "
					  "first, use edit, or set overwrite");

		return r < 0 ? r : put(server, &text, NULL, true, result);
	}
	return put_refusal(server, call, answer, result);
}

static int put_answer(struct server *server, struct call *call, json_t *answer, struct str *result)
{
	const char *digest = text_of(answer, "digest");
	bool done = is_done(call, answer);

	if (call->tool - tools == TOOL_WRITE && call->step == 0) {
		int r = look(server, call, answer, result);

		if (r <= 0)
			return r;
		call->step = 1;
		r = tool_prepare_write(server, call);
		return r < 0 ? r : 1;
	}
	if (done && digest && text_of(answer, "path"))
		digest_keep(server, text_of(call->args, "path"), digest);
	return done ? put_done(server, call, answer, result)
		    : put_refusal(server, call, answer, result);
}

bool file_finish(struct server *server, struct call *call)
{
	_cleanup_(str_release) struct str result = {0};
	const struct str *text = &call->worker.answer;
	struct rpc_error error;
	json_t *answer = NULL;
	int r;

	if (rpc_parse(str_text(text), text->len, &answer, &error) < 0)
		answer = NULL;
	if (json_object_get(answer, "error") &&
	    session_replace(server, call, json_object_get(answer, "error"))) {
		json_decref(answer);
		return true;
	}
	r = put_answer(server, call, answer, &result);
	json_decref(answer);
	if (r < 0) {
		server->error = r;
	} else if (r == 0) {
		server_answer(server, &call->reply, &result);
		free(take_ptr(server->session.notice));
		if (!(call->tool->flags & TOOL_READ_ONLY))
			resources_after_run(server);
	}
	return r > 0;
}
