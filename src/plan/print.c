/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/size.h"
#include "plan/network.h"
#include "plan/plan.h"

static const struct {
	unsigned long flag;
	const char *name;
} namespaces[] = {
	{CLONE_NEWUSER, "user"}, {CLONE_NEWNS, "mount"}, {CLONE_NEWPID, "pid"},
	{CLONE_NEWIPC, "ipc"},   {CLONE_NEWUTS, "uts"},  {CLONE_NEWNET, "net"},
};

static const char *const idmap_names[] = {
	[IDMAP_NONE] = "none",     [IDMAP_SELF] = "self",   [IDMAP_RANGE] = "range",
	[IDMAP_SWITCH] = "switch", [IDMAP_OWNER] = "owner", [IDMAP_IDENTITY] = "identity",
};

static const struct {
	unsigned flag;
	const char *name;
} flags[] = {
	{OP_RDONLY, "ro"},
	{OP_NOEXEC, "noexec"},
	{OP_IDMAP, "idmap"},
	{OP_OPTIONAL, "optional"},
	{OP_FILE, "file"},
	{OP_VISIBLE, "visible"},
	{OP_NESTED, "nested"},
	{OP_BARE, "bare"},
	{OP_OFFLINE, "offline"},
	{OP_DEVICES, "devices"},
	{OP_FILES, "files"},
	{OP_SIGNALS, "signals"},
	{OP_ABSTRACT, "abstract-sockets"},
	{OP_SOCKETS, "sockets"},
	{OP_LOOSE, "if-there"},
	{OP_OBSERVE, "observe"},
	{OP_PROFILE, "profile"},
	{OP_BROKERED, "broker"},
	{OP_SHARED, "shared"},
	{OP_APART, "apart"},
};

static bool shows_flag(const struct plan *plan, unsigned flag)
{
	return flag != OP_IDMAP || plan->idmap == IDMAP_RANGE;
}

static int put_escaped(struct str *out, const char *before, const char *text)
{
	int r = str_append(out, before);

	return r < 0 ? r : str_append_escaped(out, text, strlen(text));
}

static int print_op(const struct plan *plan, const struct op *op, size_t number, struct str *out)
{
	bool alone = !op->dst && !op->src;
	char size[SIZE_TEXT_MAX];
	int r = str_appendf(out, alone ? "%4zu  %s" : "%4zu  %-13s", number, op_name(op->kind));

	if (r == 0 && op->dst)
		r = put_escaped(out, " ", op->dst);
	if (r == 0 && op->src && op->kind != OP_NOTE && !str_eq(op->src, op->dst))
		r = put_escaped(out, op->dst ? " from " : " ", op->src);
	if (r == 0 && op->size)
		r = str_appendf(out, " size=%s", size_format(op->size, size));
	if (r == 0 && op->mode)
		r = str_appendf(out, " mode=%04o", op->mode);
	for (size_t i = 0; i < array_len(flags) && r == 0; i++)
		if (op->flags & flags[i].flag && shows_flag(plan, flags[i].flag))
			r = str_appendf(out, " %s", flags[i].name);
	return r < 0 ? r : str_append_char(out, '\n');
}

static int print_head(const struct plan *plan, struct str *out)
{
	char text[SIZE_TEXT_MAX];
	int r = str_appendf(out, "engine      %s\nworld       %s, ceiling %u\nnamespaces ",
			    engine_name(plan->engine), plan->world, plan->ceiling);

	for (size_t i = 0; i < array_len(namespaces) && r == 0; i++)
		if (plan->namespaces & namespaces[i].flag)
			r = str_appendf(out, " %s", namespaces[i].name);
	if (r == 0 && !plan->namespaces)
		r = str_append(out, " none");
	if (r == 0)
		r = str_appendf(out, "\nids         %s, uid %u, gid %u\ncwd         ",
				idmap_names[plan->idmap], plan->uid, plan->gid);
	if (r == 0)
		r = str_append_escaped(out, plan->cwd, strlen(plan->cwd));
	if (r == 0 && plan->stage)
		r = str_appendf(out, "\nstage       %s", plan->stage);
	if (r == 0 && plan->timeout_ms != UINT64_MAX)
		r = str_appendf(out, "\ntimeout     %s", duration_format(plan->timeout_ms, text));
	return r < 0 ? r : str_append_char(out, '\n');
}

/* Names only: values may be secrets that the user passes on purpose. */
static int print_env(const struct plan *plan, struct str *out)
{
	int r = str_append(out, "environment");

	for (size_t i = 0; i < plan->env.len && r == 0; i++) {
		r = str_append_char(out, ' ');
		if (r == 0)
			r = str_append_escaped(out, plan->env.items[i],
					       strcspn(plan->env.items[i], "="));
	}
	return r < 0 ? r : str_append_char(out, '\n');
}

