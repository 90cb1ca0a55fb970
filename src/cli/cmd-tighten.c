/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/edit-sandbox.h"
#include "api/edit.h"
#include "cli/learn-verb.h"
#include "cli/stage-verb.h"
#include "learn/tighten.h"
#include "view/table.h"

struct row {
	const char *name;
	struct tightening tightening;
	struct err err; /* why it was left alone, when it could not be looked at */
};

struct rows {
	struct row *items;
	size_t len;
	struct strv names;
};

static void rows_release(struct rows *rows)
{
	free(rows->items);
	strv_release(&rows->names);
}

static int check_names(const struct edit *edit, const struct rows *rows, struct err *err)
{
	for (size_t i = 0; i < rows->names.len; i++) {
		_cleanup_(command_release) struct command command = {0};
		int r = command_find(&edit->context.config, rows->names.items[i], &command, err);

		if (r == -ENOENT) {
			err_set(err, ERR_USAGE, r, "no command '%s'", rows->names.items[i]);
			return err_hint(err, r, "pale commands lists them");
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* Those that were named, or all of the workspace's file. */
static int collect_names(const struct edit *edit, const struct args *args, struct rows *rows,
			 struct err *err)
{
	const struct toml_value *commands = toml_get(toml_root(edit->doc), "commands");
	int r = 0;

	for (int i = 0; i < args->len && r == 0; i++)
		if (!strv_has(&rows->names, args->operands[i]))
			r = strv_add(&rows->names, args->operands[i]);
	if (args->values[OPT_ALL] && commands && commands->type == TOML_TABLE)
		for (const struct toml_entry *e = commands->table.first; e && r == 0; e = e->next)
			r = strv_add(&rows->names, e->key);
	if (r < 0)
		return err_oom(err);
	rows->items = calloc(rows->names.len + 1, sizeof(*rows->items));
	return rows->items ? check_names(edit, rows, err) : err_oom(err);
}

/* Edits the document in memory. What concerns one command alone goes to its row. */
static int tighten_one(struct edit *edit, dim_set held, struct row *row, struct err *err)
{
	_cleanup_(resolved_release) struct resolved resolved = {0};
	const struct context *context = &edit->context;
	const struct ask none = {0};
	struct run_stats stats;
	int r;

	if (check_place(&context->config, row->name, &row->err) < 0)
		return 0;
	if (spec_resolve(&context->config, row->name, &none, &context->workspace, &context->user,
			 &resolved, &row->err) < 0)
		return 0;
	r = subject_stats(&context->workspace, row->name, &stats, err);
	if (r < 0)
		return r;
	tighten(&resolved.spec, &stats, held, &row->tightening);
	if (row->tightening.verdict != TIGHTEN_DONE)
		return 0;
	return edit_sandbox_limits(edit, row->name, resolved.sandbox, &row->tightening, err);
}

static bool is_done(const struct row *row)
{
	return !row->err.message[0] && row->tightening.verdict == TIGHTEN_DONE;
}

static size_t count_done(const struct rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->len; i++)
		n += is_done(&rows->items[i]);
	return n;
}

static int add_limit(struct table *table, const char *name, const struct tightened *item)
{
	_cleanup_(str_release) struct str peak = {0}, before = {0}, after = {0};
	int r = peak_put(item->dim, item->peak, &peak);

	if (r == 0)
		r = limit_put(item->dim, item->before, &before);
	if (r == 0)
		r = limit_put(item->dim, item->after, &after);
	if (r == 0)
		r = table_add(table, name);
	if (r == 0)
		r = table_add(table, dim_name(item->dim));
	if (r == 0)
		r = table_add(table, str_text(&peak));
	if (r == 0)
		r = table_add(table, str_text(&before));
	return r < 0 ? r : table_add(table, item->after == item->before ? NULL : str_text(&after));
}

static int print_text(const struct rows *rows)
{
	static const char *const heads[] = {"COMMAND", "LIMIT", "PEAK", "BEFORE", "AFTER", NULL};
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = 5};
	_cleanup_(str_release) struct str out = {0};
	int r = 0;

	for (size_t i = 0; i < rows->len && r == 0; i++)
		for (size_t k = 0; k < LEARNED_LIMITS && is_done(&rows->items[i]) && r == 0; k++)
			r = add_limit(&table, k == 0 ? rows->items[i].name : "",
				      &rows->items[i].tightening.items[k]);
	if (r == 0 && count_done(rows) > 0)
		r = table_print(&table, &out);
	return r < 0 ? report_oom() : emit(&out);
}

/* Once for all of them. */
static void say_unheld(const struct rows *rows)
{
	for (size_t k = 0; k < LEARNED_LIMITS; k++)
		for (size_t i = 0; i < rows->len; i++)
			if (rows->items[i].tightening.items[k].is_unheld) {
				say("no new limit of %s: this machine cannot hold one",
				    dim_name(learned_limits[k]));
				break;
			}
}

static void say_left_alone(const struct rows *rows)
{
	say_unheld(rows);
	for (size_t i = 0; i < rows->len; i++) {
		const struct row *row = &rows->items[i];
		_cleanup_(str_release) struct str why = {0};

		if (row->err.message[0])
			report(&row->err);
		else if (!is_done(row) && tightening_reason(&row->tightening, &why) == 0)
			say("%s is left as it is: %s", row->name, str_text(&why));
	}
}

static int print_json(const struct rows *rows, bool written)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_object(&json, NULL);
	json_add_bool(&json, "written", written);
	json_begin_array(&json, "commands");
	for (size_t i = 0; i < rows->len; i++) {
		const struct row *row = &rows->items[i];

		json_begin_object(&json, NULL);
		json_add_string(&json, "command", row->name);
		if (row->err.message[0])
			json_add_string(&json, "error", row->err.message);
		else
			tightening_json(&row->tightening, &json);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	return emit_json(&json);
}

static int show(const struct rows *rows, bool as_json, bool written)
{
	int status = as_json ? print_json(rows, written) : print_text(rows);

	if (status == STATUS_OK && !as_json)
		say_left_alone(rows);
	return status;
}

/* With --all, a command of which too little is known is nothing out of the ordinary. */
static int judge(const struct rows *rows, bool all)
{
	for (size_t i = 0; i < rows->len; i++) {
		const struct row *row = &rows->items[i];
		bool unknown = row->tightening.verdict == TIGHTEN_FEW_RUNS ||
			       row->tightening.verdict == TIGHTEN_UNKNOWN;

		if (row->err.message[0] || (!all && unknown))
			return STATUS_ERROR;
	}
	return STATUS_OK;
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(edit_release) struct edit edit = {.dirfd = -1};
	_cleanup_(rows_release) struct rows rows = {0};
	bool all = args->values[OPT_ALL], write = !args->values[OPT_DRY_RUN], needed = false;
	dim_set held = 0;
	int status, r;

	if (all == (args->len > 0))
		return err_hint(
			err, err_set(err, ERR_USAGE, -EINVAL, "tighten: name commands, or --all"),
			"usage: pale sandbox tighten [OPTIONS] (NAME… | --all)");
	r = edit_begin(args->values[OPT_WORKSPACE], true, &edit, err);
	if (r == 0)
		r = collect_names(&edit, args, &rows, err);
	if (r == 0)
		r = find_held(&edit.context, &held, err);
	for (; r == 0 && rows.len < rows.names.len; rows.len++) {
		rows.items[rows.len].name = rows.names.items[rows.len];
		r = tighten_one(&edit, held, &rows.items[rows.len], err);
	}
	write = write && r == 0 && count_done(&rows) > 0;
	if (write)
		r = edit_commit(&edit, err);
	if (r < 0)
		return r;
	status = show(&rows, args->values[OPT_JSON] != NULL, write);
	if (status == STATUS_OK && write)
		r = say_trust(args->values[OPT_WORKSPACE], &needed, err);
	if (r < 0 || status != STATUS_OK)
		return r < 0 ? r : status;
	return judge(&rows, all);
}

int cmd_sandbox_tighten(int argc, char **argv)
{
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_SANDBOX_TIGHTEN, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = run(&args, &err);
	return r < 0 ? report(&err) : r;
}
