/* SPDX-License-Identifier: MIT */
/* Bytes are rules and, behind a 0xff, a path. Whatever parses gives the answer of
 * a matcher that is nothing but the definition; what does not is explained. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "config/ignore-impl.h"
#include "config/ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKENS_MAX 64
#define TEXT_MAX   64

static bool takes(const struct ignore_rule *rule, const struct ignore_token *token, uint8_t byte)
{
	switch ((enum ignore_token_kind)token->kind) {
	case TOKEN_BYTE:
		return token->byte == byte;
	case TOKEN_ANY:
		return byte != '/';
	case TOKEN_SET:
		return rule->sets[token->index].bits[byte / 32] >> byte % 32 & 1;
	case TOKEN_STAR:
		return byte != '/';
	case TOKEN_DEEP:
	case TOKEN_DIRS:
		return true;
	}
	abort();
}

/* table[i][t]: do the tokens from I on match the text from T on? */
static bool model(const struct ignore_rule *rule, const char *text, size_t len)
{
	static bool table[TOKENS_MAX + 1][TEXT_MAX + 1];

	for (size_t i = rule->len + 1; i-- > 0;) {
		const struct ignore_token *token = &rule->tokens[i];

		for (size_t t = len + 1; t-- > 0;) {
			bool *cell = &table[i][t];
			bool can = i < rule->len && t < len && takes(rule, token, (uint8_t)text[t]);

			if (i == rule->len)
				*cell = t == len;
			else if (token->kind < TOKEN_STAR)
				*cell = can && table[i + 1][t + 1];
			else if (token->kind < TOKEN_DIRS)
				*cell = table[i + 1][t] || (can && table[i][t + 1]);
			else
				*cell = table[i + 1][t];
			for (size_t k = t; *cell == false && i < rule->len &&
					   token->kind == TOKEN_DIRS && k < len;
			     k++)
				*cell = text[k] == '/' && table[i + 1][k + 1];
		}
	}
	return table[0][0];
}

/* A path as the kernel would give it. */
static bool is_path(const char *path)
{
	return *path && *path != '/' && !strstr(path, "//") && path[strlen(path) - 1] != '/';
}

static void check(const struct ignore *ignore, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	bool has_exception = false;

	for (size_t i = 0; i < ignore->len; i++) {
		const struct ignore_rule *rule = &ignore->rules[i];
		const char *text = rule->by_name ? name : path;
		size_t len = strlen(text);

		has_exception = has_exception || (rule->negated && rule->only_dirs);
		if (rule->len <= TOKENS_MAX && len <= TEXT_MAX &&
		    model(rule, text, len) != ignore_rule_matches(rule, text, len))
			abort();
	}
	/* Only an exception for folders hides a file and not a folder. */
	if (!has_exception && ignore_hides(ignore, path, false) &&
	    !ignore_hides(ignore, path, true))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *mark = size ? memchr(data, 0xff, size) : NULL;
	size_t len = mark ? (size_t)(mark - data) : size;
	char *rules = malloc(len ? len : 1);
	char *path = mark ? strndup((const char *)mark + 1, size - len - 1) : strdup("a/b");
	struct ignore ignore = {0};
	struct err err = {0};

	if (rules && path && len)
		memcpy(rules, data, len);
	if (rules && path) {
		if (ignore_parse("f", rules, len, &ignore, &err) < 0) {
			if (ignore.rules || !err.message[0] || err.errnum == 0)
				abort();
		} else if (is_path(path)) {
			check(&ignore, path);
		}
	}
	ignore_release(&ignore);
	free(rules);
	free(path);
	return 0;
}
