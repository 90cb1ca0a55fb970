/* SPDX-License-Identifier: MIT */
/* The scripts of a package.json. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/detect.h"

#define SCRIPTS_MAX 1024

static const char *package_manager(int dirfd)
{
	static const struct {
		const char *file, *program;
	} locks[] = {
		{"pnpm-lock.yaml", "pnpm"},
		{"yarn.lock", "yarn"},
		{"bun.lockb", "bun"},
		{"bun.lock", "bun"},
	};

	for (size_t i = 0; i < array_len(locks); i++)
		if (detect_exists(dirfd, locks[i].file))
			return locks[i].program;
	return "npm";
}

/* "pretest" and "posttest" run with "test". */
static bool is_hook(const struct strv *scripts, const char *name)
{
	return (str_starts(name, "pre") && strv_has(scripts, name + 3)) ||
	       (str_starts(name, "post") && strv_has(scripts, name + 4));
}

/* "test:unit" becomes "test-unit"; other odd names are passed over. */
static int add_script(const char *manager, const char *script, struct found *found)
{
	const char *argv[] = {manager, "run", script, NULL};
	_cleanup_(freep) char *name = strdup(script);

	if (!name)
		return -ENOMEM;
	for (char *c = name; *c; c++)
		if (*c == ':')
			*c = '-';
	return found_add(found, "package.json", name, argv);
}

static void release_json(json_t **json)
{
	json_decref(*json);
}

/* The names of the scripts, in the order of the file, no more than a pale.toml may hold. What is
 * no JSON has none. */
static int script_names(const struct str *text, struct strv *ret)
{
	_cleanup_(release_json)
		json_t *root = json_loadb(str_text(text), text->len, JSON_REJECT_DUPLICATES, NULL);
	const char *name;
	json_t *script;
	int r = 0;

	json_object_foreach(json_object_get(root, "scripts"), name, script)
	{
		if (r == 0 && ret->len <= SCRIPTS_MAX && json_is_string(script))
			r = strv_add(ret, name);
	}
	return r;
}

int detect_node(int dirfd, struct found *found)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(strv_release) struct strv scripts = {0};
	const char *manager;
	int r = detect_read(dirfd, "package.json", &text);

	if (r <= 0)
		return r;
	r = script_names(&text, &scripts);
	manager = package_manager(dirfd);
	for (size_t i = 0; r == 0 && i < scripts.len; i++)
		if (!is_hook(&scripts, scripts.items[i]))
			r = add_script(manager, scripts.items[i], found);
	return r;
}
