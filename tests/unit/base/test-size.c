/* SPDX-License-Identifier: MIT */
#include "base/size.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tap.h"

typedef int parse_fn(const char *text, uint64_t *ret, struct err *err);
typedef const char *format_fn(uint64_t value, char buf[SIZE_TEXT_MAX]);

struct good {
	const char *text;
	uint64_t value;
};

struct bad {
	const char *text;
	int r;
	const char *message;
};

static void check_good(parse_fn *parse, const struct good *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct err err = {.message = "untouched"};
		uint64_t value = 1234567;
		int r = parse(cases[i].text, &value, &err);

		tap_ok(r == 0 && value == cases[i].value && strcmp(err.message, "untouched") == 0,
		       "\"%s\" is %llu", cases[i].text, (unsigned long long)cases[i].value);
	}
}

static void check_bad(parse_fn *parse, const struct bad *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct err err = {0};
		uint64_t value = 99;
		int r = parse(cases[i].text, &value, &err);

		tap_ok(r == cases[i].r && value == 99 && err.code == ERR_CONFIG,
		       "\"%s\" is refused with %d", cases[i].text, r);
		tap_eq_str(err.message, cases[i].message, "and the message says why");
		tap_eq_int(parse(cases[i].text, &value, NULL), r, "also without err");
	}
}

static void test_sizes(void)
{
	static const struct good good[] = {
		{"0", 0},
		{"1", 1},
		{"007", 7},
		{"512m", 512ull << 20},
		{"512M", 512ull << 20},
		{"2g", 2ull << 30},
		{"2gb", 2ull << 30},
		{"2GiB", 2ull << 30},
		{"2gib", 2ull << 30},
		{"1k", 1024},
		{"1kb", 1024},
		{"3T", 3ull << 40},
		{"0g", 0},
		{"9223372036854775807", INT64_MAX},
		{"8388607t", 8388607ull << 40},
	};
	static const struct bad bad[] = {
		{"", -EINVAL, "bad size \"\": a number is missing at column 1"},
		{"12q", -EINVAL, "bad size \"12q\": unknown unit at column 3"},
		{"-1", -EINVAL, "bad size \"-1\": a sign is not allowed at column 1"},
		{"+1", -EINVAL, "bad size \"+1\": a sign is not allowed at column 1"},
		{"1.5g", -EINVAL, "bad size \"1.5g\": a fraction is not allowed at column 2"},
		{"1,5g", -EINVAL, "bad size \"1,5g\": a fraction is not allowed at column 2"},
		{" 1", -EINVAL, "bad size \" 1\": a blank is not allowed at column 1"},
		{"1 g", -EINVAL, "bad size \"1 g\": a blank is not allowed at column 2"},
		{"1g ", -EINVAL, "bad size \"1g \": a blank is not allowed at column 3"},
		{"m", -EINVAL, "bad size \"m\": expected a digit at column 1"},
		{"1gg", -EINVAL, "bad size \"1gg\": unexpected text at column 3"},
		{"1gi", -EINVAL, "bad size \"1gi\": unexpected text at column 3"},
		{"1gibb", -EINVAL, "bad size \"1gibb\": unexpected text at column 5"},
		{"1b", -EINVAL, "bad size \"1b\": unknown unit at column 2"},
		{"1e3", -EINVAL, "bad size \"1e3\": unknown unit at column 2"},
		{"0x10", -EINVAL, "bad size \"0x10\": unknown unit at column 2"},
		{"nan", -EINVAL, "bad size \"nan\": expected a digit at column 1"},
		{"inf", -EINVAL, "bad size \"inf\": expected a digit at column 1"},
		{"9223372036854775808", -ERANGE,
		 "bad size \"9223372036854775808\": too large a number at column 1"},
		{"18446744073709551617", -ERANGE,
		 "bad size \"18446744073709551617\": too large a number at column 1"},
		{"8388608t", -ERANGE, "bad size \"8388608t\": too large a number at column 1"},
		{"9223372036854775807g", -ERANGE,
		 "bad size \"9223372036854775807g\": too large a number at column 1"},
	};

	check_good(size_parse, good, array_len(good));
	check_bad(size_parse, bad, array_len(bad));
}

