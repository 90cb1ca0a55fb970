/* SPDX-License-Identifier: MIT */
/* pale session list, stop, rm, prune */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json-read.h"
#include "base/path.h"
#include "base/private-dir.h"
#include "cli/cmd-exec.h"
#include "cli/common.h"
#include "config/workspace.h"
#include "session/session-place.h"
#include "session/session-proto.h"
#include "session/session.h"
#include "view/table.h"
#include "view/units.h"

enum { INFO_MS = 2000, COLUMNS = 7 };

/* What is done with each session of a folder. */
struct visit {
	struct args *args;
	struct table *table;
	struct json *json;
	struct str *names;
	size_t swept;
	int (*fn)(struct visit *v, const char *folder, int parent, const char *name,
		  struct err *err);
};

static int visit_folder(struct visit *v, const char *folder, struct err *err)
{
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(fd_closep) int parent = session_folder_open(folder, err);
	int r;

	if (parent < 0)
		return parent == -ENOENT ? 0 : parent;
	r = session_names(parent, &names, err);
	for (size_t i = 0; i < names.len && r == 0; i++)
		r = v->fn(v, folder, parent, names.items[i], err);
	return r;
}

static int visit_all(struct visit *v, struct err *err)
{
	struct user user = {0};
	DIR *dir = NULL;
	struct dirent *entry;
	int fd = -1, r = user_probe(&user, err);

	if (r == 0 && user.runtime_dir)
		fd = private_dir_open(user.runtime_dir, false, err);
	if (fd >= 0)
		dir = fdopendir(fd);
	else if (r == 0 && fd != -1 && fd != -ENOENT)
		r = fd;
	while (r == 0 && dir && (entry = readdir(dir))) {
		_cleanup_(freep) char *folder = entry->d_name[0] == '.'
							? NULL
							: path_join(user.runtime_dir,
								    entry->d_name);

		if (folder)
			r = visit_folder(v, folder, err);
		if (folder)
			(void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR); /* if empty */
	}
	if (dir)
		closedir(dir);
	user_release(&user);
	return r;
}

static int visit_some(struct visit *v, bool all, struct err *err)
{
	_cleanup_(freep) char *folder = NULL;
	int r;

	if (all)
		return visit_all(v, err);
	r = session_locate(v->args->values[OPT_WORKSPACE], &folder, err);
	return r < 0 ? r : visit_folder(v, folder, err);
}

/* --- list --- */

/* What runs in it, if it says so in time. */
static char *ask_info(const char *folder, const char *name)
{
	static struct session_buffer buffer;
	_cleanup_(fd_closep) int sock = session_connect(folder, name, NULL);
	struct session_message m;
	struct session_cursor c;
	const char *text;
	char *copy;

	if (sock < 0 || session_ask(sock, SESSION_INFO, 0, NULL, &buffer, &m, INFO_MS, NULL) < 0)
		return NULL;
	c = session_cursor(&m);
	text = session_take_string(&c);
	copy = text ? strdup(text) : NULL;
	session_message_release(&m, &buffer);
	return copy;
}

static void list_json(struct json *json, struct json_slice facts, const char *info)
{
	struct json_slice key, value, object;
	size_t cursor = 0;

	json_begin_object(json, NULL);
	while (json_next(facts, &cursor, &key, &value)) {
		_cleanup_(freep) char *name = json_get_string(key);

		if (name)
			json_add_raw_bytes(json, name, value.text, value.len);
	}
	cursor = 0;
	if (info && json_slice_init(&object, info, strlen(info)))
		while (json_next(object, &cursor, &key, &value)) {
			_cleanup_(freep) char *name = json_get_string(key);

			if (name)
				json_add_raw_bytes(json, name, value.text, value.len);
		}
	json_end_object(json);
}

