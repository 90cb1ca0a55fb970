/* SPDX-License-Identifier: MIT */
#include "cli/history-verb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/run-history.h"
#include "base/clock.h"
#include "base/size.h"
#include "cli/output.h"
#include "cli/stage-verb.h"
#include "view/table.h"

int history_verb_open(struct history_verb *verb, struct err *err)
{
	struct store_notes notes;
	uint64_t now = clock_wall_ms(), keep = history_output_keep(&verb->context.config);
	int r = store_open(&verb->context.workspace, &verb->store, &notes, err);

	if (r < 0)
		return r;
	if (notes.text[0])
		say("%s", notes.text);
	store_expire_output(verb->store, now > keep ? now - keep : 0);
	return 0;
}

int history_verb_begin(enum verb_id id, int argc, char **argv, struct history_verb *verb,
		       struct err *err)
{
	int r = verb_begin(id, argc, argv, &verb->args, &verb->context, err);

	if (r != 0)
		return r;
	r = history_verb_open(verb, err);
	if (r == 0 && id != VERB_EVENTS_ANNOTATE && id != VERB_RUNS_PRUNE)
		history_annotate(&verb->context, verb->store);
	return r == -ENOENT && !err->message[0] ? 0 : r;
}

void history_verb_release(struct history_verb *verb)
{
	store_close(verb->store);
	context_release(&verb->context);
}

int history_time(const char *option, const char *value, uint64_t *ret_ms, struct err *err)
{
	uint64_t now = clock_wall_ms(), age;
	int r;

	*ret_ms = 0;
	if (!value)
		return 0;
	r = duration_parse(value, &age, err);
	if (r < 0) {
		err_wrap(err, r, "%s", option);
		if (err)
			err->code = ERR_USAGE;
		return err_hint(err, r, "write it like 2d or 3h30m");
	}
	*ret_ms = now > age ? now - age : 0;
	return 0;
}

int history_number(const char *value, size_t otherwise, size_t *ret, struct err *err)
{
	unsigned long long n;
	char *end;

	*ret = otherwise;
	if (!value)
		return 0;
	errno = 0;
	n = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || n > INT64_MAX)
		return err_set(err, ERR_USAGE, -EINVAL, "--number: \"%.40s\" is no number", value);
	*ret = (size_t)n;
	return 0;
}

const char *time_format(uint64_t ms, char buf[TIME_TEXT_MAX])
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || strftime(buf, TIME_TEXT_MAX, "%F %T", &tm) == 0)
		snprintf(buf, TIME_TEXT_MAX, "%" PRIu64, ms / 1000);
	return buf;
}

void table_fit(struct table *table)
{
	if (isatty(STDOUT_FILENO))
		table->width = terminal_columns(STDOUT_FILENO);
}
