/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "store/fold-impl.h"
#include "store/record.h"

void store_events_free(struct store_event *events, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		free(events[i].run);
		free(events[i].kind);
		free(events[i].data);
		free(events[i].severity);
		free(events[i].dimension);
		free(events[i].code);
	}
	free(events);
}

char *store_event_text(const struct store_event *event, const char *key)
{
	json_t *data = event->data ? json_loads(event->data, 0, NULL) : NULL;
	size_t len;
	char *text = record_bytes(data, key, &len);

	json_decref(data);
	return text;
}

struct list {
	struct store_event *items;
	size_t len, cap;
};

static void list_release(struct list *list)
{
	store_events_free(list->items, list->len);
}

static int add_event(struct list *list, sqlite3_stmt *stmt, struct err *err)
{
	if (list->len == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 16;
		struct store_event *grown = reallocarray(list->items, cap, sizeof(*grown));

		if (!grown)
			return err_oom(err);
		list->items = grown;
		list->cap = cap;
	}
	list->items[list->len++] = (struct store_event){
		.id = sqlite3_column_int64(stmt, 0),
		.run = db_text(stmt, 1),
		.time_ms = db_uint(stmt, 2, 0),
		.kind = db_text(stmt, 3),
		.severity = db_text(stmt, 4),
		.dimension = db_text(stmt, 5),
		.code = db_text(stmt, 6),
		.data = db_text(stmt, 7),
	};
	return 0;
}

/* The newest so many, and these in the order in which they came. */
static const char select_sql[] =
	"SELECT * FROM (SELECT id, run, time_ms, kind, severity, dimension, code, data FROM events "
	"WHERE (?1 = 0 OR id = ?1) AND id > ?2 "
	"AND (?3 IS NULL OR kind = ?3 OR substr(kind, 1, length(?3) + 1) = ?3 || '.') "
	"AND (?4 IS NULL OR run = ?4) AND time_ms >= ?5 ORDER BY id DESC LIMIT ?6) ORDER BY id";

int store_events(struct store *store, const struct events_query *query, struct store_event **ret,
		 size_t *ret_len, struct err *err)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	_cleanup_(list_release) struct list list = {0};
	int r = db_prepare(store, select_sql, &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, query->id);
	sqlite3_bind_int64(stmt, 2, query->after);
	db_bind_text(stmt, 3, query->kind);
	db_bind_text(stmt, 4, query->run);
	db_bind_uint(stmt, 5, query->since_ms);
	sqlite3_bind_int64(stmt, 6, query->max ? (int64_t)query->max : -1);
	while ((r = db_step(store, stmt, err)) > 0) {
		r = add_event(&list, stmt, err);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	*ret_len = list.len;
	*ret = take_ptr(list.items);
	list.len = 0;
	return 0;
}

/* --- violations, which are kept as the data of events --- */

static char *get_text(const json_t *data, const char *key)
{
	size_t len;

	return record_bytes(data, key, &len);
}

static uint64_t get_uint(const json_t *data, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(data, key));

	return value < 0 ? 0 : (uint64_t)value;
}

/* The number of the name KEY in NAMES; 0 when there is none. */
static unsigned get_name(const json_t *data, const char *key, const char *const *names)
{
	const char *name = json_string_value(json_object_get(data, key));

	for (unsigned i = 0; name && names[i]; i++)
		if (str_eq(names[i], name))
			return i;
	return 0;
}

static int add_violation(struct violations *violations, const struct store_event *event,
			 struct err *err)
{
	json_t *data = event->data ? json_loads(event->data, JSON_REJECT_DUPLICATES, NULL) : NULL;
	_cleanup_(freep) char *target = get_text(data, "target");
	struct violation *made = NULL;
	int r = violations_add(violations, event->dimension ? event->dimension : "",
			       event->code ? event->code : "", target, get_uint(data, "first_ms"),
			       &made);

	if (r == 0 && made) {
		made->rule = get_text(data, "rule");
		made->fix = get_text(data, "fix");
		made->program = get_text(data, "program");
		made->name = get_text(data, "name");
		made->address = get_text(data, "address");
		made->port = (unsigned)get_uint(data, "port");
		made->cause = (enum violation_cause)get_name(data, "cause", record_causes);
		made->weight = (enum violation_weight)get_name(data, "weight", record_weights);
		made->count = get_uint(data, "count");
		made->last_ms = get_uint(data, "last_ms");
	}
	json_decref(data);
	return r < 0 ? err_oom(err) : 0;
}

static int read_observed(struct store *store, const char *id, struct violations *ret,
			 uint64_t *ret_total, struct err *err)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(store, "SELECT observed, violations FROM runs WHERE id = ?1", &stmt,
			   err);

	if (r < 0)
		return r;
	db_bind_text(stmt, 1, id);
	r = db_step(store, stmt, err);
	if (r <= 0)
		return r;
	ret->observed = sqlite3_column_int(stmt, 0);
	*ret_total = db_uint(stmt, 1, 0);
	return 0;
}

int store_violations(struct store *store, const char *id, struct violations *ret, struct err *err)
{
	struct events_query query = {.kind = "sandbox.denied", .run = id};
	_cleanup_(violations_release) struct violations violations = {0};
	struct store_event *events = NULL;
	uint64_t total = 0, seen = 0;
	size_t len = 0;
	int r = read_observed(store, id, &violations, &total, err);

	if (r == 0)
		r = store_events(store, &query, &events, &len, err);
	for (size_t i = 0; i < len && r == 0; i++)
		r = add_violation(&violations, &events[i], err);
	store_events_free(events, len);
	if (r < 0)
		return r;
	for (size_t i = 0; i < violations.len; i++)
		seen += violations.items[i].count;
	violations.dropped = total > seen ? total - seen : 0;
	*ret = violations;
	violations = (struct violations){0};
	return 0;
}
