/* SPDX-License-Identifier: MIT */
/*
 * digests - what files held when the client last saw them.
 *
 * So that a write does not destroy what somebody else has written since. Paths are taken
 * as they are, without `.` and doubled slashes, relative to the workspace: two ways to
 * one file are two files here, of which the second counts as never read.
 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "mcp/impl.h"

enum { DIGESTS_MAX = 4096 };

char *digest_key(const struct server *server, const char *path)
{
	_cleanup_(str_release) struct str out = {0};
	size_t root = strlen(server->setup.workspace);

	if (strncmp(path, server->setup.workspace, root) == 0 && path[root] == '/')
		path += root + 1;
	else if (*path == '/' && str_append_char(&out, '/') < 0)
		return NULL;
	while (*path) {
		size_t len = strcspn(path, "/");
		bool skip = len == 0 || (len == 1 && *path == '.');

		if (!skip && out.len > 0 && out.data[out.len - 1] != '/' &&
		    str_append_char(&out, '/') < 0)
			return NULL;
		if (!skip && str_append_bytes(&out, path, len) < 0)
			return NULL;
		path += len + (path[len] == '/');
	}
	return out.data ? take_ptr(out.data) : strdup("");
}

static struct digest_entry *find(const struct digests *digests, const char *path)
{
	for (size_t i = 0; i < digests->len; i++)
		if (str_eq(digests->items[i].path, path))
			return &digests->items[i];
	return NULL;
}

const char *digest_of(const struct server *server, const char *path)
{
	_cleanup_(freep) char *key = digest_key(server, path);
	const struct digest_entry *entry = key ? find(&server->digests, key) : NULL;

	return entry ? entry->digest : NULL;
}

/* A free entry: a new one, or the oldest. */
static struct digest_entry *entry_new(struct digests *digests)
{
	struct digest_entry *entry;

	if (!digests->items)
		digests->items = calloc(DIGESTS_MAX, sizeof(*digests->items));
	if (!digests->items)
		return NULL;
	if (digests->len < DIGESTS_MAX)
		return &digests->items[digests->len++];
	entry = &digests->items[digests->next++ % DIGESTS_MAX];
	free(take_ptr(entry->path));
	free(take_ptr(entry->digest));
	return entry;
}

void digest_keep(struct server *server, const char *path, const char *digest)
{
	_cleanup_(freep) char *key = digest_key(server, path);
	char *copy = strdup(digest);
	struct digest_entry *entry = key ? find(&server->digests, key) : NULL;

	if (!entry && key && copy) {
		entry = entry_new(&server->digests);
		if (entry)
			entry->path = take_ptr(key);
	}
	if (!entry || !copy) {
		free(copy);
		server->error = -ENOMEM;
		return;
	}
	free(entry->digest);
	entry->digest = copy;
}

void digests_release(struct digests *digests)
{
	for (size_t i = 0; i < digests->len; i++) {
		free(digests->items[i].path);
		free(digests->items[i].digest);
	}
	free(digests->items);
	*digests = (struct digests){0};
}
