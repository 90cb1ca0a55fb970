/* SPDX-License-Identifier: MIT */
/* pattern-impl - private to pattern*.c. */
#pragma once

struct strv;

/* Append what TEXT stands for, its braces expanded. -EINVAL: too many. */
int pattern_expand(const char *text, struct strv *ret, const char **ret_why);
