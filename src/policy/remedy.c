/* SPDX-License-Identifier: MIT */
#include "policy/remedy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/size.h"
#include "config/ignore.h"
#include "config/toml.h"
#include "config/value.h"
#include "config/workspace.h"
#include "policy/cache-place.h"
#include "policy/protected-names.h"
#include "policy/remedy-impl.h"
#include "policy/rule-set.h"
#include "policy/sensitive.h"

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (str_eq(word, *list))
			return true;
	return false;
}

int remedy_never(const struct attempt *a, const char *why)
{
	a->remedy->possible = false;
	a->remedy->why = why;
	return 0;
}

int remedy_allowed(const struct attempt *a, const char *why)
{
	a->remedy->allowed = true;
	return remedy_never(a, why);
}

int remedy_open_key(const struct attempt *a, enum dim dim, const char *value, const char *text,
		    const char *opens)
{
	_cleanup_(str_release) struct str option = {0};
	struct remedy *remedy = a->remedy;
	int r = str_append(&option, spec_keys[dim].flag);

	if (r == 0 && text)
		r = str_append_char(&option, ' ');
	if (r == 0 && text)
		r = str_append_word(&option, text);
	remedy->possible = true;
	remedy->dim = dim;
	remedy->is_item = key_is_list(&spec_keys[dim]);
	remedy->value = value ? strdup(value) : NULL;
	remedy->opens = strdup(opens);
	remedy->option = take_ptr(option.data);
	return r < 0 || !remedy->opens || !remedy->option || (value && !remedy->value)
		       ? err_oom(a->err)
		       : 0;
}

/* An option that opens nothing, and so is no rule to be written down. */
static int use_option(const struct attempt *a, const char *option, const char *opens)
{
	struct remedy *remedy = a->remedy;

	remedy->possible = true;
	remedy->dim = DIM_COUNT_;
	remedy->option = strdup(option);
	remedy->opens = strdup(opens);
	return remedy->option && remedy->opens ? 0 : err_oom(a->err);
}

/* How a rule for PATH is written: relative to the workspace, or to the home. */
static char *rule_text(const struct attempt *a, const char *path)
{
	const char *base = a->spec->workspace, *rest;

	if (base && path_covers(base, path)) {
		rest = path + strlen(base);
		rest += *rest == '/';
		if (!*rest)
			return strdup(".");
		return *rest == '~' || *rest == '$' ? str_printf("./%s", rest) : strdup(rest);
	}
	base = a->user->home;
	if (base && path_covers(base, path) && !str_eq(base, path))
		return str_printf("~%s", path + strlen(base));
	return strdup(path);
}

/* Does TEXT, as a rule, mean PATH? A `$` or `**` at the wrong place means more. */
static bool means(const struct attempt *a, const char *text, const char *path)
{
	_cleanup_(freep) char *got = NULL;
	const char *base = a->spec->workspace ? a->spec->workspace : "/";

	return path_rule_expand(text, base, base, a->user->home, &got, NULL) == 0 &&
	       str_eq(got, path);
}

int remedy_open_path(const struct attempt *a, enum dim dim, const char *path, const char *before,
		     const char *after)
{
	_cleanup_(freep) char *text = rule_text(a, path);
	_cleanup_(freep) char *opens = str_printf("%s%s%s", before, path, after);
	_cleanup_(str_release) struct str value = {0};
	int r;

	if (!text || !opens)
		return err_oom(a->err);
	if (!means(a, text, path) || !means(a, path, path))
		return remedy_never(a, "no rule can name that path");
	r = toml_quote(&value, text, strlen(text));
	if (r < 0 && r != -EILSEQ)
		return err_oom(a->err);
	return remedy_open_key(a, dim, value.data, text[0] == '~' ? text : path, opens);
}

