/* SPDX-License-Identifier: MIT */
#include "cli/apply-report.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "cli/deed.h"
#include "cli/diff.h"

static const char *outcome_name(enum apply_outcome outcome)
{
	static const char *const names[] = {
		[APPLY_DONE] = "done",         [APPLY_MERGED] = "merged",
		[APPLY_DROPPED] = "same",      [APPLY_PROTECTED] = "protected",
		[APPLY_CONFLICT] = "conflict", [APPLY_UNSUPPORTED] = "unsupported",
		[APPLY_CHANGED] = "changed",   [APPLY_HELD] = "held",
	};

	return names[outcome];
}

static bool is_left(enum apply_outcome outcome)
{
	return outcome >= APPLY_PROTECTED;
}

/* The stage is gone from sight after an undo: then the workspace's own names do. */
static char *item_name(const struct staged *staged, const struct apply_item *item)
{
	if (staged->stage && item->root < staged->stage->n_roots)
		return staged_name(staged, item->root, item->path);
	return strdup(*item->path ? item->path : ".");
}

struct way {
	const char *what, *verb, *option;
};

static int put_way(struct str *out, const struct staged *staged, const struct way *way,
		   const char *name)
{
	int r = str_appendf(out, "; %s: ", way->what);

	return r < 0 ? r : put_command(out, staged, way->verb, way->option, name);
}

static int put_ways(struct str *out, const struct staged *staged, const struct apply_item *item,
		    const char *name)
{
	static const struct way ways[][3] = {
		[APPLY_PROTECTED] = {{"to apply it", "apply", "--include-protected"}},
		[APPLY_CONFLICT] = {{"both sides", "diff", "--conflict"},
				    {"the staged one", "apply", "--take-staged"},
				    {"yours", "discard", NULL}},
		[APPLY_UNSUPPORTED] = {{"to be rid of it", "discard", NULL}},
	};
	int r = 0;

	if ((size_t)item->outcome >= array_len(ways))
		return 0;
	for (size_t i = 0; i < array_len(ways[0]) && ways[item->outcome][i].what && r == 0; i++)
		r = put_way(out, staged, &ways[item->outcome][i], name);
	return r;
}

static int put_item(struct str *out, const struct staged *staged, const struct apply_item *item,
		    bool is_undo)
{
	_cleanup_(freep) char *name = item_name(staged, item);
	int r = name ? str_appendf(out, "  %-11s ", outcome_name(item->outcome)) : -1;

	if (r == 0)
		r = str_append_escaped(out, name, strlen(name));
	if (r == 0 && *item->why)
		r = str_appendf(out, ": %s", item->why);
	if (r == 0 && !is_undo)
		r = put_ways(out, staged, item, name);
	return r < 0 ? r : str_append_char(out, '\n');
}

static int put_items(struct str *out, const struct staged *staged,
		     const struct apply_report *report, bool left, bool is_undo)
{
	int r = 0;

	for (size_t i = 0; i < report->n && r == 0; i++) {
		const struct apply_item *item = &report->items[i];
		bool is_plain = item->outcome == APPLY_DONE || item->outcome == APPLY_DROPPED;

		if (!is_plain && is_left(item->outcome) == left)
			r = put_item(out, staged, item, is_undo);
	}
	return r;
}

/* As a reader counts: a folder that comes or goes with its files is no change. */
static size_t count_done(const struct staged *staged, const struct apply_report *report)
{
	const struct changes *changes = staged->changes;
	size_t n = 0;

	for (size_t i = 0; changes && i < report->n; i++) {
		const struct apply_item *item = &report->items[i];
		const struct change *change = changes_find(changes, item->root, item->path);

		n += !is_left(item->outcome) &&
		     (!change || change_stands_alone(changes, (size_t)(change - changes->items)));
	}
	return n > 0 ? n : report->n_done;
}

static int put_done(struct str *out, const struct staged *staged, const struct apply_report *report,
		    enum apply_deed deed)
{
	size_t n = count_done(staged, report);
	int r;

	if (deed == DEED_UNDO)
		return str_appendf(out, "taken back: %s\n", report->id);
	r = str_appendf(out, "%s %zu change%s; to take that back: ",
			deed == DEED_APPLY ? "applied" : "discarded", n, n == 1 ? "" : "s");
	if (r == 0)
		r = put_pale(out, "undo", staged->asked, NULL);
	return r < 0 ? r : str_appendf(out, " %s\n", report->id);
}

static int put_text(struct str *out, const struct staged *staged, const struct apply_report *report,
		    enum apply_deed deed)
{
	bool is_undo = deed == DEED_UNDO;
	size_t n_left = 0;
	int r = 0;

	for (size_t i = 0; i < report->n; i++)
		n_left += is_left(report->items[i].outcome);
	if (report->n_done > 0)
		r = put_done(out, staged, report, deed);
	if (r == 0)
		r = put_items(out, staged, report, false, is_undo);
	if (r == 0 && n_left > 0)
		r = str_appendf(out, "%zu left %s:\n", n_left,
				!is_undo      ? "staged"
				: n_left == 1 ? "as it is"
					      : "as they are");
	if (r == 0)
		r = put_items(out, staged, report, true, is_undo);
	if (r == 0 && is_undo && report->n_done == 0 && n_left > 0)
		r = str_append(out, "what was before that: pale undo --list, then pale undo ID\n");
	if (r == 0 && report->n_done == 0 && n_left == 0)
		r = str_append(out, is_undo ? "there was nothing to take back\n"
					    : "nothing is staged\n");
	return r;
}

static int print_json(const struct staged *staged, const struct apply_report *report)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_object(&json, NULL);
	json_add_string(&json, "id", *report->id ? report->id : NULL);
	json_add_uint(&json, "done", report->n_done);
	json_add_uint(&json, "left", report->n_left);
	json_begin_array(&json, "changes");
	for (size_t i = 0; i < report->n; i++) {
		const struct apply_item *item = &report->items[i];
		_cleanup_(freep) char *name = item_name(staged, item);

		if (!name)
			return report_oom();
		json_begin_object(&json, NULL);
		json_add_name(&json, "path", name);
		json_add_string(&json, "outcome", outcome_name(item->outcome));
		json_add_string(&json, "why", *item->why ? item->why : NULL);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	return emit_json(&json);
}

static void remember(const struct staged *staged, const struct apply_report *report,
		     enum apply_deed deed)
{
	static const char *const kinds[] = {
		[DEED_APPLY] = "apply.done",
		[DEED_DISCARD] = "stage.discard",
		[DEED_UNDO] = "apply.undo",
	};

	if (*report->id && report->n_done > 0)
		deed_remember(&staged->workspace, &staged->user, kinds[deed], report->id,
			      staged->stage ? staged->stage->name : NULL, report->n_done);
}

int apply_report_print(const struct staged *staged, const struct apply_report *report,
		       enum apply_deed deed, bool json)
{
	_cleanup_(str_release) struct str out = {0};
	int r;

	remember(staged, report, deed);
	if (json)
		r = print_json(staged, report);
	else
		r = put_text(&out, staged, report, deed) < 0 ? report_oom() : emit(&out);
	return r == STATUS_OK && report->n_left > 0 ? STATUS_ERROR : r;
}
