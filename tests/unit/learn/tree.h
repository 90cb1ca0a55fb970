/* SPDX-License-Identifier: MIT */
/* tree - a made-up host: names that end in a slash are folders. */
#pragma once
#include <string.h>

#include "base/str.h"
#include "learn/group.h"

/* DATA: a NULL-terminated list of names; folders on the way exist as well. */
static inline enum path_type tree_look(const char *path, void *data)
{
	size_t len = strlen(path);

	if (strcmp(path, "/") == 0)
		return PATH_FOLDER;
	for (const char *const *name = data; *name; name++) {
		if (strncmp(*name, path, len) != 0)
			continue;
		if ((*name)[len] == '\0')
			return PATH_FILE;
		if ((*name)[len] == '/')
			return PATH_FOLDER;
	}
	return PATH_ABSENT;
}

/* "a b c" */
static inline int words(const char *text, struct strv *ret)
{
	int r = 0;

	while (*text && r == 0) {
		size_t len = strcspn(text, " ");

		r = strv_addn(ret, text, len);
		text += len + (text[len] == ' ');
	}
	return r;
}

static inline const char *joined(const struct strv *v, struct str *out)
{
	for (size_t i = 0; i < v->len; i++)
		str_appendf(out, "%s%s", i ? " " : "", v->items[i]);
	return str_text(out);
}