/* The cache folder that PATH lies in: a new string. NULL: none, or no memory. */
static char *cache_of(const struct attempt *a, const char *path)
{
	const char *home = a->user->home, *folder;
	unsigned names;
	size_t len;

	if (!home || !path_covers(home, path) || path[strlen(home)] != '/')
		return NULL;
	folder = cache_folder_of(path + strlen(home) + 1, &names);
	if (!folder)
		return NULL;
	len = strlen(home) + 1 + strlen(folder);
	/* the last name is a file's: a cache is a folder */
	for (unsigned n = 0; n < names && path[len]; n++)
		if (strchr(path + len + 1, '/') || str_eq(a->op, "mkdir"))
			len += 1 + strcspn(path + len + 1, "/");
	return strndup(path, len);
}

static bool is_read(const char *op)
{
	static const char *const ops[] = {"read", "execute", "stat", "list", NULL};

	return is_one_of(op, ops);
}

/* Does OP change what is listed in the folder, whatever the file is? */
static bool changes_folder(const char *op)
{
	static const char *const ops[] = {"rename", "unlink", "remove",  "rmdir", "mkdir",
					  "mknod",  "link",   "symlink", "bind",  NULL};

	return is_one_of(op, ops);
}

/* The least that has to be opened for OP on PATH: it, or its folder. NULL: the folder
 * is not there either, so nothing is to be opened. */
