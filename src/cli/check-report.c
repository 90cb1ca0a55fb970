/* SPDX-License-Identifier: MIT */
#include "cli/check-report.h"

#include <errno.h>
#include <string.h>

#include "api/check.h"
#include "base/cleanup.h"
#include "base/json-read.h"
#include "base/json.h"
#include "view/junit.h"
#include "view/units.h"

const char *task_word(const struct check *check, size_t index)
{
	const struct task *task = &check->lanes.tasks[index];

	switch (task->state) {
	case TASK_QUEUED:
		return "queued";
	case TASK_RUNNING:
		return task->ending ? "ending" : "running";
	case TASK_ENDED:
		return outcome_name(task->outcome);
	case TASK_CANCELLED:
		return "cancelled";
	case TASK_SKIPPED:
		break;
	}
	return "skipped";
}

const char *task_colour(const struct check *check, size_t index)
{
	const struct task *task = &check->lanes.tasks[index];

	switch (task->state) {
	case TASK_RUNNING:
		return "\033[36m";
	case TASK_ENDED:
		return task->outcome == OUTCOME_OK ? "\033[32m" : "\033[31m";
	case TASK_QUEUED:
	case TASK_CANCELLED:
	case TASK_SKIPPED:
		break;
	}
	return "\033[2m";
}

bool task_failed(const struct check *check, size_t index)
{
	const struct task *task = &check->lanes.tasks[index];

	return task->state == TASK_ENDED && task->outcome != OUTCOME_OK;
}

/* --- as text --- */

