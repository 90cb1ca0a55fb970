/* SPDX-License-Identifier: MIT */
/* regex-impl - an expression as a tree; private to regex*.c. */
#pragma once
#include "files/regex.h"

enum { REGEX_RANGES_MAX = 256, REGEX_NODES_MAX = 8192, REGEX_REPEAT_MAX = 1000, REGEX_NONE = -1 };

enum regex_kind {
	NODE_EMPTY,
	NODE_SET,    /* one character of ranges[first … first + count - 1] */
	NODE_ASSERT, /* `op` */
	NODE_CAT,    /* a, then b */
	NODE_ALT,    /* a or b */
	NODE_REPEAT, /* a, min to max times; max below 0: any */
};

struct regex_range {
	uint32_t first, last;
};

struct regex_node {
	enum regex_kind kind;
	int a, b; /* nodes */
	int min, max;
	enum regex_op op;
	size_t first, count;
};

struct regex_tree {
	struct regex_node *nodes;
	size_t len;
	struct regex_range *ranges;
	size_t ranges_len, ranges_cap;
	int top;
};

int regex_parse(const char *text, bool ignore_case, struct regex_tree *ret, const char **ret_why);
void regex_tree_release(struct regex_tree *tree);
/* The longest text that every match holds; in lower case with IGNORE_CASE. */
void regex_find_must(const struct regex_tree *tree, bool ignore_case, char ret[REGEX_MUST_MAX]);
/* The bytes of the character C; how many. */
int regex_encode(uint32_t c, uint8_t ret[4]);
/* TREE as a program. -EINVAL: it is too large. */
int regex_emit(const struct regex_tree *tree, struct regex *ret, const char **ret_why);
