/* SPDX-License-Identifier: MIT */
/*
 * diff-patch - the patch: as git takes it, or as a person reads it.
 *
 * To a pipe goes exactly what `git apply` takes in the workspace. What it cannot
 * take (paths in .git, other folders than the workspace, folders, fifos, modes
 * beyond "executable") is left out, and a line on standard error says so.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/diff.h"
#include "stage/patch-zlib.h"

#define BOLD   "\033[1m"
#define DIM    "\033[2m"
#define ALERT  "\033[1;31m"
#define YELLOW "\033[33m"
#define PLAIN  "\033[m"

enum { CONFLICTS_NAMED = 20 };

static int put_line(struct str *out, const char *colour, const char *text)
{
	int r = str_append(out, colour);

	if (r == 0)
		r = str_append(out, text);
	return r < 0 ? r : str_append(out, *colour ? PLAIN "\n" : "\n");
}

int put_mode(struct str *out, const struct entry *entry, bool is_next)
{
	const struct node *old = entry->from ? &entry->from->old : &entry->change->old;
	const struct node *new = &entry->change->new;
	const char *before = is_next ? ", " : "";

	if (new->type == NODE_ABSENT || new->type == NODE_LINK)
		return 0;
	if (old->type != new->type)
		return entry->mode & 022 ? str_appendf(out, "%sMODE %04o", before, entry->mode) : 0;
	if (old->mode == entry->mode || new->type == NODE_DIR)
		return 0; /* of a folder it is the change itself */
	return str_appendf(out, "%sMODE %04o -> %04o", before, old->mode, entry->mode);
}

int put_marks(struct str *out, const struct staged *staged, const struct entry *entry, bool colour)
{
	_cleanup_(str_release) struct str flags = {0};
	_cleanup_(str_release) struct str run = {0};
	const struct change *change = entry->change;
	bool alert = change->flags & (CHANGE_IS_PROTECTED | CHANGE_IS_CONFLICT);
	int r = str_append(&flags, "# ");

	if (r == 0)
		r = put_flags(&flags, change->flags, change->why);
	if (r == 0)
		r = put_mode(&flags, entry, flags.len > 2);
	if (r == 0 && flags.len > 2)
		r = put_line(out, !colour ? "" : alert ? ALERT : YELLOW, str_text(&flags));
	if (r == 0 && change->run) {
		r = str_append(&run, "# ");
		if (r == 0)
			r = put_run(&run, staged, change->run);
		if (r == 0)
			r = put_line(out, colour ? DIM : "", str_text(&run));
	}
	return r;
}

static const char *what(const struct node *node)
{
	return node->type == NODE_DIR ? "folder" : node_type_name(node->type) + 2;
}

int put_change_text(struct str *out, const struct entry *entry)
{
	const struct change *change = entry->change;

	if (change->flags & CHANGE_MERGES && entry->mode == change->old.mode)
		return str_append(out, "has all of it already");
	switch (change->kind) {
	case CHANGE_ADD:
		return str_appendf(out, "%s added", what(&change->new));
	case CHANGE_DELETE:
		return str_appendf(out, "%s deleted", what(&change->old));
	case CHANGE_TYPE:
		return str_appendf(out, "%s, was %s", node_type_name(change->new.type),
				   node_type_name(change->old.type));
	case CHANGE_MODE:
		return str_appendf(out, "mode %04o, was %04o", entry->mode, change->old.mode);
	case CHANGE_MODIFY:
		break;
	}
	return str_appendf(out, "%s changed", what(&change->new));
}

int diff_load(struct diff_job *job, const struct entry *entry, struct sides *ret, struct err *err)
{
	int r = sides_load(job->staged, entry, ret, err);

	if (r == -ESTALE) {
		report(err);
		*err = (struct err){0};
		job->is_partial = true;
		return 1;
	}
	return r;
}

bool diff_sums_up(const struct diff_job *job, const struct entry *entry)
{
	return entry->is_git_data && !job->is_chosen;
}

/* --- for a person --- */

static int show_title(struct diff_job *job, const struct entry *entry)
{
	struct str *out = &job->out.text;
	_cleanup_(str_release) struct str text = {0};
	int r = str_append(&text, "# ");

	if (r == 0)
		r = str_append_escaped(&text, entry->name, strlen(entry->name));
	if (r == 0 && (entry->change->new.type == NODE_DIR || entry->change->old.type == NODE_DIR))
		r = str_append_char(&text, '/');
	if (r == 0)
		r = str_append(&text, ": ");
	if (r == 0)
		r = put_change_text(&text, entry);
	return r < 0 ? r : put_line(out, job->out.colour ? BOLD : "", str_text(&text));
}

