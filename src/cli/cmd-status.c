/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "api/check.h"
#include "api/context.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common-ask.h"
#include "cli/common.h"
#include "posture/posture.h"
#include "store/store.h"
#include "view/table.h"

static const char *enforcement_text(const struct posture_dim *dim)
{
	return dim->refused ? "refused" : enforcement_name(dim->state);
}

static const char *sandbox_name(const struct posture *posture)
{
	return posture->resolved.sandbox;
}

/* The lanes of `pale check`. What cannot be read is as if nobody used them. */
struct lanes_state {
	struct lane_limits limits;
	unsigned busy, queued;
};

static struct lanes_state lanes_probe(const struct context *context)
{
	struct lanes_state state = {.limits = lane_limits_read(context)};
	struct lane_book book = LANE_BOOK_CLOSED;

	if (lane_book_open(&context->workspace, false, &book, NULL) == 0)
		(void)lane_book_sum(&book, &state.busy, &state.queued, NULL);
	lane_book_close(&book);
	return state;
}

/* --- JSON --- */

static void refusal_json(const struct posture *posture, struct json *json)
{
	const struct err *err = &posture->refusal;

	if (!posture->refused) {
		json_add_null(json, "refusal");
		return;
	}
	json_begin_object(json, "refusal");
	json_add_string(json, "code", err_code_name(err->code));
	json_add_string(json, "message", err->message);
	json_add_string(json, "hint", *err->hint ? err->hint : NULL);
	json_end_object(json);
}

static void grade_json(const struct posture *posture, struct json *json)
{
	if (!posture->world) {
		json_add_null(json, "grade");
		return;
	}
	json_begin_object(json, "grade");
	json_add_string(json, "world", posture->world);
	json_add_uint(json, "ceiling", posture->ceiling);
	json_end_object(json);
}

static void machine_json(const struct posture *posture, struct json *json)
{
	json_begin_object(json, "machine");
	json_add_string(json, "kernel", posture->facts.kernel);
	json_add_int(json, "landlock_abi", posture->landlock_abi);
	json_begin_object(json, "user_namespaces");
	json_add_string(json, "state", promise_name(posture->userns));
	json_add_string(json, "why", posture->userns_why);
	json_end_object(json);
	json_add_string(json, "limits_by", rung_name(posture->rung));
	json_end_object(json);
}

static void dims_json(const struct posture *posture, struct json *json)
{
	json_begin_object(json, "dimensions");
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		const struct posture_dim *at = &posture->dims[dim];

		json_begin_object(json, dim_name(dim));
		json_add_bool(json, "asked", at->asked);
		json_add_string(json, "state", enforcement_text(at));
		json_add_string(json, "by", at->by);
		json_end_object(json);
	}
	json_end_object(json);
}

static void backends_json(const struct posture *posture, struct json *json)
{
	json_begin_array(json, "backends");
	for (size_t i = 0; i < posture->backends_len; i++) {
		const struct posture_backend *at = &posture->backends[i];

		json_begin_object(json, NULL);
		json_add_string(json, "name", at->name);
		json_add_bool(json, "ready", at->ready);
		json_add_string(json, "reason", *at->reason ? at->reason : NULL);
		json_add_bool(json, "background", at->background);
		json_end_object(json);
	}
	json_end_array(json);
}

/* Counts and nothing else: no name, no path, no time. NULL: there is no history. */
static void history_json(const struct store_counts *counts, struct json *json)
{
	if (!counts) {
		json_add_null(json, "history");
		return;
	}
	json_begin_object(json, "history");
	json_add_uint(json, "runs", counts->runs);
	json_begin_object(json, "outcomes");
	for (int i = 0; i < OUTCOMES_MAX; i++)
		json_add_uint(json, outcome_name((enum outcome)i), counts->outcomes[i]);
	json_add_uint(json, "unended", counts->unended);
	json_end_object(json);
	json_begin_object(json, "actions");
	json_add_uint(json, "denied", counts->denied);
	json_add_uint(json, "limit", counts->limits);
	json_add_uint(json, "tamper", counts->tampered);
	json_add_uint(json, "apply", counts->applied);
	json_add_uint(json, "discard", counts->discarded);
	json_add_uint(json, "undo", counts->undone);
	json_end_object(json);
	json_end_object(json);
}

static void lanes_json(const struct context *context, struct json *json)
{
	struct lanes_state lanes = lanes_probe(context);

	json_begin_object(json, "lanes");
	json_add_uint(json, "max_parallel", lanes.limits.max_parallel);
	json_add_uint(json, "queue_capacity", lanes.limits.queue_capacity);
	json_add_uint(json, "busy", lanes.busy);
	json_add_uint(json, "queued", lanes.queued);
	json_end_object(json);
}

