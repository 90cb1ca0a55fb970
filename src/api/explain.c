/* SPDX-License-Identifier: MIT */
#include "api/explain.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/size.h"
#include "config/workspace.h"
#include "policy/spec-digest.h"
#include "store/record.h"
#include "store/run-record.h"

/* Why nothing was executed, by the stable code. */
static const struct {
	const char *code, *how, *hint;
} refusals[] = {
	{"usage", "the command line was wrong", "pale help run"},
	{"config", "a pale.toml was wrong", "pale config check"},
	{"policy", "what was asked for is refused: an option, a path of it, or by a ceiling",
	 "pale run --explain, with the same options"},
	{"trust", "the workspace asks for more than it is trusted with", "pale trust --show"},
	{"unsupported", "what was asked for cannot be done here, or not together",
	 "pale run --explain, with the same options; pale doctor"},
	{"no_namespaces", "this machine refuses namespaces", "pale doctor"},
	{"not_found", "the program was not found inside", "pale run --explain"},
	{"no_idmap", "a file system cannot show its files under other ids", "pale doctor"},
	{"not_executable", "the program is there and cannot be executed", NULL},
	{"system", "the system refused something that the sandbox needs", "pale doctor"},
};

static char *not_run(const char *code, char **ret_hint)
{
	for (size_t i = 0; i < array_len(refusals); i++)
		if (str_eq(code, refusals[i].code)) {
			*ret_hint = refusals[i].hint ? strdup(refusals[i].hint) : NULL;
			return str_printf("nothing was executed: %s", refusals[i].how);
		}
	*ret_hint = strdup("pale doctor");
	return str_printf("nothing was executed: %s", code ? code : "the reason was not kept");
}

static char *limit_sentence(const struct run_record *record, const char *dimension)
{
	const struct {
		const char *dimension;
		uint64_t limit;
		bool is_time;
	} limits[] = {
		{"timeout", record->timeout_ms, true},
		{"cpu", record->cpu_ms, true},
		{"memory", record->memory, false},
		{"pids", record->pids, false},
	};
	char text[SIZE_TEXT_MAX];

	for (size_t i = 0; i < array_len(limits); i++) {
		uint64_t limit = limits[i].limit;

		if (!str_eq(limits[i].dimension, dimension) || limit == SPEC_UNLIMITED)
			continue;
		if (str_eq(dimension, "pids"))
			snprintf(text, sizeof(text), "%llu", (unsigned long long)limit);
		else if (limits[i].is_time)
			duration_format(limit, text);
		else
			size_format(limit, text);
		return str_printf("it reached its limit of %s, %s", dimension, text);
	}
	return str_printf("it reached its limit of %s", dimension);
}

/* The limit that ended it, or NULL. */
static const char *limit_of(const struct run_record *record)
{
	if (!record->ended)
		return NULL;
	if (record->outcome == OUTCOME_TIMEOUT)
		return record->limit ? record->limit : "timeout";
	if (record->outcome == OUTCOME_OOM)
		return "memory";
	return record->outcome == OUTCOME_LIMIT ? (record->limit ? record->limit : "a limit")
						: NULL;
}

/* A shell has no other word for how a program of its ended. */
static char *exited(int code)
{
	int sig = code - 128;

	if (sig <= 0 || sig > SIGSYS)
		return str_printf("the command exited with %d", code);
	return str_printf("the command exited with %d, as a shell does when signal %d (%s) ended a "
			  "program of it",
			  code, sig, strsignal(sig));
}

static char *how_it_ended(const struct run_record *record, char **ret_hint)
{
	if (!record->ended)
		return strdup(record->living
				      ? "it goes on"
				      : "its end was never seen: pale or the machine was stopped");
	switch (record->outcome) {
	case OUTCOME_OK:
		return strdup("it worked");
	case OUTCOME_FAILED:
		return exited(record->exit_code);
	case OUTCOME_SIGNALED:
		return str_printf("signal %d (%s) ended it", record->signal,
				  strsignal(record->signal));
	case OUTCOME_TIMEOUT:
	case OUTCOME_OOM:
	case OUTCOME_LIMIT:
		return limit_sentence(record, limit_of(record));
	case OUTCOME_REFUSED:
	case OUTCOME_ERROR:
		return not_run(record->error, ret_hint);
	}
	BUG("an outcome is missing");
}