static int list_row(struct table *table, struct json_slice facts, const char *info)
{
	_cleanup_(freep) char *name = json_get_text(facts, "session");
	_cleanup_(freep) char *workspace = json_get_text(facts, "workspace");
	_cleanup_(freep) char *stage = json_get_text(facts, "stage");
	_cleanup_(freep) char *engine = json_get_text(facts, "engine");
	_cleanup_(freep) char *world = NULL;
	struct json_slice grade, object;
	char running[24] = "?", age[UNITS_MAX];
	uint64_t started = json_get_number(facts, "started_ms", 0), now = clock_wall_ms();

	if (json_get(facts, "grade", &grade))
		world = json_get_text(grade, "world");
	if (info && json_slice_init(&object, info, strlen(info)))
		snprintf(running, sizeof(running), "%llu",
			 (unsigned long long)json_get_number(object, "running", 0));
	for (size_t i = 0; i < COLUMNS; i++)
		if (table_add(table, (const char *const[]){
					     name, running,
					     units_ms(now > started ? now - started : 0, age),
					     stage, world, engine, workspace}[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int list_one(struct visit *v, const char *folder, int parent, const char *name,
		    struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(freep) char *info = NULL;
	struct json_slice facts;
	int r = 0;

	if (!session_is_living(parent, name)) {
		v->swept += session_sweep(parent, name);
		return 0;
	}
	/* One that does not stand yet says nothing of itself. */
	if (session_facts(folder, name, &text, NULL) < 0 ||
	    !json_slice_init(&facts, str_text(&text), text.len))
		return 0;
	if (v->names)
		r = str_appendf(v->names, "%s\n", name);
	else
		info = ask_info(folder, name);
	if (v->json)
		list_json(v->json, facts, info);
	else if (v->table)
		r = list_row(v->table, facts, info);
	return r < 0 ? err_oom(err) : 0;
}

static int list(struct args *args, struct err *err)
{
	static const char *const heads[] = {"NAME",  "RUNNING", "AGE",       "STAGE",
					    "WORLD", "ENGINE",  "WORKSPACE", NULL};
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out};
	struct visit v = {.args = args, .fn = list_one};
	bool all = args->values[OPT_ALL];
	struct table table = {.heads = heads, .columns = COLUMNS};
	int r;

	if (args->values[OPT_NAMES])
		v.names = &out;
	else if (args->values[OPT_JSON])
		v.json = &json;
	else
		v.table = &table;
	if (v.json)
		json_begin_array(&json, NULL);
	r = visit_some(&v, all, err);
	if (r == 0 && v.json) {
		json_end_array(&json);
		r = emit_json(&json);
	} else if (r == 0) {
		if (v.table &&
		    (table.cells.len > 0
			     ? table_print(&table, &out)
			     : str_append(&out, "no sessions; `pale session start` makes one\n")) <
			    0)
			r = err_oom(err);
		else
			r = emit(&out);
	}
	table_release(&table);
	return r;
}

/* --- stop, rm, prune --- */

static int no_such(const char *name, struct err *err)
{
	err_set(err, ERR_USAGE, -ENOENT, "there is no session '%s' in this workspace", name);
	return err_hint(err, -ENOENT, "pale session list");
}

static int stop_one(struct visit *v, const char *folder, int parent, const char *name,
		    struct err *err)
{
	int r = session_stop(folder, name, err);

	(void)v, (void)parent;
	return r == -ENOENT ? 0 : r;
}

static int stop(struct args *args, bool must_exist, struct err *err)
{
	struct visit v = {.args = args, .fn = stop_one};
	_cleanup_(freep) char *folder = NULL;
	int r;

	if (args->values[OPT_ALL])
		return args->len > 0 ? err_set(err, ERR_USAGE, -EINVAL,
					       "--all and names exclude each other")
				     : visit_some(&v, false, err);
	if (args->len == 0)
		return err_hint(err, err_set(err, ERR_USAGE, -EINVAL, "session stop: which one?"),
				"pale session stop NAME, or --all");
	r = session_locate(args->values[OPT_WORKSPACE], &folder, err);
	for (int i = 0; i < args->len && r == 0; i++) {
		r = session_name_check(args->operands[i], err);
		if (r == 0)
			r = session_stop(folder, args->operands[i], err);
		if (r == -ENOENT)
			r = must_exist ? no_such(args->operands[i], err) : 0;
	}
	return r;
}

static int prune_one(struct visit *v, const char *folder, int parent, const char *name,
		     struct err *err)
{
	(void)folder, (void)err;
	v->swept += session_sweep(parent, name);
	return 0;
}

static int prune(struct args *args, struct err *err)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out};
	struct visit v = {.args = args, .fn = prune_one};
	int r = visit_all(&v, err);

	if (r < 0)
		return r;
	if (args->values[OPT_JSON]) {
		json_begin_object(&json, NULL);
		json_add_uint(&json, "removed", v.swept);
		json_end_object(&json);
		return emit_json(&json);
	}
	if (v.swept > 0 && str_appendf(&out, "%zu removed\n", v.swept) < 0)
		return err_oom(err);
	return emit(&out);
}

int cmd_session(enum verb_id id, int argc, char **argv)
{
	struct args args;
	struct err err = {0};
	int r = args_parse(id, argc, argv, &args, &err);

	if (r > 0)
		return 0;
	if (r == 0 && id == VERB_SESSION_LIST)
		r = list(&args, &err);
	else if (r == 0 && id == VERB_SESSION_PRUNE)
		r = prune(&args, &err);
	else if (r == 0)
		r = stop(&args, id == VERB_SESSION_STOP, &err);
	return r < 0 ? report(&err) : r;
}