static int status_json(const struct context *context, const struct posture *posture,
		       const struct store_counts *counts)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_object(&json, NULL);
	json_add_string(&json, "workspace", context->workspace.root);
	json_add_string(&json, "trust", trust_state_name(posture->trust));
	json_add_string(&json, "sandbox", sandbox_name(posture));
	json_add_string(&json, "mode", posture->resolved.mode);
	json_add_string(&json, "engine", engine_name(posture->engine));
	json_add_bool(&json, "inside", posture->is_inside);
	json_add_bool(&json, "runs", !posture->refused);
	refusal_json(posture, &json);
	grade_json(posture, &json);
	machine_json(posture, &json);
	spec_json(&posture->resolved.spec, "spec", &json);
	dims_json(posture, &json);
	backends_json(posture, &json);
	history_json(counts, &json);
	lanes_json(context, &json);
	json_end_object(&json);
	return emit_json(&json);
}

/* --- text --- */

static const char *trust_text(enum trust_state state)
{
	static const char *const texts[] = {
		[TRUST_NOT_NEEDED] = "not needed",
		[TRUST_GIVEN] = "given",
		[TRUST_CHANGED] = "needed again: what was agreed to has changed",
		[TRUST_NONE] = "needed",
	};

	return texts[state];
}

static int add_row(struct table *table, const char *head, const char *cell)
{
	int r = table_add(table, head);

	return r < 0 ? r : table_add(table, cell);
}

static int put_head(const struct context *context, const struct posture *posture, struct str *out)
{
	_cleanup_(table_release) struct table table = {.columns = 2};
	struct lanes_state lanes = lanes_probe(context);
	char kernel[128], userns[192], grade[64], lane_text[96];
	int r;

	snprintf(kernel, sizeof(kernel), "%s, Landlock ABI %d", posture->facts.kernel,
		 posture->landlock_abi);
	snprintf(userns, sizeof(userns), "%s: %s", promise_name(posture->userns),
		 posture->userns_why);
	snprintf(grade, sizeof(grade), "%s, ceiling %u", posture->world ? posture->world : "",
		 posture->ceiling);
	snprintf(lane_text, sizeof(lane_text), "%u of %u busy, %u of %u queued", lanes.busy,
		 lanes.limits.max_parallel, lanes.queued, lanes.limits.queue_capacity);
	r = add_row(&table, "workspace", context->workspace.root);
	if (r == 0)
		r = add_row(&table, "trust", trust_text(posture->trust));
	if (r == 0)
		r = add_row(&table, "kernel", kernel);
	if (r == 0)
		r = add_row(&table, "user namespaces", userns);
	if (r == 0)
		r = add_row(&table, "limits by", rung_name(posture->rung));
	if (r == 0)
		r = add_row(&table, "engine", engine_name(posture->engine));
	if (r == 0 && posture->is_inside)
		r = add_row(&table, "inside of", "a sandbox of pale, which nothing here exceeds");
	if (r == 0)
		r = add_row(&table, "sandbox", sandbox_name(posture));
	if (r == 0)
		r = add_row(&table, "mode", posture->resolved.mode);
	if (r == 0)
		r = add_row(&table, "grade", posture->world ? grade : NULL);
	if (r == 0)
		r = add_row(&table, "lanes", lane_text);
	return r < 0 ? r : table_print(&table, out);
}

static int put_dims(const struct posture *posture, bool asked, struct str *out)
{
	static const char *const bound[] = {"DIMENSION", "VALUE", "STATE", "BY", NULL};
	static const char *const open[] = {"NOT ASKED FOR", "IF IT WERE", "BY", NULL};
	_cleanup_(table_release) struct table table = {.heads = asked ? bound : open,
						       .columns = asked ? 4 : 3};
	int r = 0;

	for (int dim = 0; dim < DIM_COUNT_ && r == 0; dim++) {
		const struct posture_dim *at = &posture->dims[dim];
		_cleanup_(str_release) struct str value = {0};

		if (at->asked != asked)
			continue;
		r = table_add(&table, dim_name(dim));
		if (r == 0)
			r = spec_print_dim(&posture->resolved.spec, dim, &value);
		if (r == 0 && asked)
			r = table_add(&table, value.len ? str_text(&value) : NULL);
		if (r == 0)
			r = table_add(&table, enforcement_text(at));
		if (r == 0)
			r = table_add(&table, at->by);
	}
	if (r == 0 && table.cells.len > 0)
		r = str_append_char(out, '\n');
	return r < 0 || table.cells.len == 0 ? r : table_print(&table, out);
}