/* What OP wanted, in words. */
static char *in_words(const char *op, const char *target)
{
	static const struct {
		const char *op, *words;
	} table[] = {
		{"open", "write to"},
		{"create", "create"},
		{"truncate", "cut"},
		{"mkdir", "make the folder"},
		{"unlink", "remove"},
		{"rmdir", "remove the folder"},
		{"rename", "rename"},
		{"link", "link"},
		{"symlink", "make the link"},
		{"mknod", "make the special file"},
		{"chmod", "change the mode of"},
		{"chown", "change the owner of"},
		{"connect", "connect to"},
		{"bind", "serve at"},
		{"read", "read"},
		{"execute", "execute"},
		{"send", "send to"},
		{"resolve", "look up"},
	};

	if (str_eq(op, "connect") && remedy_is_name_server(target))
		return str_printf("look up a name, at %s", target);
	for (size_t i = 0; target && i < array_len(table); i++)
		if (str_eq(op, table[i].op))
			return str_printf("%s %s", table[i].words, target);
	return target ? str_printf("call %s on %s", op, target) : str_printf("call %s", op);
}

static void cause_release(struct cause *cause)
{
	free(cause->target);
	free(cause->what);
	free(cause->rule);
	free(cause->fix);
	remedy_release(&cause->remedy);
}

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* A target that was cut names something else. */
static bool is_cut(const char *target)
{
	return target && strlen(target) >= RECORD_TEXT_MAX - 4;
}

/* A run that had options of its own was under another policy than the one of today. */
static bool was_under(const struct spec *spec, const struct run_record *record)
{
	char digest[SHA256_HEX];

	if (!spec || !record->spec_digest)
		return true;
	spec_digest(spec, digest);
	return str_eq(digest, record->spec_digest);
}

/* Under the policy of THEN nothing was known that would have helped: what does today is
 * what it had already, as likely as not. */
static int find_remedy(struct cause *cause, const struct spec *spec, const struct user *user,
		       bool then, struct err *err)
{
	int r;

	cause->remedy.dim = DIM_COUNT_;
	if (!spec) {
		cause->remedy.why = "the policy that it would belong to is not known";
		return 0;
	}
	if (is_cut(cause->target)) {
		cause->remedy.why = "its name is too long to have been kept";
		return 0;
	}
	r = remedy_find(spec, user, cause->dimension, cause->op, cause->target, &cause->remedy,
			err);
	if (r == 0 && !cause->fix && cause->remedy.possible && !then) {
		remedy_release(&cause->remedy);
		cause->remedy.dim = DIM_COUNT_;
		cause->remedy.why = "no option would have allowed it beside those of that run";
	} else if (r == 0 && !cause->fix && cause->remedy.possible) {
		cause->fix = strdup(cause->remedy.option);
		r = cause->fix ? 0 : err_oom(err);
	}
	return r;
}

/* Room for one more; NULL: no memory. */
static struct cause *grow(struct explanation *explanation)
{
	struct cause *grown = reallocarray(explanation->causes, explanation->len + 1,
					   sizeof(*explanation->causes));

	if (!grown)
		return NULL;
	explanation->causes = grown;
	grown += explanation->len++;
	*grown = (struct cause){.count = 1};
	return grown;
}

static int add_violation(struct explanation *explanation, const struct violation *violation,
			 const struct spec *spec, const struct user *user, bool then,
			 struct err *err)
{
	struct cause *cause = grow(explanation);

	if (!cause)
		return err_oom(err);
	memcpy(cause->dimension, violation->dimension, sizeof(cause->dimension));
	memcpy(cause->op, violation->op, sizeof(cause->op));
	cause->target = copy(violation->target);
	cause->rule = copy(violation->rule);
	cause->fix = copy(violation->fix);
	cause->what = in_words(violation->op, violation->target);
	cause->count = violation->count;
	if (!cause->what || (violation->target && !cause->target) ||
	    (violation->rule && !cause->rule) || (violation->fix && !cause->fix))
		return err_oom(err);
	return find_remedy(cause, spec, user, then, err);
}

/* `timeout = "30s"`; NULL: no memory. */
static char *rule_text(const struct spec *spec, enum dim dim)
{
	_cleanup_(str_release) struct str text = {0};

	if (str_appendf(&text, "%s = ", dim_name(dim)) < 0 || spec_print_dim(spec, dim, &text) < 0)
		return NULL;
	return take_ptr(text.data);
}

