/* SPDX-License-Identifier: MIT */
/* ignore-impl - one pattern of a .paleignore; private to ignore*.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum ignore_token_kind {
	TOKEN_BYTE,
	TOKEN_ANY,  /* "?": one byte, no slash */
	TOKEN_SET,  /* "[...]": one byte out of sets[index], which holds no slash */
	TOKEN_STAR, /* any bytes but slashes */
	TOKEN_DEEP, /* any bytes */
	TOKEN_DIRS, /* nothing, or any bytes that end in a slash */
};

struct ignore_token {
	uint8_t kind;
	uint8_t byte;
	uint16_t index;
};

struct ignore_set {
	uint32_t bits[8];
};

struct ignore_rule {
	struct ignore_token *tokens;
	size_t len;
	struct ignore_set *sets;
	size_t sets_len;
	char *bytes; /* of the tokens from `bytes_from` on, if all of them are bytes; or NULL */
	size_t bytes_from, bytes_len;
	bool negated;
	bool only_dirs;
	bool by_name; /* the last component decides, wherever it is */
};

/* RET is zeroed. TEXT is a line without comment and trailing blanks, of at most
 * IGNORE_LINE_MAX bytes. -EINVAL: *ret_why says what is wrong with it. */
int ignore_rule_compile(const char *text, size_t len, struct ignore_rule *ret,
			const char **ret_why);
void ignore_rule_release(struct ignore_rule *rule);
bool ignore_rule_matches(const struct ignore_rule *rule, const char *text, size_t len);
