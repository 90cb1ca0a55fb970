/* SPDX-License-Identifier: MIT */
#include "store-test.h"

static void test_empty(void)
{
	struct store *store = NULL;

	begin();
	tap_eq_int(store_open(&workspace, &store, &notes, &err), -ENOENT, "no history yet");
	tap_ok(faccessat(state, DB_NAME, F_OK, 0) < 0 && !err.message[0], "and none is made");
	end();
}

static bool is_what_was_put(const struct run_record *record)
{
	bool identity = record->started_ms == 1000 && str_eq(record->command, "test") &&
			str_eq(record->program, "prog") && !record->argv;
	bool limits = record->memory == 1 << 20 && record->timeout_ms == UINT64_MAX;
	bool ended = record->ended && record->outcome == OUTCOME_OK && record->exit_code == 0;

	return identity && limits && ended && record->usage.memory_peak == 5000 &&
	       record->usage.written == USAGE_UNKNOWN && record->violations == 3 &&
	       record->observed;
}

static void check_runs(struct store *store)
{
	struct runs_query query = RUNS_QUERY_ALL;
	struct run_record *records = NULL;
	size_t len = 0;

	tap_eq_int(store_runs(store, &query, &records, &len, &err), 0, "runs are read");
	tap_ok(len == 2 && str_eq(records[0].id, "run-2") && str_eq(records[1].id, "run-1"),
	       "the newest first");
	tap_ok(len == 2 && !records[0].ended && str_eq(run_record_state(&records[0]), "unknown"),
	       "one without an end has none");
	tap_ok(len == 2 && is_what_was_put(&records[1]), "the other one says what was recorded");
	run_records_free(records, len);
}

static void check_violations(struct store *store)
{
	struct violations violations = {0};
	const struct violation *first;

	store_violations(store, "run-1", &violations, &err);
	first = violations.items;
	tap_ok(violations.observed && violations.len == 2, "violations come back");
	tap_ok(first && first->count == 2 && str_eq(first->fix, "--write /etc/hosts") &&
		       first->first_ms == 3 && first->last_ms == 4 &&
		       first->cause == CAUSE_PROTECTED && first->weight == VIOLATION_OPTIONAL,
	       "with what was said of them");
	tap_ok(first && str_eq(first[1].target, "na\xffme:1"), "names that are not UTF-8 too");
	violations_release(&violations);
	store_violations(store, "run-2", &violations, &err);
	tap_ok(!violations.observed && violations.len == 0, "nobody looked at the other one");
}

static void check_events(struct store *store)
{
	static const char *const kinds[] = {"sandbox.start", "sandbox.denied", "sandbox.denied",
					    "sandbox.tamper", "sandbox.exit"};
	struct store_event *events = NULL;
	size_t len = 0, same = 0;

	tap_eq_int(store_events(store, &(struct events_query){.run = "run-1"}, &events, &len, &err),
		   0, "events");
	for (size_t i = 0; i < len && i < array_len(kinds); i++)
		same += str_eq(events[i].kind, kinds[i]);
	tap_ok(len == array_len(kinds) && same == len, "in the order in which they happened");
	tap_ok(len == 5 && events[4].time_ms == 1010 && str_eq(events[4].code, "ok"),
	       "the last one says how it ended");
	store_events_free(events, len);
}

static void test_roundtrip(void)
{
	struct store *store;
	struct stat st;

	begin();
	put_run("run-1", "test", 1000, true, 5000);
	put_run("run-2", NULL, 2000, false, 0);
	store = open_store();
	tap_ok(store && !notes.text[0], "the spool is folded: %s", notes.text);
	tap_ok(fstatat(state, DB_NAME, &st, 0) == 0 && (st.st_mode & 0777) == 0600 &&
		       faccessat(state, SPOOL_NAME, F_OK, 0) < 0,
	       "into a file for nobody else, and the spool is gone");
	check_runs(store);
	check_violations(store);
	check_events(store);
	store_close(store);
	end();
}

