/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/observed.h"
#include "policy/grade.h"
#include "policy/resolve.h"
#include "policy/trust.h"
#include "view/table.h"

/* COMMAND NULL: the ad-hoc run. */
static int resolve(const struct context *context, const char *command, struct resolved *ret,
		   struct err *err)
{
	const struct ask ask = {0};

	return spec_resolve(&context->config, command, &ask, &context->workspace, &context->user,
			    ret, err);
}

static void grade_json(const struct grade *grade, struct json *json)
{
	json_begin_object(json, "grade");
	json_add_string(json, "world", world_name(grade->world));
	json_add_uint(json, "ceiling", grade->ceiling);
	json_end_object(json);
}

static const char *network_name(const struct spec *spec)
{
	return spec_keys[DIM_NETWORK].choices[spec->network];
}

static void limit_json(const char *key, uint64_t limit, struct json *json)
{
	if (limit == UINT64_MAX)
		json_add_null(json, key);
	else
		json_add_uint(json, key, limit);
}

/* What "observed" is to be compared with. */
static void limits_json(const struct spec *spec, struct json *json)
{
	json_begin_object(json, "limits");
	limit_json("memory", spec->memory, json);
	limit_json("cpu_ms", spec->cpu, json);
	limit_json("timeout_ms", spec->timeout, json);
	json_end_object(json);
}

static void row_json(const char *command, const struct resolved *resolved, const struct err *err,
		     const struct run_stats *stats, struct json *json)
{
	struct grade grade;

	json_begin_object(json, NULL);
	json_add_string(json, "command", command);
	if (err) {
		json_add_string(json, "error", err->message);
		json_end_object(json);
		return;
	}
	grade = spec_grade(&resolved->spec, 0);
	json_add_string(json, "sandbox", resolved->sandbox);
	json_add_string(json, "world", world_name(grade.world));
	json_add_uint(json, "ceiling", grade.ceiling);
	json_add_string(json, "network", network_name(&resolved->spec));
	limits_json(&resolved->spec, json);
	observed_json(stats, json);
	json_end_object(json);
}

static int row_text(const char *command, const struct resolved *resolved, const struct err *err,
		    const struct run_stats *stats, struct table *table)
{
	char ceiling[16];
	const char *const cells[] = {
		command ? command : "(ad hoc)",
		err ? "refused" : resolved->sandbox,
		err ? NULL : world_name(spec_grade(&resolved->spec, 0).world),
		err ? NULL : ceiling,
		err ? NULL : network_name(&resolved->spec),
	};
	int r = 0;

	if (!err)
		snprintf(ceiling, sizeof(ceiling), "%u", spec_grade(&resolved->spec, 0).ceiling);
	for (size_t i = 0; r == 0 && i < array_len(cells); i++)
		r = table_add(table, cells[i]);
	/* Ad-hoc runs are too different for peaks to mean anything. */
	if (r == 0 && command && !err)
		return observed_cells(stats, &resolved->spec, table);
	for (size_t i = 0; r == 0 && i < OBSERVED_COLUMNS; i++)
		r = table_add(table, NULL);
	return r;
}

/* One row. A command that no ceiling allows has one as well; the reason goes to
 * standard error. */
static int list_row(const struct context *context, struct store *store, const char *command,
		    struct table *table, struct json *json)
{
	_cleanup_(resolved_release) struct resolved resolved = {0};
	struct run_stats stats = observed_stats(store, command);
	struct err err = {0};
	int r = resolve(context, command, &resolved, &err);
	const struct err *failed = r < 0 ? &err : NULL;

	if (r == -ENOMEM)
		return r;
	if (json) {
		row_json(command, &resolved, failed, &stats, json);
		return 0;
	}
	if (failed)
		report(failed);
	return row_text(command, &resolved, failed, &stats, table);
}

static int list(const struct context *context, bool as_json)
{
	static const char *const heads[] = {"COMMAND", "SANDBOX",      "WORLD", "CEILING",
					    "NETWORK", OBSERVED_HEADS, NULL};
	_cleanup_(table_release) struct table table = {.heads = heads,
						       .columns = array_len(heads) - 1};
	_cleanup_(store_closep) struct store *store = observed_open(context);
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};
	int r = command_names(&context->config, &names);

	if (as_json)
		json_begin_array(&json, NULL);
	for (size_t i = 0; r == 0 && i < names.len; i++)
		r = list_row(context, store, names.items[i], &table, as_json ? &json : NULL);
	if (r == 0)
		r = list_row(context, store, NULL, &table, as_json ? &json : NULL);
	if (r < 0)
		return report_oom();
	if (as_json) {
		json_end_array(&json);
		return emit_json(&json);
	}
	return table_print(&table, &out) < 0 ? report_oom() : emit(&out);
}

int cmd_sandbox_list(int argc, char **argv)
{
	_cleanup_(context_release) struct context context = {0};
	struct args args;
	struct err err = {0};
	int r = verb_begin(VERB_SANDBOX_LIST, argc, argv, &args, &context, &err);

	if (r > 0)
		return STATUS_OK;
	if (r < 0)
		return report(&err);
	r = list(&context, args.values[OPT_JSON] != NULL);
	if (r == STATUS_OK && !args.values[OPT_JSON] &&
	    trust_check(&context.config, &context.workspace, &context.user, &err) < 0)
		report(&err);
	return r;
}

/* A command, or else a preset: then *ret_command is false and there are no
 * origins. */
