/* SPDX-License-Identifier: MIT */
#include "base/size.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

struct unit {
	const char *name;
	uint64_t scale;
};

static const struct unit size_units[] = {
	{"t", 1ull << 40},
	{"g", 1ull << 30},
	{"m", 1ull << 20},
	{"k", 1ull << 10},
};

static const struct unit duration_units[] = {
	{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

/* A text on its way through the parser; `what` is "size" or "duration". */
struct input {
	const char *what;
	const char *text;
	const char *at;
	struct err *err;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int refuse(const struct input *in, int r, const char *why)
{
	return err_set(in->err, ERR_CONFIG, r, "bad %s \"%.64s%s\": %s at column %td", in->what,
		       in->text, strlen(in->text) > 64 ? "…" : "", why, in->at - in->text + 1);
}

/* Why a number cannot begin at this place. */
static int refuse_number(const struct input *in)
{
	switch (*in->at) {
	case '\0':
		return refuse(in, -EINVAL, "a number is missing");
	case ' ':
	case '\t':
		return refuse(in, -EINVAL, "a blank is not allowed");
	case '-':
	case '+':
		return refuse(in, -EINVAL, "a sign is not allowed");
	default:
		return refuse(in, -EINVAL, "expected a digit");
	}
}

/* Why a unit cannot begin, or the text not go on, at this place. */
static int refuse_unit(const struct input *in, const char *why)
{
	switch (*in->at) {
	case ' ':
	case '\t':
		return refuse(in, -EINVAL, "a blank is not allowed");
	case '.':
	case ',':
		return refuse(in, -EINVAL, "a fraction is not allowed");
	default:
		return refuse(in, -EINVAL, why);
	}
}

static int parse_number(struct input *in, uint64_t *ret_number)
{
	const char *start = in->at;
	uint64_t n = 0;

	if (!is_digit(*in->at))
		return refuse_number(in);
	for (; is_digit(*in->at); in->at++) {
		if (__builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*in->at - '0'), &n) || n > INT64_MAX) {
			in->at = start;
			return refuse(in, -ERANGE, "too large a number");
		}
	}
	*ret_number = n;
	return 0;
}

int size_parse(const char *text, uint64_t *ret_bytes, struct err *err)
{
	struct input in = {"size", text, text, err};
	const struct unit *unit = NULL;
	uint64_t n;
	int r;

	r = parse_number(&in, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < array_len(size_units) && !unit; i++)
		if (lower(*in.at) == size_units[i].name[0])
			unit = &size_units[i];
	if (unit) {
		in.at++;
		if (lower(in.at[0]) == 'i' && lower(in.at[1]) == 'b')
			in.at += 2;
		else if (lower(in.at[0]) == 'b')
			in.at++;
	}
	if (*in.at)
		return refuse_unit(&in, unit ? "unexpected text" : "unknown unit");
	if (unit && (__builtin_mul_overflow(n, unit->scale, &n) || n > INT64_MAX)) {
		in.at = text;
		return refuse(&in, -ERANGE, "too large a number");
	}
	*ret_bytes = n;
	return 0;
}

/* The index in duration_units of the unit at IN, or -1. */
static int find_duration_unit(const struct input *in, size_t *ret_len)
{
	size_t len = 0;

	while (is_letter(in->at[len]))
		len++;
	for (size_t i = 0; i < array_len(duration_units); i++) {
		const char *name = duration_units[i].name;

		if (strlen(name) == len && memcmp(in->at, name, len) == 0) {
			*ret_len = len;
			return (int)i;
		}
	}
	return -1;
}

int duration_parse(const char *text, uint64_t *ret_ms, struct err *err)
{
	struct input in = {"duration", text, text, err};
	uint64_t total = 0;
	int last = -1;

	do {
		const char *start = in.at;
		size_t len = 0;
		uint64_t n;
		int r, i;

		r = parse_number(&in, &n);
		if (r < 0)
			return r;
		i = find_duration_unit(&in, &len);
		if (i < 0)
			return refuse_unit(&in, *in.at ? "unknown unit" : "a unit is missing");
		if (i <= last)
			return refuse(&in, -EINVAL,
				      i == last ? "repeated unit" : "unit out of order");
		if (__builtin_mul_overflow(n, duration_units[i].scale, &n) ||
		    __builtin_add_overflow(total, n, &total) || total > INT64_MAX) {
			in.at = start;
			return refuse(&in, -ERANGE, "too large a number");
		}
		last = i;
		in.at += len;
	} while (*in.at);
	*ret_ms = total;
	return 0;
}

const char *size_format(uint64_t bytes, char buf[SIZE_TEXT_MAX])
{
	const char *name = "";

	for (size_t i = 0; bytes > 0 && i < array_len(size_units); i++) {
		if (bytes % size_units[i].scale == 0) {
			bytes /= size_units[i].scale;
			name = size_units[i].name;
			break;
		}
	}
	snprintf(buf, SIZE_TEXT_MAX, "%llu%s", (unsigned long long)bytes, name);
	return buf;
}

/* Write MS with the units in MASK only; false when a remainder is left. */
static bool format_with(uint64_t ms, unsigned mask, char buf[SIZE_TEXT_MAX])
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < array_len(duration_units); i++) {
		uint64_t n = ms / duration_units[i].scale;

		if (!(mask & 1u << i) || n == 0)
			continue;
		ms %= duration_units[i].scale;
		len += (size_t)snprintf(buf + len, SIZE_TEXT_MAX - len, "%llu%s",
					(unsigned long long)n, duration_units[i].name);
	}
	return ms == 0;
}

/* Five units make 31 forms ("90m" and "1h30m" among them): try them all. */
const char *duration_format(uint64_t ms, char buf[SIZE_TEXT_MAX])
{
	char text[SIZE_TEXT_MAX];
	size_t best = SIZE_MAX;

	if (ms == 0) {
		snprintf(buf, SIZE_TEXT_MAX, "0s");
		return buf;
	}
	for (unsigned mask = 1; mask < 1u << array_len(duration_units); mask++) {
		if (!format_with(ms, mask, text) || strlen(text) >= best)
			continue;
		best = strlen(text);
		memcpy(buf, text, best + 1);
	}
	return buf;
}
