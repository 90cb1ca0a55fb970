/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json-read.h"
#include "learn/evidence.h"

static int bad(const char *what, const char *key, struct err *err)
{
	return err_set(err, ERR_SYSTEM, -EBADMSG, "%s is not what pale writes: %s", what, key);
}

static bool is_true(struct json_slice object, const char *key)
{
	struct json_slice value;

	return json_get(object, key, &value) && value.len == 4 &&
	       memcmp(value.text, "true", 4) == 0;
}

static bool find_outcome(const char *name, enum outcome *ret)
{
	for (int i = OUTCOME_OK; name && i <= OUTCOME_ERROR; i++)
		if (str_eq(name, outcome_name((enum outcome)i))) {
			*ret = (enum outcome)i;
			return true;
		}
	return false;
}

static int add_violation(struct violations *violations, struct json_slice item)
{
	_cleanup_(freep) char *dimension = json_get_text(item, "dimension"),
			      *op = json_get_text(item, "op");
	_cleanup_(freep) char *path = json_get_text(item, "path"),
			      *target = json_get_text(item, "target");
	struct violation *made = NULL;
	int r;

	if (!dimension || !op || is_true(item, "probe"))
		return 0;
	r = violations_add(violations, dimension, op, path ? path : target, 0, &made);
	if (r < 0 || !made)
		return r;
	made->count = json_get_number(item, "count", 1);
	made->rule = json_get_text(item, "rule");
	made->fix = json_get_text(item, "fix");
	made->program = json_get_text(item, "program");
	made->name = json_get_text(item, "name");
	made->address = json_get_text(item, "address");
	made->port = (unsigned)json_get_number(item, "port", 0);
	return 0;
}

static int read_violations(struct json_slice object, struct violations *ret)
{
	struct json_slice list, item;
	size_t cursor = 0;
	int r = 0;

	ret->observed = json_get(object, "violations", &list) && !json_is_null(list);
	while (ret->observed && r == 0 && json_next_item(list, &cursor, &item))
		r = add_violation(ret, item);
	return r;
}

static int read_result(struct evidence *evidence, struct json_slice object, const char *what,
		       struct err *err)
{
	_cleanup_(freep) char *outcome = json_get_text(object, "outcome");
	struct json_slice usage = {0};
	uint64_t code = json_get_number(object, "exit_code", UINT64_MAX);

	if (!find_outcome(outcome, &evidence->outcome))
		return bad(what, "outcome", err);
	(void)json_get(object, "usage", &usage);
	evidence->exit_code = code > 255 ? -1 : (int)code;
	evidence->duration_ms = json_get_number(object, "duration_ms", 0);
	evidence->usage = (struct usage){
		.memory_peak = json_get_number(usage, "memory_peak", USAGE_UNKNOWN),
		.cpu_ms = json_get_number(usage, "cpu_ms", USAGE_UNKNOWN),
		.pids_peak = json_get_number(usage, "pids_peak", USAGE_UNKNOWN),
		.written = json_get_number(usage, "written", USAGE_UNKNOWN),
		.connections = json_get_number(usage, "connections", USAGE_UNKNOWN),
		.net_sent = json_get_number(usage, "net_sent", USAGE_UNKNOWN),
		.net_received = json_get_number(usage, "net_received", USAGE_UNKNOWN),
	};
	return read_violations(object, &evidence->violations) < 0 ? err_oom(err) : 0;
}

/* Nothing was executed, and this is why. */
static int pass_error(struct json_slice error, struct err *err)
{
	_cleanup_(freep) char *message = json_get_text(error, "message"),
			      *hint = json_get_text(error, "hint");
	_cleanup_(freep) char *name = json_get_text(error, "code");
	enum err_code code = ERR_SYSTEM;
	int r = -EPERM;

	for (int i = ERR_SYSTEM; i <= ERR_LAST; i++)
		if (name && str_eq(name, err_code_name((enum err_code)i)))
			code = (enum err_code)i;
	err_set(err, code, r, "%s", message ? message : "pale could not run it");
	return err_hint(err, r, "%s", hint ? hint : "");
}

int evidence_read_result(struct evidence *evidence, const char *text, size_t len, struct err *err)
{
	static const char what[] = "the result of the run";
	struct json_slice root, error;

	if (!json_slice_init(&root, text, len))
		return bad(what, "it is empty", err);
	if (json_get(root, "error", &error) && !json_is_null(error))
		return pass_error(error, err);
	return read_result(evidence, root, what, err);
}

int evidence_read_profile(struct evidence *evidence, const char *text, size_t len, struct err *err)
{
	return profile_parse(text, len, &evidence->profile, err);
}

static int read_changed(struct json_slice object, struct strv *ret)
{
	struct json_slice list, item;
	size_t cursor = 0;
	int r = 0;

	if (!json_get(object, "changed", &list))
		return -EBADMSG;
	while (r == 0 && json_next_item(list, &cursor, &item)) {
		char *path = json_get_string(item);

		r = path ? strv_take(ret, path) : -EBADMSG;
	}
	return r;
}

static int read_all(struct evidence *evidence, struct json_slice root, struct err *err)
{
	static const char what[] = "the kept profile";
	_cleanup_(freep) char *digest = json_get_text(root, "digest");
	struct json_slice result, profile;
	int r;

	if (json_get_number(root, "version", 0) != 1)
		return bad(what, "version", err);
	evidence->asked = json_get_text(root, "asked");
	if (!digest || strlen(digest) >= sizeof(evidence->digest) || !evidence->asked)
		return bad(what, "digest or asked", err);
	snprintf(evidence->digest, sizeof(evidence->digest), "%s", digest);
	if (!json_get(root, "result", &result) || !json_get(root, "profile", &profile))
		return bad(what, "result or profile", err);
	r = read_changed(root, &evidence->changed);
	if (r < 0)
		return r == -ENOMEM ? err_oom(err) : bad(what, "changed", err);
	r = read_result(evidence, result, what, err);
	return r < 0 ? r : profile_parse(profile.text, profile.len, &evidence->profile, err);
}

int evidence_parse(const char *text, size_t len, struct evidence *ret, struct err *err)
{
	_cleanup_(evidence_release) struct evidence evidence = {0};
	struct json_slice root;
	int r;

	if (!json_slice_init(&root, text, len))
		return bad("the kept profile", "it is empty", err);
	r = read_all(&evidence, root, err);
	if (r < 0)
		return r;
	*ret = evidence;
	evidence = (struct evidence){0};
	return 0;
}