static int find(const struct context *context, const char *name, struct resolved *ret,
		bool *ret_command, struct err *err)
{
	const char *const path[] = {"commands", name, NULL};
	struct setting setting;
	int r;

	*ret_command = config_get(&context->config, path, &setting);
	if (*ret_command)
		return resolve(context, name, ret, err);
	r = preset_resolve(&context->config, name, context->workspace.root, &context->user,
			   &ret->spec, err);
	if (r == 0)
		return 0;
	if (err &&
	    !config_get(&context->config, (const char *const[]){"presets", name, NULL}, &setting))
		err->code = ERR_USAGE;
	return err_wrap(err, r, "no command '%s'", name);
}

static int inspect_text(const struct resolved *resolved, bool command, struct str *out)
{
	static const char *const heads[] = {"DIMENSION", "VALUE", "WRITTEN AT", NULL};
	struct grade grade = spec_grade(&resolved->spec, 0);
	_cleanup_(table_release) struct table table = {.heads = heads, .columns = command ? 3 : 2};
	char buf[ORIGIN_TEXT_MAX];
	int r = 0;

	for (int dim = 0; r == 0 && dim < DIM_COUNT_; dim++) {
		const struct origin *origin = &resolved->origins[dim];
		_cleanup_(str_release) struct str value = {0};

		r = spec_print_dim(&resolved->spec, dim, &value);
		if (r == 0)
			r = table_add(&table, dim_name(dim));
		if (r == 0)
			r = table_add(&table, value.len ? str_text(&value) : NULL);
		if (r == 0 && command)
			r = table_add(&table,
				      origin->file ? origin_text(origin, buf, sizeof(buf)) : NULL);
	}
	if (r == 0)
		r = table_print(&table, out);
	return r < 0 ? r
		     : str_appendf(out, "\nworld %s, ceiling %u\n", world_name(grade.world),
				   grade.ceiling);
}

static int inspect_json(const char *name, const struct resolved *resolved, bool command,
			const struct run_stats *stats)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};
	struct grade grade = spec_grade(&resolved->spec, 0);

	json_begin_object(&json, NULL);
	json_add_string(&json, "name", name);
	json_add_string(&json, "kind", command ? "command" : "preset");
	json_add_string(&json, "sandbox", command ? resolved->sandbox : name);
	spec_json(&resolved->spec, "spec", &json);
	json_begin_object(&json, "origins");
	for (int dim = 0; command && dim < DIM_COUNT_; dim++) {
		const struct origin *origin = &resolved->origins[dim];

		if (!origin->file)
			continue;
		json_begin_object(&json, dim_name(dim));
		json_add_string(&json, "file", origin->file);
		json_add_uint(&json, "line", origin->line);
		json_end_object(&json);
	}
	json_end_object(&json);
	grade_json(&grade, &json);
	observed_json(stats, &json);
	json_end_object(&json);
	return emit_json(&json);
}

static int draw(const struct args *args, const struct spec *spec, struct store *store,
		struct err *err)
{
	_cleanup_(observed_runs_release) struct observed_runs runs = {0};
	_cleanup_(outfile_close) struct outfile file = OUTFILE_NONE;
	_cleanup_(str_release) struct str out = {0}, svg = {0};
	const char *name = args->operands[0];
	int r = observed_runs(store, name, &runs, err);

	if (r == 0 && args->values[OPT_SVG])
		r = outfile_open("--svg", args->values[OPT_SVG], &file, err);
	if (r == 0 && file.dir >= 0 && observed_svg(name, &runs, spec, &svg) < 0)
		return err_oom(err);
	if (r == 0 && file.dir >= 0)
		r = outfile_write(&file, &svg, err);
	if (r < 0 || !args->values[OPT_PLOT])
		return r;
	return observed_plot(&runs, spec, &out) < 0 ? err_oom(err) : emit(&out);
}

/* Pictures are of runs, and what runs is a command. */
static int check_drawing(const struct args *args, bool command, struct err *err)
{
	if (!args->values[OPT_PLOT] && !args->values[OPT_SVG])
		return 0;
	if (!command)
		return err_set(err, ERR_USAGE, -EINVAL,
			       "%s: '%s' is a preset, and those have no runs",
			       args->values[OPT_PLOT] ? "--plot" : "--svg", args->operands[0]);
	if (args->values[OPT_PLOT] && args->values[OPT_JSON])
		return err_set(err, ERR_USAGE, -EINVAL, "--plot and --json exclude each other");
	return 1;
}

static int inspect(const struct args *args, const struct resolved *resolved, bool command,
		   struct store *store, struct err *err)
{
	struct run_stats stats = observed_stats(command ? store : NULL, args->operands[0]);
	_cleanup_(str_release) struct str out = {0};
	int r = check_drawing(args, command, err);

	if (r > 0)
		r = draw(args, &resolved->spec, store, err);
	if (r < 0 || args->values[OPT_PLOT])
		return r;
	if (args->values[OPT_JSON])
		return inspect_json(args->operands[0], resolved, command, &stats);
	if (args->values[OPT_SVG])
		return STATUS_OK;
	r = inspect_text(resolved, command, &out);
	if (r == 0 && command)
		r = observed_text(&stats, &resolved->spec, &out);
	return r < 0 ? err_oom(err) : emit(&out);
}

int cmd_sandbox_inspect(int argc, char **argv)
{
	_cleanup_(context_release) struct context context = {0};
	_cleanup_(resolved_release) struct resolved resolved = {0};
	_cleanup_(store_closep) struct store *store = NULL;
	struct args args;
	struct err err = {0};
	bool command = false;
	int r = verb_begin(VERB_SANDBOX_INSPECT, argc, argv, &args, &context, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = find(&context, args.operands[0], &resolved, &command, &err);
	if (r == 0) {
		store = command ? observed_open(&context) : NULL;
		r = inspect(&args, &resolved, command, store, &err);
	}
	return r < 0 ? report(&err) : r;
}
