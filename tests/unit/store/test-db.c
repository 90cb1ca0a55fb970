/* SPDX-License-Identifier: MIT */
#include "store-test.h"

static void raw(const char *name, const char *sql)
{
	char path[4300];
	sqlite3 *db = NULL;
	char *message = NULL;

	snprintf(path, sizeof(path), "%s/%s", workspace.state_dir, name);
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		tap_ok(false, "sql: %s", message);
	sqlite3_free(message);
	sqlite3_close(db);
}

static bool has_aside(void)
{
	DIR *dir = opendir(workspace.state_dir);
	bool found = false;

	for (struct dirent *e; dir && (e = readdir(dir));)
		found = found || str_starts(e->d_name, DB_NAME ".damaged-");
	if (dir)
		closedir(dir);
	return found;
}

static void test_corrupt(void)
{
	struct store *store;
	int fd;

	begin();
	put_run("run-1", "test", 1000, true, 1);
	store_close(open_store());
	fd = openat(state, DB_NAME, O_WRONLY | O_CLOEXEC);
	tap_ok(pwrite(fd, "garbage garbage garbage", 23, 0) == 23, "damage is done");
	fd_close(fd);
	put_run("run-2", "test", 2000, true, 1);
	store = open_store();
	tap_ok(store && strstr(notes.text, "damaged") && has_aside(),
	       "a damaged one is set aside: %s", notes.text);
	tap_eq_int((long long)count_all(store), 1, "and a new one holds what the spool had");
	store_close(store);
	store = open_store();
	tap_ok(store && !notes.text[0], "it is said once");
	store_close(store);
	end();
}

/* Pages in the middle: found by whoever reads them. */
static void test_corrupt_inside(void)
{
	static const char noise[4096] = {1, 2, 3};
	struct store *store = NULL;
	struct stat st;
	int fd;

	begin();
	for (int i = 0; i < 200; i++) {
		char id[32];

		snprintf(id, sizeof(id), "run-%03d", i);
		put_run(id, "test", 1000, true, 1);
	}
	store_close(open_store());
	fd = openat(state, DB_NAME, O_RDWR | O_CLOEXEC);
	fstat(fd, &st);
	for (off_t at = 2 * 4096; at + 4096 <= st.st_size; at += 4096)
		if (pwrite(fd, noise, sizeof(noise), at) < 0)
			tap_ok(false, "pwrite");
	fd_close(fd);
	put_run("run-new", "test", 2000, true, 1);
	store = open_store();
	if (store && count_all(store) == SIZE_MAX) {
		store_close(store);
		store = open_store();
	}
	tap_ok(has_aside(), "one that is damaged inside is set aside");
	tap_ok(store && count_runs(store, (struct runs_query)RUNS_QUERY_ALL) != SIZE_MAX,
	       "and history goes on");
	store_close(store);
	end();
}

static void test_versions(void)
{
	char path[4300];
	struct store *store = NULL;
	struct err newer = {0};
	sqlite3 *db = NULL;
	struct stat before, after;

	begin();
	snprintf(path, sizeof(path), "%s/" DB_NAME, workspace.state_dir);
	sqlite3_open(path, &db);
	schema_build(db, 1);
	sqlite3_exec(
		db,
		"INSERT INTO runs(id, started_ms, ended, command, outcome, exit_code, ended_ms) "
		"VALUES('old-1', 10, 1, 'test', 'ok', 0, 11)",
		NULL, NULL, NULL);
	sqlite3_close(db);
	put_run("new-1", "test", 1000, true, 1);
	store = open_store();
	tap_ok(store && !notes.text[0], "the first version is migrated");
	tap_eq_int((long long)count_all(store), 2, "with what was in it");
	raw(DB_NAME, "SELECT has_output FROM runs; SELECT * FROM annotations");
	store_close(store);

	raw(DB_NAME, "PRAGMA user_version = 99; CREATE TABLE news(a)");
	stat(path, &before);
	put_run("new-2", "test", 2000, true, 1);
	tap_eq_int(store_open(&workspace, &store, &notes, &newer), -EPROTO,
		   "a newer one is refused: %s", newer.message);
	stat(path, &after);
	tap_ok(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec && before.st_size == after.st_size &&
		       before.st_ino == after.st_ino && !has_aside() &&
		       faccessat(state, SPOOL_NAME, F_OK, 0) == 0,
	       "and left as it is, with the spool");
	end();
}

static void test_malicious(void)
{
	static const char *const schemas[] = {
		"CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
		"CREATE VIEW v AS SELECT * FROM runs",
		"CREATE VIRTUAL TABLE f USING fts5(a)",
		"DROP TABLE runs; CREATE VIEW runs AS SELECT 'x' AS id",
		"CREATE TABLE more(a)",
		"DROP INDEX runs_command; CREATE INDEX runs_command ON runs(hex(command))",
	};

	for (size_t i = 0; i < array_len(schemas); i++) {
		struct store *store;

		begin();
		put_run("run-1", "test", 1000, true, 1);
		store_close(open_store());
		raw(DB_NAME, schemas[i]);
		put_run("run-2", "test", 2000, true, 1);
		store = open_store();
		tap_ok(store && has_aside() && count_all(store) == 1, "schema %zu is not used", i);
		store_close(store);
		end();
	}
	begin();
	put_run("run-1", "test", 1000, true, 1);
	store_close(open_store());
	raw(DB_NAME, "ANALYZE");
	{
		struct store *store = open_store();

		tap_ok(!has_aside() && count_all(store) == 1, "statistics do no harm");
		store_close(store);
	}
	end();
}

int main(void)
{
	test_corrupt();
	test_corrupt_inside();
	test_versions();
	test_malicious();
	return tap_done();
}
