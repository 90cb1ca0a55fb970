/* SPDX-License-Identifier: MIT */
/* sensitive: what no derived rule may open. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "config/workspace.h"
#include "plan/protected.h"
#include "plan/toolchains.h"
#include "policy/sensitive.h"
#include "tap.h"

static const struct user user = {
	.home = "/home/ann",
	.pw_home = "/home/ann",
	.config_dir = "/home/ann/.config/pale",
	.state_dir = "/home/ann/.local/state/pale",
};

#define CREDENTIALS "credentials are kept there"
#define RUN_LATER   "programs outside of the boundary act on what is there"
#define SYSTEM      "it belongs to the system alone"
#define WHOLE       "it is a folder of the system as a whole"

static const struct {
	const char *path, *why; /* NULL: not sensitive */
} cases[] = {
	{"/", "it is the whole filesystem"},
	{"/home", "it holds your whole home"},
	{"/home/ann", "it holds your whole home"},
	{"/home/bob", "it is somebody's whole home"},
	{"/home/bob/src", NULL},
	{"/home/ann/src", NULL},
	{"/home/ann/src/project", NULL},
	{"/home/annex", "it is somebody's whole home"},
	/* credentials: at, below, above; of others as well */
	{"/home/ann/.ssh", CREDENTIALS},
	{"/home/ann/.ssh/id_ed25519", CREDENTIALS},
	{"/home/ann/.sshfs", RUN_LATER},
	{"/home/ann/.aws/credentials", CREDENTIALS},
	{"/home/ann/.config", "it holds files of pale itself"},
	{"/home/ann/.config/gh", CREDENTIALS},
	{"/home/ann/.config/ghost", NULL},
	{"/home/ann/.config/google-chrome/Default/Cookies", CREDENTIALS},
	{"/home/ann/.mozilla", CREDENTIALS},
	{"/home/ann/.netrc", CREDENTIALS},
	{"/home/ann/.cargo", CREDENTIALS},
	{"/home/ann/.cargo/credentials.toml", CREDENTIALS},
	{"/home/ann/.cargo/registry", NULL},
	{"/home/ann/.m2", CREDENTIALS},
	{"/home/ann/.m2/repository", NULL},
	{"/home/bob/.ssh/id_rsa", CREDENTIALS},
	{"/srv/backup/.gnupg", CREDENTIALS},
	{"/home/ann/snap", CREDENTIALS},
	/* caches: one, but not all of them */
	{"/home/ann/.cache", CREDENTIALS},
	{"/home/ann/.cache/pip", NULL},
	{"/home/ann/.cache/mozilla/firefox", CREDENTIALS},
	/* what runs later */
	{"/home/ann/.bashrc", RUN_LATER},
	{"/home/ann/.local/bin/tool", RUN_LATER},
	{"/home/ann/.local", "it holds files of pale itself"},
	{"/home/ann/bin", RUN_LATER},
	{"/home/ann/bin/x", RUN_LATER},
	{"/srv/x/bin", NULL},
	{"/home/ann/.config/systemd/user", RUN_LATER},
	/* pale's own */
	{"/home/ann/.config/pale/pale.toml", "it holds files of pale itself"},
	{"/home/ann/.local/state", "it holds files of pale itself"},
	{"/home/ann/.local/state/pale/x-123456/stages", "it holds files of pale itself"},
	/* the system */
	{"/etc", WHOLE},
	{"/etc/shadow", SYSTEM},
	{"/etc/hosts", NULL},
	{"/etc/ssl/private/key.pem", SYSTEM},
	{"/proc/1/environ", SYSTEM},
	{"/dev/sda", SYSTEM},
	{"/run/docker.sock", SYSTEM},
	{"/var/run/docker.sock", SYSTEM},
	{"/run/user/1000/bus", SYSTEM},
	{"/tmp", WHOLE},
	{"/tmp/x", NULL},
	{"/var/lib", WHOLE},
	{"/var/lib/project", NULL},
	{"/usr", WHOLE},
	{"/data", NULL},
};

