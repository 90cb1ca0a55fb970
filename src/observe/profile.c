/* SPDX-License-Identifier: MIT */
#include "observe/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json-read.h"
#include "base/json.h"
#include "base/str.h"

static const struct {
	unsigned flag;
	const char *key;
} kinds[] = {
	{PROFILE_READ, "read"},     {PROFILE_WRITE, "write"},     {PROFILE_CREATE, "create"},
	{PROFILE_REMOVE, "remove"}, {PROFILE_EXECUTE, "execute"},
};

/* FNV-1a: names of files, in a table of our own. */
static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

/* The slot that holds PATH, or the free one where it belongs. */
static uint32_t *find_slot(const struct profile *p, const char *path)
{
	size_t at = hash(path) & (p->index_len - 1);

	while (p->index[at] && !str_eq(p->paths[p->index[at] - 1].path, path))
		at = (at + 1) & (p->index_len - 1);
	return &p->index[at];
}

/* At most half full. */
static int grow(struct profile *p)
{
	size_t cap = p->paths_cap ? p->paths_cap * 2 : 256;
	struct profile_path *paths = reallocarray(p->paths, cap, sizeof(*paths));
	uint32_t *index;

	if (!paths)
		return -ENOMEM;
	p->paths = paths;
	index = calloc(cap * 2, sizeof(*index));
	if (!index)
		return -ENOMEM;
	free(p->index);
	p->index = index;
	p->index_len = cap * 2;
	p->paths_cap = cap;
	for (size_t i = 0; i < p->paths_len; i++)
		*find_slot(p, p->paths[i].path) = (uint32_t)(i + 1);
	return 0;
}

static int add_path(struct profile *p, const char *path, unsigned what, uint64_t count)
{
	uint32_t *slot = p->index_len ? find_slot(p, path) : NULL;
	size_t bytes = strlen(path) + 1;
	char *copy;

	if (slot && *slot) {
		p->paths[*slot - 1].what |= what;
		p->paths[*slot - 1].count += count;
		return 0;
	}
	if (p->paths_len == PROFILE_PATHS_MAX || p->paths_bytes + bytes > PROFILE_BYTES_MAX) {
		p->dropped += count;
		return 0;
	}
	copy = strdup(path);
	if (!copy || (p->paths_len == p->paths_cap && grow(p) < 0)) {
		free(copy);
		p->dropped += count;
		return -ENOMEM;
	}
	*find_slot(p, path) = (uint32_t)(p->paths_len + 1);
	p->paths[p->paths_len++] = (struct profile_path){
		.path = copy, .what = what, .count = count};
	p->paths_bytes += bytes;
	return 0;
}

int profile_add_path(struct profile *profile, const char *path, unsigned what)
{
	return add_path(profile, path, what, 1);
}

static int add_connection(struct profile *p, const char *address, unsigned port, unsigned how,
			  uint64_t count)
{
	struct profile_connection *grown;
	char *copy;

	for (size_t i = 0; i < p->connections_len; i++)
		if (p->connections[i].port == port && str_eq(p->connections[i].address, address)) {
			p->connections[i].count += count;
			p->connections[i].how |= how;
			return 0;
		}
	if (p->connections_len == PROFILE_CONNECTIONS_MAX) {
		p->dropped += count;
		return 0;
	}
	copy = strdup(address);
	grown = reallocarray(p->connections, p->connections_len + 1, sizeof(*grown));
	if (grown)
		p->connections = grown;
	if (!copy || !grown) {
		free(copy);
		p->dropped += count;
		return -ENOMEM;
	}
	grown[p->connections_len++] = (struct profile_connection){copy, port, count, how};
	return 0;
}

int profile_add_connection(struct profile *profile, const char *address, unsigned port)
{
	return add_connection(profile, address, port, 0, 1);
}

int profile_add_peer(struct profile *profile, const char *address, unsigned port, unsigned how)
{
	return add_connection(profile, address, port, how, 1);
}

