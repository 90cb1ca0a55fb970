/* SPDX-License-Identifier: MIT */
#include "api/run-history.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/run-refused.h"
#include "api/run-stage.h"
#include "api/run.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/path.h"
#include "base/size.h"
#include "config/state-dir.h"
#include "policy/spec-digest.h"
#include "store/kept.h"
#include "store/record.h"
#include "store/run-record.h"
#include "store/spool.h"

static bool is_set(const struct config *config, const char *key, bool otherwise)
{
	const char *const path[] = {"history", key, NULL};
	struct setting setting;

	return config_get(config, path, &setting) ? setting.value->boolean : otherwise;
}

uint64_t history_output_keep(const struct config *config)
{
	static const char *const path[] = {"history", "output_keep", NULL};
	struct setting setting;
	uint64_t ms = 7ull * 24 * 3600 * 1000;

	if (config_get(config, path, &setting) && setting.value->type == TOML_STRING)
		(void)duration_parse(setting.value->string.bytes, &ms, NULL);
	return ms;
}

/* Inside of a sandbox there is no place that lasts, and the run around us is
 * remembered outside. */
bool run_history_is_on(const struct run *run)
{
	return run->context.workspace.root && !run->has_outer &&
	       is_set(&run->context.config, "enabled", true);
}

/* A home that does not exist is not made for the sake of the history. */
static bool has_home(const struct run *run)
{
	const struct user *user = &run->context.user;
	const char *state = user->state_dir;
	const char *const homes[] = {user->pw_home, user->home};

	for (size_t i = 0; i < array_len(homes); i++)
		if (state && homes[i] && path_covers(homes[i], state))
			return access(homes[i], F_OK) == 0;
	return true;
}

int run_history_make(const struct run *run, struct err *err)
{
	if (!has_home(run))
		return err_sys(err, -ENOENT, "make %s", run->context.user.state_dir);
	return state_dir_open(&run->context.workspace, true, err);
}

/* With the NULs: "a b" is not "a", "b". */
static char *argv_digest(const struct strv *argv)
{
	struct sha256 hash;
	char hex[SHA256_HEX];

	sha256_init(&hash);
	for (size_t i = 0; i < argv->len; i++)
		sha256_add(&hash, argv->items[i], strlen(argv->items[i]) + 1);
	sha256_end_hex(&hash, hex);
	return strdup(hex);
}

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static void fill_plan(const struct run *run, struct run_record *record)
{
	const struct plan *plan = run->plan;
	const struct spec *spec = &run->resolved.spec;
	char digest[SHA256_HEX];

	record->program = plan->argv.len > 0 ? strdup(path_basename(plan->argv.items[0])) : NULL;
	record->argv_digest = argv_digest(&plan->argv);
	if (is_set(&run->context.config, "store_argv", false))
		record->argv = record_argv(plan->argv.items);
	record->engine = copy(engine_name(plan->engine));
	record->mode = copy(run->resolved.mode);
	record->stage = copy(plan->stage);
	record->world = copy(plan->world);
	record->ceiling = plan->ceiling;
	spec_digest(spec, digest);
	record->spec_digest = strdup(digest);
	record->timeout_ms = spec->timeout;
	record->cpu_ms = spec->cpu;
	record->memory = spec->memory;
	record->pids = spec->pids;
}

/* A text that there was no memory for is left out. */
static void fill(const struct run *run, struct run_record *record)
{
	run_record_init(record);
	memcpy(record->id, run->id, sizeof(record->id));
	record->started_ms = (uint64_t)run->t0.tv_sec * 1000 + (uint64_t)run->t0.tv_nsec / 1000000;
	record->pid = getpid();
	record->command = copy(run->command);
	if (run->plan)
		fill_plan(run, record);
	else
		record->program = copy(run->program);
}

static void fill_result(const struct run *run, const struct err *failed, struct run_record *record)
{
	const struct result *result = &run->result;

	record->ended = true;
	if (failed) {
		record->outcome = run_error_outcome(failed);
		record->error = copy(err_code_name(failed->code));
		return;
	}
	record->outcome = result->outcome;
	record->exit_code = result->exit_code;
	record->signal = result->signal;
	record->limit = copy(result->limit);
	record->duration_ms = result->duration_ms;
	record->net_limit = copy(result->net_limit);
	record->usage = result->usage;
}

