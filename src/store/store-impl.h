/* SPDX-License-Identifier: MIT */
/* store-impl - what the *-sqlite.c files of the store share. */
#pragma once
#include <sqlite3.h>

#include "base/path.h"
#include "store/store.h"

#define DB_NAME "history.db"

struct store {
	sqlite3 *db;
	int state;         /* the folder */
	char *dir;         /* its name, without links */
	struct file_id id; /* of the database; zero when it is in memory */
	bool in_memory;    /* the state cannot be written: a copy that is lost again */
	char aside[48];    /* what the damaged one is called now */
	uint64_t bad;      /* lines of the spool that were set aside */
};

static inline void stmt_finalizep(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}

/* db-sqlite.c. All: 0 or -errno. -EUCLEAN: it is damaged. */
int db_errno(int rc);
/* For a call that failed: sets err from what SQLite says. A damaged database is set
 * aside, so that the next one to open it begins anew. */
int db_fail(struct store *store, int rc, const char *what, struct err *err);
/* Is the one that is open still the one of that name? Always so in memory. */
bool db_is_current(const struct store *store);
int db_exec(struct store *store, const char *sql, struct err *err);
int db_prepare(struct store *store, const char *sql, sqlite3_stmt **ret, struct err *err);
/* 1: a row, 0: no more. */
int db_step(struct store *store, sqlite3_stmt *stmt, struct err *err);
/* Text as UTF-8, else as bytes; NULL is NULL. The text must live until the step. */
void db_bind_text(sqlite3_stmt *stmt, int i, const char *text);
void db_bind_uint(sqlite3_stmt *stmt, int i, uint64_t value); /* UINT64_MAX: NULL */
char *db_text(sqlite3_stmt *stmt, int i);                     /* new; NULL for NULL */
uint64_t db_uint(sqlite3_stmt *stmt, int i, uint64_t otherwise);

/* schema-sqlite.c: bring a database that was just opened to this version. -EUCLEAN: it
 * is not one of ours; -EPROTO: it is newer. */
int schema_settle(sqlite3 *db, struct err *err);
/* Is it one of ours, or a newer one? Changes nothing. */
int schema_verify(sqlite3 *db);
int schema_version(void);
/* For tests: an empty one as version N made it. */
int schema_build(sqlite3 *db, int version);

/* fold-sqlite.c: what is in the spool, into the database. -ESTALE: that was replaced, and the
 * spool is kept for the other one. */
int fold(struct store *store, struct err *err);
/* Lines, without a transaction; what is no record is counted in store->bad. */
int fold_text(struct store *store, const char *text, size_t len, struct err *err);
/* Is there anything? */
bool fold_is_due(int state);