void profile_release(struct profile *profile)
{
	for (size_t i = 0; i < profile->paths_len; i++)
		free(profile->paths[i].path);
	for (size_t i = 0; i < profile->connections_len; i++)
		free(profile->connections[i].address);
	free(profile->paths);
	free(profile->index);
	free(profile->connections);
	*profile = (struct profile){0};
}

void profile_json(const struct profile *profile, const char *key, struct json *json)
{
	json_begin_object(json, key);
	json_begin_array(json, "paths");
	for (size_t i = 0; i < profile->paths_len; i++) {
		json_begin_object(json, NULL);
		json_add_string(json, "path", profile->paths[i].path);
		for (size_t k = 0; k < array_len(kinds); k++)
			if (profile->paths[i].what & kinds[k].flag)
				json_add_bool(json, kinds[k].key, true);
		json_add_uint(json, "count", profile->paths[i].count);
		json_end_object(json);
	}
	json_end_array(json);
	json_begin_array(json, "connections");
	for (size_t i = 0; i < profile->connections_len; i++) {
		json_begin_object(json, NULL);
		json_add_string(json, "address", profile->connections[i].address);
		json_add_uint(json, "port", profile->connections[i].port);
		if (profile->connections[i].how & PROFILE_REACHED)
			json_add_bool(json, "reached", true);
		if (profile->connections[i].how & PROFILE_REFUSED)
			json_add_bool(json, "refused", true);
		json_add_uint(json, "count", profile->connections[i].count);
		json_end_object(json);
	}
	json_end_array(json);
	json_add_uint(json, "spawns", profile->spawns);
	json_add_uint(json, "dropped", profile->dropped);
	json_end_object(json);
}

/* -- Back again ------------------------------------------------------------ */

static uint64_t number(struct json_slice object, const char *key)
{
	struct json_slice value;
	uint64_t n = 0;

	return json_get(object, key, &value) && json_get_uint(value, &n) ? n : 0;
}

static int parse_path(struct json_slice object, struct profile *ret)
{
	_cleanup_(freep) char *path = NULL;
	struct json_slice value;
	unsigned what = 0;

	if (!json_get(object, "path", &value))
		return -EBADMSG;
	path = json_get_string(value);
	if (!path)
		return -EBADMSG;
	for (size_t k = 0; k < array_len(kinds); k++)
		if (json_get(object, kinds[k].key, &value))
			what |= kinds[k].flag;
	return add_path(ret, path, what, number(object, "count"));
}

static int parse_connection(struct json_slice object, struct profile *ret)
{
	_cleanup_(freep) char *address = NULL;
	struct json_slice value;
	unsigned how = 0;

	if (!json_get(object, "address", &value))
		return -EBADMSG;
	address = json_get_string(value);
	if (!address)
		return -EBADMSG;
	if (json_get(object, "reached", &value))
		how |= PROFILE_REACHED;
	if (json_get(object, "refused", &value))
		how |= PROFILE_REFUSED;
	return add_connection(ret, address, (unsigned)number(object, "port"), how,
			      number(object, "count"));
}

static int parse_list(struct json_slice object, const char *key,
		      int (*parse)(struct json_slice object, struct profile *ret),
		      struct profile *ret)
{
	struct json_slice list, item;
	size_t cursor = 0;
	int r = json_get(object, key, &list) ? 0 : -EBADMSG;

	while (r == 0 && json_next_item(list, &cursor, &item))
		r = parse(item, ret);
	return r;
}

int profile_parse(const char *text, size_t len, struct profile *ret, struct err *err)
{
	struct profile profile = {0};
	struct json_slice whole;
	int r = json_slice_init(&whole, text, len) ? 0 : -EBADMSG;

	if (r == 0)
		r = parse_list(whole, "paths", parse_path, &profile);
	if (r == 0)
		r = parse_list(whole, "connections", parse_connection, &profile);
	if (r < 0) {
		profile_release(&profile);
		return r == -ENOMEM ? err_oom(err)
				    : err_set(err, ERR_SYSTEM, r, "this is no profile");
	}
	profile.spawns = number(whole, "spawns");
	profile.dropped += number(whole, "dropped");
	*ret = profile;
	return 0;
}
