/* SPDX-License-Identifier: MIT */
#include "stage/choose.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "stage/access.h"
#include "stage/roots.h"
#include "stage/stage.h"
#include "stage/txn-order.h"
#include "stage/writers.h"

static const char NOT_REVIEWED[] = "it is not what was reviewed any more";

struct chooser {
	const struct stage *stage;
	const struct changes *changes, *reviewed;
	const struct apply_choice *choice;
	struct verdict *verdicts;
	struct writers writers;
	struct strv locked; /* "ROOT PATH" of git directories, and "0" or "1" before it */
};

static bool covers(const struct apply_path *paths, size_t n, const struct change *change)
{
	for (size_t i = 0; i < n; i++)
		if (paths[i].root == change->root &&
		    (paths[i].is_alone ? str_eq(paths[i].path, change->path)
				       : change_path_below(paths[i].path, change->path)))
			return true;
	return false;
}

static const struct apply_edits *edits_of(const struct apply_choice *choice,
					  const struct change *change)
{
	for (size_t i = 0; i < choice->n_edits; i++)
		if (choice->edits[i].root == change->root &&
		    str_eq(choice->edits[i].path, change->path))
			return &choice->edits[i];
	return NULL;
}

static bool is_asked(const struct apply_choice *choice, const struct change *change)
{
	if (choice->n_paths == 0 && choice->n_edits == 0)
		return true;
	return covers(choice->paths, choice->n_paths, change) || edits_of(choice, change);
}

static void leave(struct verdict *verdict, enum apply_outcome outcome, const char *why)
{
	verdict->is_taken = false;
	verdict->outcome = outcome;
	verdict->why = why;
}

/* Times of content can be set by whoever writes it; only the ctime tells. A file that
 * its owner cannot read gets a new one whenever we look. */
static bool is_same_staged(const struct node *seen, const struct node *now)
{
	bool has_ctime = now->type == NODE_FILE && (now->mode & 0400 || geteuid() == 0);

	return has_ctime ? node_is_same(seen, now) : node_is_unmoved(seen, now);
}

/* Is CHANGE what the user saw? */
static bool is_as_reviewed(const struct changes *reviewed, const struct change *change)
{
	const struct change *seen = changes_find(reviewed, change->root, change->path);

	return seen && seen->kind == change->kind && node_is_same(&seen->old, &change->old) &&
	       is_same_staged(&seen->new, &change->new);
}

static const char *inside_git(const struct chooser *c, const struct change *change)
{
	return git_inside(c->stage->roots[change->root].path, change->path);
}

/* Does git work in this folder of the host's at this moment? Remembered. */
static bool has_lock(struct chooser *c, unsigned root, const char *path)
{
	_cleanup_(freep) char *key = str_printf("?%u %s", root, path);
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(fd_closep) int base = -1, dir = -1;
	bool locked = false;

	if (!key)
		return true;
	for (size_t i = c->locked.len; i-- > 0;)
		if (str_eq(c->locked.items[i] + 1, key + 1))
			return c->locked.items[i][0] == '1';
	if (root_open(c->stage, root, &base, NULL) == 0)
		dir = path_open_nolink(base, *path ? path : ".", O_RDONLY | O_DIRECTORY, 0);
	if (dir >= 0 && dir_names(dir, &names) == 0)
		for (size_t i = 0; i < names.len; i++)
			locked = locked || str_ends(names.items[i], ".lock");
	key[0] = locked ? '1' : '0';
	strv_take(&c->locked, take_ptr(key));
	return locked;
}

/* A lock lies in the git directory, of a submodule or a working tree as well, or beside the
 * reference. Objects need none. */
static bool is_locked(struct chooser *c, const struct change *change)
{
	const char *at = inside_git(c, change);

	while (at && !str_starts(at, "objects/")) {
		_cleanup_(freep) char *path = strndup(change->path, (size_t)(at - change->path));

		if (!path || has_lock(c, change->root, path))
			return true;
		at = strchr(at, '/');
		at += !!at;
	}
	return false;
}

