/* SPDX-License-Identifier: MIT */
/*
 * judge - has the host's side of a staged path changed since the command saw it?
 *
 * What was saved before pale started has a ctime of at most the run's T0, what was
 * saved after the command began a later one: a later one is a conflict. Once a path
 * has been recorded, its base must be what it was then.
 */
#pragma once
#include <stdbool.h>

#include "stage/index.h"
#include "stage/origin.h"
#include "stage/upper.h"

struct change;
struct stage_run;

struct judge {
	const struct stage *stage;
	struct index *index; /* owned */
	struct stage_run *runs;
	size_t n_runs;
	struct origins *origins; /* owned */
};

int judge_init(struct judge *judge, const struct stage *stage, struct err *err);
void judge_release(struct judge *judge);

/* When the command that made this entry may have begun, at the earliest. */
struct timespec judge_t0(const struct judge *judge, unsigned root, const char *path,
			 const struct node *upper);
bool judge_entry(const struct judge *judge, unsigned root, const struct upper_entry *entry);
/* Of two folders of one name: did only the host change the mode? */
bool judge_mode_is_hosts(const struct judge *judge, unsigned root, const struct upper_entry *entry);
/* Something of the base that an entry of time T0 hides. */
bool judge_gone(const struct node *base, struct timespec t0);
