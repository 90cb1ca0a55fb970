/* SPDX-License-Identifier: MIT */
/*
 * source-refs - places in source files that the output of tools points at.
 *
 * Compilers, make, Python, pytest, Go, Rust, Node: all write PATH:LINE, or
 * File "PATH", line N. A pure parser of text that anybody may have written: it finds
 * what looks like a place; whether there is such a file is another's to see.
 */
#pragma once
#include <stddef.h>

#define SOURCE_REFS_MAX 32
#define SOURCE_PATH_MAX 1024

struct source_ref {
	char *path;            /* as written; joined to the folder that make has entered */
	unsigned line, column; /* column 0: not given */
	const char *tool;      /* "compiler", "python", "go", "rust", "node", "make"; static */
};

struct source_refs {
	struct source_ref items[SOURCE_REFS_MAX];
	size_t len;
	size_t dropped; /* that found no room */
};

/* Each place once, in the order of the text. 0 or -ENOMEM. */
int source_refs_find(const char *text, size_t len, struct source_refs *ret);
void source_refs_release(struct source_refs *refs);
