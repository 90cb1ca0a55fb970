/* SPDX-License-Identifier: MIT */
#include "review/staged-choice.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "review/entries.h"

void staged_choice_release(struct staged_choice *choice)
{
	for (size_t i = 0; i < choice->picks.n; i++)
		free((bool *)choice->picks.items[i].chosen);
	free(choice->picks.items);
	staged_paths_release(&choice->paths);
	staged_paths_release(&choice->include_protected);
	staged_paths_release(&choice->take_staged);
	*choice = (struct staged_choice){0};
}

const struct apply_choice *staged_choice_finish(struct staged_choice *choice)
{
	choice->choice = (struct apply_choice){
		.paths = choice->paths.items,
		.n_paths = choice->paths.n,
		.edits = choice->picks.items,
		.n_edits = choice->picks.n,
		.include_protected = choice->include_protected.items,
		.n_include_protected = choice->include_protected.n,
		.take_staged = choice->take_staged.items,
		.n_take_staged = choice->take_staged.n,
		.accept_unsynced = choice->accept_unsynced,
	};
	return &choice->choice;
}

int staged_choice_add(const struct change *change, bool alone, struct staged_paths *paths)
{
	struct apply_path *items = reallocarray(paths->items, paths->n + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	paths->items = items;
	items[paths->n++] = (struct apply_path){
		.root = change->root, .path = change->path, .is_alone = alone};
	return 0;
}

int staged_choice_edits(const struct change *change, const bool *edits, size_t n,
			struct staged_choice *choice)
{
	struct staged_picks *picks = &choice->picks;
	struct apply_edits *items;
	bool *chosen;

	for (size_t i = 0; i < picks->n; i++)
		if (picks->items[i].root == change->root &&
		    str_eq(picks->items[i].path, change->path)) {
			chosen = (bool *)picks->items[i].chosen;
			for (size_t k = 0; k < n && k < picks->items[i].n; k++)
				chosen[k] = chosen[k] || edits[k];
			return 0;
		}
	items = reallocarray(picks->items, picks->n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	picks->items = items;
	chosen = calloc(n + 1, sizeof(*chosen));
	if (!chosen)
		return -ENOMEM;
	memcpy(chosen, edits, n * sizeof(*edits));
	items[picks->n++] = (struct apply_edits){
		.root = change->root, .path = change->path, .chosen = chosen, .n = n};
	return staged_choice_add(change, true, &choice->paths);
}

/* "FILE:N" in two; N counts from 1. */
static int split(const char *text, char **ret_file, size_t *ret_number, struct err *err)
{
	const char *colon = strrchr(text, ':');
	unsigned long number = 0;
	char *end = NULL;

	errno = 0;
	if (colon && colon > text && colon[1] >= '1' && colon[1] <= '9')
		number = strtoul(colon + 1, &end, 10);
	if (number == 0 || *end || errno != 0) {
		err_set(err, ERR_USAGE, -EINVAL, "--hunk %s: it is FILE:N, with N from 1 on", text);
		return err_hint(err, -EINVAL,
				"`pale diff FILE` shows the hunks, from the first "
				"@@ on");
	}
	*ret_file = strndup(text, (size_t)(colon - text));
	*ret_number = number;
	return *ret_file ? 0 : err_oom(err);
}

/* FILE and TEXT as they were typed. */
static int pick(const struct staged *staged, const struct entry *entry, const char *file,
		size_t number, const char *text, struct staged_choice *choice, struct err *err)
{
	_cleanup_(sides_release) struct sides sides = {0};
	_cleanup_(hunks_release) struct hunks hunks = {0};
	_cleanup_(freep) bool *edits = NULL;
	int r;

	if (entry->change->flags & CHANGE_MERGES) {
		r = err_set(err, ERR_USAGE, -EINVAL,
			    "--hunk %s: it changed on the host as well, and is merged as a whole",
			    text);
		return err_hint_word(err, r, "`pale apply ", file, "` takes both changes");
	}
	r = sides_load(staged, entry, &sides, err);
	if (r == 0)
		r = hunks_make(&sides, &hunks, err);
	if (r < 0)
		return r;
	if (hunks.n == 0)
		return err_hint_word(
			err, err_set(err, ERR_USAGE, -EINVAL, "--hunk %s: it has no hunks", text),
			"`pale apply ", file, "` applies it as a whole");
	if (number > hunks.n)
		return err_set(err, ERR_USAGE, -EINVAL, "--hunk %s: there %s %zu", text,
			       hunks.n == 1 ? "is only" : "are only", hunks.n);
	/* What comes or goes as a whole has one hunk. */
	if (entry->kind != ENTRY_CHANGED)
		return staged_choice_add(entry->change, true, &choice->paths) < 0 ? err_oom(err)
										  : 0;
	edits = calloc(hunks.diff.len + 1, sizeof(*edits));
	if (!edits)
		return err_oom(err);
	for (size_t i = 0; i < hunks.items[number - 1].edits; i++)
		edits[hunks.items[number - 1].first_edit + i] = true;
	r = staged_choice_edits(entry->change, edits, hunks.diff.len, choice);
	return r < 0 ? err_oom(err) : 0;
}

int staged_choice_hunk(const struct staged *staged, const char *text, struct staged_choice *choice,
		       struct err *err)
{
	_cleanup_(staged_paths_release) struct staged_paths paths = {0};
	_cleanup_(entries_release) struct entries entries = {0};
	_cleanup_(freep) char *file = NULL;
	size_t number = 0;
	int r = split(text, &file, &number, err);

	if (r == 0)
		r = staged_paths_add(staged, file, &paths, err);
	if (r == 0)
		r = entries_make(staged, &paths, false, &entries, err);
	if (r < 0)
		return r;
	if (entries.n != 1 || !str_eq(entries.items[0].change->path, paths.items[0].path) ||
	    !entries.items[0].in_patch)
		return err_set(err, ERR_USAGE, -EINVAL, "--hunk %s: that is no file", text);
	return pick(staged, &entries.items[0], file, number, text, choice, err);
}