static int show_entry(struct diff_job *job, const struct entry *entry, struct err *err)
{
	_cleanup_(sides_release) struct sides sides = {0};
	struct patch_options options = {.context = DIFF_CONTEXT, .similarity = entry->percent};
	size_t before;
	int r = 0;

	if (diff_sums_up(job, entry))
		return 0;
	if (entry->in_patch)
		r = diff_load(job, entry, &sides, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = put_marks(&job->out.text, job->staged, entry, job->out.colour);
	before = job->out.text.len;
	if (r == 0 && entry->in_patch && !sides.is_too_big)
		r = patch_write_shown(&job->out.text, &sides.old, &sides.new, &options,
				      job->out.colour);
	if (r == 0 && job->out.text.len == before)
		r = show_title(job, entry);
	return r < 0 ? err_oom(err) : 0;
}

static int show_git_data(struct diff_job *job)
{
	size_t n = 0;

	for (size_t i = 0; i < job->entries->n; i++)
		n += diff_sums_up(job, &job->entries->items[i]);
	if (n == 0)
		return 0;
	return str_appendf(
		&job->out.text, "%s# %zu file%s of git's own in .git: objects, refs, index%s\n",
		job->out.colour ? BOLD : "", n, n == 1 ? "" : "s", job->out.colour ? PLAIN : "");
}

/* --- for git --- */

static bool is_for_git(const struct diff_job *job, const struct entry *entry)
{
	return entry->in_patch && !entry->in_git && (entry->change->root == 0 || job->is_chosen);
}

static int write_entry(struct diff_job *job, const struct entry *entry, size_t *left_out,
		       struct err *err)
{
	_cleanup_(sides_release) struct sides sides = {0};
	struct patch_options options = {
		.context = DIFF_CONTEXT,
		.similarity = entry->percent,
		.deflate = patch_deflate_zlib,
	};
	int r;

	if (!is_for_git(job, entry)) {
		(*left_out)++;
		return 0;
	}
	r = diff_load(job, entry, &sides, err);
	if (r != 0)
		return r < 0 ? r : 0;
	if (sides.is_too_big) {
		(*left_out)++;
		return 0;
	}
	r = patch_write(&job->out.text, &sides.old, &sides.new, &options);
	return r < 0 ? err_oom(err) : 0;
}

/* The user's own change is in none of them, so the patch takes it back. */
static int say_conflicts(const struct diff_job *job)
{
	_cleanup_(str_release) struct str names = {0};
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < job->entries->n && r == 0; i++) {
		const struct entry *entry = &job->entries->items[i];
		unsigned flags = entry->change->flags & (CHANGE_IS_CONFLICT | CHANGE_MERGES);

		if (flags != CHANGE_IS_CONFLICT || !is_for_git(job, entry))
			continue;
		if (n++ >= CONFLICTS_NAMED)
			continue;
		r = str_append(&names, n > 1 ? ", " : "");
		if (r == 0)
			r = str_append_escaped(&names, entry->name, strlen(entry->name));
	}
	if (r == 0 && n > CONFLICTS_NAMED)
		r = str_appendf(&names, " and %zu more", n - CONFLICTS_NAMED);
	if (r == 0 && n > 0)
		say("in conflict, the patch takes back what changed on the host: %s",
		    str_text(&names));
	return r;
}

int diff_patch(struct diff_job *job, struct err *err)
{
	const struct entries *entries = job->entries;
	size_t left_out = 0;
	int r = 0;

	for (size_t i = 0; i < entries->n && r == 0; i++) {
		r = progress_step(&job->progress, i, entries->n, entries->items[i].name);
		if (r == 0)
			r = job->out.on_terminal
				    ? show_entry(job, &entries->items[i], err)
				    : write_entry(job, &entries->items[i], &left_out, err);
		if (r == 0)
			r = output_step(&job->out);
	}
	if (r == 0 && job->out.on_terminal && show_git_data(job) < 0)
		return err_oom(err);
	if (r == 0 && !job->out.on_terminal && say_conflicts(job) < 0)
		return err_oom(err);
	if (r == 0 && left_out > 0)
		say("%zu change%s cannot be in a patch for git: pale diff --name-status", left_out,
		    left_out == 1 ? "" : "s");
	return r;
}
