/* SPDX-License-Identifier: MIT */
/* workspace: whose run it is, and which folder it is about. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "config/state-dir.h"
#include "config/workspace.h"
#include "scratch.h"
#include "tap.h"

static char *in_scratch(const char *rest)
{
	static char buffers[4][8192];
	static unsigned next;
	char *buf = buffers[next++ % 4];

	snprintf(buf, sizeof(buffers[0]), "%s%s%s", scratch_path, rest[0] ? "/" : "", rest);
	return buf;
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		perror(path);
}

static void enter(const char *path)
{
	if (chdir(in_scratch(path)) < 0)
		perror(path);
}

static void test_user_home(void)
{
	_cleanup_(user_release) struct user user = {0}, plain = {0};

	setenv("HOME", "/some/where/", 1);
	setenv("XDG_CONFIG_HOME", "relative", 1);
	setenv("XDG_STATE_HOME", "/state", 1);
	tap_ok(user_probe(&user, NULL) == 0 && user.uid == geteuid(), "the caller is probed");
	tap_eq_str(user.home, "/some/where", "$HOME is taken when absolute");
	tap_eq_str(user.state_dir, "/state/pale", "so is XDG_STATE_HOME");
	tap_ok(!user.config_dir || !strstr(user.config_dir, "relative"),
	       "a relative XDG_CONFIG_HOME is not");
	tap_ok(!user.pw_home || (user.config_dir && str_starts(user.config_dir, user.pw_home)),
	       "the user's file is that of the passwd entry, whatever $HOME says");

	setenv("HOME", "/", 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("XDG_STATE_HOME");
	tap_ok(user_probe(&plain, NULL) == 0 && (!plain.home || !str_eq(plain.home, "/")),
	       "HOME=/ counts as unknown");
	tap_ok(str_eq(plain.home, plain.pw_home), "then the passwd entry's home is taken");
	unsetenv("HOME");
}

static void find_root(const struct user *user, const char *cwd, const char *want, const char *name)
{
	_cleanup_(workspace_release) struct workspace ws = {0};
	struct err err = {0};

	enter(cwd);
	if (workspace_find(NULL, user, &ws, &err) < 0)
		tap_note("%s", err.message);
	tap_eq_str(ws.root, in_scratch(want), "%s", name);
	tap_eq_str(ws.cwd, in_scratch(cwd), "… and the cwd is kept");
}

static void find_fails(const struct user *user, const char *asked, const char *say,
		       const char *name)
{
	_cleanup_(workspace_release) struct workspace ws = {0};
	struct err err = {0};
	int r = workspace_find(asked, user, &ws, &err);

	tap_ok(r < 0 && strstr(err.message, say) && !ws.root, "%s: %s", name, err.message);
}

static void test_walk(const struct user *user)
{
	make_dir("plain");
	make_dir("plain/sub");
	make_dir("repo");
	make_dir("repo/.git");
	make_dir("repo/a");
	make_dir("repo/a/b");
	make_dir("proj");
	make_dir("proj/sub");
	make_dir("proj/sub/.git");
	make_dir("worktree");
	make_dir("worktree/x");
	scratch_write("proj/pale.toml", "");
	scratch_write("worktree/.git", "gitdir: elsewhere\n");

	find_root(user, "plain/sub", "plain/sub", "without anything the cwd is the workspace");
	find_root(user, "repo/a/b", "repo", "the git top level is");
	find_root(user, "worktree/x", "worktree", "a .git file counts");
	find_root(user, "proj/sub", "proj",
		  "a pale.toml above a .git holds for it: a command could have made that");
	find_root(user, "proj", "proj", "a pale.toml in the cwd itself");
	enter("");
}

static void make_state(const struct user *user, const char *root, bool make)
{
	char *dir = state_name(user->state_dir, in_scratch(root));

	if (make ? mkdir(user->state_dir, 0700) < 0 && errno != EEXIST : 0)
		perror(user->state_dir);
	if (make ? mkdir(dir, 0700) < 0 : rmdir(dir) < 0)
		perror(dir);
	free(dir);
}

/* What a command makes below a workspace does not take it away from that one's rules. */
static void test_planted(const struct user *user)
{
	_cleanup_(workspace_release) struct workspace ws = {0};

	make_dir("outer");
	make_dir("outer/.git");
	make_dir("outer/in");
	make_dir("outer/in/deep");
	make_dir("outer/in/.git");
	find_root(user, "outer/in/deep", "outer/in", "a repository without rules holds nothing");
	enter("");
	scratch_write("outer/.paleignore", "*.key\n");
	find_root(user, "outer/in/deep", "outer", "one with a .paleignore does");
	enter("");
	unlink("outer/.paleignore");
	scratch_write("outer/pale.toml", "");
	find_root(user, "outer/in/deep", "outer", "one with a pale.toml does");
	tap_ok(workspace_find(in_scratch("outer/in"), user, &ws, NULL) == 0 &&
		       str_eq(ws.root, in_scratch("outer/in")),
	       "who asks for the inner one gets it");
	make_state(user, "outer/in", true);
	find_root(user, "outer/in/deep", "outer/in", "and, once it is remembered, without asking");
	make_state(user, "outer/in", false);
	enter("");
	scratch_write("outer/in/pale.toml", "");
	find_root(user, "outer/in/deep", "outer/in", "a pale.toml has rules of its own");
	rmdir(user->state_dir);
	enter("");
}

