/* SPDX-License-Identifier: MIT */
#include "learn/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "config/workspace.h"
#include "observe/profile.h"

/* The first N components of REST and a slash, or all of it when there are fewer. */
static int add_folder(struct strv *labels, const char *prefix, const char *rest, int n)
{
	const char *end = rest;

	for (int i = 0; i < n && end; i++)
		end = strchr(end + (i > 0), '/');
	return end ? strv_addf(labels, "%s%.*s/", prefix, (int)(end - rest), rest)
		   : strv_addf(labels, "%s%s", prefix, rest);
}

static int add_label(struct strv *labels, const char *path, const char *workspace, const char *home)
{
	if (strcmp(path, workspace) == 0)
		return strv_add(labels, ".");
	if (path_covers(workspace, path))
		return add_folder(labels, "", path + strlen(workspace) + 1, 1);
	if (home && path_covers(home, path) && strcmp(path, home) != 0)
		return add_folder(labels, "~/", path + strlen(home) + 1, 2);
	return path[0] == '/' && path[1] ? add_folder(labels, "/", path + 1, 2)
					 : strv_add(labels, path);
}

static const unsigned bits[SUMMARY_COUNT_] = {
	[SUMMARY_EXECUTED] = PROFILE_EXECUTE,
	[SUMMARY_READ] = PROFILE_READ,
	[SUMMARY_WRITTEN] = PROFILE_WRITE | PROFILE_CREATE | PROFILE_REMOVE,
};

static bool was_executed(const struct profile_path *at, const struct summary_facts *facts)
{
	return !facts->is_there || at->what & bits[SUMMARY_WRITTEN] || facts->is_there(at->path);
}

static int add_connections(const struct profile *profile, struct strv *labels)
{
	int r = 0;

	for (size_t i = 0; i < profile->connections_len && r == 0; i++) {
		const struct profile_connection *c = &profile->connections[i];
		bool six = strchr(c->address, ':');

		r = c->port ? strv_addf(labels, "%s%s%s:%u", six ? "[" : "", c->address,
					six ? "]" : "", c->port)
			    : strv_add(labels, c->address);
	}
	return r;
}

static int collect(const struct profile *profile, enum summary_kind kind,
		   const struct summary_facts *facts, struct strv *labels)
{
	int r = kind == SUMMARY_CONNECTED ? add_connections(profile, labels) : 0;

	for (size_t i = 0; i < profile->paths_len && r == 0; i++) {
		const struct profile_path *at = &profile->paths[i];

		if (!(at->what & bits[kind]))
			continue;
		if (kind != SUMMARY_EXECUTED)
			r = add_label(labels, at->path, facts->workspace, facts->user->home);
		else if (was_executed(at, facts))
			r = strv_add(labels, at->path);
	}
	return r;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int summary_make(const struct profile *profile, enum summary_kind kind,
		 const struct summary_facts *facts, struct summary_row **ret_rows, size_t *ret_len)
{
	_cleanup_(strv_release) struct strv labels = {0};
	struct summary_row *rows;
	size_t len = 0;
	int r = collect(profile, kind, facts, &labels);

	if (r < 0)
		return r;
	rows = calloc(labels.len + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	if (labels.len > 0)
		qsort(labels.items, labels.len, sizeof(*labels.items), compare);
	for (size_t i = 0; i < labels.len; i++) {
		if (len == 0 || strcmp(rows[len - 1].where, labels.items[i]) != 0)
			rows[len++].where = take_ptr(labels.items[i]);
		rows[len - 1].count++;
	}
	*ret_rows = rows;
	*ret_len = len;
	return 0;
}

void summary_free(struct summary_row *rows, size_t len)
{
	for (size_t i = 0; i < len; i++)
		free(rows[i].where);
	free(rows);
}

const char *summary_name(enum summary_kind kind)
{
	static const char *const names[SUMMARY_COUNT_] = {
		[SUMMARY_EXECUTED] = "executed",
		[SUMMARY_READ] = "read",
		[SUMMARY_WRITTEN] = "written",
		[SUMMARY_CONNECTED] = "connected",
	};

	return names[kind];
}
