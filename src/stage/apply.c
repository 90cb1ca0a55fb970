/* SPDX-License-Identifier: MIT */
#include "stage/apply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "stage/choose.h"
#include "stage/history.h"
#include "stage/index.h"
#include "stage/stage.h"
#include "stage/synced.h"
#include "stage/txn-plan.h"
#include "stage/txn-run.h"
#include "stage/txn.h"

/* One apply or discard while it is put together. */
struct job {
	struct stage *stage;
	const struct changes *changes;
	struct changes *own; /* where they had to be read here */
	struct index *index;
	struct verdict *verdicts;
	struct txn *txn;
	const struct apply_progress *progress;
};

static void job_release(struct job *job)
{
	changes_free(job->own);
	index_free(job->index);
	free(job->verdicts);
	txn_free(job->txn);
}

int apply_step(const struct apply_progress *progress, size_t done, size_t total, const char *path,
	       struct err *err)
{
	int r = progress && progress->fn ? progress->fn(progress->data, done, total, path) : 0;

	return r < 0 ? err_set(err, ERR_SYSTEM, r, "interrupted; nothing was changed") : 0;
}

static size_t count_taken(const struct job *job)
{
	size_t n = 0;

	for (size_t i = 0; i < job->changes->n; i++)
		n += job->verdicts[i].is_taken;
	return n;
}

static int prepare(struct job *job, struct err *err)
{
	struct txn *txn = job->txn;
	int r = txn_plan(txn, job->changes, job->verdicts, job->index, err);

	if (r == 0)
		r = txn_open_roots(txn, job->stage, err);
	if (r == 0)
		r = txn_plan_dirs(txn, job->changes, job->index, err);
	if (r == 0)
		r = txn_write_plan(txn, err);
	if (r == 0 && !txn->is_discard)
		r = txn_prepare(txn, job->progress, err);
	if (r == 0)
		r = txn_write_made(txn, err);
	if (r == 0)
		r = txn_sync(txn, err);
	return r < 0 ? r : txn_mark(txn, TXN_DECIDED, true, err);
}

static int carry_out(struct job *job, bool is_discard, struct apply_report *report, struct err *err)
{
	struct err why = {0}, worse = {0};
	bool back = false;
	int r;

	if (count_taken(job) == 0)
		return 0;
	r = txn_begin(job->stage, is_discard, &job->txn, err);
	if (r < 0)
		return r;
	r = prepare(job, &why);
	if (r < 0) {
		int failed = r;

		r = txn_take_back(job->txn, &worse);
		if (err)
			*err = r < 0 ? worse : why;
		return r < 0 ? r : failed;
	}
	r = txn_finish(job->txn, &back, &why, &worse);
	if (r < 0 || back) {
		if (err)
			*err = r < 0 ? worse : why;
		return r < 0 ? r : why.errnum ? -why.errnum : -EIO;
	}
	snprintf(report->id, sizeof(report->id), "%s", job->txn->id);
	history_prune(job->txn);
	return 0;
}

/* What the crash of a machine may have cut. *RET_ALL: nothing that is staged. */
static int check_synced(const struct job *job, bool accepts, bool *ret_all, struct err *err)
{
	_cleanup_(freep) bool *doubtful = calloc(job->changes->n + 1, sizeof(*doubtful));
	size_t n = 0;
	int r = doubtful ? synced_find_doubtful(job->stage, job->changes, doubtful, &n, err)
			 : err_oom(err);

	for (size_t i = 0; i < job->changes->n && r == 0 && !accepts; i++)
		if (doubtful[i] && job->verdicts[i].is_taken)
			r = synced_refuse(&job->changes->items[i], err);
	*ret_all = n == 0;
	return r;
}

static int work(struct job *job, bool is_discard, const struct changes *reviewed,
		const struct apply_choice *choice, struct apply_report **ret, struct err *err)
{
	_cleanup_(apply_report_freep) struct apply_report *report = calloc(1, sizeof(*report));
	bool synced = false;
	int r;

	if (!report)
		return err_oom(err);
	r = job->changes ? 0 : changes_read(job->stage, &job->own, err);
	if (!job->changes)
		job->changes = job->own;
	if (r == 0)
		r = index_load(job->stage, &job->index, err);
	if (r == 0 && is_discard)
		r = choose_discard(job->changes, reviewed, choice, &job->verdicts, err);
	else if (r == 0)
		r = choose(job->stage, job->changes, reviewed, choice, &job->verdicts, err);
	if (r == 0)
		r = check_synced(job, is_discard || choice->accept_unsynced, &synced, err);
	if (r == 0)
		r = carry_out(job, is_discard, report, err);
	/* It has written all to the disk. */
	if (r == 0 && *report->id && synced)
		(void)stage_note_synced(job->stage, NULL);
	if (r == 0 && report_fill(report, job->changes, job->verdicts) < 0)
		r = err_oom(err);
	if (r == 0)
		*ret = take_ptr(report);
	return r;
}

static int run(struct stage *stage, bool is_discard, const struct changes *reviewed,
	       const struct apply_choice *choice, const struct apply_progress *progress,
	       struct apply_report **ret, struct err *err)
{
	_cleanup_(job_release) struct job job = {.stage = stage, .progress = progress};
	static const struct apply_choice everything = {0};
	bool held = stage->lock_fd >= 0;
	int r = stage_lock(stage, true, err);

	if (!choice)
		choice = &everything;
	if (held)
		job.changes = reviewed;
	if (r == 0)
		r = work(&job, is_discard, reviewed, choice, ret, err);
	if (!held)
		stage_unlock(stage);
	return r;
}

int stage_apply(struct stage *stage, const struct changes *reviewed,
		const struct apply_choice *choice, const struct apply_progress *progress,
		struct apply_report **ret, struct err *err)
{
	return run(stage, false, reviewed, choice, progress, ret, err);
}

int stage_discard(struct stage *stage, const struct changes *reviewed,
		  const struct apply_choice *choice, const struct apply_progress *progress,
		  struct apply_report **ret, struct err *err)
{
	return run(stage, true, reviewed, choice, progress, ret, err);
}
