/* SPDX-License-Identifier: MIT */
/* suggest-impl - the suggestion in the making. Private to learn/. */
#pragma once
#include "learn/suggest.h"
#include "store/store.h"

#define RULES_MAX      8 /* of one list */
#define READ_FILES_MAX 3 /* of one folder, before it is the folder */

struct work {
	const struct suggest_input *in;
	struct spec *spec;     /* begins as what was asked for */
	char *why[DIM_COUNT_]; /* NULL: it goes without saying */
	struct strv notes;     /* goes to the suggestion */
	struct strv forbidden; /* paths that no rule may open */
	bool has_wider;
	char *hosts; /* TOML, when a group stands for them; NULL: as they are */
	/* of the profile */
	struct strv ws_written; /* in the workspace */
	struct strv written;    /* outside, where the profiled run could */
	struct strv read;       /* likewise */
	struct strv home;       /* written in the private home, or used of a cache */
};

int work_say(struct work *w, enum dim dim, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Does PATH as a rule mean just that? Not with variables, a trailing star, or bytes that TOML
 * cannot hold. */
bool path_is_nameable(const char *path);
/* Rules for those of PATHS below FLOOR, added to *ret. */
int work_group(struct work *w, const char *floor, size_t files_max, const struct strv *paths,
	       struct strv *ret);

/* suggest-files.c */
int suggest_filesystem(struct work *w);
int suggest_outside(struct work *w); /* paths_writable, paths_readable */
int suggest_caches(struct work *w);
/* suggest-network.c */
int suggest_network(struct work *w);
/* suggest-print.c */
int suggestion_fill(struct work *w, struct suggestion *out);