/* What it deletes is not there. */
static bool does_nothing(const struct change *change)
{
	return change->kind == CHANGE_DELETE && change->flags & CHANGE_IS_SAME;
}

static void judge_conflict(const struct chooser *c, const struct change *change,
			   struct verdict *verdict)
{
	const struct apply_choice *choice = c->choice;

	if (covers(choice->take_staged, choice->n_take_staged, change))
		return;
	if ((change->flags & CHANGE_MERGES) && !verdict->edits) {
		verdict->outcome = APPLY_MERGED;
		return;
	}
	leave(verdict, APPLY_CONFLICT, change->why);
}

/* What a program writes to a file that another has taken the place of is lost. Who names it as one
 * that the staged side wins means that. */
static bool is_written(struct chooser *c, const struct change *change)
{
	const struct apply_choice *choice = c->choice;

	return change->old.type == NODE_FILE &&
	       !covers(choice->take_staged, choice->n_take_staged, change) &&
	       writers_find(&c->writers, c->stage, change->root, change->path, change->old.ino);
}

static void judge(struct chooser *c, size_t i)
{
	const struct change *change = &c->changes->items[i];
	const struct apply_choice *choice = c->choice;
	struct verdict *verdict = &c->verdicts[i];

	*verdict = (struct verdict){.why = "", .outcome = APPLY_DONE};
	verdict->is_asked = verdict->is_taken = is_asked(choice, change);
	verdict->edits = edits_of(choice, change);
	if (!verdict->is_asked)
		return;
	if (change->flags & CHANGE_IS_UNSUPPORTED)
		leave(verdict, APPLY_UNSUPPORTED, change->why);
	else if (change->flags & CHANGE_IS_PROTECTED &&
		 !covers(choice->include_protected, choice->n_include_protected, change))
		leave(verdict, APPLY_PROTECTED, change->why);
	else if (c->reviewed && c->reviewed != c->changes && !is_as_reviewed(c->reviewed, change))
		leave(verdict, APPLY_CHANGED, NOT_REVIEWED);
	else if (is_locked(c, change))
		leave(verdict, APPLY_HELD, "git holds a lock there");
	else if (change->flags & CHANGE_DROPS || does_nothing(change))
		verdict->outcome = APPLY_DROPPED;
	else if (change->flags & CHANGE_IS_CONFLICT)
		judge_conflict(c, change, verdict);
	if (verdict->is_taken && verdict->outcome != APPLY_DROPPED && is_written(c, change))
		leave(verdict, APPLY_HELD, "a program has it open for writing");
}

static bool is_left(const struct verdict *verdict)
{
	return verdict->outcome == APPLY_CONFLICT || verdict->outcome == APPLY_CHANGED ||
	       verdict->outcome == APPLY_HELD;
}

/* A repository in which a reference is left keeps all of them. */
static void keep_references(struct chooser *c)
{
	const struct change *last = NULL; /* of the repository that was looked at last */
	const char *why;
	size_t last_len = 0;

	for (size_t i = 0; i < c->changes->n; i++) {
		const struct change *change = &c->changes->items[i];
		const char *inside = inside_git(c, change);
		size_t len = inside ? (size_t)(inside - change->path) : 0;

		if (!inside || !git_is_reference(inside) || !is_left(&c->verdicts[i]))
			continue;
		if (last && last->root == change->root && last_len == len &&
		    strncmp(last->path, change->path, len) == 0)
			continue;
		last = change;
		last_len = len;
		why = c->verdicts[i].outcome == APPLY_HELD
			      ? c->verdicts[i].why
			      : "the repository changed on the host, too";
		for (size_t k = 0; k < c->changes->n; k++) {
			const struct change *other = &c->changes->items[k];
			const char *there = inside_git(c, other);

			if (c->verdicts[k].is_taken && there && other->root == change->root &&
			    (size_t)(there - other->path) == len &&
			    strncmp(other->path, change->path, len) == 0 && git_is_reference(there))
				leave(&c->verdicts[k], APPLY_HELD, why);
		}
	}
}

