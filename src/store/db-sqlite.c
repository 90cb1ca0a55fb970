/* SPDX-License-Identifier: MIT */
/*
 * WAL, so that readers and a fold do not wait for each other. synchronous is FULL: a
 * fold removes the spool once it has committed, so what is committed must last. The
 * price falls on those who read, never on a run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "config/state-dir.h"
#include "config/workspace.h"
#include "store/store-impl.h"

#define OPEN_FLAGS (SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX)

enum { BUSY_MS = 5000, LENGTH_MAX = 4 << 20, TRIES = 3 };

int db_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_MISMATCH:
		return -EUCLEAN;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
		return -EACCES;
	default:
		return -EIO;
	}
}

/* --- statements --- */

static void restrict_db(sqlite3 *db);

/* SQLite calls a read that failed a damage as well. What is whole when one looks again
 * is not set aside. */
static bool is_damaged(const struct store *store)
{
	_cleanup_(freep) char *path = path_join(store->dir, DB_NAME);
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int rc = path ? sqlite3_open_v2(path, &db, OPEN_FLAGS, NULL) : SQLITE_NOMEM;
	int r = db_errno(rc);

	if (r == 0) {
		restrict_db(db);
		r = schema_verify(db);
	}
	if (r == 0) {
		rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &stmt, NULL);
		rc = rc == SQLITE_OK ? sqlite3_step(stmt) : rc;
		r = rc == SQLITE_ROW && !str_eq((const char *)sqlite3_column_text(stmt, 0), "ok")
			    ? -EUCLEAN
			    : db_errno(rc);
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return r == -EUCLEAN;
}

/* Rename what is at DB_NAME, if it is still the one that was found damaged. Its log
 * goes first: left behind, it would be played into the new one. */
