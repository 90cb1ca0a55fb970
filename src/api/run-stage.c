/* SPDX-License-Identifier: MIT */
#include "api/run-stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/run-mounts.h"
#include "api/run.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/path.h"
#include "base/size.h"
#include "stage/apply.h"
#include "stage/live.h"
#include "stage/node.h"
#include "stage/record.h"
#include "stage/stage.h"
#include "stage/throwaway.h"

#define THROWAWAY_KIND "pale-ephemeral"

bool run_starts_over(const struct run *run)
{
	const struct plan *plan = run->plan;

	return plan->limits.site.rung == RUNG_SYSTEMD && !plan->limits.site.dirs[0];
}

bool run_is_staged(const struct run *run)
{
	const struct plan *plan = run->plan;

	for (size_t i = 0; i < plan->ops_len && !run_starts_over(run); i++)
		if (plan->ops[i].kind == OP_STAGED)
			return true;
	return false;
}

/* Without a stage nothing depends on it, and what failed is only said. */
int run_recover(struct run *run, struct err *err)
{
	const char *state = run->context.workspace.state_dir;
	struct err failed = {0};
	int r = state && !run->has_outer ? stage_recover(state, &run->recovered, &failed) : 0;

	if (r == 0)
		return 0;
	err_wrap(&failed, r, "an interrupted apply or discard");
	if (!run->plan->stage) {
		run->staged.err = failed;
		return 0;
	}
	*err = failed;
	return r;
}

/* Layers below what they cover would be layers of themselves. */
static int check_place(const struct run *run, const struct op *op, struct err *err)
{
	if (!path_covers(op->src, run->stage->path))
		return 0;
	err_set(err, ERR_POLICY, -ELOOP,
		"the stage itself, %s, lies in %s, whose writes it is to hold", run->stage->path,
		op->src);
	return err_hint(err, -ELOOP, "set XDG_STATE_HOME to a folder outside of it");
}

static int check_size(const struct run *run, struct err *err)
{
	char held[SIZE_TEXT_MAX], max[SIZE_TEXT_MAX];
	uint64_t bytes;
	int r;

	if (run->plan->stage_max == UINT64_MAX)
		return 0;
	r = stage_size(run->stage, &bytes, err);
	if (r < 0 || bytes < run->plan->stage_max)
		return r;
	err_set(err, ERR_POLICY, -EDQUOT, "stage %s holds %s already, and disk = %s",
		run->stage->name, size_format(bytes, held), size_format(run->plan->stage_max, max));
	return err_hint(err, -EDQUOT, "pale apply or pale discard what it holds, or --disk MORE");
}

/* A file system that keeps whole seconds gives what is saved at once the time of the second's
 * beginning: nothing is executed before the next one. */
static void wait_for_second(struct run *run, const char *base)
{
	struct stat st;

	if (stat(base, &st) == 0 && st.st_ctim.tv_nsec == 0)
		run->staging.t0.tv_nsec = 999999999;
}

static int make_layers(struct run *run, const struct op *op, unsigned index, struct err *err)
{
	_cleanup_(fd_closep) int base = path_open_plain(op->src, O_PATH | O_DIRECTORY);

	if (base < 0)
		return err_sys(err, base, "open %s", op->src);
	return stage_make_layers(run->stage, index, base, err);
}

static int open_layers(struct run *run, const struct op *op, unsigned index, int *ret_fd,
		       struct err *err)
{
	int r = stage_layers(run->stage, index, ret_fd, err);

	if (r != -ENOENT)
		return r;
	r = make_layers(run, op, index, err);
	if (r < 0)
		return r;
	r = stage_layers(run->stage, index, ret_fd, err);
	return r == -ENOENT ? err_sys(err, r, "open the layers of stage %s", run->stage->name) : r;
}

static int add_root(struct run *run, const struct op *op, struct err *err)
{
	struct staging_root *root = &run->staging.roots[run->staging.len];
	unsigned *index = &run->stage_roots[run->staging.len];
	_cleanup_(fd_closep) int layers = -1;
	struct stat st;
	int r = check_place(run, op, err);

	if (r < 0)
		return r;
	if (run->staging.len == STAGING_MAX)
		return err_set(err, ERR_UNSUPPORTED, -E2BIG, "more than %d folders to stage",
			       STAGING_MAX);
	r = stage_add_root(run->stage, op->src, index, err);
	if (r == 0)
		r = open_layers(run, op, *index, &layers, err);
	if (r < 0)
		return r;
	if (fstat(layers, &st) < 0)
		return err_sys(err, -errno, "stat the layers of stage %s", run->stage->name);
	*root = (struct staging_root){.id = {st.st_dev, st.st_ino}, .joined = -1};
	root->layers = str_printf("%s/roots/%u", run->stage->path, *index);
	if (!root->layers)
		return err_oom(err);
	run->base_devs[run->staging.len] = op->id.dev;
	wait_for_second(run, op->src);
	run->staging.len++;
	return 0;
}

/* Under the mount lock. */
static int join_or_clear(struct run *run, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < run->staging.len && r == 0; i++) {
		struct staging_root *root = &run->staging.roots[i];

		r = stage_join(run->stage, run->stage_roots[i], &root->joined, err);
		if (r == 0 && root->joined < 0)
			r = stage_clear_mark(run->stage, run->stage_roots[i], err);
		if (r == 0 && root->joined < 0)
			r = stage_follow_base(run->stage, run->stage_roots[i], err);
	}
	return r;
}