static size_t index_of(const struct chooser *c, const struct change *change)
{
	return (size_t)(change - c->changes->items);
}

/* What is above CHANGE, from the nearest; NULL: nothing more. PATH is worked on. */
static const struct change *above(const struct chooser *c, const struct change *change, char *path)
{
	char *slash;

	while ((slash = strrchr(path, '/'))) {
		const struct change *found;

		*slash = '\0';
		found = changes_find(c->changes, change->root, path);
		if (found)
			return found;
	}
	return NULL;
}

static bool needs_empty(const struct change *change)
{
	return change->old.type == NODE_DIR &&
	       (change->kind == CHANGE_DELETE || change->kind == CHANGE_TYPE);
}

/* A folder can only go with all that is in it. Children come first here, so that
 * one that is held holds those above it. */
static int hold_above(struct chooser *c)
{
	for (size_t i = c->changes->n; i > 0; i--) {
		const struct change *change = &c->changes->items[i - 1], *up;
		_cleanup_(freep) char *path = NULL;

		if (c->verdicts[i - 1].is_taken || change->old.type == NODE_ABSENT)
			continue;
		path = strdup(change->path);
		if (!path)
			return -ENOMEM;
		up = above(c, change, path);
		if (up && needs_empty(up) && c->verdicts[index_of(c, up)].is_taken)
			leave(&c->verdicts[index_of(c, up)], APPLY_HELD, "something in it is left");
	}
	return 0;
}

static bool makes_folder(const struct change *change)
{
	return change->new.type == NODE_DIR &&
	       (change->kind == CHANGE_ADD || change->kind == CHANGE_TYPE);
}

/* Nothing can be put into a folder that is not there. Parents come first here. */
static int need_above(struct chooser *c)
{
	for (size_t i = 0; i < c->changes->n; i++) {
		const struct change *change = &c->changes->items[i], *up;
		struct verdict *verdict = &c->verdicts[i];
		_cleanup_(freep) char *path = NULL;

		/* A deletion that the base has already is one, if its folder is. */
		if (!verdict->is_taken ||
		    (change->new.type == NODE_ABSENT && verdict->outcome != APPLY_DROPPED))
			continue;
		path = strdup(change->path);
		if (!path)
			return -ENOMEM;
		while ((up = above(c, change, path))) {
			struct verdict *parent = &c->verdicts[index_of(c, up)];

			if (!makes_folder(up))
				continue;
			if (parent->is_taken)
				break; /* and what it needs was seen to when it was looked at */
			if (parent->is_asked && parent->outcome != APPLY_PROTECTED) {
				leave(verdict, APPLY_HELD, "the folder that it is in is left");
				break;
			}
			if (up->flags & CHANGE_IS_CONFLICT || up->flags & CHANGE_IS_UNSUPPORTED) {
				parent->is_asked = true;
				leave(parent, APPLY_CONFLICT, up->why);
				leave(verdict, APPLY_HELD, "the folder that it is in is left");
				break;
			}
			if (!change_is_new_folder(up)) {
				leave(verdict, APPLY_HELD,
				      "the folder that it is in is left: it changes more, name it, too");
				break;
			}
			*parent = (struct verdict){.is_asked = true,
						   .is_taken = true,
						   .outcome = APPLY_DONE,
						   .why = ""};
		}
	}
	return 0;
}

int choose(const struct stage *stage, const struct changes *changes, const struct changes *reviewed,
	   const struct apply_choice *choice, struct verdict **ret, struct err *err)
{
	struct chooser c = {
		.stage = stage, .changes = changes, .reviewed = reviewed, .choice = choice};
	int r;

	c.verdicts = calloc(changes->n + 1, sizeof(*c.verdicts));
	if (!c.verdicts)
		return err_oom(err);
	for (size_t i = 0; i < changes->n; i++)
		judge(&c, i);
	keep_references(&c);
	r = need_above(&c);
	if (r == 0)
		r = hold_above(&c);
	/* What was held above may have been needed below. */
	if (r == 0)
		r = need_above(&c);
	strv_release(&c.locked);
	writers_release(&c.writers);
	if (r < 0) {
		free(c.verdicts);
		return err_oom(err);
	}
	*ret = c.verdicts;
	return 0;
}

