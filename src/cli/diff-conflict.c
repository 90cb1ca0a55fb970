/* SPDX-License-Identifier: MIT */
/*
 * diff-conflict - both sides of a conflict: what happened to the file on the host,
 * and what the command did to it, each against what the command found.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/diff.h"
#include "stage/patch-zlib.h"

#define AGAINST "; the workspace's file against the staged one:"

static int put_title(struct diff_job *job, const char *text)
{
	return str_appendf(&job->out.text, "%s# %s%s\n", job->out.colour ? "\033[1m" : "", text,
			   job->out.colour ? "\033[m" : "");
}

static int put_patch(struct diff_job *job, const struct patch_side *old,
		     const struct patch_side *new)
{
	struct patch_options options = {.context = DIFF_CONTEXT, .deflate = patch_deflate_zlib};
	static const char equal[] = "(no change of its content)\n";
	size_t before = job->out.text.len;
	int r = 0;

	if (old->path || new->path)
		r = job->out.on_terminal
			    ? patch_write_shown(&job->out.text, old, new, &options, job->out.colour)
			    : patch_write(&job->out.text, old, new, &options);
	if (r == 0 && job->out.text.len == before)
		r = str_append(&job->out.text, equal);
	return r;
}

/* BASE: NULL if there is none, WHY says why. */
static int put_sides(struct diff_job *job, const struct sides *sides, const struct str *base,
		     const char *why)
{
	struct patch_side found = sides->old.path ? sides->old : sides->new;
	int r;

	if (!base) {
		r = put_title(job, why);
		return r < 0 ? r : put_patch(job, &sides->old, &sides->new);
	}
	found.data = base->data;
	found.len = base->len;
	r = put_title(job, "in the workspace, since the command took it:");
	if (r == 0)
		r = put_patch(job, &found, &sides->old);
	if (r == 0)
		r = put_title(job, "staged, by the command:");
	return r < 0 ? r : put_patch(job, &found, &sides->new);
}

static int put_choices(struct diff_job *job, const struct entry *entry)
{
	const char *name = entry->name;
	int r;

	if (!job->out.on_terminal)
		return 0;
	r = str_append(&job->out.text, "# the staged one: ");
	if (r == 0)
		r = put_command(&job->out.text, job->staged, "apply", "--take-staged", name);
	if (r == 0)
		r = str_append(&job->out.text, "; the workspace's: ");
	if (r == 0)
		r = put_command(&job->out.text, job->staged, "discard", NULL, name);
	return r < 0 ? r : str_append_char(&job->out.text, '\n');
}

int diff_conflict(struct diff_job *job, const struct entry *entry, struct err *err)
{
	_cleanup_(sides_release) struct sides sides = {0};
	_cleanup_(str_release) struct str base = {0};
	int r = sides_load_staged(job->staged, entry, &sides, err), kept;

	if (r < 0)
		return r;
	kept = change_read_base(job->staged->stage, entry->change, &base, err);
	if (kept < 0 && kept != -ENOENT)
		return kept;
	if (job->out.on_terminal)
		r = put_marks(&job->out.text, job->staged, entry, job->out.colour);
	if (r == 0)
		r = put_sides(job, &sides, kept == 0 ? &base : NULL,
			      kept > 0 ? "the command found none, and made it" AGAINST
				       : "what the command found was not kept" AGAINST);
	if (r == 0)
		r = put_choices(job, entry);
	return r < 0 ? err_oom(err) : 0;
}
