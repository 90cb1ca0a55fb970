/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "config/user.h"
#include "scratch.h"
#include "tap.h"

static char *top;

static char *name(const char *rest)
{
	char *path = path_join(top, rest);

	if (!path)
		abort();
	return path;
}

/* Whatever links there are: what is kept is what a look would say. */
static void is_resolved(const char *home, const char *pw_home, const char *config,
			const char *state, const char *what)
{
	struct user user = {.home = name(home),
			    .pw_home = name(pw_home),
			    .config_dir = name(config),
			    .state_dir = name(state)};
	const char *const paths[] = {user.home, user.pw_home, user.config_dir, user.state_dir, top};
	size_t same = 0;

	user_resolve(&user);
	for (size_t i = 0; i < array_len(paths); i++) {
		_cleanup_(freep) char *looked = NULL, *kept = NULL;

		if (path_resolve(paths[i], &looked) == 0 &&
		    user_path_resolve(&user, paths[i], &kept) == 0)
			same += str_eq(looked, kept);
	}
	tap_ok(same == array_len(paths), "%s", what);
	user_release(&user);
}

static void test_resolve(void)
{
	is_resolved("none", "none", "none/.config/pale", "none/.local/state/pale",
		    "a home that is not there");
	if (mkdir("home", 0755) < 0 || mkdir("home/.config", 0755) < 0 ||
	    mkdir("home/.config/pale", 0755) < 0 || mkdir("else", 0755) < 0)
		abort();
	is_resolved("home", "home", "home/.config/pale", "home/.local/state/pale",
		    "a home without links");
	if (symlink("home", "link") < 0 || symlink("../else", "home/.local") < 0 ||
	    symlink("nowhere", "else/state") < 0)
		abort();
	is_resolved("link", "home", "home/.config/pale", "home/.local/state/pale",
		    "a link as the home, and one in it");
	is_resolved("link", "link", "link/.config/pale", "link/.local/state/pale",
		    "everything by a link");
	is_resolved("else", "link", "link/.config/pale", "else/pale", "two homes");
	is_resolved("home/.local", "home", "home/.config", "home/.local/x", "one in the other");
}

static void test_again(void)
{
	struct user user = {.state_dir = name("state/pale")};
	_cleanup_(freep) char *before = NULL, *after = NULL, *want = name("else/pale");

	user_resolve(&user);
	tap_ok(user_path_resolve(&user, user.state_dir, &before) == 0 &&
		       str_eq(before, user.state_dir),
	       "what is not there yet is where it would be made");
	if (symlink("else", "state") < 0)
		abort();
	user_resolve(&user);
	tap_ok(user_path_resolve(&user, user.state_dir, &after) == 0 && str_eq(after, want),
	       "another look sees what was made since");
	user_release(&user);
}

int main(void)
{
	scratch_enter();
	top = realpath(".", NULL);
	test_resolve();
	test_again();
	free(top);
	scratch_leave();
	return tap_done();
}