static char *least(const char *op, const char *path)
{
	struct stat st;
	char *slash, *folder;

	if (!changes_folder(op) && lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
		return strdup(path);
	folder = strdup(path);
	slash = folder ? strrchr(folder, '/') : NULL;
	if (!slash)
		return folder;
	slash[slash == folder] = '\0';
	if (lstat(folder, &st) == 0 && S_ISDIR(st.st_mode))
		return folder;
	free(folder);
	return NULL;
}

static bool is_hidden(const struct attempt *a, const char *path)
{
	for (size_t i = 0; i < a->spec->paths_hidden.len; i++)
		if (path_covers(a->spec->paths_hidden.items[i], path))
			return true;
	return false;
}

static bool is_ignored(const char *workspace, const char *path)
{
	struct ignore ignore = {0};
	bool hidden = path_covers(workspace, path) && !str_eq(workspace, path) &&
		      ignore_load(workspace, &ignore, NULL) > 0 &&
		      ignore_hides(&ignore, path + strlen(workspace) + 1, false);

	ignore_release(&ignore);
	return hidden;
}

/* Would the host refuse it as well? Inside, root's rights are not those that it has here. */
static bool is_refused_outside(const char *path, bool read)
{
	return geteuid() != 0 && access(path, read ? R_OK : W_OK) < 0 &&
	       (errno == EACCES || errno == EPERM || errno == EROFS);
}

/* In the workspace nothing is secret from its commands; outside much is. */
static int open_file(const struct attempt *a, const char *rule)
{
	const char *workspace = a->spec->workspace ? a->spec->workspace : "/", *why;
	bool read = is_read(a->op), inside = path_covers(workspace, rule);
	struct stat st;

	if (!inside && path_covers(rule, workspace))
		return remedy_never(a, "the folder around the workspace would be opened with it");
	if (!inside && path_is_sensitive(rule, a->user, &why))
		return remedy_never(a, why);
	if (!inside && is_refused_outside(rule, read))
		return remedy_never(a,
				    "its own permissions refuse you outside of the sandbox, too");
	if (!read && str_eq(rule, workspace) && a->spec->filesystem <= FILESYSTEM_READONLY)
		return a->spec->ephemeral
			       ? remedy_never(a,
					      "ephemeral goes with filesystem = \"readonly\" only")
			       : remedy_open_key(
					 a, DIM_FILESYSTEM, "\"workspace_only\"", "workspace_only",
					 "every file of the workspace could be written, but for "
					 "protected ones");
	if (lstat(rule, &st) == 0 && S_ISDIR(st.st_mode))
		return remedy_open_path(a, read ? DIM_PATHS_READABLE : DIM_PATHS_WRITABLE, rule,
					"everything in ",
					read ? " could be read" : " could be written and removed");
	return remedy_open_path(a, read ? DIM_PATHS_READABLE : DIM_PATHS_WRITABLE, rule, "",
				read ? " could be read, and nothing else"
				     : " could be written, and nothing else");
}

/* Why no rule may be about PATH, or NULL. */
static const char *is_out_of_reach(const struct attempt *a, const char *path)
{
	const char *workspace = a->spec->workspace;

	if (is_hidden(a, a->target) || is_hidden(a, path))
		return "paths_hidden covers it, which beats every other rule";
	if (workspace && (is_ignored(workspace, a->target) || is_ignored(workspace, path)))
		return ".paleignore hides it, which beats every other rule";
	if (path_covers("/proc", path) || path_covers("/sys", path) || path_covers("/dev", path))
		return "/proc, /dev and /sys are the sandbox's own";
	return NULL;
}

static bool is_protected(const char *workspace, const char *path)
{
	size_t len = workspace ? strlen(workspace) : 0;

	return workspace && path_covers(workspace, path) && path[len] == '/' &&
	       protected_is_named(path + len + 1);
}

/* Why no rule of ours opens PATH, which no cache could stand for; or NULL. */
static const char *is_too_much(const struct attempt *a, const char *path)
{
	const char *why = NULL;

	if (a->spec->workspace && path_covers(a->spec->workspace, path))
		return NULL;
	if (!path_is_sensitive(path, a->user, &why) && !is_read(a->op) && path_is_shared(path))
		why = "it belongs to every user of this machine";
	if (!why && !is_read(a->op) && path_is_obeyed(path, a->user))
		why = "programs outside of the boundary may obey what is there";
	return why;
}

static int find_file(const struct attempt *a)
{
	bool read = is_read(a->op);
	struct rule_set open = read ? rules_readable(a->spec) : rules_writable(a->spec);
	struct rule_set caches = rules_caches(a->spec);
	_cleanup_(freep) char *path = NULL, *cache = NULL, *rule = NULL;

	if (!a->target || a->target[0] != '/')
		return remedy_never(a, "it is not known which file was meant");
	/* what the command made of links inside may be gone */
	if (path_resolve(a->target, &path) < 0)
		path = strdup(a->target);
	if (!path)
		return err_oom(a->err);
	a->remedy->why = is_out_of_reach(a, path);
	if (a->remedy->why)
		return 0;
	if (!read && is_protected(a->spec->workspace, path))
		return use_option(
			a, "--staged",
			"nothing: the change waits for `pale review`, marked as protected");
	cache = read ? NULL : cache_of(a, path);
	if (cache && !rule_set_covers(&caches, path))
		return remedy_open_path(
			a, DIM_CACHES, cache, "",
			" would be a private folder of this project, kept between runs; "
			"nothing of yours is exposed");
	a->remedy->why = is_too_much(a, path);
	if (a->remedy->why)
		return 0;
	rule = read ? strdup(path) : least(a->op, path);
	if (!rule)
		return remedy_never(a, "the folder that it would be in does not exist");
	if (rule_set_covers(&open, rule) || rule_set_covers(&caches, rule))
		return remedy_allowed(a, "the policy allows it: the file's own permissions, or a "
					 "protection, refuse it");
	return open_file(a, rule);
}

static int find_call(const struct attempt *a)
{
	static const char *const ops[] = {
		"unshare",     "clone",         "clone3",        "setns",     "mount",
		"umount",      "umount2",       "pivot_root",    "chroot",    "fsopen",
		"fsmount",     "fsconfig",      "fspick",        "open_tree", "move_mount",
		"sethostname", "setdomainname", "mount_setattr", NULL};

	if (!is_one_of(a->op, ops))
		return remedy_never(a, "this call is refused in every sandbox");
	if (a->spec->nested)
		return remedy_allowed(a, "the policy allows it: the kernel itself refused it");
	return remedy_open_key(
		a, DIM_NESTED, "true", NULL,
		"the command could make namespaces of its own and mount in them; Landlock "
		"is off then, and what mounts hide may be undone");
}

static bool is_trace(const char *op)
{
	static const char *const ops[] = {
		"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", NULL};

	return is_one_of(op, ops);
}

/* Where others can be seen nobody may be traced; among processes of their own all may. */
static int find_process(const struct attempt *a)
{
	if (a->spec->processes == PROCESSES_VISIBLE && !str_eq(a->op, "kill"))
		return use_option(a, "--processes isolated",
				  "nothing: the command sees its own processes alone, and may "
				  "trace those");
	return remedy_never(a, "processes that are not the command's own are out of its reach");
}

/* Nobody knows how much it would have taken: twice as much. */
static int find_limit(const struct attempt *a, enum dim dim)
{
	const struct key *key = &spec_keys[dim];
	uint64_t limit = *spec_limit_const(a->spec, dim), more;
	char text[SIZE_TEXT_MAX];
	_cleanup_(freep) char *value = NULL, *opens = NULL;

	if (limit == SPEC_UNLIMITED && dim == DIM_CONNECTIONS)
		limit = SPEC_CONNECTIONS;
	if (limit == SPEC_UNLIMITED && dim == DIM_CONNECT_RATE)
		limit = SPEC_CONNECT_RATE;
	if (limit == SPEC_UNLIMITED)
		return remedy_never(a, "the policy does not limit it");
	more = limit * 2;
	if (limit >= key->max / 2)
		return remedy_never(a, "the limit cannot be higher");
	if (key->type == KEY_UINT)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)more);
	else if (key->type == KEY_DURATION)
		duration_format(more, text);
	else
		size_format(more, text);
	value = str_printf(key->type == KEY_UINT ? "%s" : "\"%s\"", text);
	opens = str_printf("%s would be %s, twice as much", key->path, text);
	return value && opens ? remedy_open_key(a, dim, value, text, opens) : err_oom(a->err);
}

