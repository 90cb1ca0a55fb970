/* SPDX-License-Identifier: MIT */
#include "stage/judge.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "stage/access.h"
#include "stage/content.h"
#include "stage/git-index.h"
#include "stage/stage.h"
#include "stage/txn-order.h"

int judge_init(struct judge *judge, const struct stage *stage, struct err *err)
{
	int r;

	*judge = (struct judge){.stage = stage, .origins = calloc(1, sizeof(*judge->origins))};
	r = judge->origins ? index_load(stage, &judge->index, err) : err_oom(err);
	if (r == 0)
		r = stage_runs(stage, &judge->runs, &judge->n_runs, err);
	if (r < 0)
		judge_release(judge);
	return r;
}

void judge_release(struct judge *judge)
{
	index_free(judge->index);
	stage_runs_free(judge->runs, judge->n_runs);
	if (judge->origins)
		origins_release(judge->origins);
	free(judge->origins);
	*judge = (struct judge){0};
}

/* The earliest beginning of a run that was alive at some time from FROM to TO; or, since the last
 * record, of one whose leavings nobody has recorded: a later run may have replaced them. */
static bool earliest(const struct judge *judge, struct timespec from, struct timespec to,
		     struct timespec *ret)
{
	bool found = false;

	for (size_t i = 0; i < judge->n_runs; i++) {
		const struct stage_run *run = &judge->runs[i];
		struct timespec last = run->is_lost ? judge->index->since : from;

		if (timespec_compare(run->t0, to) > 0 ||
		    (run->is_ended && timespec_compare(run->ended, last) < 0))
			continue;
		if (!found || timespec_compare(run->t0, *ret) < 0)
			*ret = run->t0;
		found = true;
	}
	return found;
}

struct timespec judge_t0(const struct judge *judge, unsigned root, const char *path,
			 const struct node *upper)
{
	static const struct timespec never = {.tv_sec = INT64_MAX}, zero = {0};
	const struct index_entry *known = index_find(judge->index, root, path);
	struct timespec t0;

	if (known && known->t0.tv_sec)
		return known->t0;
	/* Whiteouts are links to one node of the mount: it was made after the birth of that, and
	 * after the last record. */
	if (upper->type == NODE_WHITEOUT) {
		bool is_known = timespec_compare(upper->btime, judge->index->since) < 0;

		if (earliest(judge, is_known ? judge->index->since : upper->btime, never, &t0))
			return t0;
	} else if (upper->btime.tv_sec && earliest(judge, upper->btime, upper->btime, &t0)) {
		return t0;
	}
	return earliest(judge, zero, never, &t0) ? t0 : judge->stage->created;
}

static bool is_later(const struct node *node, struct timespec t0)
{
	return timespec_compare(node->ctime, t0) > 0;
}

/* A folder's time moves with its entries, both times as one, and these are judged by
 * themselves; one that came by a rename has a newer ctime, and what is in it has not. */
bool judge_gone(const struct node *base, struct timespec t0)
{
	return is_later(base, t0) &&
	       (base->type != NODE_DIR || timespec_compare(base->mtime, base->ctime) != 0);
}

/* Who only looks at a repository has its index written anew, and it says the same. */
static bool is_index_as_recorded(const struct stage *stage, const struct index_entry *known, int fd)
{
	_cleanup_(str_release) struct str was = {0}, now = {0};

	return git_is_index(stage->roots[known->root].path, known->path) &&
	       index_read_copy(stage, known->digest, &was, NULL) == 0 &&
	       lseek(fd, 0, SEEK_SET) == 0 && content_read(fd, INDEX_COPY_MAX, &now) == 0 &&
	       git_index_is_same(str_text(&was), was.len, str_text(&now), now.len);
}

static bool has_content(const struct stage *stage, const struct index_entry *known,
			const struct upper_entry *entry)
{
	_cleanup_(fd_closep) int fd = -1;
	char now[SHA256_HEX];

	if (!known->digest[0] || entry->base->size > INDEX_DIGEST_MAX)
		return false;
	fd = open_file(entry->base_dir, entry->name, entry->base->ino);
	if (fd < 0 || content_digest(fd, now) < 0)
		return false;
	return str_eq(now, known->digest) || is_index_as_recorded(stage, known, fd);
}

