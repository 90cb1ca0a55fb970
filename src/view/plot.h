/* SPDX-License-Identifier: MIT */
/* plot - what runs used against the limits, in characters. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct run_record;
struct series_limits;
struct str;

struct plot_style {
	unsigned width; /* columns; no line is longer. 20 is the least */
	bool unicode;   /* else ASCII alone */
	bool colour;
};

/* RECORDS are newest first. 0 or -ENOMEM. */
int plot_print(const struct run_record *records, size_t n, const struct series_limits *limits,
	       const struct plot_style *style, struct str *out);
