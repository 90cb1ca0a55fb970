/* SPDX-License-Identifier: MIT */
/* diff-json - what is staged, for programs. Names that are no UTF-8 come a second
 * time, in base64. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/diff.h"

static char *base64(const char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = strlen(text), at = 0;
	char *out = malloc((len + 2) / 3 * 4 + 1);

	for (size_t i = 0; out && i < len; i += 3) {
		uint32_t word = (uint32_t)(unsigned char)text[i] << 16;

		word |= i + 1 < len ? (uint32_t)(unsigned char)text[i + 1] << 8 : 0;
		word |= i + 2 < len ? (unsigned char)text[i + 2] : 0;
		out[at++] = digits[word >> 18];
		out[at++] = digits[word >> 12 & 63];
		out[at++] = i + 1 < len ? digits[word >> 6 & 63] : '=';
		out[at++] = i + 2 < len ? digits[word & 63] : '=';
	}
	if (out)
		out[at] = '\0';
	return out;
}

void json_add_name(struct json *json, const char *key, const char *name)
{
	_cleanup_(freep) char *bytes = NULL;
	char second[64];

	json_add_string(json, key, name);
	if (!name || str_is_utf8(name, strlen(name)))
		return;
	bytes = base64(name);
	snprintf(second, sizeof(second), "%s_base64", key);
	if (bytes)
		json_add_string(json, second, bytes);
	else
		json->error = -ENOMEM;
}

static void add_node(struct json *json, const char *key, const struct node *node, mode_t bits,
		     uint64_t size)
{
	char mode[16];

	if (node->type == NODE_ABSENT || node->type == NODE_WHITEOUT) {
		json_add_null(json, key);
		return;
	}
	snprintf(mode, sizeof(mode), "%04o", bits);
	json_begin_object(json, key);
	json_add_string(json, "type", node_type_name(node->type) + strlen("a "));
	json_add_string(json, "mode", mode);
	json_add_uint(json, "size", size);
	if (node->type == NODE_LINK)
		json_add_name(json, "target", node->target);
	json_end_object(json);
}

static void add_run(struct json *json, const struct staged *staged, const char *id)
{
	const struct stage_run *run = staged_run(staged, id);

	if (!id) {
		json_add_null(json, "run");
		return;
	}
	json_begin_object(json, "run");
	json_add_string(json, "id", id);
	json_add_string(json, "command", run ? run->command : NULL);
	if (run && run->is_ended)
		json_add_int(json, "ended", run->ended.tv_sec);
	else
		json_add_null(json, "ended");
	json_end_object(json);
}

static void add_flags(struct json *json, const struct change *change)
{
	json_add_bool(json, "protected", change->flags & CHANGE_IS_PROTECTED);
	json_add_bool(json, "runs_later", change->flags & CHANGE_RUNS_LATER);
	json_add_bool(json, "conflict", change->flags & CHANGE_IS_CONFLICT);
	json_add_bool(json, "merges", change->flags & CHANGE_MERGES);
	json_add_bool(json, "unsupported", change->flags & CHANGE_IS_UNSUPPORTED);
	json_add_bool(json, "stripped", change->flags & CHANGE_IS_STRIPPED);
	json_add_string(json, "why", change->why && *change->why ? change->why : NULL);
}

static void add_hunks(struct json *json, const struct hunks *hunks)
{
	size_t added = 0, removed = 0;

	diff_count(&hunks->diff, &removed, &added);
	json_add_uint(json, "added", added);
	json_add_uint(json, "removed", removed);
	json_begin_array(json, "hunks");
	for (size_t i = 0; i < hunks->n; i++) {
		const struct diff_hunk *hunk = &hunks->items[i];

		json_begin_object(json, NULL);
		json_add_uint(json, "number", i + 1);
		json_add_uint(json, "old_start", hunk->old_start + (hunk->old_count > 0));
		json_add_uint(json, "old_lines", hunk->old_count);
		json_add_uint(json, "new_start", hunk->new_start + (hunk->new_count > 0));
		json_add_uint(json, "new_lines", hunk->new_count);
		json_end_object(json);
	}
	json_end_array(json);
}

static int add_entry(struct diff_job *job, struct json *json, const struct entry *entry,
		     struct err *err)
{
	_cleanup_(sides_release) struct sides sides = {0};
	_cleanup_(hunks_release) struct hunks hunks = {0};
	const struct change *change = entry->change;
	const struct node *old = entry->from ? &entry->from->old : &change->old;
	int r = entry->in_patch ? diff_load(job, entry, &sides, err) : 0;

	if (r == 0 && entry->in_patch)
		r = hunks_make(&sides, &hunks, err);
	if (r != 0)
		return r < 0 ? r : 0;
	json_begin_object(json, NULL);
	json_add_name(json, "path", entry->name);
	json_add_string(json, "change", entry_kind_name(entry->kind));
	if (entry->from) {
		json_add_name(json, "from", entry->from_name);
		json_add_uint(json, "similarity", entry->percent);
	}
	add_node(json, "old", old, old->mode, old->size);
	add_node(json, "new", &change->new, entry->mode, entry->size);
	json_add_bool(json, "binary", sides.is_binary);
	json_add_bool(json, "in_patch", entry->in_patch && !entry->in_git && change->root == 0);
	add_hunks(json, &hunks);
	add_flags(json, change);
	add_run(json, job->staged, change->run);
	json_end_object(json);
	return 0;
}

int diff_json(struct diff_job *job, struct err *err)
{
	struct json json = {.out = &job->out.text, .pretty = true};
	const struct entries *entries = job->entries;
	int r = 0;

	json_begin_object(&json, NULL);
	json_add_name(&json, "workspace", job->staged->workspace.root);
	json_add_string(&json, "stage", job->staged->stage ? job->staged->stage->name : NULL);
	json_begin_array(&json, "changes");
	for (size_t i = 0; i < entries->n && r == 0; i++) {
		r = progress_step(&job->progress, i, entries->n, entries->items[i].name);
		if (r == 0)
			r = add_entry(job, &json, &entries->items[i], err);
		if (r == 0)
			r = output_step(&job->out);
	}
	if (r < 0)
		return r;
	json_end_array(&json);
	json_end_object(&json);
	if (json_finish(&json) < 0 || str_append_char(&job->out.text, '\n') < 0)
		return err_oom(err);
	return 0;
}
