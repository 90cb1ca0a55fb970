/* SPDX-License-Identifier: MIT */
#include "cli/stage-verb.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/progress.h"

void stage_args_release(struct stage_args *args)
{
	strv_release(&args->hunks);
	strv_release(&args->include_protected);
	strv_release(&args->take_staged);
}

static int keep(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct stage_args *args = data;
	struct strv *list = NULL;

	args->values[opt->id] = value ? value : "";
	if (opt->id == OPT_HUNK)
		list = &args->hunks;
	else if (opt->id == OPT_INCLUDE_PROTECTED)
		list = &args->include_protected;
	else if (opt->id == OPT_TAKE_STAGED)
		list = &args->take_staged;
	return list && strv_add(list, value) < 0 ? err_oom(err) : 0;
}

int stage_args_parse(enum verb_id id, int argc, char **argv, struct stage_args *ret,
		     struct err *err)
{
	struct opt_args operands;
	int r = verb_parse(id, argc, argv, keep, ret, &operands, err);

	if (r == 0) {
		ret->operands = operands.operands;
		ret->len = operands.len;
	}
	return r;
}

void say(const char *fmt, ...)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(str_release) struct str out = {0};
	va_list ap;

	va_start(ap, fmt);
	str_vappendf(&text, fmt, ap);
	va_end(ap);
	str_append(&out, "pale: ");
	str_append_escaped(&out, str_text(&text), text.len);
	str_append_char(&out, '\n');
	fd_write_all(STDERR_FILENO, str_text(&out), out.len);
}

void say_recovered(const struct recover_report *report)
{
	switch (report->outcome) {
	case RECOVER_NOTHING:
		return;
	case RECOVER_FINISHED:
		say("%s %s was interrupted, and has been carried to its end", report->what,
		    report->id);
		return;
	case RECOVER_TAKEN_BACK:
		say("%s %s was interrupted, and has been taken back", report->what, report->id);
		return;
	case RECOVER_BUSY:
		say("another %s is under way", *report->what ? report->what : "apply");
		return;
	}
}

int stage_verb_begin(enum verb_id id, int argc, char **argv, struct stage_args *args,
		     struct staged *staged, struct err *err)
{
	int r = stage_args_parse(id, argc, argv, args, err);

	if (r != 0)
		return r;
	r = staged_find(args->values[OPT_WORKSPACE], staged, err);
	if (r < 0)
		return r;
	say_recovered(&staged->recovered);
	r = staged_open(staged, args->values[OPT_STAGE], err);
	/* So that what is read now need not be read again. */
	if (r == 0 && staged->stage && id == VERB_APPLY)
		r = staged_busy(staged, staged->stage->name, stage_lock(staged->stage, true, err),
				err);
	if (r < 0)
		return r;
	progress_wait("reading what is staged ");
	r = staged_read(staged, err);
	progress_wait_end();
	return r;
}

int stage_verb_paths(const struct staged *staged, const struct stage_args *args,
		     struct staged_paths *ret, struct err *err)
{
	int r = 0;

	for (int i = 0; i < args->len && r == 0; i++)
		r = staged_paths_add(staged, args->operands[i], ret, err);
	return r;
}

int put_flags(struct str *out, unsigned flags, const char *why)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{CHANGE_IS_PROTECTED, "PROTECTED"}, {CHANGE_RUNS_LATER, "RUNS LATER"},
		{CHANGE_IS_CONFLICT, "CONFLICT"},   {CHANGE_IS_UNSUPPORTED, "NOT APPLICABLE"},
		{CHANGE_IS_STRIPPED, "STRIPPED"},
	};
	const char *between = "";
	int r = 0;

	for (size_t i = 0; i < array_len(names) && r == 0; i++)
		if (flags & names[i].flag) {
			bool merges = names[i].flag == CHANGE_IS_CONFLICT && flags & CHANGE_MERGES;

			r = str_appendf(out, "%s%s", between, merges ? "MERGES" : names[i].name);
			between = ", ";
		}
	if (r == 0 && *between && why && *why)
		r = str_appendf(out, ": %s", why);
	return r;
}

/* An option of apply widens what the operand names; without one that would be everything. */
int put_command(struct str *out, const struct staged *staged, const char *verb, const char *option,
		const char *name)
{
	bool from_root = name[0] == '/' || (!staged->asked && !strchr("-~", name[0]) &&
					    str_eq(staged->workspace.cwd, staged->workspace.root));
	_cleanup_(freep) char *whole = path_join(staged->workspace.root, name);
	const char *typed = from_root ? name : whole;
	int r = whole ? put_pale(out, verb, staged->asked,
				 staged->stage ? staged->stage->name : NULL)
		      : -ENOMEM;

	if (r == 0 && option && str_eq(verb, "apply")) {
		r = str_append_char(out, ' ');
		if (r == 0)
			r = str_append_word(out, typed);
	}
	if (r == 0 && option)
		r = str_appendf(out, " %s", option);
	if (r == 0)
		r = str_append_char(out, ' ');
	return r < 0 ? r : str_append_word(out, typed);
}

int put_age(struct str *out, struct timespec then)
{
	static const struct {
		long long seconds;
		const char *name;
	} units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}};
	long long age = (long long)time(NULL) - then.tv_sec;

	for (size_t i = 0; i < array_len(units); i++)
		if (age >= units[i].seconds) {
			long long n = age / units[i].seconds;

			return str_appendf(out, "%lld %s%s ago", n, units[i].name,
					   n == 1 ? "" : "s");
		}
	return str_append(out, "just now");
}

int put_run(struct str *out, const struct staged *staged, const char *id)
{
	const struct stage_run *run = staged_run(staged, id);
	int r = 0;

	if (!id)
		return 0;
	r = str_append(out, "run ");
	if (r == 0)
		r = str_append_escaped(out, id, strlen(id));
	if (!run || r < 0)
		return r;
	if (run->command && *run->command) {
		r = str_append(out, " (");
		if (r == 0)
			r = str_append_escaped(out, run->command, strlen(run->command));
		if (r == 0)
			r = str_append_char(out, ')');
	}
	if (r == 0)
		r = str_append(out, ", ");
	return r < 0 ? r : put_age(out, run->is_ended ? run->ended : run->t0);
}

bool has_terminal(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}
