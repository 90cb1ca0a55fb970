/* SPDX-License-Identifier: MIT */
/*
 * regex - POSIX extended regular expressions, as a question about lines: is there a match?
 *
 * An expression becomes a small program (regex-parse.c, regex-code.c) of which the matcher
 * (regex-match.c) makes a table of states, as far as they are needed. One look at each byte,
 * whatever the expression; memory has a bound.
 *
 * Beyond POSIX: \w \W \s \S \d \D \b \B \< \>, and a \ before any other character that is no letter or digit
 * takes it for itself. Text is UTF-8: . and sets match whole characters. Letters have two
 * cases only in ASCII.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REGEX_CODE_MAX = 50000, REGEX_MUST_MAX = 64 };

enum regex_op {
	REGEX_BYTE,  /* one from `low` to `high`, then the next */
	REGEX_SPLIT, /* `to`, and `or` */
	REGEX_JUMP,  /* `to` */
	REGEX_BEGIN, /* of a line */
	REGEX_END,
	REGEX_WORD,     /* the border of a word */
	REGEX_NOT_WORD, /* no border */
	REGEX_WORD_BEGIN,
	REGEX_WORD_END,
	REGEX_MATCH,
};

struct regex_code {
	uint8_t op, low, high;
	uint32_t to, or ;
};

struct regex {
	struct regex_code *code;
	size_t len, cap;
	bool has_words;
	char must[REGEX_MUST_MAX]; /* text that every match holds; "": none is known */
};

/* -EINVAL: *ret_why says what is wrong. Released whatever the outcome. */
int regex_compile(const char *text, bool ignore_case, struct regex *ret, const char **ret_why);
void regex_release(struct regex *regex);

struct matcher;
/* REGEX is borrowed. NULL: no memory. */
struct matcher *matcher_new(const struct regex *regex);
struct matcher *matcher_free(struct matcher *m); /* NULL ok; returns NULL */
/* Somewhere in the first line of TEXT that matches; NULL: there is none. TEXT is whole
 * lines, but for the end of the last. */
const char *matcher_find(struct matcher *m, const char *text, size_t len);
