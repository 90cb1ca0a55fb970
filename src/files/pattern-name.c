/* SPDX-License-Identifier: MIT */
/* One name against one part of a pattern; braces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "files/pattern-impl.h"
#include "files/pattern.h"

/* The character at TEXT, or the byte if it is none; how many bytes that is. */
static size_t next_char(const char *text, uint32_t *ret)
{
	size_t n = str_utf8_next(text, strlen(text), ret);

	if (n > 0)
		return n;
	*ret = 0x110000 + (unsigned char)*text; /* no character has that number */
	return 1;
}

/* *AT is behind the "[", and comes to stand behind the "]". */
static bool set_has(const char **at, uint32_t c)
{
	bool negated = **at == '!' || **at == '^', found = false;
	const char *begin = *at += negated;

	while (**at && (**at != ']' || *at == begin)) {
		uint32_t first, last;

		*at += **at == '\\';
		*at += next_char(*at, &first);
		last = first;
		if ((*at)[0] == '-' && (*at)[1] && (*at)[1] != ']') {
			*at += 1;
			*at += **at == '\\';
			*at += next_char(*at, &last);
		}
		found |= c >= first && c <= last;
	}
	*at += **at == ']';
	return found != negated;
}

/* Does one character, C, match what *AT begins with? Not a star. */
static bool matches_one(const char **at, uint32_t c)
{
	uint32_t wanted;

	if (**at == '?') {
		++*at;
		return true;
	}
	if (**at == '[') {
		++*at;
		return set_has(at, c);
	}
	*at += **at == '\\';
	*at += next_char(*at, &wanted);
	return wanted == c;
}

bool pattern_matches_name(const char *part, const char *name)
{
	const char *star = NULL, *again = NULL;

	while (*name) {
		const char *at = part;
		uint32_t c;
		size_t n = next_char(name, &c);

		if (*part == '*') {
			star = ++part;
			again = name;
		} else if (*part && matches_one(&at, c)) {
			part = at;
			name += n;
		} else if (star) {
			/* what an earlier star could take, the last one can take as well */
			again += next_char(again, &c);
			part = star;
			name = again;
		} else {
			return false;
		}
	}
	part += strspn(part, "*");
	return !*part;
}

/* The first braces of TEXT that hold a comma: where they begin and end. */
static bool find_braces(const char *text, size_t *ret_begin, size_t *ret_end)
{
	for (size_t begin = 0; text[begin]; begin++) {
		size_t depth = 0;
		bool comma = false;

		if (text[begin] == '\\' && text[begin + 1]) {
			begin++;
			continue;
		}
		if (text[begin] != '{')
			continue;
		for (size_t i = begin; text[i]; i++) {
			if (text[i] == '\\' && text[i + 1])
				i++;
			else if (text[i] == '{')
				depth++;
			else if (text[i] == ',' && depth == 1)
				comma = true;
			else if (text[i] == '}' && --depth == 0) {
				*ret_begin = begin;
				*ret_end = i;
				if (comma)
					return true;
				break;
			}
		}
	}
	return false;
}

/* One for each alternative, the rest as it is. */
static int expand_one(const char *text, size_t begin, size_t end, struct strv *ret)
{
	size_t from = begin + 1, depth = 0;
	int r = 0;

	for (size_t i = from; i <= end && r == 0; i++) {
		if (text[i] == '\\') {
			i++;
		} else if (text[i] == '{') {
			depth++;
		} else if (i == end || (text[i] == ',' && depth == 0)) {
			r = strv_addf(ret, "%.*s%.*s%s", (int)begin, text, (int)(i - from),
				      text + from, text + end + 1);
			from = i + 1;
		} else if (text[i] == '}') {
			depth--;
		}
	}
	return r;
}

int pattern_expand(const char *text, struct strv *ret, const char **ret_why)
{
	_cleanup_(strv_release) struct strv left = {0};
	int r = strv_add(&left, text);

	while (r == 0 && left.len > 0) {
		_cleanup_(freep) char *one = left.items[--left.len];
		size_t begin, end;

		left.items[left.len] = NULL;
		if (find_braces(one, &begin, &end))
			r = expand_one(one, begin, end, &left);
		else
			r = strv_take(ret, take_ptr(one));
		if (r == 0 && ret->len + left.len > PATTERN_BRANCHES_MAX) {
			*ret_why = "its braces stand for more than 1000 patterns";
			return -EINVAL;
		}
	}
	return r;
}