/* Is what CHANGE stages what the user saw? Some of the review may have been applied since: then
 * other names of a file have left, and entries of a folder. */
static bool is_staged_as_seen(const struct changes *reviewed, const struct change *change)
{
	const struct change *seen = changes_find(reviewed, change->root, change->path);
	const struct node *new = &change->new;

	if (!seen || seen->new.type != new->type)
		return false;
	if (new->type == NODE_ABSENT)
		return true;
	if (new->type == NODE_DIR)
		return seen->new.mode == new->mode;
	return seen->new.nlink > 1 ? node_is_unmoved(&seen->new, new)
				   : is_same_staged(&seen->new, new);
}

int choose_discard(const struct changes *changes, const struct changes *reviewed,
		   const struct apply_choice *choice, struct verdict **ret, struct err *err)
{
	struct chooser c = {.changes = changes, .choice = choice};

	c.verdicts = calloc(changes->n + 1, sizeof(*c.verdicts));
	if (!c.verdicts)
		return err_oom(err);
	for (size_t i = 0; i < changes->n; i++) {
		const struct change *change = &changes->items[i], *up;
		_cleanup_(freep) char *path = strdup(change->path);
		struct verdict *verdict = &c.verdicts[i];

		if (!path) {
			free(c.verdicts);
			return err_oom(err);
		}
		*verdict = (struct verdict){.why = "", .outcome = APPLY_DONE};
		verdict->is_asked = verdict->is_taken = is_asked(choice, change);
		up = verdict->is_taken ? above(&c, change, path) : NULL;
		/* A folder cannot come back below a file. */
		if (up && up->kind == CHANGE_TYPE && up->old.type == NODE_DIR &&
		    !c.verdicts[index_of(&c, up)].is_taken)
			leave(verdict, APPLY_HELD, "a staged file is in the place of its folder");
		else if (verdict->is_taken && reviewed && !is_staged_as_seen(reviewed, change))
			leave(verdict, APPLY_CHANGED, NOT_REVIEWED);
	}
	*ret = c.verdicts;
	return 0;
}

struct apply_report *apply_report_free(struct apply_report *report)
{
	for (size_t i = 0; report && i < report->n; i++)
		free(report->items[i].path);
	if (report)
		free(report->items);
	free(report);
	return NULL;
}

int report_add(struct apply_report *report, unsigned root, const char *path, enum change_kind kind,
	       enum apply_outcome outcome, unsigned flags, const char *why)
{
	struct apply_item *item;

	if (report->n == report->cap) {
		size_t cap = report->cap ? report->cap * 2 : 64;
		struct apply_item *grown = reallocarray(report->items, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		report->items = grown;
		report->cap = cap;
	}
	item = &report->items[report->n];
	*item = (struct apply_item){.root = root,
				    .path = strdup(path),
				    .kind = kind,
				    .outcome = outcome,
				    .flags = flags,
				    .why = why};
	if (!item->path)
		return -ENOMEM;
	report->n++;
	report->n_done += outcome <= APPLY_DROPPED;
	report->n_left += outcome == APPLY_CONFLICT || outcome == APPLY_CHANGED ||
			  outcome == APPLY_HELD;
	return 0;
}

int report_fill(struct apply_report *report, const struct changes *changes,
		const struct verdict *verdicts)
{
	int r = 0;

	for (size_t i = 0; i < changes->n && r == 0; i++) {
		const struct change *change = &changes->items[i];

		if (verdicts[i].is_asked)
			r = report_add(report, change->root, change->path, change->kind,
				       verdicts[i].outcome, change->flags, verdicts[i].why);
	}
	return r;
}
