/* SPDX-License-Identifier: MIT */
#include "result/violation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"

static struct violation *find(struct violations *violations, const char *dimension, const char *op,
			      const char *target)
{
	for (size_t i = 0; i < violations->len; i++) {
		struct violation *at = &violations->items[i];

		if (str_eq(at->dimension, dimension) && str_eq(at->op, op) &&
		    (at->target ? target && str_eq(at->target, target) : !target))
			return at;
	}
	return NULL;
}

int violations_add(struct violations *violations, const char *dimension, const char *op,
		   const char *target, uint64_t at_ms, struct violation **ret_new)
{
	struct violation *at = find(violations, dimension, op, target);
	struct violation made = {.count = 1, .first_ms = at_ms, .last_ms = at_ms};

	snprintf(made.dimension, sizeof(made.dimension), "%s", dimension);
	snprintf(made.op, sizeof(made.op), "%s", op);
	if (ret_new)
		*ret_new = NULL;
	if (at) {
		at->count++;
		at->last_ms = at_ms;
		return 0;
	}
	if (violations->len == VIOLATIONS_MAX) {
		violations->dropped++;
		return 0;
	}
	at = reallocarray(violations->items, violations->len + 1, sizeof(*at));
	if (!at)
		return -ENOMEM;
	violations->items = at;
	made.target = target ? strndup(target, VIOLATION_TARGET_MAX) : NULL;
	if (target && !made.target)
		return -ENOMEM;
	at += violations->len++;
	*at = made;
	if (ret_new)
		*ret_new = at;
	return 0;
}

static char *copy(const char *text)
{
	return text ? strndup(text, VIOLATION_TARGET_MAX) : NULL;
}

void violation_set_peer(struct violation *v, const char *program, const char *name,
			const char *address, unsigned port)
{
	v->program = copy(program);
	v->name = copy(name);
	v->address = copy(address);
	v->port = port;
}

static int compare(const void *a, const void *b)
{
	const struct violation *x = *(const struct violation *const *)a;
	const struct violation *y = *(const struct violation *const *)b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	if (x->last_ms != y->last_ms)
		return x->last_ms > y->last_ms ? -1 : 1;
	/* Of those at one time the one that came up last. */
	if (x->first_ms != y->first_ms)
		return x->first_ms > y->first_ms ? -1 : 1;
	return x > y ? -1 : x < y;
}

size_t violations_rank(const struct violations *violations, const struct violation **ret,
		       size_t max)
{
	const struct violation *all[VIOLATIONS_MAX] = {0};
	size_t len = 0;

	for (size_t i = 0; i < violations->len && len < VIOLATIONS_MAX; i++)
		if (violations->items[i].weight != VIOLATION_PROBE)
			all[len++] = &violations->items[i];
	qsort(all, len, sizeof(all[0]), compare);
	for (size_t i = 0; i < len && i < max; i++)
		ret[i] = all[i];
	return len;
}

void violations_release(struct violations *violations)
{
	for (size_t i = 0; i < violations->len; i++) {
		free(violations->items[i].target);
		free(violations->items[i].rule);
		free(violations->items[i].fix);
		free(violations->items[i].program);
		free(violations->items[i].name);
		free(violations->items[i].address);
	}
	free(violations->items);
	*violations = (struct violations){0};
}

static void peer_json(const struct violation *at, struct json *json)
{
	json_add_string(json, "target", at->target);
	json_add_string(json, "name", at->name);
	json_add_string(json, "address", at->address);
	if (at->port)
		json_add_uint(json, "port", at->port);
	else
		json_add_null(json, "port");
}

const char *violation_guess(const char *dimension, const char *op, const char *fix)
{
	if (!str_eq(dimension, "network"))
		return "";
	if (fix && strstr(fix, "--host NAME "))
		return " (NAME: the host that was looked up)";
	return str_eq(op, "resolve") ? " (443, or the port that it uses)" : "";
}

void violations_json(const struct violations *violations, struct json *json)
{
	if (!violations->observed) {
		json_add_null(json, "violations");
		return;
	}
	json_begin_array(json, "violations");
	for (size_t i = 0; i < violations->len; i++) {
		const struct violation *at = &violations->items[i];

		json_begin_object(json, NULL);
		json_add_string(json, "dimension", at->dimension);
		json_add_string(json, "op", at->op);
		if (str_eq(at->dimension, "network") || at->port)
			peer_json(at, json);
		else
			json_add_string(json, "path", at->target);
		json_add_string(json, "program", at->program);
		json_add_string(json, "rule", at->rule);
		json_add_string(json, "fix", at->fix);
		json_add_uint(json, "count", at->count);
		json_add_bool(json, "probe", at->weight == VIOLATION_PROBE);
		json_end_object(json);
	}
	json_end_array(json);
	json_add_uint(json, "violations_dropped", violations->dropped);
}
