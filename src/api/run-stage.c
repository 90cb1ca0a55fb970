/* SPDX-License-Identifier: MIT */
#include "api/run-stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/run.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/size.h"
#include "stage/live.h"
#include "stage/stage.h"

/* engine_run() will not return but start pale over. */
static bool starts_over(const struct plan *plan)
{
	return plan->limits.site.rung == RUNG_SYSTEMD && !plan->limits.site.dirs[0];
}

bool run_is_staged(const struct run *run)
{
	const struct plan *plan = run->plan;

	for (size_t i = 0; i < plan->ops_len && !starts_over(plan); i++)
		if (plan->ops[i].kind == OP_STAGED)
			return true;
	return false;
}

static int mounted(void *data, const int *fds, struct err *err)
{
	struct run *run = data;

	return stage_publish(run->stage, run->id, run->stage_roots, run->staging.len, fds, err);
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

static int add_root(struct run *run, const struct op *op, struct err *err)
{
	struct staging_root *root = &run->staging.roots[run->staging.len];
	unsigned *index = &run->stage_roots[run->staging.len];
	_cleanup_(fd_closep) int slash = -1;
	_cleanup_(fd_closep) int base = -1;
	_cleanup_(fd_closep) int layers = -1;
	struct stat st;
	int r = check_place(run, op, err);

	if (r < 0)
		return r;
	if (run->staging.len == STAGING_MAX)
		return err_set(err, ERR_UNSUPPORTED, -E2BIG, "more than %d folders to stage",
			       STAGING_MAX);
	slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	base = slash < 0 ? -errno : path_open_nolink(slash, op->src + 1, O_PATH | O_DIRECTORY, 0);
	if (base < 0)
		return err_sys(err, base, "open %s", op->src);
	r = stage_add_root(run->stage, op->src, index, err);
	if (r == 0)
		r = stage_make_layers(run->stage, *index, base, err);
	if (r == 0)
		r = stage_layers(run->stage, *index, &layers, err);
	if (r < 0)
		return r;
	if (fstat(layers, &st) < 0)
		return err_sys(err, -errno, "stat the layers of stage %s", run->stage->name);
	*root = (struct staging_root){.id = {st.st_dev, st.st_ino}, .joined = -1};
	root->layers = str_printf("%s/roots/%u", run->stage->path, *index);
	if (!root->layers)
		return err_oom(err);
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
	}
	return r;
}

static int open_stage(struct run *run, struct err *err)
{
	const struct plan *plan = run->plan;
	unsigned workspace;
	int r = stage_open(run->context.workspace.state_dir, plan->stage, true, &run->stage, err);

	if (r == 0)
		r = stage_add_root(run->stage, run->context.workspace.root, &workspace, err);
	if (r == 0)
		r = check_size(run, err);
	for (size_t i = 0; i < plan->ops_len && r == 0; i++)
		if (plan->ops[i].kind == OP_STAGED)
			r = add_root(run, &plan->ops[i], err);
	return r;
}

int run_stage_begin(struct run *run, struct err *err)
{
	const char *command = run->command ? run->command : run->plan->argv.items[0];
	int r = open_stage(run, err);

	if (r == 0)
		r = stage_enter(run->stage, err);
	if (r == 0)
		r = join_or_clear(run, err);
	if (r == 0)
		r = stage_begin(run->stage, run->id, getpid(), run->t0, command, err);
	if (r < 0)
		return r;
	run->staging.t0 = run->t0;
	run->staging.lock = run->stage->lock_fd;
	run->staging.mounted = mounted;
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

int run_stage_end(struct run *run, bool executed, struct err *err)
{
	int r = 0;

	if (!run->stage)
		return 0;
	stage_leave(run->stage, run->id);
	(void)executed;
	if (run->plan->staging) {
		int ended = stage_end(run->stage, run->id, r < 0 ? NULL : err);

		r = r < 0 ? r : ended;
	}
	release(run);
	return r;
}
