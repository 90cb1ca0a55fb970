/* SPDX-License-Identifier: MIT */
#include "store/annotate.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "store/store-impl.h"

#define TYPE_MAX 64

void annotation_release(struct annotation *annotation)
{
	free(annotation->annotator);
	free(annotation->type);
	free(annotation->display);
	free(annotation->data);
	*annotation = (struct annotation){0};
}

void annotations_free(struct annotation *annotations, size_t len)
{
	for (size_t i = 0; i < len; i++)
		annotation_release(&annotations[i]);
	free(annotations);
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!memchr(" \t\r\n", text[i], 4))
			return false;
	return true;
}

static bool is_type(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	return len > 0 && len <= TYPE_MAX &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       len;
}

static bool is_display(const char *text)
{
	return str_eq(text, "inline") || str_eq(text, "detail") || str_eq(text, "hidden");
}

static int fill(struct annotation *annotation, const char *type, const char *display, char *data)
{
	annotation->type = strdup(type);
	annotation->display = strdup(display);
	annotation->data = data;
	return annotation->type && annotation->display ? 0 : -ENOMEM;
}

static int read_object(const json_t *root, struct annotation *out, struct err *err)
{
	const char *type = json_string_value(json_object_get(root, "type"));
	const char *display = json_string_value(json_object_get(root, "display"));
	const json_t *data = json_object_get(root, "data");
	char *text = NULL;

	if (!json_is_object(root))
		return err_set(err, ERR_SYSTEM, -EINVAL, "its answer is no JSON object");
	if (!is_type(type))
		return err_set(err, ERR_SYSTEM, -EINVAL,
			       "\"type\" is not a word of letters, digits, '.', '_' and '-'");
	if (!is_display(display))
		return err_set(err, ERR_SYSTEM, -EINVAL,
			       "\"display\" is not \"inline\", \"detail\" or \"hidden\"");
	if (data && !json_is_null(data)) {
		text = json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY);
		if (!text)
			return err_oom(err);
	}
	return fill(out, type, display, text) < 0 ? err_oom(err) : 0;
}

int annotation_parse(const char *text, size_t len, struct annotation *ret, struct err *err)
{
	_cleanup_(annotation_release) struct annotation out = {0};
	json_error_t why;
	json_t *root;
	int r;

	if (is_blank(text, len)) {
		r = fill(&out, "none", "hidden", NULL) < 0 ? err_oom(err) : 0;
	} else {
		root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
		if (!root)
			return err_set(err, ERR_SYSTEM, -EINVAL, "its answer is no JSON: %s",
				       why.text);
		r = read_object(root, &out, err);
		json_decref(root);
	}
	if (r < 0)
		return r;
	*ret = out;
	out = (struct annotation){0};
	return 0;
}

int annotation_fail(const char *why, struct annotation *ret)
{
	_cleanup_(annotation_release) struct annotation out = {0};
	/* what is not UTF-8 cannot be said */
	json_t *data = json_pack("{s:s}", "message", why);
	char *text;

	if (!data)
		data = json_pack("{s:s}", "message", "it failed");
	text = data ? json_dumps(data, JSON_COMPACT) : NULL;
	json_decref(data);
	if (!text || fill(&out, "error", "hidden", text) < 0)
		return -ENOMEM;
	*ret = out;
	out = (struct annotation){0};
	return 0;
}

int store_annotate(struct store *store, const struct annotation *annotation, struct err *err)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(
		store,
		"INSERT INTO annotations(event, annotator, type, display, data, time_ms) "
		"VALUES(?1, ?2, ?3, ?4, ?5, ?6) "
		"ON CONFLICT(event, annotator) DO UPDATE SET type = excluded.type, "
		"display = excluded.display, data = excluded.data, "
		"time_ms = excluded.time_ms",
		&stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, annotation->event);
	db_bind_text(stmt, 2, annotation->annotator);
	db_bind_text(stmt, 3, annotation->type);
	db_bind_text(stmt, 4, annotation->display);
	db_bind_text(stmt, 5, annotation->data);
	db_bind_uint(stmt, 6, annotation->time_ms);
	return db_step(store, stmt, err);
}

