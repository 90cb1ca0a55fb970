/* SPDX-License-Identifier: MIT */
/* fixtures - what every sandbox has, whatever its policy: a root, /proc, /dev,
 * and a folder of our own. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct host;
struct plan;

struct fixtures {
	bool whole_root; /* the host's "/" is the root */
	bool write_root;
	bool nested;
	uint64_t tmpfs; /* bytes */
};

/* Before the places. 0 or -ENOMEM. */
int fixtures_begin(struct plan *plan, const struct fixtures *fixtures, const struct host *host);
/* After them: close our own folder and enter the root. */
int fixtures_end(struct plan *plan, const struct fixtures *fixtures);
/* Is the private folder PATH made by fixtures_begin() already? */
bool fixture_is_made(bool whole_root, const char *path);