/* Of a limit that records do not hold. */
static int say_more(const struct spec *then, struct cause *cause, struct err *err)
{
	int dim = dim_by_name(cause->dimension);
	const uint64_t *limit = dim < 0 ? NULL : spec_limit_const(then, (enum dim)dim);

	if (!limit || *limit != SPEC_UNLIMITED)
		return 0;
	cause->remedy.why = "how much it was is not remembered";
	cause->fix = str_printf("%s MORE", spec_keys[dim].flag);
	return cause->fix ? 0 : err_oom(err);
}

/* By the limits that held in that run, not those of today. */
static int add_limit(struct explanation *explanation, const struct run_record *record,
		     const char *dimension, struct err *err)
{
	struct spec then;
	struct cause *cause = grow(explanation);
	int r;

	if (!cause)
		return err_oom(err);
	spec_init_bottom(&then);
	then.timeout = record->timeout_ms;
	then.cpu = record->cpu_ms;
	then.memory = record->memory;
	then.pids = record->pids;
	snprintf(cause->dimension, sizeof(cause->dimension), "%s", dimension);
	snprintf(cause->op, sizeof(cause->op), "limit");
	cause->what = str_printf("use more than its limit of %s", dimension);
	if (!cause->what)
		return err_oom(err);
	r = remedy_find(&then, &(struct user){0}, dimension, "limit", NULL, &cause->remedy, err);
	if (r < 0)
		return r;
	if (!cause->remedy.possible)
		return say_more(&then, cause, err);
	cause->fix = strdup(cause->remedy.option);
	cause->rule = rule_text(&then, cause->remedy.dim);
	return cause->fix && cause->rule ? 0 : err_oom(err);
}

int explain_run(const struct run_record *record, const struct violations *violations,
		const struct spec *spec, const struct user *user, struct explanation *ret,
		struct err *err)
{
	_cleanup_(explanation_release) struct explanation out = {
		.observed = violations->observed,
		.dropped = violations->dropped,
	};
	const struct violation *ranked[VIOLATIONS_MAX];
	size_t len = violations_rank(violations, ranked, VIOLATIONS_MAX);
	const char *limit = limit_of(record);
	bool then = was_under(spec, record);
	int r = 0;

	out.how = how_it_ended(record, &out.hint);
	if (!out.how)
		return err_oom(err);
	if (limit)
		r = add_limit(&out, record, limit, err);
	for (size_t i = 0; i < len && r == 0; i++)
		r = add_violation(&out, ranked[i], spec, user, then, err);
	if (r < 0)
		return r;
	*ret = out;
	out = (struct explanation){0};
	return 0;
}

void explanation_release(struct explanation *explanation)
{
	for (size_t i = 0; i < explanation->len; i++)
		cause_release(&explanation->causes[i]);
	free(explanation->causes);
	free(explanation->how);
	free(explanation->hint);
	strv_release(&explanation->notes);
	*explanation = (struct explanation){0};
}

static void cause_json(const struct cause *cause, size_t number, struct json *json)
{
	const struct remedy *remedy = &cause->remedy;
	bool network = str_eq(cause->dimension, "network");

	json_begin_object(json, NULL);
	json_add_uint(json, "number", number);
	json_add_string(json, "dimension", cause->dimension);
	json_add_string(json, "op", cause->op);
	json_add_string(json, network ? "target" : "path", cause->target);
	json_add_string(json, "what", cause->what);
	json_add_string(json, "rule", cause->rule);
	json_add_uint(json, "count", cause->count);
	json_add_string(json, "fix", cause->fix);
	if (remedy->possible && remedy->dim != DIM_COUNT_) {
		json_begin_object(json, "remedy");
		json_add_string(json, "key", dim_name(remedy->dim));
		json_add_string(json, remedy->is_item ? "add" : "value", remedy->value);
		json_add_string(json, "opens", remedy->opens);
		json_end_object(json);
	} else {
		json_add_null(json, "remedy");
	}
	json_add_string(json, "why_not", remedy->possible ? NULL : remedy->why);
	json_end_object(json);
}

void explanation_json(const struct explanation *explanation, struct json *json)
{
	json_add_string(json, "how", explanation->how);
	json_add_string(json, "hint", explanation->hint);
	json_add_bool(json, "observed", explanation->observed);
	json_begin_array(json, "causes");
	for (size_t i = 0; i < explanation->len; i++)
		cause_json(&explanation->causes[i], i + 1, json);
	json_end_array(json);
	json_add_uint(json, "dropped", explanation->dropped);
	json_add_strv(json, "notes", &explanation->notes);
}
