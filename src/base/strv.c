/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

void strv_release(struct strv *v)
{
	for (size_t i = 0; i < v->len; i++)
		free(v->items[i]);
	free(v->items);
	*v = (struct strv){0};
}

static int reserve_one(struct strv *v)
{
	size_t cap = v->cap ? v->cap * 2 : 8;
	char **items;

	if (v->len + 1 < v->cap)
		return 0;
	items = reallocarray(v->items, cap, sizeof(*items));
	if (!items)
		return -ENOMEM;
	v->items = items;
	v->cap = cap;
	return 0;
}

int strv_take(struct strv *v, char *text)
{
	if (!text || reserve_one(v) < 0) {
		free(text);
		return -ENOMEM;
	}
	v->items[v->len++] = text;
	v->items[v->len] = NULL;
	return 0;
}

int strv_add(struct strv *v, const char *text)
{
	return strv_take(v, strdup(text));
}

int strv_addn(struct strv *v, const char *text, size_t len)
{
	return strv_take(v, strndup(text, len));
}

int strv_addf(struct strv *v, const char *fmt, ...)
{
	_cleanup_(str_release) struct str s = {0};
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = str_vappendf(&s, fmt, ap);
	va_end(ap);
	return r < 0 ? r : strv_take(v, take_ptr(s.data));
}

int strv_copy(struct strv *dst, const struct strv *src)
{
	_cleanup_(strv_release) struct strv copy = {0};

	for (size_t i = 0; i < src->len; i++) {
		int r = strv_add(&copy, src->items[i]);

		if (r < 0)
			return r;
	}
	strv_release(dst);
	*dst = copy;
	copy = (struct strv){0};
	return 0;
}

bool strv_has(const struct strv *v, const char *text)
{
	for (size_t i = 0; i < v->len; i++)
		if (strcmp(v->items[i], text) == 0)
			return true;
	return false;
}

bool strv_eq(const struct strv *a, const struct strv *b)
{
	if (a->len != b->len)
		return false;
	for (size_t i = 0; i < a->len; i++)
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	return true;
}

static int compare_items(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strv_sort_unique(struct strv *v)
{
	size_t kept = 0;

	if (v->len < 2)
		return;
	qsort(v->items, v->len, sizeof(*v->items), compare_items);
	for (size_t i = 1; i < v->len; i++) {
		if (strcmp(v->items[kept], v->items[i]) == 0)
			free(v->items[i]);
		else
			v->items[++kept] = v->items[i];
	}
	v->len = kept + 1;
	v->items[v->len] = NULL;
}

int strv_assign(struct strv *env, const char *assignment)
{
	size_t len = strcspn(assignment, "=") + 1;

	for (size_t i = 0; i < env->len; i++) {
		char *copy;

		if (strncmp(env->items[i], assignment, len) != 0)
			continue;
		copy = strdup(assignment);
		if (!copy)
			return -ENOMEM;
		free(env->items[i]);
		env->items[i] = copy;
		return 0;
	}
	return strv_add(env, assignment);
}
