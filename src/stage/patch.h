/* SPDX-License-Identifier: MIT */
/*
 * patch - one change in git's extended patch format, and parts of one.
 *
 * What patch_write() appends is taken by `git apply` as it is. Patches of several
 * changes are simply one behind the other. Pure: bytes in, bytes out.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct diff;
struct diff_hunk;
struct str;

/* git knows these modes only. */
#define PATCH_MODE_FILE    0100644
#define PATCH_MODE_PROGRAM 0100755
#define PATCH_MODE_LINK    0120000

struct patch_side {
	const char *path; /* relative, no ./ and no ..; NULL: there is no file */
	mode_t mode;      /* one of the above */
	const void *data; /* of a link: where it leads to */
	size_t len;
};

/* The nearest of git's modes for what stat() said. */
mode_t patch_mode(mode_t st_mode);

/* Append DATA as a zlib stream. patch_deflate_zlib() of patch-zlib.h does. */
typedef int patch_deflate_fn(const void *data, size_t len, struct str *out);

struct patch_options {
	size_t context;            /* lines around changes; usually DIFF_CONTEXT */
	unsigned similarity;       /* of a rename, in percent; 0: it is computed */
	patch_deflate_fn *deflate; /* NULL: binary content is only named, not patched */
	bool utf8_names;           /* to be read, not applied: only escape what must be */
};

enum patch_line {
	PATCH_HEADER,  /* "diff --git …" to "+++ …"; binary content */
	PATCH_HUNK,    /* "@@ … @@" */
	PATCH_CONTEXT, /* also "\ No newline at end of file" */
	PATCH_ADDED,
	PATCH_REMOVED,
};

/* One line with its first character and its '\n'. A negative answer ends the
 * writing and is passed on. */
typedef int patch_line_fn(void *data, enum patch_line kind, const char *text, size_t len);

/* Differing paths are a rename, unless the types differ: a file that becomes a
 * link (or the reverse) is a deletion and a creation. Equal sides: nothing at all.
 * -EINVAL: neither side has a path. */
int patch_walk(const struct patch_side *old, const struct patch_side *new,
	       const struct patch_options *options, patch_line_fn *line, void *data);
int patch_write(struct str *out, const struct patch_side *old, const struct patch_side *new,
		const struct patch_options *options);

/* The same for a terminal: what could deceive is escaped, and COLOUR is as asked. */
int patch_write_shown(struct str *out, const struct patch_side *old, const struct patch_side *new,
		      const struct patch_options *options, bool colour);
/* The lines of one hunk, its "@@" line first. */
int patch_walk_hunk(const struct diff *d, const struct diff_hunk *hunk, patch_line_fn *line,
		    void *data);
/* A line function for the two above: DATA is a struct patch_shown. */
struct patch_shown {
	struct str *out;
	bool colour;
};
int patch_show_line(void *data, enum patch_line kind, const char *text, size_t len);

/* Append the old text with those hunks in it for which CHOSEN[i] is true: all give
 * the new text, none the old. HUNKS are in order, as diff_hunks() made them or with
 * some replaced by the parts that diff_hunk_split() made of them. */
int patch_apply_hunks(const struct diff *d, const struct diff_hunk *hunks, size_t n,
		      const bool *chosen, struct str *out);

/* Append PATH as git prints it: as it is or, when it has a quote, a backslash, a
 * control character or (not UTF8) a byte above 0x7f, in quotes and escaped. */
int patch_quote(struct str *out, const char *prefix, const char *path, bool utf8);
