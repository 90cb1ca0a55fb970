/* SPDX-License-Identifier: MIT */
/*
 * value - one value of a key, as text: from a file or from the command line.
 *
 * Messages begin with the key's name and carry no position; callers put
 * "FILE:LINE:COLUMN" or the option in front.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct key;
struct strv;
struct toml_value;

bool key_is_list(const struct key *key);

/* Check TEXT as the value, or as one item of a list. Choices give their index,
 * booleans 0 or 1, numbers their value, in *RET_NUMBER; other types 0. Host
 * rules are left to policy/. */
int key_parse(const struct key *key, const char *text, uint64_t *ret_number, struct err *err);

/* Has a list of KEY no more entries than MOST, and than the key takes at all? A MOST of 0 is no
 * bound. */
int key_check_count(const struct key *key, size_t entries, size_t most, struct err *err);

bool name_is_valid(const char *text);     /* KEY_NAME */
bool variable_is_valid(const char *text); /* of the environment */

/* A path rule made absolute and lexically normal. BASE is for relative ones;
 * HOME may be NULL: then `~` is an error. */
int path_rule_expand(const char *text, const char *base, const char *workspace, const char *home,
		     char **ret_path, struct err *err);

/* The texts of a scalar or of a list's items. VALUE was checked before. */
int toml_texts(const struct toml_value *value, struct strv *ret);