static unsigned count_characters(const char *text, size_t len)
{
	unsigned n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

static unsigned name_width(const char *name)
{
	_cleanup_(str_release) struct str text = {0};

	if (str_append_escaped(&text, name, strlen(name)) < 0)
		return 0;
	return count_characters(str_text(&text), text.len);
}

unsigned check_name_width(const struct check *check)
{
	unsigned widest = 0;

	for (size_t i = 0; i < check->lanes.len; i++) {
		unsigned width = name_width(check->children[i].name);

		if (width > widest)
			widest = width;
	}
	return widest < 40 ? widest : 40;
}

/* Why it is not ok, in a few words; "" when there is nothing to say. */
static int reason(const struct check *check, size_t index, struct str *out)
{
	const struct task *task = &check->lanes.tasks[index];
	const struct check_result *result = &check->children[index].result;

	if (task->state != TASK_ENDED)
		return 0;
	switch (result->outcome) {
	case OUTCOME_OK:
		return 0;
	case OUTCOME_FAILED:
		return str_appendf(out, "exit status %d", result->exit_code);
	case OUTCOME_SIGNALED:
		return str_appendf(out, "signal %d, %s", result->signal, strsignal(result->signal));
	case OUTCOME_TIMEOUT:
		return str_append(out, "its time was up");
	case OUTCOME_OOM:
	case OUTCOME_LIMIT:
		return str_appendf(out, "%s was reached",
				   result->limit ? result->limit : "a limit");
	case OUTCOME_REFUSED:
	case OUTCOME_ERROR:
		break;
	}
	return str_append(out, result->message ? result->message : "pale could not run it");
}

int check_row(const struct check *check, size_t index, unsigned width, uint64_t now_ns,
	      struct str *out)
{
	const struct task *task = &check->lanes.tasks[index];
	const struct check_child *child = &check->children[index];
	bool begun = task->state != TASK_QUEUED && task->state != TASK_SKIPPED;
	uint64_t memory = task->state == TASK_RUNNING ? child->memory : child->result.memory_peak;
	char time[UNITS_MAX], bytes[UNITS_MAX];
	_cleanup_(str_release) struct str why = {0};
	unsigned used = name_width(child->name);
	int r = str_append_escaped(out, child->name, strlen(child->name));

	if (r == 0)
		r = reason(check, index, &why);
	if (r == 0)
		r = str_appendf(out, "%*s  %9s  %9s", (int)(used < width ? width - used : 0), "",
				begun ? units_ms(task_elapsed_ns(task, now_ns) / 1000000, time)
				      : "-",
				units_bytes(begun ? memory : UINT64_MAX, bytes));
	if (r == 0 && why.len > 0)
		r = str_append(out, "  ");
	return r < 0 || why.len == 0 ? r : str_append_escaped(out, why.data, why.len);
}

static int add_count(struct str *out, size_t n, const char *what, bool *first)
{
	int r = n ? str_appendf(out, "%s%zu %s", *first ? "" : ", ", n, what) : 0;

	*first = *first && n == 0;
	return r;
}

int check_summary(const struct check *check, uint64_t duration_ms, struct str *out)
{
	struct lanes_count count = lanes_count(&check->lanes);
	char time[UNITS_MAX];
	bool first = true;
	int r = str_appendf(out, "%zu command%s: ", check->lanes.len,
			    check->lanes.len == 1 ? "" : "s");

	if (r == 0)
		r = add_count(out, count.ok, "ok", &first);
	if (r == 0)
		r = add_count(out, count.failed, "not ok", &first);
	if (r == 0)
		r = add_count(out, count.cancelled, "cancelled", &first);
	if (r == 0)
		r = add_count(out, count.skipped, "skipped", &first);
	if (r == 0)
		r = add_count(out, count.running, "running", &first);
	if (r == 0)
		r = add_count(out, count.queued, "queued", &first);
	return r < 0 ? r : str_appendf(out, "; %s", units_ms(duration_ms, time));
}

/* --- as JSON --- */

/* A NUL byte would end the string. */
static int plain_output(const struct check_child *child, struct str *out)
{
	_cleanup_(str_release) struct str text = {0};
	int r = capture_text(&child->capture, &text);

	for (size_t i = 0; i < text.len && r == 0;) {
		size_t len = strnlen(text.data + i, text.len - i);

		r = str_append_bytes(out, text.data + i, len);
		i += len;
		if (r == 0 && i < text.len) {
			r = str_append(out, "\xef\xbf\xbd");
			i++;
		}
	}
	return r;
}

static int task_json(const struct check *check, size_t index, struct json *json)
{
	const struct task *task = &check->lanes.tasks[index];
	const struct check_child *child = &check->children[index];
	_cleanup_(str_release) struct str output = {0};
	struct json_slice result;
	int r = 0;

	json_begin_object(json, NULL);
	json_add_string(json, "command", child->name);
	json_add_string(json, "state", task_word(check, index));
	if (task->state == TASK_ENDED)
		json_add_int(json, "status", task->status);
	else
		json_add_null(json, "status");
	if (task->state == TASK_SKIPPED)
		json_add_null(json, "duration_ms");
	else
		json_add_uint(json, "duration_ms", task_elapsed_ns(task, 0) / 1000000);
	if (json_slice_init(&result, str_text(&child->answer.json), child->answer.json.len))
		json_add_raw_bytes(json, "result", result.text, result.len);
	else
		json_add_null(json, "result");
	if (task_failed(check, index))
		r = plain_output(child, &output);
	json_add_string(json, "output", task_failed(check, index) ? str_text(&output) : NULL);
	json_end_object(json);
	return r;
}

int check_json(const struct check *check, uint64_t duration_ms, int status, struct str *out)
{
	struct lanes_count count = lanes_count(&check->lanes);
	struct json json = {.out = out, .pretty = true};
	int r = 0;

	json_begin_object(&json, NULL);
	json_begin_array(&json, "commands");
	for (size_t i = 0; i < check->lanes.len && r == 0; i++)
		r = task_json(check, i, &json);
	json_end_array(&json);
	json_begin_object(&json, "totals");
	json_add_uint(&json, "commands", check->lanes.len);
	json_add_uint(&json, "ok", count.ok);
	json_add_uint(&json, "failed", count.failed);
	json_add_uint(&json, "cancelled", count.cancelled);
	json_add_uint(&json, "skipped", count.skipped);
	json_add_uint(&json, "duration_ms", duration_ms);
	json_end_object(&json);
	json_add_int(&json, "status", status);
	json_end_object(&json);
	return r < 0 || json_finish(&json) < 0 ? -ENOMEM : str_append_char(out, '\n');
}

/* --- as JUnit XML --- */

static enum junit_kind kind_of(const struct task *task)
{
	if (task->state != TASK_ENDED)
		return JUNIT_SKIPPED;
	switch (task->outcome) {
	case OUTCOME_OK:
		return JUNIT_PASSED;
	case OUTCOME_REFUSED:
	case OUTCOME_ERROR:
		return JUNIT_ERROR;
	case OUTCOME_FAILED:
	case OUTCOME_SIGNALED:
	case OUTCOME_TIMEOUT:
	case OUTCOME_OOM:
	case OUTCOME_LIMIT:
		break;
	}
	return JUNIT_FAILURE;
}

static int fill_case(const struct check *check, size_t index, struct str *why, struct str *output,
		     struct junit_case *ret)
{
	const struct task *task = &check->lanes.tasks[index];
	int r = task->state == TASK_ENDED ? reason(check, index, why)
					  : str_append(why, task_word(check, index));

	if (r == 0 && task_failed(check, index))
		r = capture_text(&check->children[index].capture, output);
	*ret = (struct junit_case){
		.name = check->children[index].name,
		.kind = kind_of(task),
		.type = task_word(check, index),
		.message = why->len ? str_text(why) : NULL,
		.duration_ms = task_elapsed_ns(task, 0) / 1000000,
		.output = output->len ? output->data : NULL,
		.output_len = output->len,
	};
	return r;
}

static void free_texts(struct str *texts, size_t len)
{
	for (size_t i = 0; texts && i < len; i++)
		str_release(&texts[i]);
	free(texts);
}

int check_junit(const struct check *check, uint64_t began_ms, uint64_t duration_ms, struct str *out)
{
	size_t len = check->lanes.len;
	_cleanup_(freep) struct junit_case *cases = calloc(len, sizeof(*cases));
	struct str *texts = calloc(len * 2, sizeof(*texts));
	int r = cases && texts ? 0 : -ENOMEM;

	for (size_t i = 0; i < len && r == 0; i++)
		r = fill_case(check, i, &texts[2 * i], &texts[2 * i + 1], &cases[i]);
	if (r == 0)
		r = junit_print("pale check", began_ms, duration_ms, cases, len, out);
	free_texts(texts, len * 2);
	return r;
}
