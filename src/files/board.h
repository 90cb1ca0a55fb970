/* SPDX-License-Identifier: MIT */
/*
 * board - memory that the processes of one search share: the files to be searched, who takes
 * which, and what each of them found.
 *
 * One process lists the files, in the order in which they are told; all of them take chunks
 * of that list. What lies behind enough is not searched any more: the chunks that are done
 * are counted from the first one on, so that the same question has the same answer however
 * many processes there are.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BOARD_WORKERS_MAX = 8,
	BOARD_CHUNK = 32,
	BOARD_FILES_MAX = 4 << 20,
	BOARD_DIRS_MAX = 1 << 20,
};
#define BOARD_NO_DIR UINT32_MAX

struct board_file {
	uint32_t dir;  /* in dirs[] */
	uint32_t name; /* in text[] */
};

struct board_dir {
	uint32_t start; /* which of the paths that were asked for it is below */
	uint32_t path;  /* relative to that, in text[]; BOARD_NO_DIR: that is a file itself */
};

/* What one process found in one file; `len` bytes of fields follow. */
struct board_record {
	uint32_t file;
	uint32_t matches;
	uint32_t len;
};

struct board_head {
	_Atomic uint32_t files;  /* listed so far */
	_Atomic uint32_t chunk;  /* the next to be taken */
	_Atomic uint32_t listed; /* all of them are */
	_Atomic uint32_t stop;   /* enough was found */
	_Atomic uint32_t counting;
	_Atomic uint32_t searched, binary, unread;
	uint32_t counted; /* chunks from the first on that are done */
	uint64_t matches, bytes;
	struct {
		_Atomic uint32_t len;
		_Atomic uint32_t full_at; /* a file from which on nothing is kept, + 1; 0: none */
	} results[BOARD_WORKERS_MAX];
};

struct board_chunk {
	_Atomic uint32_t matches; /* + 1 when it is done */
	uint32_t bytes;
};

struct board {
	void *map;
	size_t size;
	struct board_head *head;
	struct board_chunk *chunks;
	struct board_file *files;
	struct board_dir *dirs;
	uint32_t dirs_len;
	char *text;
	size_t text_len, text_max;
	char *results[BOARD_WORKERS_MAX];
	size_t result_max;
	unsigned workers;
	uint64_t enough_matches, enough_bytes;
};

int board_open(struct board *b, unsigned workers); /* -ENOMEM */
void board_close(struct board *b);

/* -E2BIG: no room. */
int board_add_dir(struct board *b, uint32_t start, const char *path, uint32_t *ret);
int board_add_file(struct board *b, uint32_t dir, const char *name);
void board_end_list(struct board *b);
/* The next chunk: *ret_first, and how many files. 0: there are no more, or it is enough.
 * Waits for the list. */
uint32_t board_take(struct board *b, uint32_t *ret_first);
/* Keep what WORKER found in FILE. */
void board_put(struct board *b, unsigned worker, uint32_t file, uint32_t matches,
	       const char *fields, size_t len);
/* The chunk that begins at FIRST is done. */
void board_done(struct board *b, uint32_t first, uint32_t matches, uint32_t bytes);

/* The records of all of them, in the order of the files. Starts zeroed. */
struct board_cursor {
	size_t at[BOARD_WORKERS_MAX];
};
/* NULL: no more. *ret_fields: what is in it. */
const struct board_record *board_next(const struct board *b, struct board_cursor *cursor,
				      const char **ret_fields);
/* A file from which on something may be missing; UINT32_MAX: none. */
uint32_t board_full_at(const struct board *b);
