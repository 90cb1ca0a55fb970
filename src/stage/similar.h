/* SPDX-License-Identifier: MIT */
/*
 * similar - how much of one file is found in another; which file was renamed to
 * which.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#define SIMILAR_ENOUGH 50   /* percent: below, it is no rename */
#define SIMILAR_LIMIT  1000 /* candidates of one side, as git's rename limit */

/* 100 is for equal bytes only. Negative: -ENOMEM. */
int similar_percent(const void *a, size_t a_len, const void *b, size_t b_len);

struct similar_file {
	const char *path;
	mode_t mode; /* only files of the same type are alike */
	const void *data;
	size_t len; /* an empty file is like no other */
};

struct similar_pair {
	size_t gone, made; /* indices */
	unsigned percent;
};

/* Pair each of GONE with at most one of MADE and the reverse: equal ones first (of
 * those, one of the same name), then the most alike, at least ENOUGH percent. With
 * more than LIMIT * LIMIT combinations left only equal ones are found. Sorted by
 * MADE; the caller frees *RET_PAIRS (NULL when there is none). */
int similar_pairs(const struct similar_file *gone, size_t n_gone, const struct similar_file *made,
		  size_t n_made, unsigned enough, size_t limit, struct similar_pair **ret_pairs,
		  size_t *ret_len);
