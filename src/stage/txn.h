/* SPDX-License-Identifier: MIT */
/*
 * txn - one apply or discard: what it does to the base and to the stage, written
 * down before it is done.
 *
 *     <state>/applies/
 *       lock              held by whoever works here
 *       pending           a link that says the id of one that has not come to its end
 *       ID/journal        lines of lines.h
 *       ID/store/K        what item K puts into the base, or took out of it
 *       ID/staged/K       what item K took out of the upper layer
 *       ID/DIGEST         what the command had found, where it is another now; see index.h
 *       ID/old/K          where a root is apart, see apart.h: copies of what was there
 *
 * An item has a file or folder on each of two sides, the base and the store, and
 * its commit is one rename that exchanges them. Which side is which is told by the
 * numbers of the inodes. So every step can be repeated, in both directions: after a
 * crash, and for undo. Where nothing can be renamed between it and the base,
 * the store is a folder at the top of the root, there only while it is needed.
 *
 * A new file that a copy would not differ from is not copied: the staged one itself is
 * renamed into the base, and comes back to the stage through the store.
 *
 * States: begun, then decided (all is prepared and on the disk), then done, or
 * backing (a step failed for good, or undo was asked for) and back.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/str.h"
#include "stage/access.h"
#include "stage/changes.h"
#include "stage/node.h"

struct err;
struct stage;

enum txn_state {
	TXN_BEGUN,
	TXN_DECIDED,
	TXN_DONE,
	TXN_BACKING, /* as if it had never been */
	TXN_UNDOING, /* what undo chose */
	TXN_UNDONE,
};

enum txn_action {
	TXN_NONE, /* the base has it already, or keeps what it has */
	TXN_PUT,  /* where nothing was */
	TXN_TAKE,
	TXN_SWAP,
};

struct txn_item {
	unsigned root;
	char *path;
	enum change_kind kind;
	enum txn_action action;
	struct node old;         /* the base's, before */
	struct node staged;      /* the upper layer's */
	struct node made;        /* what was put into the base */
	struct node left;        /* that, when all was done */
	char digest[SHA256_HEX]; /* of what was made, where that is no copy of the staged one */
	bool settles;            /* leaves the stage */
	bool stays;              /* undo leaves it alone */
	bool stays_for_others;   /* … because of what else is in its repository */
	/* Not written down: what to make instead of a copy of the staged one. */
	char *text;
	size_t text_len;
	bool has_text;
	bool is_protected; /* never another name of what is not */
	mode_t mode;       /* to be given; 07777 bits */
};

/* A folder of the base whose time or mode changes on the way. */
struct txn_dir {
	unsigned root;
	char *path;
	struct node before; /* absent: an item makes it */
	mode_t mode;        /* after */
	bool sets_time;
	struct timespec mtime;
	/* While it is planned. */
	bool is_item;
	size_t item;
};

/* A folder of the upper layer that had to be made accessible for a while. */
struct txn_upper {
	unsigned root;
	char *path;
	mode_t mode;
};

struct txn_root {
	char *path;
	struct node base;
	bool is_apart; /* nothing can be renamed between it and the store, see apart.h */
	/* Open while it is worked on. */
	int base_fd, upper_fd, store_fd;
};

struct txn {
	char id[32];
	bool is_discard;
	char *stage_name;
	enum txn_state state;
	struct txn_root *roots;
	size_t n_roots;
	struct txn_item *items; /* sorted by root and path */
	size_t n_items, cap_items;
	struct txn_dir *dirs;
	size_t n_dirs, cap_dirs;
	struct txn_upper *uppers;
	size_t n_uppers;
	struct strv calm;    /* "ROOT PATH" of staged folders whose base is as it was */
	struct strv deleted; /* the same of folders of which a discard shows something again */
	struct str index;    /* what the index said of the items */
	bool is_undo_begun;  /* and not decided */
	bool is_partial;     /* something could not be taken back: the old one is kept */
	bool is_adopted;     /* what was made is another file by now: not yet written down */

	char *state_dir;
	struct stage *stage; /* borrowed */
	int applies_fd, lock_fd, dir_fd, journal_fd, staged_fd;
	size_t journal_len; /* what of it is whole */
};

/* <state>/applies with its lock. -EBUSY: somebody else works there. -ENOENT, err
 * untouched: there is none, and CREATE was not asked for. */
int applies_open(const char *state_dir, bool create, int *ret_fd, struct err *err);
int applies_lock(int applies_fd, int *ret_fd, struct err *err);
/* The state folder that holds STAGE. */
char *stage_state_dir(const struct stage *stage);

/* A new one, with its folder. */
int txn_begin(struct stage *stage, bool is_discard, struct txn **ret, struct err *err);
/* One that is there. Takes over LOCK_FD, also on failure. */
int txn_load(const char *state_dir, int applies_fd, int lock_fd, const char *id, struct txn **ret,
	     struct err *err);
struct txn *txn_free(struct txn *txn);
DEFINE_CLEANUP(struct txn *, txn_free);
/* Descriptor or -errno; -EPERM: somebody put another folder in its place. */
int txn_open_store(const struct txn *txn, const struct txn_root *root);
/* Descriptors of all roots. -ESTALE: one is another folder by now. */
int txn_open_roots(struct txn *txn, struct stage *stage, struct err *err);
int txn_parse(struct txn *txn, const char *text,
	      size_t len); /* -ENOMEM; -EBADMSG: nothing usable */

/* Owned by TXN. NULL: no memory. */
struct txn_item *txn_add_item(struct txn *txn, unsigned root, const char *path);
/* (size_t)-1: there is none. */
size_t txn_find_item(const struct txn *txn, unsigned root, const char *path);
struct txn_dir *txn_add_dir(struct txn *txn, unsigned root, const char *path);

/* Write down all that is known, before anything is made. */
int txn_write_plan(struct txn *txn, struct err *err);
int txn_write_made(struct txn *txn, struct err *err);
int txn_write_left(struct txn *txn, struct err *err);
int txn_write_undo(struct txn *txn, struct err *err);
int txn_write_stays(struct txn *txn, struct err *err);
int txn_mark(struct txn *txn, enum txn_state state, bool sync, struct err *err);
int txn_set_pending(struct txn *txn, bool pending, struct err *err);
int txn_remove(struct txn *txn, struct err *err); /* its folder, and `pending` */
int txn_sync(struct txn *txn, struct err *err);   /* every file system that it writes to */

/* Writes down what it changes. */
struct relaxed txn_relaxed(struct txn *txn, unsigned root);
void txn_restore_uppers(struct txn *txn); /* what a crash left accessible */

const char *txn_key(size_t item, char buf[24]);
/* Is the staged file itself what is put into the base? Then staged/ has nothing for it. */
bool txn_is_shared(const struct txn *txn, const struct txn_item *item);
