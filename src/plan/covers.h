/* SPDX-License-Identifier: MIT */
/*
 * covers - what lies under the covers of a sandbox that stays.
 *
 * What is hidden is mounted over, and a mount goes with the file that it lies on: when the host
 * puts another one in its place, that one is seen.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct plan;
struct site;

/* Which file it is. A number is given anew when its file is gone, by some filesystems at once; the
 * time of a birth is not. */
struct birth {
	uint64_t dev, ino; /* ino 0: nothing is there */
	int64_t sec;
	uint32_t nsec;
};

struct covers {
	struct strv paths; /* those of the site's `ignored` first */
	struct birth *births;
};

/* Of PLAN, which nobody has executed yet. 0 or -ENOMEM. */
int covers_take(struct covers *covers, const struct plan *plan, const struct site *site);
void covers_release(struct covers *covers);
/* Is PATH what it was, or gone? False: it is seen now. */
bool covers_hide(const struct covers *covers, const char *path);
