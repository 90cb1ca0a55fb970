/* SPDX-License-Identifier: MIT */
/*
 * The spool as a fold reads it. With an even first byte the rest is a whole spool; with
 * an odd one each of its lines is the JSON of a record with a CRC that fits, so that the
 * fuzzer need not guess it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "store/spool.h"
#include "store/store-impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct store *open_memory(void)
{
	static struct store store = {.state = -1, .in_memory = true};

	if (!store.db && (sqlite3_open(":memory:", &store.db) != SQLITE_OK ||
			  schema_build(store.db, schema_version()) < 0))
		abort();
	return &store;
}

static void wrap(const char *text, size_t len, struct str *out)
{
	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;
		struct str line = {0};

		if (spool_line_begin(&line) == 0 && str_append_bytes(&line, text, n) == 0 &&
		    spool_line_end(&line) == 0)
			str_append_bytes(out, line.data, line.len);
		str_release(&line);
		n += end != NULL;
		text += n;
		len -= n;
	}
}

/* What was folded must be readable, and the same again must change nothing. */
static void look(struct store *store, const char *text, size_t len)
{
	struct runs_query query = RUNS_QUERY_ALL;
	struct run_record *records = NULL;
	struct store_event *events = NULL;
	size_t n = 0, again = 0, n_events = 0;
	struct err err = {0};

	if (store_runs(store, &query, &records, &n, &err) < 0 ||
	    store_events(store, &(struct events_query){0}, &events, &n_events, &err) < 0)
		abort();
	for (size_t i = 0; i < n; i++) {
		struct violations violations = {0};

		if (store_violations(store, records[i].id, &violations, &err) < 0)
			abort();
		violations_release(&violations);
	}
	run_records_free(records, n);
	store_events_free(events, n_events);
	if (fold_text(store, text, len, &err) < 0 ||
	    store_runs(store, &query, &records, &again, &err) < 0 || again != n)
		abort();
	run_records_free(records, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store *store = open_memory();
	struct str text = {0};
	struct err err = {0};

	if (size == 0)
		return 0;
	if (data[0] & 1)
		wrap((const char *)data + 1, size - 1, &text);
	else
		str_append_bytes(&text, data + 1, size - 1);
	sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL);
	if (fold_text(store, str_text(&text), text.len, &err) < 0)
		abort();
	look(store, str_text(&text), text.len);
	sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	str_release(&text);
	return 0;
}
