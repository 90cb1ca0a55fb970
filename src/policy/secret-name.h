/* SPDX-License-Identifier: MIT */
/*
 * secret-name - which variables hold secrets, by their names.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Does the variable NAME, of LEN bytes, look like one with a secret? No pattern lets it pass. */
bool variable_is_secret(const char *name, size_t len);
