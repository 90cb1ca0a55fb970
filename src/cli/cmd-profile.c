/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/size.h"
#include "cli/commands.h"
#include "cli/common-ask.h"
#include "cli/learn-verb.h"
#include "cli/stage-verb.h"
#include "learn/summary.h"
#include "view/table.h"
#include "view/units.h"

#define ROWS_MAX    15 /* of each kind */
#define REFUSED_MAX 5

struct profile_args {
	const char *workspace;
	bool json;
	struct ask ask;
};

static void profile_args_release(struct profile_args *args)
{
	free(args->ask.items);
}

static int set_option(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct profile_args *args = data;
	struct ask *ask = &args->ask;

	if (opt->id == OPT_JSON)
		args->json = true;
	else if (opt->id == OPT_WORKSPACE)
		args->workspace = value;
	else if (opt->id == OPT_PRESET)
		ask->preset = value;
	return opt->id < OPT_DIM ? 0 : ask_add(ask, (enum dim)(opt->id - OPT_DIM), value, err);
}

/* "ok after 1.20 s; 34.1 MiB of memory; 812 ms of CPU time; 12 executions" */
static int put_head(const struct evidence *evidence, struct str *out)
{
	char buf[UNITS_MAX];
	int r = put_end(evidence, out);

	if (r == 0)
		r = str_appendf(out, " after %s", units_ms(evidence->duration_ms, buf));
	if (r == 0 && evidence->usage.memory_peak != USAGE_UNKNOWN)
		r = str_appendf(out, "; %s of memory",
				units_bytes(evidence->usage.memory_peak, buf));
	if (r == 0 && evidence->usage.cpu_ms != USAGE_UNKNOWN)
		r = str_appendf(out, "; %s of CPU time", units_ms(evidence->usage.cpu_ms, buf));
	return r < 0 ? r
		     : str_appendf(out, "; %llu execution%s\n\n",
				   (unsigned long long)evidence->profile.spawns,
				   evidence->profile.spawns == 1 ? "" : "s");
}

static int add_rows(struct table *table, const struct summary_row *rows, size_t len,
		    const char *kind)
{
	int r = 0;

	for (size_t i = 0; i < len && i < ROWS_MAX && r == 0; i++) {
		char count[32];

		snprintf(count, sizeof(count), "%zu", rows[i].count);
		r = table_add(table, i == 0 ? kind : "");
		if (r == 0)
			r = table_add(table, rows[i].where);
		if (r == 0)
			r = table_add(table, count);
	}
	if (r == 0 && len > ROWS_MAX) {
		char more[64];

		snprintf(more, sizeof(more), "… and %zu more", len - ROWS_MAX);
		r = table_add(table, "");
		if (r == 0)
			r = table_add(table, more);
		if (r == 0)
			r = table_add(table, "");
	}
	return r;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static int print_text(const struct subject *subject, const struct evidence *evidence)
{
	static const char *const heads[] = {"WHAT", "WHERE", "PATHS", NULL};
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = 3};
	_cleanup_(str_release) struct str out = {0};
	const struct summary_facts facts = {.workspace = subject->context.workspace.root,
					    .user = &subject->context.user,
					    .is_there = is_there};
	int r = put_head(evidence, &out);

	for (int kind = 0; kind < SUMMARY_COUNT_ && r == 0; kind++) {
		struct summary_row *rows = NULL;
		size_t len = 0;

		r = summary_make(&evidence->profile, (enum summary_kind)kind, &facts, &rows, &len);
		if (r == 0)
			r = add_rows(&table, rows, len, summary_name((enum summary_kind)kind));
		summary_free(rows, len);
	}
	if (r == 0)
		r = table_print(&table, &out);
	return r < 0 ? report_oom() : emit(&out);
}

static int print_json(const struct evidence *evidence)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out};

	evidence_json(evidence, &json);
	return emit_json(&json);
}

static int profile(const struct profile_args *args, const struct opt_args *operands,
		   struct err *err)
{
	_cleanup_(subject_release) struct subject subject = {0};
	_cleanup_(evidence_release) struct evidence evidence = {0};
	const char *name = operands->dashdash == 0 ? NULL : operands->operands[0];
	int r, status;

	if (name && operands->len > 1)
		return err_set(err, ERR_USAGE, -EINVAL, "profile: unexpected operand '%s'",
			       operands->operands[1]);
	r = subject_find(args->workspace, name, operands->operands, &args->ask, &subject, err);
	if (r == 0)
		r = subject_profile(&subject, &evidence, err);
	if (r < 0)
		return r;
	status = args->json ? print_json(&evidence) : print_text(&subject, &evidence);
	if (status != STATUS_OK)
		return status;
	if (!args->json) {
		say_refused(&evidence, REFUSED_MAX);
		if (name && evidence_is_sound(&evidence))
			say("nothing was changed; a sandbox from this: pale sandbox suggest %s",
			    name);
		else
			say("nothing was changed%s",
			    name ? ", and nothing is learned from this" : "");
	}
	return evidence.outcome == OUTCOME_OK ? STATUS_OK : STATUS_ERROR;
}

int cmd_sandbox_profile(int argc, char **argv)
{
	_cleanup_(profile_args_release) struct profile_args args = {0};
	struct opt_args operands;
	struct err err = {0};
	int r = verb_parse(VERB_SANDBOX_PROFILE, argc, argv, set_option, &args, &operands, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = profile(&args, &operands, &err);
	return r < 0 ? report(&err) : r;
}