static void test_again(void)
{
	struct str text = {0};
	struct store *store;
	int fd;

	begin();
	put_run("run-1", "test", 1000, true, 1);
	put_run("run-2", "test", 2000, false, 1);
	fd = openat(state, SPOOL_NAME, O_RDONLY | O_CLOEXEC);
	fd_read_all(fd, 1 << 20, &text);
	fd_close(fd);
	store = open_store();
	for (int i = 0; i < 3; i++)
		fold_text(store, text.data, text.len, &err);
	tap_eq_int((long long)count_all(store), 2, "the same spool again adds nothing");
	{
		struct store_event *events = NULL;
		size_t len = 0;

		store_events(store, &(struct events_query){.kind = "sandbox"}, &events, &len, &err);
		tap_eq_int((long long)len, 6, "no event either");
		store_events_free(events, len);
	}
	store_close(store);
	/* As a kill between commit and unlink leaves it. */
	fd = openat(state, "spool.7", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	fd_write_all(fd, text.data, text.len);
	fd_close(fd);
	put_run("run-2", "test", 2000, true, 1);
	put_run("run-3", "test", 3000, true, 1);
	store = open_store();
	tap_eq_int((long long)count_all(store), 3, "what was left is folded with the rest");
	tap_ok(faccessat(state, "spool.7", F_OK, 0) < 0 && faccessat(state, "spool.8", F_OK, 0) < 0,
	       "and removed");
	tap_eq_int(
		(long long)count_runs(store, (struct runs_query){.outcome = -1, .unended = true}),
		0, "an end that comes later is an end");
	fold_text(store, text.data, text.len, &err);
	tap_eq_int(
		(long long)count_runs(store, (struct runs_query){.outcome = -1, .unended = true}),
		0, "a start that comes after it takes nothing back");
	store_close(store);
	str_release(&text);
	end();
}

/* Told while the run goes on, and again when it has ended. */
static void test_denied(void)
{
	_cleanup_(violations_release) struct violations found = {.observed = true}, back = {0};
	struct store_event *events = NULL;
	struct str line = {0};
	struct violation *new;
	struct store *store;
	size_t len = 0;
	int64_t first;

	begin();
	violations_add(&found, "filesystem", "open", "/etc/hosts", 3, &new);
	violation_set_peer(new, "curl", "a.test", "192.0.2.1", 443);
	record_denied("run-1", &found, new, 1003, &line);
	spool_append(state, &line, &err);
	store = open_store();
	store_events(store, &(struct events_query){.kind = "sandbox.denied"}, &events, &len, &err);
	tap_ok(len == 1 && events[0].time_ms == 1003 && str_eq(events[0].run, "run-1"),
	       "before the end of its run");
	first = len ? events[0].id : 0;
	store_events_free(events, len);
	store_violations(store, "run-1", &back, &err);
	tap_ok(back.len == 1 && str_eq(back.items[0].program, "curl") &&
		       str_eq(back.items[0].name, "a.test") &&
		       str_eq(back.items[0].address, "192.0.2.1") && back.items[0].port == 443,
	       "with whom it was about");
	put_run("run-1", "test", 1000, true, 1);
	store_refresh(store, &err);
	store_events(store, &(struct events_query){.kind = "sandbox.denied"}, &events, &len, &err);
	tap_ok(len == 2 && events[0].id == first && events[0].time_ms == 1003 &&
		       strstr(events[0].data, "\"count\":2"),
	       "the end says how often, and adds what was not told");
	store_events_free(events, len);
	store_close(store);
	str_release(&line);
	end();
}

static void test_bad_lines(void)
{
	static const char torn[] = "\nP1 00000000 {\"type\":\"start\",\"run\":\"to";
	static const char *const odd[] = {
		"{}",
		"[]",
		"{\"type\":\"start\"}",
		"{\"type\":\"start\",\"run\":5}",
		"{\"type\":\"start\",\"run\":\"x\",\"started_ms\":-1}",
		"{\"type\":\"end\",\"run\":\"x\",\"started_ms\":1,\"outcome\":\"fine\"}",
		"{\"type\":\"start\",\"run\":\"x\",\"run\":\"y\",\"started_ms\":1}",
		"{\"type\":\"event\",\"id\":\"e\"}",
		"{\"type\":\"other\",\"run\":\"x\"}",
		"{\"type\":\"start\",\"run\":\"0123456789012345678901234567890123456789\","
		"\"started_ms\":1}",
	};
	struct str huge = {0};
	struct store *store;
	struct stat st;
	int fd;

	begin();
	put_run("run-1", "test", 1000, true, 1);
	fd = openat(state, SPOOL_NAME, O_WRONLY | O_APPEND | O_CLOEXEC);
	fd_write_all(fd, torn, sizeof(torn) - 1);
	put_run("run-2", "test", 2000, true, 1);
	while (huge.len < 3u << 20)
		str_append(&huge, "P1 huge huge huge ");
	fd_write_all(fd, huge.data, huge.len);
	put_run("run-3", "test", 3000, true, 1);
	for (size_t i = 0; i < array_len(odd); i++) {
		struct str line = {0};

		spool_line_begin(&line);
		str_append(&line, odd[i]);
		spool_line_end(&line);
		spool_append(state, &line, &err);
		str_release(&line);
	}
	fd_write_all(fd, "\0\n\xff\n", 4);
	put_run("run-4", "test", 4000, true, 1);
	fd_close(fd);
	store = open_store();
	tap_eq_int((long long)count_all(store), 4, "what is whole is folded");
	tap_eq_int((long long)store->bad, 4 + (long long)array_len(odd), "the rest is counted");
	tap_ok(strstr(notes.text, "damaged lines"), "and said: %s", notes.text);
	tap_ok(fstatat(state, "spool.bad", &st, 0) == 0 && st.st_size > 4096 && st.st_size < 20000,
	       "and kept, cut");
	store_close(store);
	store = open_store();
	tap_ok(!notes.text[0], "once");
	store_close(store);
	str_release(&huge);
	end();
}

static void test_hostile_text(void)
{
	static const char *const names[] = {"'); DROP TABLE runs; --",
					    "a\"b'c;--",
					    "%s%n",
					    "na\xff\xfeme",
					    "x\ny\x1b[31m",
					    "\xe2\x80\xae"};
	struct store *store;

	begin();
	for (size_t i = 0; i < array_len(names); i++) {
		char id[32];

		snprintf(id, sizeof(id), "run-%zu", i);
		put_run(id, names[i], 1000 + i, true, 1);
	}
	store = open_store();
	tap_eq_int((long long)count_all(store), array_len(names), "all are stored");
	for (size_t i = 0; i < array_len(names); i++) {
		struct runs_query query = {.command = names[i], .outcome = -1};
		struct run_record *records = NULL;
		size_t len = 0;

		store_runs(store, &query, &records, &len, &err);
		tap_ok(len == 1 && str_eq(records[0].command, names[i]),
		       "name %zu comes back as it was", i);
		run_records_free(records, len);
	}
	store_close(store);
	end();
}

/* The clock goes back: HS11. */
static struct store *begin_queries(void)
{
	begin();
	put_run("run-b1", "test", 9000, true, 100);
	put_run("run-b2", "test", 1000, true, 700);
	put_run("run-c1", "lint", 5000, true, 50);
	put_run("run-d1", NULL, 5000, false, 0);
	return open_store();
}

static void test_queries(void)
{
	static const struct {
		struct runs_query query;
		size_t want;
		const char *name;
	} cases[] = {
		{{.outcome = -1, .id = "run-b"}, 2, "by the beginning of an id"},
		{{.outcome = -1, .id = "run-c1"}, 1, "by a whole id"},
		{{.outcome = -1, .since_ms = 5000}, 3, "since a time"},
		{{.outcome = OUTCOME_OK}, 3, "by outcome"},
		{{.outcome = -1, .unended = true}, 1, "without an end"},
		{{.outcome = -1, .command = "prog"}, 4, "by program"},
		{{.outcome = -1, .command = "prog", .max = 3}, 3, "only so many"},
	};
	struct store *store = begin_queries();
	struct run_record last = {0};

	for (size_t i = 0; i < array_len(cases); i++)
		tap_eq_int((long long)count_runs(store, cases[i].query), (long long)cases[i].want,
			   "%s", cases[i].name);
	store_find_run(store, "last", &last, &err);
	tap_eq_str(last.id, "run-d1", "the last one is the last that was stored");
	run_record_release(&last);
	tap_eq_int(store_find_run(store, "run-b", &last, &err), -EEXIST, "two begin so: %s",
		   err.message);
	tap_eq_int(store_find_run(store, "run-x", &last, &err), -ENOENT, "none does: %s",
		   err.message);
	tap_eq_int(store_find_run(store, "", &last, &err), -ENOENT, "nothing is no run");
	tap_ok(store_find_run(store, "run-b2", &last, &err) == 0 && last.started_ms == 1000,
	       "a whole id");
	run_record_release(&last);
	store_close(store);
	end();
}

static void test_sums(void)
{
	struct store *store = begin_queries();
	struct store_counts counts;
	struct run_stats stats;

	store_stats(store, "test", &stats, &err);
	tap_ok(stats.runs == 2 && stats.successful == 2 && stats.memory_peak == 700 &&
		       stats.cpu_ms_peak == 7 && stats.duration_ms_longest == 10 &&
		       stats.duration_ms_average == 10,
	       "peaks of a command");
	store_stats(store, "none", &stats, &err);
	tap_ok(stats.runs == 0 && stats.memory_peak == 0, "of one that never ran");
	store_counts(store, &counts, &err);
	tap_ok(counts.runs == 4 && counts.unended == 1 && counts.outcomes[OUTCOME_OK] == 3 &&
		       counts.denied == 6 && counts.tampered == 3,
	       "counts");
	store_close(store);
	end();
}

static void test_prune(void)
{
	struct store *store = begin_queries();
	struct store_event *events = NULL;
	size_t len = 0;
	uint64_t n = 0;
	int fd;

	tap_ok(store_prune(store, 6000, true, &n, &err) == 0 && n == 3 && count_all(store) == 4,
	       "a dry prune only counts");
	fd = living_take(state, "run-d1");
	tap_ok(store_prune(store, 6000, false, &n, &err) == 0 && n == 2 && count_all(store) == 2,
	       "what is old goes, what goes on stays: %s", err.message);
	fd_close(fd);
	tap_ok(store_prune(store, 6000, false, &n, &err) == 0 && n == 1 && count_all(store) == 1,
	       "until it has ended");
	store_events(store, &(struct events_query){0}, &events, &len, &err);
	tap_ok(len == 5 && str_eq(events[0].run, "run-b1"), "events go with their run");
	store_events_free(events, len);
	store_close(store);
	end();
}

int main(void)
{
	test_empty();
	test_roundtrip();
	test_again();
	test_denied();
	test_bad_lines();
	test_hostile_text();
	test_queries();
	test_sums();
	test_prune();
	return tap_done();
}