/* Places of a home that no command is to work in. */
static void test_places_of_home(const struct user *user)
{
	static const char *const bad[] = {".ssh",      ".aws",   ".gnupg/x", ".config",
					  ".config/x", ".local", ".cargo",   ".claude",
					  ".opencode", "bin",    ".ssh/sub"};
	static const char *const good[] = {"p", ".cache/x", ".dotfiles", ".cursor/worktrees/p/x",
					   "bins"};

	for (size_t i = 0; i < array_len(bad) + array_len(good); i++) {
		_cleanup_(workspace_release) struct workspace ws = {0};
		bool is_bad = i < array_len(bad);
		const char *name = is_bad ? bad[i] : good[i - array_len(bad)];
		char path[256], *slash;

		snprintf(path, sizeof(path), "home/%s", name);
		for (slash = path; (slash = strchr(slash, '/')); slash++) {
			*slash = '\0';
			make_dir(in_scratch(path));
			*slash = '/';
		}
		make_dir(in_scratch(path));
		enter(path);
		if (is_bad) {
			find_fails(user, NULL, "cannot be a workspace", name);
			find_fails(user, in_scratch(path), "cannot be a workspace", "asked for");
		} else {
			tap_ok(workspace_find(NULL, user, &ws, NULL) == 0, "%s may be one", name);
		}
	}
	enter("");
}

static void test_asked(const struct user *user)
{
	_cleanup_(workspace_release) struct workspace ws = {0}, inner = {0}, gone = {0};
	struct err err = {0};

	make_dir("doomed");
	if (symlink("proj", "link") < 0)
		perror("link");
	tap_ok(workspace_find("link", user, &ws, &err) == 0, "a symlink can be asked for");
	tap_eq_str(ws.root, in_scratch("proj"), "the workspace is what it points to");
	tap_eq_str(ws.cwd, ws.root, "a cwd outside becomes the root");
	enter("proj/sub");
	tap_ok(workspace_find(in_scratch("proj"), user, &inner, &err) == 0 &&
		       str_eq(inner.cwd, in_scratch("proj/sub")),
	       "a cwd inside is kept");
	enter("");
	find_fails(user, "missing", "missing", "a folder that is not there");
	find_fails(user, "proj/pale.toml", "Not a directory", "a file");
	find_fails(user, "", "workspace", "the empty name");

	enter("doomed");
	rmdir(in_scratch("doomed"));
	find_fails(user, NULL, "has been deleted", "a cwd that is gone");
	find_fails(user, "sub", "has been deleted", "… and a name relative to it");
	tap_ok(workspace_find(in_scratch("proj"), user, &gone, &err) == 0,
	       "an absolute name works even then");
	enter("");
}