static void append(struct run *run, int r, const struct str *line)
{
	struct run_history *history = &run->history;

	if (r < 0) {
		err_sys(&history->err, r, "a record");
		return;
	}
	r = history->spool ? spool_append_kept(history->state, history->spool, line, &history->err)
			   : spool_append(history->state, line, &history->err);
	history->stored |= r == 0;
}

/* Not where a limit on files would end us instead of the copy. */
static void begin_output(struct run *run)
{
	struct run_history *history = &run->history;
	struct rlimit limit;

	if (run->plan->max_output == UINT64_MAX || getrlimit(RLIMIT_FSIZE, &limit) < 0 ||
	    limit.rlim_cur != RLIM_INFINITY)
		return;
	history->output = kept_make(history->state, run->id, &history->err);
	if (history->output < 0)
		history->output = 0;
}

/* Whether there is any. Once in a while what is too old goes: whoever reads sees to it,
 * but perhaps nobody does. */
static bool end_output(struct run *run)
{
	struct run_history *history = &run->history;
	uint64_t now = clock_wall_ms(), keep = history_output_keep(&run->context.config);
	struct stat st;

	if (history->output <= 0)
		return false;
	if (run->id[strlen(run->id) - 1] == '0')
		kept_expire(history->state, now > keep ? now - keep : 0);
	if (fstat(history->output, &st) == 0 && st.st_size > 0)
		return true;
	kept_remove(history->state, run->id);
	return false;
}

void run_history_begin(struct run *run)
{
	struct run_history *history = &run->history;

	if (!run_history_is_on(run) || history->state <= 0 || run_starts_over(run))
		return;
	/* The lock comes first: a run that is known and not alive has ended. */
	history->living = living_take(history->state, run->id);
	begin_output(run);
}

void run_history_start(struct run *run)
{
	_cleanup_(run_record_release) struct run_record record = {0};
	struct run_history *history = &run->history;

	/* One that starts over on another engine is the same run. */
	if (!run_history_is_on(run) || history->state <= 0 || history->plan)
		return;
	fill(run, &record);
	append(run, record_start(&record, &history->start), &history->start);
	history->plan = run->plan;
}

/* What programs try as a matter of course can wait. */
void run_history_refused(struct run *run, const struct violations *found, struct violation *new)
{
	_cleanup_(str_release) struct str line = {0};

	if (new->weight == VIOLATION_PROBE || !run->history.plan)
		return;
	run_explain(run, new);
	append(run, record_denied(run->id, found, new, clock_wall_ms(), &line), &line);
}

void run_history_end(struct run *run, const struct err *failed)
{
	_cleanup_(run_record_release) struct run_record record = {0};
	_cleanup_(str_release) struct str line = {0};
	struct run_history *history = &run->history;
	const struct result *result = failed ? NULL : &run->result;
	bool again;

	if (!run_history_is_on(run))
		return;
	if (history->state <= 0 && !history->err.message[0])
		history->state = run_history_make(run, &history->err);
	if (history->state <= 0)
		return;
	/* Unless another plan was made, all that a start says holds still. */
	again = history->plan && history->plan == run->plan;
	if (!again)
		fill(run, &record);
	fill_result(run, failed, &record);
	record.has_output = end_output(run);
	append(run,
	       record_end(&record, clock_wall_ms(), run->plan, result ? &result->events : NULL,
			  result ? &result->violations : NULL, again ? &history->start : NULL,
			  &line),
	       &line);
}

void run_history_json(const struct run *run, struct json *json)
{
	const struct run_history *history = &run->history;

	if (!run_history_is_on(run)) {
		json_add_null(json, "history");
		return;
	}
	json_begin_object(json, "history");
	json_add_bool(json, "stored", history->stored && !history->err.message[0]);
	json_add_string(json, "error", history->err.message[0] ? history->err.message : NULL);
	json_end_object(json);
}
