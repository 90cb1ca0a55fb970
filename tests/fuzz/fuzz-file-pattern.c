/* SPDX-License-Identifier: MIT */
/* Bytes are a pattern of names or an expression, and behind a 0xff a text. What compiles gives
 * the answer of a matcher that is nothing but the definition; what does not says why. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "files/pattern.h"
#include "files/regex.h"
#include "files/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MODEL_CODE_MAX = 400, MODEL_TEXT_MAX = 200 };

static bool is_word(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (c >= 'a' && c <= 'z');
}

struct model {
	const struct regex *regex;
	const char *text;
	size_t len, at;
	bool set[MODEL_CODE_MAX];
	bool matched;
};

static bool holds(const struct model *m, enum regex_op op)
{
	bool before = m->at > 0 && is_word((unsigned char)m->text[m->at - 1]);
	bool after = m->at < m->len && is_word((unsigned char)m->text[m->at]);

	switch (op) {
	case REGEX_BEGIN:
		return m->at == 0;
	case REGEX_END:
		return m->at == m->len;
	case REGEX_WORD:
		return before != after;
	case REGEX_NOT_WORD:
		return before == after;
	case REGEX_WORD_BEGIN:
		return !before && after;
	case REGEX_WORD_END:
		return before && !after;
	case REGEX_BYTE:
	case REGEX_SPLIT:
	case REGEX_JUMP:
	case REGEX_MATCH:
		break;
	}
	abort();
}

static void enter(struct model *m, size_t place)
{
	const struct regex_code *code = &m->regex->code[place];

	if (m->set[place])
		return;
	m->set[place] = true;
	if (code->op == REGEX_MATCH)
		m->matched = true;
	if (code->op == REGEX_SPLIT)
		enter(m, code->or);
	if (code->op == REGEX_SPLIT || code->op == REGEX_JUMP)
		enter(m, code->to);
	else if (code->op != REGEX_BYTE && code->op != REGEX_MATCH &&
		 holds(m, (enum regex_op)code->op))
		enter(m, place + 1);
}

/* One line, without its end. */
static bool model_matches(const struct regex *regex, const char *text, size_t len)
{
	struct model m = {.regex = regex, .text = text, .len = len};

	for (m.at = 0;; m.at++) {
		bool now[MODEL_CODE_MAX];

		enter(&m, 0);
		if (m.matched || m.at == len)
			return m.matched;
		memcpy(now, m.set, sizeof(now));
		memset(m.set, 0, sizeof(m.set));
		m.at++;
		for (size_t i = 0; i < regex->len; i++)
			if (now[i] && regex->code[i].op == REGEX_BYTE &&
			    (uint8_t)text[m.at - 1] >= regex->code[i].low &&
			    (uint8_t)text[m.at - 1] <= regex->code[i].high)
				enter(&m, i + 1);
		if (m.matched)
			return true;
		m.at--;
	}
}

static void check_regex(const char *pattern, bool ignore_case, const char *text, size_t len)
{
	const char *why = NULL;
	struct regex regex;
	struct matcher *m;
	int r = regex_compile(pattern, ignore_case, &regex, &why);

	if (r == -EINVAL && !why)
		abort();
	m = r == 0 ? matcher_new(&regex) : NULL;
	for (const char *end = text + len; m && text < end && regex.len <= MODEL_CODE_MAX;) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t line = (size_t)((newline ? newline : end) - text);

		if (line <= MODEL_TEXT_MAX &&
		    model_matches(&regex, text, line) !=
			    (matcher_find(m, text, line + (newline != NULL)) != NULL))
			abort();
		text += line + 1;
	}
	matcher_free(m);
	regex_release(&regex);
}

/* What is found is the same with and without a closer look at what must be there. */
static void check_scan(const char *pattern, bool ignore_case, const char *text, size_t len)
{
	struct scan scan;
	const char *why, *found, *slow;

	if (scan_init(&scan, pattern, false, ignore_case, &why) == 0 && scan.matcher && len > 0) {
		found = scan_find(&scan, text, len);
		slow = matcher_find(scan.matcher, text, len);
		if (!found != !slow)
			abort();
	}
	scan_release(&scan);
}

static void check_names(const char *pattern, const char *text)
{
	struct pattern p;
	const char *why = NULL;
	int r = pattern_compile(pattern, pattern[0] == '!', &p, &why);

	if ((r == -EINVAL && !why) || p.len > PATTERN_BRANCHES_MAX)
		abort();
	if (r == 0 && *text)
		(void)pattern_matches(&p, text);
	if (r == 0 && p.len == 1 && p.branches[0].len == 1 && !p.branches[0].parts[0].deep &&
	    *text && !strchr(text, '/') &&
	    pattern_matches(&p, text) != pattern_matches_name(p.branches[0].parts[0].text, text))
		abort();
	pattern_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *mark = size ? memchr(data, 0xff, size) : NULL;
	size_t len = mark ? (size_t)(mark - data) : size, rest = mark ? size - len - 1 : 0;
	char *pattern, *text;

	if (len > 512)
		return 0;
	pattern = strndup((const char *)data, len);
	text = malloc(rest + 1);
	if (pattern && text) {
		memcpy(text, mark ? mark + 1 : data, rest);
		text[rest] = '\0';
		check_regex(pattern, rest & 1, text, rest);
		check_scan(pattern, rest & 1, text, rest);
		check_names(pattern, text);
	}
	free(pattern);
	free(text);
	return 0;
}