static void test_durations(void)
{
	static const struct good good[] = {
		{"0s", 0},
		{"90s", 90000},
		{"1h30m", 5400000},
		{"250ms", 250},
		{"1d2h3m4s5ms", 93784005},
		{"1m5ms", 60005},
		{"2d", 172800000},
		{"9223372036854775807ms", INT64_MAX},
	};
	static const struct bad bad[] = {
		{"", -EINVAL, "bad duration \"\": a number is missing at column 1"},
		{"90", -EINVAL, "bad duration \"90\": a unit is missing at column 3"},
		{"0", -EINVAL, "bad duration \"0\": a unit is missing at column 2"},
		{"1h 30m", -EINVAL, "bad duration \"1h 30m\": a blank is not allowed at column 3"},
		{"30m1h", -EINVAL, "bad duration \"30m1h\": unit out of order at column 5"},
		{"1h1h", -EINVAL, "bad duration \"1h1h\": repeated unit at column 4"},
		{"1h30", -EINVAL, "bad duration \"1h30\": a unit is missing at column 5"},
		{"1.5h", -EINVAL, "bad duration \"1.5h\": a fraction is not allowed at column 2"},
		{"-1s", -EINVAL, "bad duration \"-1s\": a sign is not allowed at column 1"},
		{"+1s", -EINVAL, "bad duration \"+1s\": a sign is not allowed at column 1"},
		{"1w", -EINVAL, "bad duration \"1w\": unknown unit at column 2"},
		{"1H", -EINVAL, "bad duration \"1H\": unknown unit at column 2"},
		{"1mss", -EINVAL, "bad duration \"1mss\": unknown unit at column 2"},
		{"h", -EINVAL, "bad duration \"h\": expected a digit at column 1"},
		{"1hh", -EINVAL, "bad duration \"1hh\": unknown unit at column 2"},
		{"9223372036854775808ms", -ERANGE,
		 "bad duration \"9223372036854775808ms\": too large a number at column 1"},
		{"106751991167d999999999999s", -ERANGE,
		 "bad duration \"106751991167d999999999999s\": too large a number at column 14"},
		{"9223372036854775807d", -ERANGE,
		 "bad duration \"9223372036854775807d\": too large a number at column 1"},
	};

	check_good(duration_parse, good, array_len(good));
	check_bad(duration_parse, bad, array_len(bad));
}

static void check_format(format_fn *format, parse_fn *parse, const struct good *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char buf[SIZE_TEXT_MAX];
		uint64_t back = 0;

		tap_eq_str(format(cases[i].value, buf), cases[i].text, "%llu is \"%s\"",
			   (unsigned long long)cases[i].value, cases[i].text);
		tap_ok(parse(buf, &back, NULL) == 0 && back == cases[i].value, "and back");
	}
}

static void test_format(void)
{
	static const struct good sizes[] = {
		{"0", 0},
		{"1023", 1023},
		{"1k", 1024},
		{"1536k", 1536 << 10},
		{"2g", 2ull << 30},
		{"1025g", 1025ull << 30},
		{"8388607t", 8388607ull << 40},
		{"9223372036854775807", INT64_MAX},
	};
	static const struct good durations[] = {
		{"0s", 0},          {"1ms", 1},
		{"90s", 90000},     {"2m", 120000},
		{"1h", 3600000},    {"90m", 5400000},
		{"1d", 86400000},   {"1d1ms", 86400001},
		{"36h", 129600000}, {"9223372036854775807ms", INT64_MAX},
	};
	uint64_t value = 1;
	bool ok = true;

	check_format(size_format, size_parse, sizes, array_len(sizes));
	check_format(duration_format, duration_parse, durations, array_len(durations));
	for (int i = 0; i < 20000; i++) {
		char buf[SIZE_TEXT_MAX];
		uint64_t back = 0;

		value = value * 6364136223846793005u + 1442695040888963407u;
		value &= INT64_MAX;
		value >>= i % 60;
		ok = ok && size_parse(size_format(value, buf), &back, NULL) == 0 && back == value;
		ok = ok && duration_parse(duration_format(value, buf), &back, NULL) == 0 &&
		     back == value;
	}
	tap_ok(ok, "20000 numbers survive format and parse");
}

static void test_long_text(void)
{
	char text[5000];
	struct err err = {0};
	uint64_t value;

	memset(text, '1', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	tap_eq_int(size_parse(text, &value, &err), -ERANGE, "5000 digits are too many");
	tap_ok(strlen(err.message) < 200, "and are not all repeated");
}

int main(void)
{
	test_sizes();
	test_durations();
	test_format();
	test_long_text();
	return tap_done();
}