static void test_refused(const struct user *user)
{
	static const char *const folders[] = {"/",    "/etc",  "/usr", "/usr/bin",
					      "/tmp", "/proc", "/var", "/dev"};
	_cleanup_(workspace_release) struct workspace ws = {0};

	for (size_t i = 0; i < array_len(folders); i++) {
		struct stat st;

		if (str_eq(folders[i], "/usr/bin") &&
		    (lstat("/bin", &st) < 0 || !S_ISLNK(st.st_mode)))
			continue;
		find_fails(user, folders[i], "cannot be a workspace", "a system directory");
	}
	find_fails(user, in_scratch("home"), "your whole home", "the home itself");
	find_fails(user, in_scratch("home-link"), "your whole home", "a link to it");
	find_fails(user, in_scratch(""), "your whole home", "a folder that holds it");
	tap_ok(workspace_find(in_scratch("home/p"), user, &ws, NULL) == 0,
	       "a project in the home is fine");
}

/* A folder that the command writes must not be where its policy comes from. */
static void test_own_folders(const struct user *user)
{
	static const struct {
		const char *asked, *name;
	} cases[] = {
		{"own", "a folder that holds it"},
		{"own/pale", "the folder itself"},
		{"own/pale/sub", "one below"},
		{"own-link/pale/sub", "one below, by a link"},
	};
	struct user other = *user;
	char *own = str_printf("%s/own/pale", scratch_path);
	char *by_link = str_printf("%s/own-link/pale", scratch_path);
	char *absent;

	make_dir("own");
	make_dir("own/pale");
	make_dir("own/pale/sub");
	make_dir("own/beside");
	if (symlink("own", "own-link") < 0)
		perror("own-link");
	for (size_t i = 0; i < array_len(cases); i++) {
		other = *user;
		other.config_dir = own;
		find_fails(&other, cases[i].asked, "configuration of pale", cases[i].name);
		other.config_dir = by_link;
		find_fails(&other, cases[i].asked, "configuration of pale", cases[i].name);
		other = *user;
		other.state_dir = i % 2 ? by_link : own;
		find_fails(&other, cases[i].asked, "what pale remembers", cases[i].name);
	}
	/* Not there yet, but who makes it makes it in the folder behind the link. */
	absent = str_printf("%s/own-link/beside/gone/pale", scratch_path);
	other = *user;
	other.config_dir = absent;
	find_fails(&other, "own/beside", "configuration of pale", "where it would be made");
	free(absent);
	other = *user;
	other.config_dir = other.state_dir = own;
	find_root(&other, "own/beside", "own/beside", "one beside them is fine");
	enter("");
	free(own);
	free(by_link);
}

static void test_refused_on_the_way(const struct user *user)
{
	enter("home/p");
	scratch_write(in_scratch("home/pale.toml"), "");
	find_fails(user, NULL, "home/pale.toml: this folder cannot be a workspace",
		   "a pale.toml in the home");
	unlink(in_scratch("home/pale.toml"));
	make_dir(in_scratch("home/.git"));
	find_root(user, "home/p", "home/p", "a .git in the home is passed over");
	enter("home");
	find_fails(user, NULL, "your whole home", "the home as the cwd");
	enter("");
}

/* Needs two users, hence root. */
static void test_strangers_file(const struct user *user)
{
	if (geteuid() != 0) {
		tap_skip("only root can make files of others");
		return;
	}
	scratch_write(in_scratch("home/pale.toml"), "");
	if (chown(in_scratch("home/pale.toml"), 12345, 12345) < 0)
		perror("chown");
	find_root(user, "home/p", "home/p",
		  "a stranger's pale.toml in such a folder means nothing");
	unlink(in_scratch("home/pale.toml"));
}

static void test_odd_names(const struct user *user)
{
	static const char *const names[] = {"with space",  "new\nline", "colon:comma,",
					    "back\\slash", "latin\xe9", "[x"};
	char longest[256];

	enter("");
	for (size_t i = 0; i < array_len(names); i++) {
		make_dir(names[i]);
		find_root(user, names[i], names[i], "an odd name");
		enter("");
	}
	memset(longest, 'n', 255);
	longest[255] = '\0';
	make_dir(longest);
	find_root(user, longest, longest, "a long name");
	enter("");
}