struct list {
	struct annotation *items;
	size_t len;
};

static void list_release(struct list *list)
{
	annotations_free(list->items, list->len);
}

static int add(struct list *list, int64_t event, sqlite3_stmt *stmt)
{
	struct annotation *grown = reallocarray(list->items, list->len + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->items = grown;
	grown[list->len++] = (struct annotation){
		.event = event,
		.annotator = db_text(stmt, 0),
		.type = db_text(stmt, 1),
		.display = db_text(stmt, 2),
		.data = db_text(stmt, 3),
		.time_ms = db_uint(stmt, 4, 0),
	};
	return 0;
}

int store_annotations(struct store *store, int64_t event, struct annotation **ret, size_t *ret_len,
		      struct err *err)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	_cleanup_(list_release) struct list list = {0};
	int r = db_prepare(store,
			   "SELECT annotator, type, display, data, time_ms FROM annotations "
			   "WHERE event = ?1 ORDER BY annotator",
			   &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, event);
	while ((r = db_step(store, stmt, err)) > 0)
		if (add(&list, event, stmt) < 0)
			return err_oom(err);
	if (r < 0)
		return r;
	*ret_len = list.len;
	*ret = take_ptr(list.items);
	list.len = 0;
	return 0;
}

/* Ids alone, the newest first: what they are, store_events() reads. */
static int select_ids(struct store *store, const struct unannotated_query *query, int64_t **ret,
		      size_t *ret_len, struct err *err)
{
	_cleanup_(stmt_finalizep) sqlite3_stmt *stmt = NULL;
	int64_t *ids = NULL;
	size_t len = 0;
	int r = db_prepare(store,
			   "SELECT id FROM events WHERE (?2 IS NULL OR run = ?2) "
			   "AND time_ms >= ?3 AND NOT EXISTS(SELECT 1 FROM annotations "
			   "WHERE event = events.id AND annotator = ?1 "
			   "AND (?4 = 0 OR type <> 'error')) AND (?6 = 0 OR (kind = 'sandbox.exit' "
			   "AND code NOT IN ('ok', 'refused', 'error'))) ORDER BY id DESC LIMIT ?5",
			   &stmt, err);

	if (r < 0)
		return r;
	db_bind_text(stmt, 1, query->annotator);
	db_bind_text(stmt, 2, query->run);
	db_bind_uint(stmt, 3, query->since_ms);
	sqlite3_bind_int(stmt, 4, query->failed);
	sqlite3_bind_int64(stmt, 5, query->max ? (int64_t)query->max : -1);
	sqlite3_bind_int(stmt, 6, query->mishaps);
	while ((r = db_step(store, stmt, err)) > 0) {
		int64_t *grown = reallocarray(ids, len + 1, sizeof(*ids));

		if (!grown) {
			r = err_oom(err);
			break;
		}
		ids = grown;
		ids[len++] = sqlite3_column_int64(stmt, 0);
	}
	if (r < 0) {
		free(ids);
		return r;
	}
	*ret = ids;
	*ret_len = len;
	return 0;
}

int store_unannotated(struct store *store, const struct unannotated_query *query,
		      struct store_event **ret, size_t *ret_len, struct err *err)
{
	_cleanup_(freep) int64_t *ids = NULL;
	struct store_event *events = NULL;
	size_t len = 0, found = 0;
	int r = select_ids(store, query, &ids, &len, err);

	if (r == 0 && len > 0) {
		events = calloc(len, sizeof(*events));
		r = events ? 0 : err_oom(err);
	}
	for (size_t i = len; i-- > 0 && r == 0;) {
		struct events_query one = {.id = ids[i]};
		struct store_event *event = NULL;
		size_t n = 0;

		r = store_events(store, &one, &event, &n, err);
		if (r == 0 && n == 1)
			events[found++] = *event;
		free(event);
	}
	if (r < 0) {
		store_events_free(events, found);
		return r;
	}
	*ret = events;
	*ret_len = found;
	return 0;
}
