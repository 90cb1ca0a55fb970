/* SPDX-License-Identifier: MIT */
/*
 * index - what the base of each staged path was when it was first recorded.
 *
 * <stage>/index, and <stage>/base/DIGEST for texts that a merge may need. Losing it
 * loses merges and nothing else: what is not in it is judged by time alone.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "stage/node.h"

struct err;
struct stage;
struct str;

enum { INDEX_COPY_MAX = 256 * 1024, INDEX_DIGEST_MAX = 16 * 1024 * 1024 };

struct index_entry {
	unsigned root;
	char *path;
	struct node base;
	char digest[SHA256_HEX]; /* of the base's content; "": not known */
	struct timespec t0;      /* the base was seen not before this; zero: it hid nothing of it */
	bool is_conflict;        /* it had changed already when it was recorded */
	ino_t upper_ino;         /* of the staged one, as the last run left it */
	struct timespec upper_ctime;
	char *run;    /* that did */
	bool is_seen; /* while recording */
	bool hides;   /* the same: more than its entries do */
};

struct index {
	struct index_entry *items; /* sorted by root and path */
	size_t n, cap, sorted;
	struct timespec since; /* when it was recorded; zero: never */
};

/* Absent or damaged: what can be read of it. */
int index_load(const struct stage *stage, struct index **ret, struct err *err);
struct index *index_free(struct index *index);
DEFINE_CLEANUP(struct index *, index_free);

/* Among those that were there when it was last sorted. */
struct index_entry *index_find(const struct index *index, unsigned root, const char *path);
/* Takes over what is in ENTRY, also on failure. Sort afterwards. */
int index_add(struct index *index, struct index_entry *entry);
void index_sort(struct index *index);
void index_drop(struct index *index, struct index_entry *entry); /* once it is sorted again */

/* Atomically, without waiting for the disk; copies that nothing names are removed. */
int index_save(const struct stage *stage, const struct index *index, struct err *err);
int index_parse(const char *text, size_t len, struct index *index); /* -ENOMEM */

int index_print_entry(const struct index_entry *entry, struct str *out); /* -ENOMEM */

int index_keep_copy(const struct stage *stage, const char *digest, const struct str *text,
		    struct err *err);
/* A second name of it in the folder DIR_FD, from where it is brought BACK. What fails costs a
 * merge. */
void index_lend_copy(const struct stage *stage, const char *digest, int dir_fd, bool back);
/* -ENOENT, err untouched: there is none. */
int index_read_copy(const struct stage *stage, const char *digest, struct str *ret,
		    struct err *err);