/* Does all go that the base has in it? */
static bool hides_folder(const struct upper_entry *entry)
{
	return entry->base->type == NODE_DIR &&
	       (entry->upper->type != NODE_DIR || entry->is_opaque);
}

static bool is_as_recorded(const struct stage *stage, const struct index_entry *known,
			   const struct upper_entry *entry)
{
	const struct node *base = entry->base;

	if (node_is_same(base, &known->base))
		return true;
	if (base->type != known->base.type)
		return false;
	switch (base->type) {
	case NODE_ABSENT:
		return true;
	case NODE_DIR:
		/* What is in another folder of that name may be older than the run. */
		return base->mode == known->base.mode &&
		       (!hides_folder(entry) || base->ino == known->base.ino);
	case NODE_LINK:
		return str_eq(base->target, known->base.target);
	case NODE_FILE:
		return base->mode == known->base.mode && has_content(stage, known, entry);
	case NODE_FIFO:
	case NODE_SOCKET:
	case NODE_DEVICE:
	case NODE_WHITEOUT:
		return false;
	}
	return false;
}

static bool both_folders(const struct upper_entry *entry)
{
	return entry->upper->type == NODE_DIR && entry->base->type == NODE_DIR;
}

static int given_mode(const struct judge *judge, unsigned root, const struct upper_entry *entry)
{
	return *entry->path ? -ENODATA : stage_given_mode(judge->stage, root);
}

bool judge_mode_is_hosts(const struct judge *judge, unsigned root, const struct upper_entry *entry)
{
	const struct index_entry *known = index_find(judge->index, root, entry->path);
	int given = given_mode(judge, root, entry);

	if (given >= 0)
		return (int)entry->upper->mode == given;
	return known && both_folders(entry) && !known->is_conflict &&
	       known->base.type == NODE_DIR && entry->upper->mode == known->base.mode;
}

/* Copied from the base, which has none of that name now: deleted on the host, if it was
 * not renamed by the command. Folders cannot be renamed inside; and a deletion on
 * the host changes the folder that it was in. So does whatever else is saved there. */
static bool was_there(const struct judge *judge, unsigned root, const struct upper_entry *entry,
		      struct timespec t0)
{
	_cleanup_(node_release) struct node dir = {0};

	if (entry->base_dir < 0 || !upper_is_copied(entry->upper_dir, entry->name))
		return false;
	if (entry->upper->type == NODE_DIR)
		return true;
	return node_read(entry->base_dir, "", &dir) == 0 && is_later(&dir, t0) &&
	       !origins_find(judge->origins, judge->stage, root, entry->upper, t0);
}

/* The layer itself was given its base's mode: did both sides change it? */
static bool modes_conflict(const struct upper_entry *entry, int given)
{
	const struct node *upper = entry->upper, *base = entry->base;

	return upper->mode != base->mode && (int)upper->mode != given && (int)base->mode != given;
}

bool judge_entry(const struct judge *judge, unsigned root, const struct upper_entry *entry)
{
	const struct index_entry *known = index_find(judge->index, root, entry->path);
	int given = given_mode(judge, root, entry);
	struct timespec t0;

	if (given >= 0 && !entry->is_opaque)
		return modes_conflict(entry, given);
	if (known && known->is_conflict)
		return true;
	if (known)
		return !is_as_recorded(judge->stage, known, entry);
	t0 = judge_t0(judge, root, entry->path, entry->upper);
	switch (entry->base->type) {
	case NODE_ABSENT:
		return was_there(judge, root, entry, t0);
	case NODE_DIR:
		if (hides_folder(entry) && judge_gone(entry->base, t0))
			return true;
		/* Its time moves with every entry, and these are judged by themselves. */
		return both_folders(entry) && entry->upper->mode != entry->base->mode &&
		       is_later(entry->base, t0);
	case NODE_FILE:
	case NODE_LINK:
	case NODE_FIFO:
	case NODE_SOCKET:
	case NODE_DEVICE:
	case NODE_WHITEOUT:
		return is_later(entry->base, t0);
	}
	return true;
}
