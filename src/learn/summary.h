/* SPDX-License-Identifier: MIT */
/*
 * summary - a profile for a reader: folders and how many paths in them.
 *
 * Programs and connections are named one by one. Of the workspace it is the first
 * folder, of the home and of the system the first two.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct profile;
struct user;

enum summary_kind {
	SUMMARY_EXECUTED,
	SUMMARY_READ,
	SUMMARY_WRITTEN,
	SUMMARY_CONNECTED,
	SUMMARY_COUNT_
};

struct summary_row {
	char *where; /* "src/", "~/.cache/pip/", "/usr/lib/", "127.0.0.1:80" */
	size_t count;
};

struct summary_facts {
	const char *workspace;
	const struct user *user;
	/* On the host. A shell tries every folder of PATH: what is not there, and was not made
	 * by the command, was not executed. NULL: everything is there. */
	bool (*is_there)(const char *path);
};

/* *ret_rows: an array of *ret_len, sorted by name; summary_free(). */
int summary_make(const struct profile *profile, enum summary_kind kind,
		 const struct summary_facts *facts, struct summary_row **ret_rows, size_t *ret_len);
void summary_free(struct summary_row *rows, size_t len);
const char *summary_name(enum summary_kind kind); /* "executed", … */