static int set_aside(struct store *store)
{
	static const char *const parts[] = {"-wal", "-shm", ""};
	_cleanup_(fd_closep) int lock = openat(store->state, "history.lock",
					       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return -errno;
	if (!is_damaged(store))
		return -EIO;
	if (fstatat(store->state, DB_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (st.st_dev != store->id.dev || st.st_ino != store->id.ino)
		return 0;
	snprintf(store->aside, sizeof(store->aside), DB_NAME ".damaged-%llu",
		 (unsigned long long)clock_wall_ms());
	for (size_t i = 0; i < array_len(parts); i++) {
		char from[64], to[64];

		snprintf(from, sizeof(from), DB_NAME "%s", parts[i]);
		snprintf(to, sizeof(to), "%s%s", store->aside, parts[i]);
		if (renameat(store->state, from, store->state, to) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

int db_fail(struct store *store, int rc, const char *what, struct err *err)
{
	int r = db_errno(rc);

	err_set(err, ERR_SYSTEM, r, "%s: %s", what,
		store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(rc));
	if (r != -EUCLEAN || store->in_memory)
		return r;
	if (set_aside(store) == -EIO)
		return -EIO;
	if (!*store->aside)
		return r;
	err_wrap(err, r, "the history was damaged");
	return err_hint(err, r, "it is now %s/%s, and a new one begins", store->dir, store->aside);
}

bool db_is_current(const struct store *store)
{
	struct stat st;

	return store->in_memory || (fstatat(store->state, DB_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
				    st.st_dev == store->id.dev && st.st_ino == store->id.ino);
}

int db_exec(struct store *store, const char *sql, struct err *err)
{
	int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : db_fail(store, rc, "the history", err);
}

int db_prepare(struct store *store, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	int rc = sqlite3_prepare_v2(store->db, sql, -1, ret, NULL);

	return rc == SQLITE_OK ? 0 : db_fail(store, rc, "the history", err);
}

int db_step(struct store *store, sqlite3_stmt *stmt, struct err *err)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return rc == SQLITE_ROW;
	return db_fail(store, rc, "the history", err);
}

void db_bind_text(sqlite3_stmt *stmt, int i, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (!text)
		sqlite3_bind_null(stmt, i);
	else if (str_is_utf8(text, len))
		sqlite3_bind_text64(stmt, i, text, len, SQLITE_STATIC, SQLITE_UTF8);
	else
		sqlite3_bind_blob64(stmt, i, text, len, SQLITE_STATIC);
}

void db_bind_uint(sqlite3_stmt *stmt, int i, uint64_t value)
{
	if (value == UINT64_MAX)
		sqlite3_bind_null(stmt, i);
	else
		sqlite3_bind_int64(stmt, i, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

char *db_text(sqlite3_stmt *stmt, int i)
{
	const char *bytes;

	if (sqlite3_column_type(stmt, i) == SQLITE_NULL)
		return NULL;
	bytes = sqlite3_column_blob(stmt, i);
	return strndup(bytes ? bytes : "", bytes ? (size_t)sqlite3_column_bytes(stmt, i) : 0);
}

uint64_t db_uint(sqlite3_stmt *stmt, int i, uint64_t otherwise)
{
	int64_t value = sqlite3_column_int64(stmt, i);

	if (sqlite3_column_type(stmt, i) == SQLITE_NULL || value < 0)
		return otherwise;
	return (uint64_t)value;
}

/* Linked in place of dlopen(3): SQLite of a static program has nothing to load. */
void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

/* --- opening --- */

/* Whatever somebody may have put into the file: it is data. */
static void restrict_db(sqlite3 *db)
{
	static const struct {
		int option, value;
	} options[] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
		{SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_DQS_DDL, 0},
		{SQLITE_DBCONFIG_ENABLE_FKEY, 0},    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
	};

	for (size_t i = 0; i < array_len(options); i++)
		(void)sqlite3_db_config(db, options[i].option, options[i].value, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
	sqlite3_busy_timeout(db, BUSY_MS);
	sqlite3_extended_result_codes(db, 1);
}

/* Made by us, so that it and its log are for nobody else. */
static int make_file(struct store *store, struct err *err)
{
	_cleanup_(fd_closep) int fd = openat(
		store->state, DB_NAME,
		O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, -errno, "open %s/" DB_NAME, store->dir);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return err_set(err, ERR_SYSTEM, -EPERM, "%s/" DB_NAME " is not a file of yours",
			       store->dir);
	if ((st.st_mode & 077) && fchmod(fd, 0600) < 0)
		return err_sys(err, -errno, "chmod %s/" DB_NAME, store->dir);
	store->id = (struct file_id){st.st_dev, st.st_ino};
	return 0;
}

static int open_file(struct store *store, struct err *err)
{
	_cleanup_(freep) char *path = path_join(store->dir, DB_NAME);
	int r, rc;

	if (!path)
		return err_oom(err);
	r = make_file(store, err);
	if (r < 0)
		return r;
	rc = sqlite3_open_v2(path, &store->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
			     NULL);
	if (rc != SQLITE_OK)
		return db_fail(store, rc, "the history", err);
	restrict_db(store->db);
	r = schema_settle(store->db, err);
	/* Not before it is known to be ours. */
	return r < 0 ? r
		     : db_exec(store,
			       "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
			       "PRAGMA cell_size_check = ON; PRAGMA secure_delete = ON;"
			       "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0",
			       err);
}

static int copy_into(sqlite3 *to, const char *uri, bool immutable)
{
	_cleanup_(freep) char *name = str_printf("%s%s", uri, immutable ? "?immutable=1" : "");
	sqlite3 *from = NULL;
	sqlite3_backup *backup;
	int rc = name ? sqlite3_open_v2(name, &from, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL)
		      : SQLITE_NOMEM;

	if (rc == SQLITE_OK) {
		restrict_db(from);
		backup = sqlite3_backup_init(to, "main", from, "main");
		(void)sqlite3_backup_step(backup, -1);
		rc = sqlite3_backup_finish(backup);
	}
	sqlite3_close(from);
	return rc;
}

/* "file:/path" with what means something in one escaped. NULL: no memory. */
static char *make_uri(const char *dir)
{
	_cleanup_(str_release) struct str uri = {0};
	int r = str_append(&uri, "file:");

	for (; *dir && r == 0; dir++)
		r = strchr("%?#", *dir) ? str_appendf(&uri, "%%%02x", *dir)
					: str_append_char(&uri, *dir);
	if (r == 0)
		r = str_append(&uri, "/" DB_NAME);
	return r < 0 ? NULL : take_ptr(uri.data);
}

/* Where nothing can be written, the history is still there to be read. */
static int open_copy(struct store *store, struct err *err)
{
	_cleanup_(freep) char *uri = make_uri(store->dir);
	struct stat st;
	int rc;

	sqlite3_close(store->db);
	store->db = NULL;
	store->in_memory = true;
	if (!uri)
		return err_oom(err);
	rc = sqlite3_open(":memory:", &store->db);
	if (rc == SQLITE_OK && fstatat(store->state, DB_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_size > 0) {
		rc = copy_into(store->db, uri, false);
		if (rc != SQLITE_OK)
			rc = copy_into(store->db, uri, true);
	}
	if (rc != SQLITE_OK)
		return db_fail(store, rc, "read the history", err);
	restrict_db(store->db);
	return schema_settle(store->db, err);
}

static void add_note(struct store_notes *notes, const char *text)
{
	size_t len = strlen(notes->text);

	snprintf(notes->text + len, sizeof(notes->text) - len, "%s%s", len ? "; " : "", text);
}

/* Somebody may replace it just then, for it was damaged. */
static int open_once(struct store *store, struct err *err)
{
	int r = -ESTALE;

	for (int i = 0; i < TRIES && r == -ESTALE; i++) {
		sqlite3_close(store->db);
		store->db = NULL;
		*err = (struct err){0};
		r = open_file(store, err);
		if (r == 0)
			r = fold(store, err);
	}
	return r;
}

/* Damaged: it is put aside, and a new one begun with what the spool still has. */
static int open_anew(struct store *store, struct store_notes *notes, struct err *err)
{
	char text[160];
	int r;

	sqlite3_close(store->db);
	store->db = NULL;
	r = set_aside(store);
	if (r < 0 && r != -ENOENT)
		return err_sys(err, r, "set the damaged history aside");
	snprintf(text, sizeof(text),
		 "the history was damaged or not pale's: it is now %s in the state folder, and a "
		 "new one begins",
		 store->aside);
	add_note(notes, text);
	*err = (struct err){0};
	return open_once(store, err);
}

static bool is_unwritable(int r)
{
	return r == -EROFS || r == -EACCES || r == -ENOSPC || r == -EDQUOT || r == -EIO;
}

static int settle(struct store *store, struct store_notes *notes, struct err *err)
{
	struct err failed = {0};
	int r = open_once(store, &failed);

	/* db_fail() may have put it aside already. */
	if (r == -EUCLEAN)
		r = open_anew(store, notes, &failed);
	if (r < 0 && is_unwritable(r)) {
		char text[200];

		snprintf(text, sizeof(text), "the history cannot be written (%.120s)",
			 failed.message);
		add_note(notes, text);
		failed = (struct err){0};
		r = open_copy(store, &failed);
		if (r == 0)
			r = fold(store, &failed);
	}
	if (r < 0)
		*err = failed;
	return r;
}

static bool is_there(int state)
{
	return faccessat(state, DB_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || fold_is_due(state);
}

int store_open(const struct workspace *workspace, struct store **ret_store,
	       struct store_notes *notes, struct err *err)
{
	_cleanup_(store_closep) struct store *store = NULL;
	_cleanup_(fd_closep) int state = state_dir_open(workspace, false, err);
	int r;

	notes->text[0] = '\0';
	if (state < 0)
		return state;
	if (!is_there(state))
		return -ENOENT;
	store = calloc(1, sizeof(*store));
	if (!store)
		return err_oom(err);
	store->state = take_fd(state);
	r = path_of_fd(store->state, &store->dir);
	if (r < 0)
		return err_sys(err, r, "the state folder");
	r = settle(store, notes, err);
	if (r < 0)
		return r;
	if (store->bad > 0) {
		char text[120];

		snprintf(text, sizeof(text),
			 "%llu damaged line%s of the spool set aside (spool.bad)",
			 (unsigned long long)store->bad, store->bad == 1 ? " was" : "s were");
		add_note(notes, text);
	}
	*ret_store = take_ptr(store);
	return 0;
}

int store_refresh(struct store *store, struct err *err)
{
	struct store_notes notes = {0};
	int r = db_is_current(store) ? fold(store, err) : -ESTALE;

	if (r != -ESTALE)
		return r;
	r = settle(store, &notes, err);
	return r < 0 ? r : 1;
}

struct store *store_close(struct store *store)
{
	if (!store)
		return NULL;
	sqlite3_close(store->db);
	fd_close(store->state);
	free(store->dir);
	free(store);
	return NULL;
}
