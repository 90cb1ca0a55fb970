/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "store/store-impl.h"

/* What makes version N + 1 out of N. A row that was ever released is never changed.
 * Columns have no type: a name that is not UTF-8 is kept as bytes. */
static const char *const migrations[] = {
	"CREATE TABLE runs("
	"  seq INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  id NOT NULL UNIQUE, started_ms NOT NULL, pid, ended NOT NULL,"
	"  command, program, argv_digest, argv, engine, mode, stage, world, ceiling, spec_digest,"
	"  timeout_ms, cpu_limit_ms, memory_limit, pids_limit,"
	"  outcome, error, exit_code, signal, limit_hit, duration_ms,"
	"  memory_peak, cpu_ms, pids_peak, written, observed, violations, ended_ms);"
	"CREATE INDEX runs_command ON runs(command, outcome);"
	"CREATE TABLE events("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  source NOT NULL, seq NOT NULL, run, time_ms NOT NULL,"
	"  kind NOT NULL, severity, dimension, code, data,"
	"  UNIQUE(source, seq));"
	"CREATE INDEX events_run ON events(run, kind);",

	"ALTER TABLE runs ADD COLUMN has_output;"
	"CREATE INDEX runs_started ON runs(started_ms);"
	"CREATE TABLE annotations("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  event INTEGER NOT NULL, annotator NOT NULL, type, display, data, time_ms,"
	"  UNIQUE(event, annotator));",

	"ALTER TABLE runs ADD COLUMN connections;"
	"ALTER TABLE runs ADD COLUMN net_sent;"
	"ALTER TABLE runs ADD COLUMN net_received;",
};

int schema_version(void)
{
	return (int)array_len(migrations);
}

static int exec(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int migrate(sqlite3 *db, int from, int to)
{
	char version[64];
	int rc = SQLITE_OK;

	for (int i = from; i < to && rc == SQLITE_OK; i++)
		rc = exec(db, migrations[i]);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_snprintf(sizeof(version), version, "PRAGMA user_version = %d", to);
	return exec(db, version);
}

int schema_build(sqlite3 *db, int version)
{
	return db_errno(migrate(db, 0, version));
}

static int read_version(sqlite3 *db, int *ret)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return rc;
	*ret = sqlite3_column_int(stmt, 0);
	return SQLITE_OK;
}

/* Everything that the schema declares, as text; what ANALYZE left does not count. */
static int describe(sqlite3 *db, struct str *ret)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db,
				    "SELECT type, name, tbl_name, sql FROM sqlite_schema "
				    "WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\' "
				    "ORDER BY type, name",
				    -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		for (int i = 0; i < 4; i++) {
			const void *text = sqlite3_column_blob(stmt, i);
			size_t len = (size_t)sqlite3_column_bytes(stmt, i);

			if (str_append_bytes(ret, text ? text : "", text ? len : 0) < 0 ||
			    str_append_char(ret, '\n') < 0)
				return SQLITE_NOMEM;
		}
		rc = SQLITE_OK;
	}
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Is the schema to the letter that of VERSION? A trigger, view or virtual table that
 * somebody added would be looked at by nobody, and makes the file not ours. */
static int check(sqlite3 *db, int version, struct err *err)
{
	_cleanup_(str_release) struct str have = {0};
	_cleanup_(str_release) struct str want = {0};
	sqlite3 *model = NULL;
	int rc = describe(db, &have);

	if (rc == SQLITE_OK)
		rc = sqlite3_open(":memory:", &model);
	if (rc == SQLITE_OK)
		rc = migrate(model, 0, version);
	if (rc == SQLITE_OK)
		rc = describe(model, &want);
	sqlite3_close(model);
	if (rc != SQLITE_OK)
		return err_set(err, ERR_SYSTEM, db_errno(rc), "the history: %s",
			       sqlite3_errstr(rc));
	if (!str_eq(str_text(&have), str_text(&want)))
		return err_set(err, ERR_SYSTEM, -EUCLEAN, "the history has a schema of others");
	return 0;
}

static int upgrade(sqlite3 *db, struct err *err)
{
	int version = 0, rc = exec(db, "BEGIN IMMEDIATE"), r = 0;

	/* Somebody else may have done it while we waited. */
	if (rc == SQLITE_OK)
		rc = read_version(db, &version);
	if (rc == SQLITE_OK)
		r = check(db, version, err);
	if (rc == SQLITE_OK && r == 0)
		rc = migrate(db, version, schema_version());
	if (rc == SQLITE_OK && r == 0)
		rc = exec(db, "COMMIT");
	if (rc != SQLITE_OK)
		r = err_set(err, ERR_SYSTEM, db_errno(rc), "the schema of the history: %s",
			    sqlite3_errmsg(db));
	if (r < 0)
		exec(db, "ROLLBACK");
	return r;
}

int schema_verify(sqlite3 *db)
{
	int version = 0, rc = read_version(db, &version);

	if (rc != SQLITE_OK)
		return db_errno(rc);
	if (version > schema_version())
		return 0;
	return version < 0 ? -EUCLEAN : check(db, version, NULL);
}

int schema_settle(sqlite3 *db, struct err *err)
{
	int version = 0, rc = read_version(db, &version);

	if (rc != SQLITE_OK)
		return err_set(err, ERR_SYSTEM, db_errno(rc), "the history: %s",
			       sqlite3_errmsg(db));
	if (version > schema_version()) {
		err_set(err, ERR_SYSTEM, -EPROTO,
			"the history was written by a newer pale (version %d of it, known is %d)",
			version, schema_version());
		return err_hint(err, -EPROTO, "use that pale; runs are kept for it meanwhile");
	}
	if (version < 0)
		return err_set(err, ERR_SYSTEM, -EUCLEAN, "the history has a schema of others");
	return version == schema_version() ? check(db, version, err) : upgrade(db, err);
}