/* A path that the kernel takes, while path + "/pale.toml" is too long for it. */
static void test_long_path(const struct user *user)
{
	_cleanup_(workspace_release) struct workspace ws = {0};
	char part[256], cwd[4096];
	struct err err = {0};

	memset(part, 'd', 200);
	part[200] = '\0';
	enter("");
	while (getcwd(cwd, sizeof(cwd)) && strlen(cwd) + 201 < 4090) {
		make_dir(part);
		if (chdir(part) < 0)
			break;
	}
	memset(part, 'e', 200);
	if (strlen(cwd) < 4088) {
		part[4090 - strlen(cwd) - 1] = '\0';
		make_dir(part);
		if (chdir(part) < 0)
			perror("long");
	}
	tap_ok(workspace_find(NULL, user, &ws, &err) == 0 && strlen(ws.root) > 4080,
	       "a path of %zu bytes works %s", ws.root ? strlen(ws.root) : 0, err.message);
	enter("");
}

static void test_state_dir(struct user *user)
{
	_cleanup_(workspace_release) struct workspace ws = {0}, nowhere = {0};
	char hex[SHA256_HEX], want[8192], *state = user->state_dir;
	struct err err = {0};
	struct stat st;
	int fd;

	tap_ok(workspace_find("proj", user, &ws, &err) == 0, "the workspace is found");
	sha256_hex(ws.root, strlen(ws.root), hex);
	snprintf(want, sizeof(want), "%s/proj-%.32s", state, hex);
	tap_eq_str(ws.state_dir, want, "its state is named by it and by its path");

	tap_ok(state_dir_open(&ws, false, &err) == -ENOENT, "it is not there at first");
	fd = state_dir_open(&ws, true, &err);
	tap_ok(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0700, "it is made 0700");
	close(fd);
	chmod(ws.state_dir, 0770);
	tap_ok(state_dir_open(&ws, false, &err) == -EPERM && strstr(err.hint, "chmod go-w"),
	       "one that others can write is refused");
	chmod(ws.state_dir, 0700);
	if (chown(ws.state_dir, 4711, (gid_t)-1) == 0)
		tap_ok(state_dir_open(&ws, false, &err) == -EPERM && strstr(err.hint, "uid 4711"),
		       "one of somebody else is, and it is said whose it is");
	rmdir(ws.state_dir);
	if (symlink("/tmp", ws.state_dir) < 0)
		perror(ws.state_dir);
	tap_ok(state_dir_open(&ws, true, &err) < 0, "a symlink in its place is refused");
	unlink(ws.state_dir);

	user->state_dir = NULL;
	tap_ok(workspace_find("proj", user, &nowhere, &err) == 0 && !nowhere.state_dir,
	       "without a home there is no state directory");
	tap_ok(state_dir_open(&nowhere, true, &err) < 0 && strstr(err.hint, "HOME"),
	       "and whoever needs one is told");
	user->state_dir = state;
}

int main(void)
{
	_cleanup_(freep) char *real = NULL;
	struct user user = {.uid = geteuid(), .gid = getegid()};

	test_user_home();
	scratch_enter();
	real = realpath(scratch_path, NULL);
	snprintf(scratch_path, sizeof(scratch_path), "%s", real);
	user.state_dir = str_printf("%s/state", scratch_path);
	user.home = str_printf("%s/home-link", scratch_path);
	make_dir("home");
	make_dir("home/p");
	if (symlink("home", "home-link") < 0)
		perror("home-link");

	test_walk(&user);
	test_planted(&user);
	test_places_of_home(&user);
	test_asked(&user);
	test_refused(&user);
	test_own_folders(&user);
	test_refused_on_the_way(&user);
	test_strangers_file(&user);
	test_odd_names(&user);
	test_long_path(&user);
	test_state_dir(&user);
	user_release(&user);
	scratch_leave();
	return tap_done();
}
