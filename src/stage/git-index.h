/* SPDX-License-Identifier: MIT */
/*
 * git-index - what an index of git says, apart from what git remembers for itself.
 *
 * Whoever looks at a repository (git status, a prompt, an editor) has the index written anew, with
 * the times of files as they are now. Which files are in it, and with what, is the same then.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Do both name the same files, with the same modes, contents and flags? Neither is trusted: what
 * is no index is like no other. */
bool git_index_is_same(const char *a, size_t a_len, const char *b, size_t b_len);
