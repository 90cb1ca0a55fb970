/* SPDX-License-Identifier: MIT */
/* The scripts of a package.json. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/detect.h"
#include "cli/json-scan.h"

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

int detect_node(int dirfd, struct found *found)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(strv_release) struct strv scripts = {0};
	const char *manager;
	int r = detect_read(dirfd, "package.json", &text);

	if (r <= 0)
		return r;
	r = json_scan_names(str_text(&text), text.len, "scripts", &scripts);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	manager = package_manager(dirfd);
	for (size_t i = 0; r == 0 && i < scripts.len; i++)
		if (!is_hook(&scripts, scripts.items[i]))
			r = add_script(manager, scripts.items[i], found);
	return r;
}
