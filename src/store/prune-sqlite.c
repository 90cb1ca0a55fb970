/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "store/kept.h"
#include "store/spool.h"
#include "store/store-impl.h"

/* Those that began before, without those that go on. */
static int choose(struct store *store, uint64_t before_ms, struct strv *ret, struct err *err)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(store, "SELECT id, ended FROM runs WHERE started_ms < ?1 ORDER BY seq",
			   &stmt, err);

	if (r < 0)
		return r;
	db_bind_uint(stmt, 1, before_ms);
	while ((r = db_step(store, stmt, err)) > 0) {
		_cleanup_(freep) char *id = db_text(stmt, 0);

		if (!id)
			return err_oom(err);
		if (!sqlite3_column_int(stmt, 1) && living_is(store->state, id))
			continue;
		if (strv_add(ret, id) < 0)
			return err_oom(err);
	}
	return r;
}

static int remove_each(struct store *store, const char *sql, const struct strv *ids,
		       struct err *err)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(store, sql, &stmt, err);

	for (size_t i = 0; i < ids->len && r >= 0; i++) {
		db_bind_text(stmt, 1, ids->items[i]);
		r = db_step(store, stmt, err);
		sqlite3_reset(stmt);
	}
	return r < 0 ? r : 0;
}

/* What verbs did is about no run, as a rule. */
static int remove_deeds(struct store *store, uint64_t before_ms, struct err *err)
{
	static const char *const sql[] = {
		"DELETE FROM annotations WHERE event IN "
		"(SELECT id FROM events WHERE run IS NULL AND time_ms < ?1)",
		"DELETE FROM events WHERE run IS NULL AND time_ms < ?1",
	};
	int r = 0;

	for (size_t i = 0; i < array_len(sql) && r >= 0; i++) {
		_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;

		r = db_prepare(store, sql[i], &stmt, err);
		if (r < 0)
			return r;
		db_bind_uint(stmt, 1, before_ms);
		r = db_step(store, stmt, err);
	}
	return r < 0 ? r : 0;
}

static int remove_rows(struct store *store, const struct strv *ids, uint64_t before_ms,
		       struct err *err)
{
	static const char *const sql[] = {
		"DELETE FROM annotations WHERE event IN (SELECT id FROM events WHERE run = ?1)",
		"DELETE FROM events WHERE run = ?1",
		"DELETE FROM runs WHERE id = ?1",
	};
	int r = db_exec(store, "BEGIN IMMEDIATE", err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < array_len(sql) && r == 0; i++)
		r = remove_each(store, sql[i], ids, err);
	if (r == 0)
		r = remove_deeds(store, before_ms, err);
	if (r == 0)
		r = db_exec(store, "COMMIT", err);
	if (r < 0)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

int store_prune(struct store *store, uint64_t before_ms, bool dry, uint64_t *ret_runs,
		struct err *err)
{
	_cleanup_(strv_release) struct strv ids = {0};
	int r = choose(store, before_ms, &ids, err);

	if (r == 0 && !dry && store->in_memory)
		r = err_set(err, ERR_SYSTEM, -EROFS, "the history cannot be written");
	if (r == 0 && !dry)
		r = remove_rows(store, &ids, before_ms, err);
	if (r < 0)
		return r;
	*ret_runs = ids.len;
	if (dry)
		return 0;
	for (size_t i = 0; i < ids.len; i++)
		kept_remove(store->state, ids.items[i]);
	/* Gone from the log as well; what is removed is overwritten (secure_delete). A
	 * reader at work may be in the way, and the next one to close does it. */
	sqlite3_exec(store->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
	if (ids.len > 100)
		sqlite3_exec(store->db, "VACUUM", NULL, NULL, NULL);
	return 0;
}