static int put_backends(const struct posture *posture, struct str *out)
{
	static const char *const heads[] = {"BACKEND", "READY", "BACKGROUND", "REASON", NULL};
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = 4};
	int r = str_append_char(out, '\n');

	for (size_t i = 0; i < posture->backends_len && r == 0; i++) {
		const struct posture_backend *at = &posture->backends[i];

		r = add_row(&table, at->name, at->ready ? "yes" : "no");
		if (r == 0)
			r = add_row(&table, at->background ? "yes" : "no",
				    *at->reason ? at->reason : NULL);
	}
	return r < 0 ? r : table_print(&table, out);
}

static int put_count(struct str *out, uint64_t n, const char *name)
{
	return n == 0 ? 0
		      : str_appendf(out, "%s%llu %s", out->len ? ", " : "", (unsigned long long)n,
				    name);
}

static int put_history(const struct store_counts *counts, struct str *out)
{
	_cleanup_(str_release) struct str runs = {0};
	_cleanup_(str_release) struct str deeds = {0};
	int r = 0;

	if (!counts)
		return 0;
	for (int i = 0; i < OUTCOMES_MAX && r == 0; i++)
		r = put_count(&runs, counts->outcomes[i], outcome_name((enum outcome)i));
	if (r == 0)
		r = put_count(&runs, counts->unended, "without an end");
	if (r == 0)
		r = put_count(&deeds, counts->denied, "denied");
	if (r == 0)
		r = put_count(&deeds, counts->limits, "limit");
	if (r == 0)
		r = put_count(&deeds, counts->tampered, "tamper");
	if (r == 0)
		r = put_count(&deeds, counts->applied, "apply");
	if (r == 0)
		r = put_count(&deeds, counts->discarded, "discard");
	if (r == 0)
		r = put_count(&deeds, counts->undone, "undo");
	if (r == 0)
		r = str_appendf(out, "\nruns remembered: %llu%s%s%s\n",
				(unsigned long long)counts->runs, runs.len ? " (" : "",
				str_text(&runs), runs.len ? ")" : "");
	if (r == 0 && deeds.len > 0)
		r = str_appendf(out, "events: %s\n", str_text(&deeds));
	return r;
}

static int status_text(const struct context *context, const struct posture *posture,
		       const struct store_counts *counts)
{
	_cleanup_(str_release) struct str out = {0};
	int r = put_head(context, posture, &out);

	if (r == 0)
		r = put_dims(posture, true, &out);
	if (r == 0)
		r = put_dims(posture, false, &out);
	if (r == 0)
		r = put_backends(posture, &out);
	if (r == 0)
		r = put_history(counts, &out);
	if (r < 0)
		return report_oom();
	r = emit(&out);
	if (posture->refused)
		report(&posture->refusal);
	return r;
}

/* A history that cannot be read is said, and no reason to say nothing else. */
static bool count(const struct context *context, struct store_counts *ret)
{
	_cleanup_(store_closep) struct store *store = NULL;
	struct store_notes notes = {0};
	struct err err = {0};
	int r = store_open(&context->workspace, &store, &notes, &err);

	if (r == 0)
		r = store_counts(store, ret, &err);
	if (err.message[0])
		report(&err);
	return r == 0;
}

struct status_args {
	struct ask ask;
	const char *workspace;
	bool json;
};

static int set_option(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct status_args *args = data;

	if (opt->id == OPT_JSON) {
		args->json = true;
		return 0;
	}
	return ask_set(&args->ask, &args->workspace, opt, value, err);
}

static void status_args_release(struct status_args *args)
{
	ask_release(&args->ask);
}

int cmd_status(int argc, char **argv)
{
	_cleanup_(status_args_release) struct status_args args = {0};
	_cleanup_(context_release) struct context context = {0};
	_cleanup_(posture_release) struct posture posture = {0};
	struct store_counts counts;
	struct opt_args operands;
	bool known;
	struct err err = {0};
	int r = verb_parse(VERB_STATUS, argc, argv, set_option, &args, &operands, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = ask_check(&args.ask, &err);
	if (r == 0)
		r = context_load(args.workspace, &context, &err);
	if (r == 0)
		r = posture_probe(&context, &args.ask, &posture, &err);
	if (r < 0)
		return report(&err);
	known = count(&context, &counts);
	r = args.json ? status_json(&context, &posture, known ? &counts : NULL)
		      : status_text(&context, &posture, known ? &counts : NULL);
	return r == STATUS_OK && posture.refused ? STATUS_ERROR : r;
}
