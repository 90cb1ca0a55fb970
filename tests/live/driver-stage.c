/* SPDX-License-Identifier: MIT */
/*
 * Stages by hand: what the verbs will do, without them.
 *
 *     driver-stage VERB STATE [STAGE [ARGUMENT...]]
 *
 * init ROOT... makes a stage with these roots and prints where each upper layer is;
 * begin RUN, end RUN and record RUN are a run; changes lists them, apply, discard,
 * undo [ID] and recover work. Arguments of apply and discard are paths (of root 0);
 * after -p protected ones that are included, after -t those whose staged side wins.
 * Each line of the answer is one item. The status is 0, 1 when something was left, 2
 * when it failed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "stage/apply.h"
#include "stage/record.h"
#include "stage/roots.h"
#include "stage/stage.h"

static int fail(int r, const struct err *err)
{
	fprintf(stderr, "driver-stage: %s (%s)\n", err->message, strerror(-r));
	return 2;
}

static void print_path(unsigned root, const char *path, const char *more)
{
	_cleanup_(str_release) struct str text = {0};

	str_append_escaped(&text, path, strlen(path));
	printf(" %u %s%s%s\n", root, *path ? str_text(&text) : ".", *more ? " # " : "", more);
}

static int print_report(const struct apply_report *report)
{
	static const char *const names[] = {"done",     "merged",      "dropped", "protected",
					    "conflict", "unsupported", "changed", "held"};

	if (report->id[0])
		printf("id %s\n", report->id);
	for (size_t i = 0; i < report->n; i++) {
		printf("%s", names[report->items[i].outcome]);
		print_path(report->items[i].root, report->items[i].path, report->items[i].why);
	}
	return report->n_left ? 1 : 0;
}

static int list(struct stage *stage, struct err *err)
{
	static const char kinds[] = "AMDmT";
	_cleanup_(changes_freep) struct changes *changes = NULL;
	int r = changes_read(stage, &changes, err);

	for (size_t i = 0; r == 0 && i < changes->n; i++) {
		const struct change *change = &changes->items[i];
		char flags[16] = "", *at = flags;

		for (unsigned bit = 0; bit < 8; bit++)
			if (change->flags & 1U << bit)
				*at++ = "PRCMUSsd"[bit];
		*at = '\0';
		printf("%c %s", kinds[change->kind], *flags ? flags : "-");
		print_path(change->root, change->path, change->why);
	}
	return r;
}

static int init(struct stage *stage, char **roots, struct err *err)
{
	for (; *roots; roots++) {
		_cleanup_(fd_closep) int base = -1;
		unsigned index;
		int r = stage_add_root(stage, *roots, &index, err);

		if (r == 0)
			r = root_open(stage, index, &base, err);
		if (r == 0)
			r = stage_make_layers(stage, index, base, err);
		if (r < 0)
			return r;
		printf("%s/roots/%u\n", stage->path, index);
	}
	return 0;
}

struct chosen {
	struct apply_path lists[3][64];
	size_t n[3];
};

static struct apply_choice choose(char **args, struct chosen *chosen)
{
	int which = 0;

	for (; *args; args++) {
		if (str_eq(*args, "-p") || str_eq(*args, "-t"))
			which = (*args)[1] == 'p' ? 1 : 2;
		else if (chosen->n[which] < 64)
			chosen->lists[which][chosen->n[which]++] = (struct apply_path){
				.path = str_eq(*args, ".") ? "" : *args};
	}
	return (struct apply_choice){
		.paths = chosen->lists[0],
		.n_paths = chosen->n[0],
		.include_protected = chosen->lists[1],
		.n_include_protected = chosen->n[1],
		.take_staged = chosen->lists[2],
		.n_take_staged = chosen->n[2],
	};
}

static int with_stage(const char *verb, struct stage *stage, char **args, struct err *err)
{
	_cleanup_(apply_report_freep) struct apply_report *report = NULL;
	struct stage_summary summary = {0};
	struct chosen chosen = {0};
	struct apply_choice choice;
	struct timespec now;
	int r = -EINVAL;

	if (str_eq(verb, "init"))
		return init(stage, args, err);
	if (str_eq(verb, "changes"))
		return list(stage, err);
	if (str_eq(verb, "begin")) {
		clock_gettime(CLOCK_REALTIME, &now);
		return stage_begin(stage, args[0], getpid(), now, "test", err);
	}
	if (str_eq(verb, "end"))
		return stage_end(stage, args[0], err);
	if (str_eq(verb, "record")) {
		r = stage_record(stage, args[0], &summary, err);
		if (r == 0)
			printf("%zu\n", summary.n_changes);
		return r;
	}
	choice = choose(args, &chosen);
	if (str_eq(verb, "apply"))
		r = stage_apply(stage, NULL, &choice, NULL, &report, err);
	else if (str_eq(verb, "discard"))
		r = stage_discard(stage, NULL, &choice, NULL, &report, err);
	else
		err_set(err, ERR_USAGE, r, "no verb %s", verb);
	return r < 0 ? r : print_report(report);
}

static int undo(const char *state, const char *id, struct err *err)
{
	_cleanup_(apply_report_freep) struct apply_report *report = NULL;
	int r = stage_undo(state, id, NULL, &report, err);

	return r < 0 ? r : print_report(report);
}

static int recover(const char *state, struct err *err)
{
	static const char *const names[] = {"nothing", "finished", "taken back", "busy"};
	struct recover_report report;
	int r = stage_recover(state, &report, err);

	if (r == 0)
		printf("%s %s\n", names[report.outcome], report.what);
	return r;
}

int main(int argc, char **argv)
{
	_cleanup_(stage_freep) struct stage *stage = NULL;
	struct err err = {0};
	int r;

	if (argc < 3)
		return 2;
	if (str_eq(argv[1], "undo"))
		r = undo(argv[2], argc > 3 ? argv[3] : NULL, &err);
	else if (str_eq(argv[1], "recover"))
		r = recover(argv[2], &err);
	else if (argc < 4)
		return 2;
	else {
		r = stage_open(argv[2], argv[3], str_eq(argv[1], "init"), &stage, &err);
		if (r == 0)
			r = with_stage(argv[1], stage, argv + 4, &err);
	}
	fflush(stdout);
	return r < 0 ? fail(r, &err) : r;
}
