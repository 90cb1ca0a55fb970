/* SPDX-License-Identifier: MIT */
/* grep-impl - private to grep*.c. */
#pragma once
#include <stdint.h>

#include "base/str.h"
#include "files/board.h"
#include "files/place.h"
#include "files/scan.h"

struct file_request;

struct grep {
	const struct file_request *request;
	struct scan scan;
	struct board board;
	struct target *starts; /* one for each path that was asked for */
	size_t starts_len;
	uint64_t max;
};

/* Search until nothing is left, as number WORKER. 0 or -ENOMEM. */
int grep_work(struct grep *g, unsigned worker);