static int find(const struct attempt *a, const char *dimension)
{
	int dim = dim_by_name(dimension);

	if (dim < 0)
		return remedy_never(a, is_trace(a->op) ? "without namespaces nobody may trace: the "
							 "engines native and bwrap have them"
						       : "it is refused in every sandbox");
	if (spec_limit_const(a->spec, (enum dim)dim))
		return find_limit(a, (enum dim)dim);
	switch (dim) {
	case DIM_FILESYSTEM:
	case DIM_PATHS_READABLE:
	case DIM_PATHS_WRITABLE:
	case DIM_PATHS_HIDDEN:
		return find_file(a);
	case DIM_NETWORK:
	case DIM_HOSTS:
	case DIM_PORTS:
	case DIM_EXPOSE:
	case DIM_SOCKETS:
		return remedy_find_network(a);
	case DIM_NESTED:
		return find_call(a);
	case DIM_PROCESSES:
		return find_process(a);
	default:
		return remedy_never(a, "no rule is known that would allow it");
	}
}

int remedy_find(const struct spec *spec, const struct user *user, const char *dimension,
		const char *op, const char *target, struct remedy *ret, struct err *err)
{
	struct remedy remedy = {.dim = DIM_COUNT_};
	const struct attempt attempt = {.spec = spec,
					.user = user,
					.op = op,
					.target = target,
					.remedy = &remedy,
					.err = err};
	int r = find(&attempt, dimension);

	if (r < 0) {
		remedy_release(&remedy);
		return r;
	}
	*ret = remedy;
	return 0;
}

void remedy_release(struct remedy *remedy)
{
	free(remedy->value);
	free(remedy->option);
	free(remedy->opens);
	*remedy = (struct remedy){0};
}