/* Somebody may remove it before we have its locks. */
static int enter_stage(struct run *run, const char *name, struct err *err)
{
	const char *state = run->context.workspace.state_dir;
	int r = -ENOENT;

	for (int tries = 0; tries < 8 && r == -ENOENT; tries++) {
		run->stage = stage_free(run->stage);
		r = stage_open(state, name, true, &run->stage, err);
		if (r == 0)
			r = stage_enter(run->stage, err);
	}
	return r;
}

static int add_roots(struct run *run, struct err *err)
{
	const struct plan *plan = run->plan;
	unsigned workspace;
	int r = check_size(run, err);

	if (r == 0)
		r = stage_add_root(run->stage, run->context.workspace.root, &workspace, err);
	for (size_t i = 0; i < plan->ops_len && r == 0; i++)
		if (plan->ops[i].kind == OP_STAGED)
			r = add_root(run, &plan->ops[i], err);
	return r;
}

/* --- while the sandbox is raised --- */

static int raised(void *data, struct err *err)
{
	struct run *run = data;
	const char *command = run->command ? run->command : run->plan->argv.items[0];
	int r = run_check_mounts(run->plan, err);

	if (r == 0)
		r = stage_announce(run->stage, run->id, err);
	return r < 0 ? r : stage_begin(run->stage, run->id, getpid(), run->t0, command, err);
}

/* The layers below are of the same filesystem as the stage, as a rule. */
static bool is_past_t0(const struct run *run)
{
	struct timespec now = clock_now(CLOCK_REALTIME_COARSE);

	if (timespec_compare(now, run->staging.t0) > 0)
		return true;
	for (size_t i = 0; i < run->staging.len; i++)
		if (run->base_devs[i] != run->staging.roots[i].id.dev)
			return false;
	return stage_clock_is_past(run->stage, run->staging.t0);
}

static int mounted(void *data, const int *fds, struct err *err)
{
	struct run *run = data;
	int r = stage_publish(run->stage, run->id, run->stage_roots, run->staging.len, fds, err);

	return r < 0 ? r : !run->plan->throws_away && !is_past_t0(run);
}

static void started(void *data)
{
	struct run *run = data;

	for (size_t i = 0; i < run->staging.len; i++)
		if (run->staging.roots[i].joined < 0)
			stage_drop_mark(run->stage, run->stage_roots[i]);
}

static int enter_throwaway(struct run *run, struct err *err)
{
	char name[STAGE_NAME_MAX + 1];
	int r = throwaway_name(THROWAWAY_KIND, name, err);

	if (r < 0)
		return r;
	throwaway_sweep(run->context.workspace.state_dir, THROWAWAY_KIND);
	run->plan->stage_max = SPEC_UNLIMITED;
	return enter_stage(run, name, err);
}

int run_stage_begin(struct run *run, struct err *err)
{
	int r = run->plan->throws_away ? enter_throwaway(run, err)
				       : enter_stage(run, run->plan->stage, err);

	run->staging.t0 = run->t0;
	if (r == 0)
		r = add_roots(run, err);
	if (r == 0)
		r = join_or_clear(run, err);
	if (r < 0)
		return r;
	run->staging.lock = run->stage->lock_fd;
	run->staging.mount_lock = run->stage->mount_lock_fd;
	run->staging.raised = raised;
	run->staging.mounted = mounted;
	run->staging.started = started;
	run->staging.data = run;
	run->plan->staging = &run->staging;
	return 0;
}

static void release(struct run *run)
{
	for (size_t i = 0; i < run->staging.len; i++) {
		fd_close(run->staging.roots[i].joined);
		free(run->staging.roots[i].layers);
	}
	run->staging = (struct staging){0};
	run->plan->staging = NULL;
	run->stage = stage_free(run->stage);
}

/* Could it have changed the stage? */
static bool writes(const struct plan *plan)
{
	for (size_t i = 0; i < plan->ops_len; i++)
		if (plan->ops[i].kind == OP_WRITABLE ||
		    (plan->ops[i].kind == OP_STAGED && !(plan->ops[i].flags & OP_RDONLY)))
			return true;
	return false;
}

static int record(struct run *run, struct err *err)
{
	struct stage_summary summary;
	int r = stage_record(run->stage, run->id, &summary, err);

	if (r < 0)
		return err_wrap(err, r, "what was staged is not recorded");
	run->staged.is_known = true;
	run->staged.changes = summary.n_changes;
	return 0;
}

static int throw_away(struct run *run, struct err *err)
{
	_cleanup_(freep) char *name = strdup(run->stage->name);
	int r = 0;

	if (run->plan->staging) {
		stage_leave(run->stage, run->id);
		r = stage_finish(run->stage, run->id, err);
	}
	release(run);
	if (r == 0)
		r = name ? throwaway_drop(run->context.workspace.state_dir, name, err)
			 : err_oom(err);
	return r < 0 ? err_wrap(err, r, "what is to be thrown away") : 0;
}

int run_stage_end(struct run *run, bool executed, struct err *err)
{
	int r = 0;

	if (!run->stage)
		return 0;
	if (run->plan->throws_away)
		return throw_away(run, err);
	if (run->plan->staging) {
		int ended;

		stage_leave(run->stage, run->id);
		if (executed && writes(run->plan))
			r = record(run, err);
		if (r < 0)
			(void)stage_note_lost(run->stage, run->id, NULL);
		ended = stage_finish(run->stage, run->id, r < 0 ? NULL : err);
		r = r < 0 ? r : ended;
		if (r == 0 && run->staged.is_known && run->staged.changes == 0)
			stage_tidy(run->stage);
	}
	release(run);
	return r;
}