static const char *guard_state(const struct guarded *guard)
{
	return guard->dst      ? "read-only"
	       : guard->link   ? "link"
	       : guard->id.ino ? "pinned"
			       : "absent";
}

static int print_guards(const struct plan *plan, struct str *out)
{
	int r = plan->guards_len ? str_append(out, "\nwatched\n") : 0;

	for (size_t i = 0; i < plan->guards_len && r == 0; i++) {
		const struct guarded *guard = &plan->guards[i];

		r = str_appendf(out, "  %-9s ", guard_state(guard));
		if (r == 0)
			r = put_escaped(out, " ", guard->dir);
		if (r == 0)
			r = put_escaped(out, "/", guard->name);
		if (r == 0)
			r = str_append_char(out, '\n');
	}
	return r;
}

int plan_print(const struct plan *plan, struct str *out)
{
	int r = print_head(plan, out);

	if (r == 0)
		r = print_env(plan, out);
	if (r == 0)
		r = str_append(out, "\ndimensions\n");
	for (size_t i = 0; i < plan->verdicts_len && r == 0; i++)
		r = str_appendf(out, "  %-14s  %-10s  %s\n", plan->verdicts[i].dimension,
				enforcement_name(plan->verdicts[i].state), plan->verdicts[i].by);
	if (r == 0)
		r = str_append(out, "\noperations\n");
	for (size_t i = 0; i < plan->ops_len && r == 0; i++)
		r = print_op(plan, &plan->ops[i], i + 1, out);
	if (r == 0)
		r = network_print(plan, out);
	return r < 0 ? r : print_guards(plan, out);
}

void plan_verdicts_json(const struct plan *plan, struct json *json)
{
	json_begin_object(json, "enforced");
	for (size_t i = 0; i < plan->verdicts_len; i++) {
		json_begin_object(json, plan->verdicts[i].dimension);
		json_add_string(json, "state", enforcement_name(plan->verdicts[i].state));
		json_add_string(json, "by", plan->verdicts[i].by);
		json_end_object(json);
	}
	json_end_object(json);
}

static void op_json(const struct plan *plan, const struct op *op, struct json *json)
{
	json_begin_object(json, NULL);
	json_add_string(json, "op", op_name(op->kind));
	if (op->dst)
		json_add_string(json, "dst", op->dst);
	if (op->src)
		json_add_string(json, "src", op->src);
	if (op->size)
		json_add_uint(json, "size", op->size);
	if (op->mode)
		json_add_uint(json, "mode", op->mode);
	json_begin_array(json, "flags");
	for (size_t i = 0; i < array_len(flags); i++)
		if (op->flags & flags[i].flag && shows_flag(plan, flags[i].flag))
			json_add_string(json, NULL, flags[i].name);
	json_end_array(json);
	json_end_object(json);
}

static void env_name_json(const char *pair, struct json *json)
{
	char name[256];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(pair, "="), pair);
	json_add_string(json, NULL, name);
}

void plan_json(const struct plan *plan, struct json *json)
{
	json_begin_object(json, NULL);
	json_add_string(json, "engine", engine_name(plan->engine));
	json_begin_object(json, "grade");
	json_add_string(json, "world", plan->world);
	json_add_uint(json, "ceiling", plan->ceiling);
	json_end_object(json);
	json_begin_array(json, "namespaces");
	for (size_t i = 0; i < array_len(namespaces); i++)
		if (plan->namespaces & namespaces[i].flag)
			json_add_string(json, NULL, namespaces[i].name);
	json_end_array(json);
	json_begin_object(json, "ids");
	json_add_string(json, "map", idmap_names[plan->idmap]);
	json_add_uint(json, "uid", plan->uid);
	json_add_uint(json, "gid", plan->gid);
	json_end_object(json);
	json_add_string(json, "cwd", plan->cwd);
	json_add_string(json, "stage", plan->stage);
	json_add_strv(json, "argv", &plan->argv);
	json_begin_array(json, "environment");
	for (size_t i = 0; i < plan->env.len; i++)
		env_name_json(plan->env.items[i], json);
	json_end_array(json);
	if (plan->timeout_ms == UINT64_MAX)
		json_add_null(json, "timeout_ms");
	else
		json_add_uint(json, "timeout_ms", plan->timeout_ms);
	plan_verdicts_json(plan, json);
	json_begin_array(json, "operations");
	for (size_t i = 0; i < plan->ops_len; i++)
		op_json(plan, &plan->ops[i], json);
	json_end_array(json);
	network_json(plan, json);
	json_begin_array(json, "watched");
	for (size_t i = 0; i < plan->guards_len; i++) {
		json_begin_object(json, NULL);
		json_add_string(json, "folder", plan->guards[i].dir);
		json_add_string(json, "name", plan->guards[i].name);
		json_add_string(json, "state", guard_state(&plan->guards[i]));
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}
