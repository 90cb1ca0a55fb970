/* SPDX-License-Identifier: MIT */
/* synced - what of a stage a crash of the machine may have cut. */
#include "stage/synced.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "stage/changes.h"
#include "stage/stage.h"

struct log {
	struct stage_run *runs;
	size_t n;
	struct timespec boot_time, synced;
	char boot[STAGE_BOOT_MAX];
	const char *asked; /* last, and what was found: many changes are of one run */
	const struct stage_run *found;
};

static struct timespec time_of_boot(void)
{
	struct timespec now = clock_now(CLOCK_REALTIME), up = clock_now(CLOCK_BOOTTIME);

	now.tv_sec -= up.tv_sec;
	now.tv_nsec -= up.tv_nsec;
	if (now.tv_nsec < 0) {
		now.tv_nsec += 1000000000;
		now.tv_sec--;
	}
	return now;
}

static const struct stage_run *find_run(struct log *log, const char *id)
{
	if (id == log->asked)
		return log->found;
	log->asked = id;
	log->found = NULL;
	for (size_t i = log->n; i-- > 0 && !log->found;)
		if (str_eq(log->runs[i].id, id))
			log->found = &log->runs[i];
	return log->found;
}

static bool is_doubtful(struct log *log, const struct change *change)
{
	const struct stage_run *run = find_run(log, change->run);

	if (run && !run->is_synced)
		return !str_eq(run->boot, log->boot);
	if (change->new.type == NODE_ABSENT)
		return false; /* there is nothing to be cut */
	/* The log itself was not written to the disk; or a later run was at it when the machine
	 * stopped, and nobody has recorded that. */
	return timespec_compare(change->new.ctime, log->boot_time) < 0 &&
	       timespec_compare(change->new.ctime, log->synced) > 0;
}

int synced_find_doubtful(const struct stage *stage, const struct changes *changes, bool *ret,
			 size_t *ret_n, struct err *err)
{
	struct log log = {.boot_time = time_of_boot()};
	int r = stage_boot_id(log.boot, err);

	if (r == 0)
		r = stage_runs(stage, &log.runs, &log.n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < log.n; i++)
		if (timespec_compare(log.runs[i].synced, log.synced) > 0)
			log.synced = log.runs[i].synced;
	*ret_n = 0;
	for (size_t i = 0; i < changes->n; i++) {
		ret[i] = is_doubtful(&log, &changes->items[i]);
		*ret_n += ret[i];
	}
	stage_runs_free(log.runs, log.n);
	return 0;
}

void synced_note(struct stage *stage)
{
	struct stage_run *runs;
	char boot[STAGE_BOOT_MAX];
	bool doubtful = false;
	size_t n;

	if (stage_boot_id(boot, NULL) < 0 || stage_runs(stage, &runs, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		doubtful |= !runs[i].is_synced && !str_eq(runs[i].boot, boot);
	stage_runs_free(runs, n);
	if (!doubtful)
		(void)stage_note_synced(stage, NULL);
}

int synced_refuse(const struct change *change, struct err *err)
{
	err_set(err, ERR_SYSTEM, -EUCLEAN,
		"the machine was restarted before %s was known to be on the disk: it may be "
		"incomplete",
		*change->path ? change->path : "what is staged");
	return err_hint(err, -EUCLEAN, "look at it with pale diff first");
}
