/* SPDX-License-Identifier: MIT */
/*
 * size - "512m", "2g" and "90s", "1h30m", to numbers and back.
 *
 * Sizes: a decimal number and an optional unit k, m, g, t (powers of 1024,
 * either case, an optional trailing b or ib). Durations: one or more numbers,
 * each with a unit ms, s, m, h, d, in falling order, each unit once. No sign,
 * no fraction, no blank; what does not fit 63 bits is refused.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

/* -EINVAL or -ERANGE; err (code ERR_CONFIG) says what is wrong and in which
 * column, e.g. `bad size "12q": unknown unit at column 3`. */
int size_parse(const char *text, uint64_t *ret_bytes, struct err *err);
int duration_parse(const char *text, uint64_t *ret_ms, struct err *err);

/* The shortest exact form that parses back to the same number. */
#define SIZE_TEXT_MAX 64
const char *size_format(uint64_t bytes, char buf[SIZE_TEXT_MAX]);
const char *duration_format(uint64_t ms, char buf[SIZE_TEXT_MAX]);
