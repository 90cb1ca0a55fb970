/* SPDX-License-Identifier: MIT */
/* hidden: what the host has and the sandbox has not. */
#include "learn/hidden.h"

#include "base/cleanup.h"
#include "config/workspace.h"
#include "observe/profile.h"
#include "policy/spec-text.h"
#include "tap.h"
#include "tree.h"

static const char *const host[] = {
	"/srv/data/x",
	"/home/ann/.gitconfig",
	"/home/ann/.cargo/bin/cargo",
	"/home/ann/.cargox/y",
	"/home/ann/w/a",
	"/home/ann/w/secret/k",
	"/usr/lib/x",
	"/etc/passwd",
	"/tmp/host",
	"/tmp/made",
	"/proc/1/maps",
	"/var/cache/w/x",
	"/home/ann/.ssh/id",
	"/srv/shown/x",
	"/opt2/bin/tool",
	NULL,
};

static const struct {
	const char *path;
	unsigned what;
	bool hidden;
} cases[] = {
	{"/srv/data/x", PROFILE_READ, true},
	{"/srv/data", PROFILE_READ, true},
	{"/srv/gone", PROFILE_READ, false}, /* the host has it neither */
	{"/srv", PROFILE_READ, false},      /* on the way to what is shown */
	{"/", PROFILE_READ, false},
	{"/home/ann", PROFILE_READ, false},
	{"/home/ann/.gitconfig", PROFILE_READ, true},
	{"/home/ann/.ssh/id", PROFILE_READ, true},
	{"/home/ann/.cargo/bin/cargo", PROFILE_EXECUTE, false},
	{"/home/ann/.cargox/y", PROFILE_READ, true},
	{"/home/ann/w/a", PROFILE_READ, false},
	{"/home/ann/w/secret/k", PROFILE_READ, true},
	{"/usr/lib/x", PROFILE_READ, false},
	{"/etc/passwd", PROFILE_READ, false},
	{"/tmp/host", PROFILE_READ, true},
	{"/tmp/made", PROFILE_READ | PROFILE_CREATE, false},
	{"/tmp/host2", PROFILE_WRITE, false},
	{"/proc/1/maps", PROFILE_READ, false},
	{"/var/cache/w/x", PROFILE_READ, false},
	{"/srv/shown/x", PROFILE_READ, false},
	{"/opt2/bin/tool", PROFILE_EXECUTE, true},
	{"relative", PROFILE_READ, false},
};

int main(void)
{
	static const struct user user = {.home = "/home/ann", .pw_home = "/home/ann"};
	_cleanup_(strv_release) struct strv shown = {0};
	_cleanup_(spec_release) struct spec spec = {0};

	words("/usr /etc /bin", &shown);
	spec_parse("filesystem='readonly'\npaths_readable=['/srv/shown']\npaths_hidden=['secret']\n"
		   "caches=['/var/cache/w']",
		   "/home/ann/w", &user, &spec, NULL);
	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(profile_release) struct profile profile = {0};
		_cleanup_(strv_release) struct strv found = {0};
		const struct hidden_facts facts = {.spec = &spec,
						   .user = &user,
						   .shown = &shown,
						   .look = tree_look,
						   .data = (void *)host};

		profile_add_path(&profile, cases[i].path, cases[i].what);
		hidden_find(&profile, &facts, &found);
		tap_ok((found.len == 1) == cases[i].hidden, "%s is %s", cases[i].path,
		       cases[i].hidden ? "hidden" : "not hidden");
	}
	return tap_done();
}