/* Those that no table has. */
static const struct {
	const char *path;
	bool obeyed;
} orders[] = {
	{"/home/ann/.config/ghost/rc", true},
	{"/home/ann/.local/lib/python3.11/site-packages/usercustomize.py", true},
	{"/home/ann/.local/share/dbus-1/services/x.service", true},
	{"/home/ann/.oh-my-zsh", true},
	{"/home/bob/.config/ghost/rc", true},
	{"/root/.oh-my-zsh/x", true},
	{"/home/ann/src/other/.git/hooks/pre-commit", true},
	{"/home/ann/src/other/.git", true},
	{"/srv/other/.envrc", true},
	{"/srv/other/pale.toml", true},
	{"/home/ann/.cache/ghost/x", false},
	{"/home/ann/src/other/Makefile", false},
	{"/home/ann/src/.gitignore", false},
	{"/home/ann/src/dot.d/x", false},
	{"/srv/other/.hidden", false},
};

/* A folder of the home, with what the other tables say of it. */
static bool is_sensitive_in_home(const char *dir, const char *name)
{
	_cleanup_(str_release) struct str path = {0};

	return str_appendf(&path, "%s%s%s/%s", user.home, *dir ? "/" : "", dir, name) == 0 &&
	       path_is_sensitive(str_text(&path), &user, NULL);
}

/* $HOME is a link, and rules name what it leads to. */
static void test_link(void)
{
	char dir[] = "/tmp/test-sensitive-XXXXXX";
	_cleanup_(freep) char *base = NULL, *link = NULL, *home = NULL, *bin = NULL, *other = NULL;
	struct user linked = {0};

	if (!mkdtemp(dir) || path_resolve(dir, &base) < 0 || !(link = path_join(base, "link")) ||
	    !(home = path_join(base, "home")) || !(bin = path_join(home, "bin")) ||
	    !(other = path_join(home, "src")) || mkdir(home, 0700) < 0 || symlink(home, link) < 0)
		exit(1);
	linked.home = link;
	tap_ok(path_is_sensitive(link, &linked, NULL), "the link to a home");
	tap_ok(path_is_sensitive(home, &linked, NULL), "the home that a link leads to");
	tap_ok(path_is_sensitive(bin, &linked, NULL), "and what runs later in it");
	tap_ok(!path_is_sensitive(other, &linked, NULL), "but not the rest");
	unlink(link);
	rmdir(home);
	rmdir(base);
}

int main(void)
{
	static const struct user nobody = {0};

	for (size_t i = 0; i < array_len(cases); i++) {
		const char *why = "none";

		path_is_sensitive(cases[i].path, &user, &why);
		tap_eq_str(why, cases[i].why ? cases[i].why : "none", "%s", cases[i].path);
	}
	for (const struct toolchain *t = toolchains; t->path; t++)
		for (size_t i = 0; t->secrets && t->secrets[i]; i++)
			tap_ok(is_sensitive_in_home(t->path, t->secrets[i]),
			       "the toolchains' own secret: %s/%s", t->path, t->secrets[i]);
	for (size_t i = 0; protected_names[i]; i++)
		tap_ok(protected_names[i][0] != '.' || is_sensitive_in_home("", protected_names[i]),
		       "protected in a workspace, sensitive in the home: %s", protected_names[i]);
	for (size_t i = 0; i < array_len(orders); i++)
		tap_ok(path_is_obeyed(orders[i].path, &user) == orders[i].obeyed, "%s: %s",
		       orders[i].path, orders[i].obeyed ? "obeyed" : "data");
	tap_ok(path_is_sensitive("/root/.ssh/id_rsa", &nobody, NULL), "without a known home: keys");
	tap_ok(path_is_sensitive("/", &nobody, NULL), "without a known home: /");
	tap_ok(!path_is_sensitive("/srv/data", &nobody, NULL), "without a known home: others");
	test_link();
	return tap_done();
}
