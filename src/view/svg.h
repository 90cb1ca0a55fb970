/* SPDX-License-Identifier: MIT */
/*
 * svg - what runs used against the limits, as a picture.
 *
 * One file that needs no other and holds no script; it follows the reader's choice
 * of light or dark. Outcomes differ in colour and in shape.
 */
#pragma once
#include <stddef.h>

struct run_record;
struct series_limits;
struct str;

/* RECORDS are newest first; NAME is any text. 0 or -ENOMEM. */
int svg_print(const char *name, const struct run_record *records, size_t n,
	      const struct series_limits *limits, struct str *out);
