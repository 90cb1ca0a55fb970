/* SPDX-License-Identifier: MIT */
/* trust: what a project asks for beyond the built-in ceiling needs the user's word. */
#include <errno.h>

#include "files.h"
#include "policy/trust.h"
#include "tap.h"

static int check(const char *user, const char *workspace, struct err *err)
{
	_cleanup_(config_release) struct config config = {0};
	int r = files_load(NULL, user, workspace, &config, err);

	return r < 0 ? r : trust_check(&config, &test_ws, &test_user, err);
}

static int give(const char *user, const char *workspace, struct err *err)
{
	_cleanup_(config_release) struct config config = {0};
	_cleanup_(trust_ask_release) struct trust_ask ask = {0};
	int r = files_load(NULL, user, workspace, &config, err);

	if (r == 0)
		r = trust_ask_compute(&config, &test_ws, &test_user, &ask, err);
	return r < 0 ? r : trust_give(&ask, &test_ws, err);
}

#define CMD(name) "[commands." name "]\ncmd = \"x\"\n"

/* A harmless document gets along without trust. */
static const char *const harmless[] = {
	"",
	"[sandbox]\nmode = \"direct\"\nbackend = \"local\"\nengine = \"auto\"\npreset = \"build\"",
	"sandbox.mode = \"staged\"",
	"sandbox.env.pass = []",
	"sandbox.env.set = { CI = \"1\" }",
	CMD("x") "sandbox = \"test\"",
	CMD("x"),
	"[presets.p]\nmemory = \"99g\"\ntimeout = \"9h\"\ncaches = [\"~/.cache/go\"]\ntmpfs = \"1g\"",
	"[presets.p]\npaths_readable = [\"sub\", \"${WORKSPACE}/x\"]\npaths_writable = [\".\"]",
	"[presets.p]\npaths_hidden = [\"~/.ssh\", \"/etc\"]",
	"[presets.p]\nnetwork = \"none\"\nprocesses = \"isolated\"\nenv = \"clean\"\nnested = false",
	"[presets.p]\nports = [80]",
	"[presets.p]\nmax_output = \"64m\"",
	"[presets.p]\ncaches = [\"build\", \"~/.npm\", \"~/.cargo/registry/src\", \"/tmp/x\"]",
};

/* Each of these needs it; ITEM is the line that is shown. */
static const struct {
	const char *text, *item;
} greedy[] = {
	{CMD("x") "sandbox = \"off\"", "commands.x.sandbox = \"off\""},
	{CMD("x") "sandbox = \"none\"", "commands.x.sandbox = \"none\""},
	{CMD("x") "sandbox = \"integration\"", "commands.x.sandbox = \"integration\""},
	{CMD("x") "sandbox = \"unrestricted\"", "commands.x.cmd = \"x\""},
	{"sandbox.env.pass = [\"AWS_SECRET_ACCESS_KEY\"]",
	 "sandbox.env.pass = [\"AWS_SECRET_ACCESS_KEY\"]"},
	{CMD("x") "sandbox.paths_readable = [\"~/.ssh\"]",
	 "commands.x.sandbox.paths_readable = [\"~/.ssh\"]"},
	{"[presets.p]\npaths_readable = [\"~/.ssh\"]", "presets.p.paths_readable = [\"~/.ssh\"]"},
	{"[presets.p]\npaths_readable = [\"..\"]", "presets.p.paths_readable = [\"..\"]"},
	{"[presets.p]\npaths_writable = [\"../other\"]", "presets.p.paths_writable"},
	{"[presets.p]\nnetwork = \"localhost\"", "presets.p.network = \"localhost\""},
	{"[presets.p]\nnetwork = \"allowed_hosts\"\nhosts = [\"a.org\"]",
	 "presets.p.hosts = [\"a.org\"]"},
	{"[presets.p]\nhosts = [\"a.org\"]", "presets.p.hosts = [\"a.org\"]"},
	{"[presets.p]\nenv_pass = [\"A\"]", "presets.p.env_pass = [\"A\"]"},
	{"[presets.p]\nenv = \"inherit\"", "presets.p.env = \"inherit\""},
	{"[presets.p]\nprocesses = \"visible\"", "presets.p.processes = \"visible\""},
	{"[presets.p]\nnested = true", "presets.p.nested = true"},
	{"[presets.p]\nsockets = [\"/run/docker.sock\"]", "presets.p.sockets"},
	{"[presets.p]\nexpose = [8080]", "presets.p.expose = [8080]"},
	{"[presets.p]\nfilesystem = \"unrestricted\"", "presets.p.filesystem = \"unrestricted\""},
	{"[presets.p]\nbase = \"off\"\nfilesystem = \"none\"", "presets.p.base = \"off\""},
	{CMD("x") "sandbox = { base = \"integration\" }",
	 "commands.x.sandbox.base = \"integration\""},
	{"sandbox.preset = \"off\"", "sandbox.preset = \"off\""},
	{"sandbox.preset = \"off\"\n" CMD("x"), "commands.x.cmd = \"x\""},
	{"sandbox.engine = \"landlock\"", "sandbox.engine = \"landlock\""},
	{"sandbox.backend = \"ssh\"", "sandbox.backend = \"ssh\""},
	{"[presets.p]\ncaches = [\"build\", \"/usr/local/bin\"]", "presets.p.caches = "},
	{"[presets.p]\ncaches = [\"~/.config/git\"]", "presets.p.caches = "},
	{"[presets.p]\ncaches = [\"~/.local/bin\"]", "presets.p.caches = "},
	{"[presets.p]\ncaches = [\"~/.cargo\"]", "presets.p.caches = "},
	{"[presets.p]\ncaches = [\".git\"]", "presets.p.caches = "},
	{"[presets.p]\ncaches = [\"vendor/x/.git/hooks\"]", "presets.p.caches = "},
	{CMD("x") "sandbox = { caches = [\".vscode\"] }", "commands.x.sandbox.caches = "},
	{"[presets.p]\nnetwork = \"unrestricted\"\ncaches = [\"/opt\"]", "presets.p.caches = "},
	{"[presets.p]\nmax_output = \"65m\"", "presets.p.max_output = \"65m\""},
	{CMD("x") "sandbox = { max_output = 99999999999 }", "commands.x.sandbox.max_output = "},
	/* harmless alone, but not in a command that may do more */
	{"sandbox.env.set = { LD_PRELOAD = \"./x.so\" }\n" CMD("x") "sandbox = \"unrestricted\"",
	 "sandbox.env.set.LD_PRELOAD = \"./x.so\""},
};

static void test_what_needs_trust(void)
{
	for (size_t i = 0; i < array_len(harmless); i++) {
		struct err err = {0};

		tap_ok(check(NULL, harmless[i], &err) == 0, "harmless document %zu %s", i,
		       err.message);
	}
	for (size_t i = 0; i < array_len(greedy); i++) {
		struct err err = {0};
		int r = check(NULL, greedy[i].text, &err);

		tap_ok(r == -EPERM && err.code == ERR_TRUST &&
			       strstr(err.message, greedy[i].item) &&
			       strstr(err.message, "ws/pale.toml:") &&
			       strstr(err.hint, "pale trust"),
		       "needs trust: %s", err.message);
	}
}

static void test_no_file(void)
{
	struct err err = {0};

	tap_ok(check("[sandbox]\npreset = \"off\"\nenv.pass = [\"A\"]", NULL, &err) == 0,
	       "the user's own file needs none");
}

/* Text that is trusted, text that means the same, text that does not. */
static const struct {
	const char *name, *text, *same, *other;
} changes[] = {
	{"a preset", CMD("x") "sandbox = \"unrestricted\"",
	 "# comment\n\n[commands]\nx = { sandbox = 'unrestricted', cmd=\"x\" }\n",
	 CMD("x") "sandbox = \"off\""},
	{"what runs with it", CMD("x") "sandbox = \"off\"",
	 CMD("x") "sandbox = \"off\"\ndescription = \"new\"",
	 "[commands.x]\ncmd = \"y\"\nsandbox = \"off\""},
	{"variables", "sandbox.env.pass = [\"A\"]", "[sandbox.env]\n\tpass=[ 'A', ]",
	 "sandbox.env.pass = [\"A\", \"B\"]"},
	{"a variable more",
	 "sandbox.env.set = { FOO = \"1\" }\n" CMD("x") "sandbox = \"unrestricted\"",
	 "[sandbox.env]\nset.FOO = '1'\n" CMD("x") "sandbox = \"unrestricted\"",
	 "[sandbox.env.set]\nFOO = \"1\"\nBAR = \"2\"\n" CMD("x") "sandbox = \"unrestricted\""},
	{"a variable's value",
	 "sandbox.env.set = { FOO = \"1\" }\n" CMD("x") "sandbox = \"unrestricted\"",
	 "sandbox.env.set = { FOO = \"1\" } # same\n" CMD("x") "sandbox = \"unrestricted\"",
	 "sandbox.env.set = { FOO = \"2\" }\n" CMD("x") "sandbox = \"unrestricted\""},
	{"paths", "[presets.p]\npaths_readable = [\"~/.ssh\"]",
	 "[presets.p]\nmemory = \"1g\"\npaths_readable = [\"~/.ssh\"]",
	 "[presets.p]\npaths_readable = [\"~/.ssh\", \"~/.aws\"]"},
	{"hosts", "[presets.p]\nnetwork = \"allowed_hosts\"\nhosts = [\"a.org\"]",
	 "[presets.p]\nhosts = [\"a.org\"]\nnetwork = \"allowed_hosts\"",
	 "[presets.p]\nnetwork = \"allowed_hosts\"\nhosts = [\"b.org\"]"},
	{"what is hidden", "[presets.p]\nnetwork = \"unrestricted\"\npaths_hidden = [\".env\"]",
	 "[presets.p]\nnetwork = \"unrestricted\"\npaths_hidden = [\".env\"]\n",
	 "[presets.p]\nnetwork = \"unrestricted\"\npaths_hidden = []"},
};

static void test_giving(void)
{
	for (size_t i = 0; i < array_len(changes); i++) {
		struct err err = {0};
		const char *name = changes[i].name;

		tap_ok(check(NULL, changes[i].text, &err) == -EPERM, "%s: untrusted at first",
		       name);
		tap_ok(give(NULL, changes[i].text, &err) == 0, "%s: trust is given", name);
		tap_ok(check(NULL, changes[i].text, &err) == 0, "%s: and holds", name);
		tap_ok(check(NULL, changes[i].same, &err) == 0, "%s: written differently, too",
		       name);
		tap_ok(check(NULL, changes[i].other, &err) == -EPERM &&
			       strstr(err.message, "has changed since"),
		       "%s: a changed value asks again: %s", name, err.message);
		tap_ok(check(NULL, changes[i].text, &err) == 0, "%s: the old one does not", name);
		tap_ok(trust_revoke(&test_ws, &err) == 0, "%s: trust is revoked", name);
		tap_ok(check(NULL, changes[i].text, &err) == -EPERM &&
			       strstr(err.message, "more than it is trusted with"),
		       "%s: and gone", name);
	}
}

/* A project must not bend what the user has defined. */
static void test_users_own(void)
{
	static const char user[] = "[sandbox]\nmode = \"staged\"\nengine = \"bwrap\"\n"
				   "preset = \"integration\"\nenv.pass = [\"A\"]\n"
				   "[presets.mine]\nfilesystem = \"unrestricted\"\n"
				   "paths_hidden = [\"~/.ssh\"]\n"
				   "[commands.deploy]\ncmd = \"make deploy\"\nsandbox = \"off\"\n"
				   "[commands.test]\ncmd = \"make\"\nsandbox = \"test\"\n"
				   "[commands.fetch]\ncmd = \"curl\"\n"
				   "sandbox = { network = \"unrestricted\", net_sent = \"1m\" }\n"
				   "[commands.build]\ncmd = \"make\"\nsandbox.memory = \"1g\"\n";
	static const struct {
		const char *text;
		bool fine;
	} cases[] = {
		{"[presets.mine]\npaths_hidden = []", false},
		{"[presets.mine]\nmemory = \"1g\"", false},
		{"[commands.deploy]\ncmd = \"evil\"", false},
		{"[commands.deploy]\nargv = [\"evil\"]", false},
		{"[commands.deploy]\ndescription = \"text\"", true},
		{"[commands.test]\ncmd = \"pytest\"", true},
		{"[commands.fetch.sandbox]\nnet_sent = \"1t\"", false},
		{"[commands.build.sandbox]\nmemory = \"2g\"", true},
		{"[commands.new]\ncmd = \"x\"\nsandbox = \"mine\"", false},
		{"[commands.new]\ncmd = \"x\"", true},
		{"sandbox.mode = \"direct\"", false},
		{"sandbox.mode = \"staged\"", true},
		{"sandbox.engine = \"bwrap\"", true},
		{"sandbox.engine = \"auto\"", false},
		{"sandbox.preset = \"integration\"", true},
		{"sandbox.preset = \"unrestricted\"", false},
		{"sandbox.env.pass = [\"A\"]", true},
		{"sandbox.env.pass = [\"A\", \"B\"]", false},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		struct err err = {0};
		int r = check(user, cases[i].text, &err);

		tap_ok(cases[i].fine ? r == 0 : r == -EPERM && err.code == ERR_TRUST,
		       "over the user's file, case %zu is %s %s", i,
		       cases[i].fine ? "fine" : "refused:", err.message);
	}
}

/* Who agrees to a group agrees to what it stands for. */
static void test_groups(void)
{
	static const char asks[] = "[presets.p]\nhosts = [\"b.org\", \"@web\"]";
	static const char web[] = "[host_groups]\nweb = [\"W.org\", \"*.x.org:80\"]";
	static const char same[] = "[host_groups]\nweb = [\"w.org:443\", \"*.X.org.:80\"]";
	static const char more[] = "[host_groups]\nweb = [\"w.org\", \"*.x.org:80\", \"e.org\"]";
	struct err err = {0};

	tap_ok(check(web, asks, &err) == -EPERM &&
		       strstr(err.message, "presets.p.hosts = [\"b.org\", \"@web\"]  # @web: "
					   "*.x.org:80 w.org:443"),
	       "what a group stands for is shown: %s", err.message);
	tap_ok(give(web, asks, &err) == 0 && check(web, asks, &err) == 0, "and can be trusted");
	tap_ok(check(same, asks, &err) == 0, "spelt differently it is the same");
	tap_ok(check(more, asks, &err) == -EPERM && strstr(err.message, "has changed since"),
	       "a group that grew asks again: %s", err.message);
	tap_ok(check("[host_groups]", asks, &err) == -ENOENT && err.code == ERR_CONFIG,
	       "one that is gone is an error: %s", err.message);
	tap_ok(check(NULL, "[commands.x]\nargv = [\"@y\"]\nsandbox = \"off\"", &err) != -ENOENT,
	       "in an argv it is a word");
	trust_revoke(&test_ws, &err);
}

/* … and who agrees to a preset of his own, to what it is now. */
static void test_presets_of_the_user(void)
{
	static const char asks[] = CMD("x") "sandbox = \"mine\"";
	static const char mine[] = "[presets.mine]\nnetwork = \"allowed_hosts\"\nports = []\n"
				   "hosts = [\"a.org\"]\n";
	static const char same[] = "[presets.mine]\nnetwork = \"allowed_hosts\"\nports = []\n"
				   "hosts = [\"A.org:443\"]\ntimeout = \"9m\"\n";
	static const char more[] = "[presets.mine]\nnetwork = \"unrestricted\"\n";
	struct err err = {0};

	tap_ok(give(mine, asks, &err) == 0 && check(mine, asks, &err) == 0,
	       "a project that uses a preset of the user's is trusted");
	tap_ok(check(same, asks, &err) == 0, "as long as it opens the same");
	tap_ok(check(more, asks, &err) == -EPERM && strstr(err.message, "has changed since"),
	       "one that opens more asks again: %s", err.message);
	trust_revoke(&test_ws, &err);
}

static void test_list(void)
{
	_cleanup_(config_release) struct config config = {0};
	_cleanup_(trust_ask_release) struct trust_ask ask = {0};
	struct err err = {0};

	files_load(NULL, NULL,
		   "[presets.p]\nnested = true\nprocesses = \"visible\"\nnetwork = \"localhost\"\n"
		   "[presets.q]\nnested = true\n[presets.\"r.s\"]\nnested = true\n"
		   "[sandbox]\nengine = \"native\"\n" CMD("e\\u001bvil"),
		   &config, &err);
	tap_ok(err.message[0], "control characters in names do not get this far: %s", err.message);
	files_load(NULL, NULL,
		   "[presets.p]\nnested = true\nprocesses = \"visible\"\nnetwork = \"localhost\"\n"
		   "[presets.q]\nnested = true\n[presets.\"r.s\"]\nnested = true\n"
		   "[sandbox]\nengine = \"native\"\n",
		   &config, &err);
	tap_ok(trust_check(&config, &test_ws, &test_user, &err) == -EPERM &&
		       strstr(err.message, "and 1 more"),
	       "five are shown, the rest is counted: %s", err.message);
	tap_ok(trust_ask_compute(&config, &test_ws, &test_user, &ask, &err) == 0 && ask.len == 6,
	       "all are there for `pale trust --show`");
	tap_ok(ask.items[0].line == 2 && ask.items[5].line == 10, "in the order of the file");
	tap_eq_str(ask.items[0].why,
		   "network \"localhost\", ports all, processes \"visible\", nested true",
		   "with the reason");
	tap_eq_str(ask.items[4].text, "presets.\"r.s\".nested = true",
		   "names are quoted where needed");
}

/* What is left out is counted, however long the rest is. */
static void test_long_list(void)
{
	_cleanup_(str_release) struct str text = {0};
	struct err err = {0};

	str_append(&text, "sandbox.preset = \"off\"\n");
	for (int i = 0; i < 9; i++) {
		str_appendf(&text, "[commands.c%d]\ncmd = \"", i);
		for (int k = 0; k < 60; k++)
			str_append(&text, "\u202e");
		str_append(&text, "\"\n");
	}
	tap_ok(check(NULL, text.data, &err) == -EPERM && strstr(err.message, "\\u{202e}…\n") &&
		       strstr(err.message, "\n    and 6 more") && strlen(err.message) < 1000,
	       "%s", err.message);
}

static void test_state(void)
{
	static const char text[] = "sandbox.engine = \"native\"";
	_cleanup_(freep) char *file = str_printf("%s/trust", test_ws.state_dir);
	char *state = test_ws.state_dir, *root = test_ws.root;
	struct err err = {0};
	struct stat st;

	tap_ok(give(NULL, text, &err) == 0 && stat(file, &st) == 0 && (st.st_mode & 07777) == 0600,
	       "the file is 0600");
	scratch_write(file, "pale-trust 1 0000\n");
	tap_ok(check(NULL, text, &err) == -EPERM, "another digest is no trust");
	scratch_write(file, "");
	tap_ok(check(NULL, text, &err) == -EPERM, "nor is an empty file");
	give(NULL, text, &err);
	test_ws.root = "/elsewhere";
	tap_ok(check(NULL, text, &err) == -EPERM, "nor one that was given for another folder");
	test_ws.root = root;
	chmod(state, 0777);
	tap_ok(check(NULL, text, &err) == -EPERM && err.code != ERR_TRUST &&
		       strstr(err.message, "not yours alone"),
	       "nor a folder that others can write: %s", err.message);
	tap_ok(give(NULL, text, &err) == -EPERM, "where none is given, either");
	chmod(state, 0700);
	tap_ok(check(NULL, text, &err) == 0, "with the folder put right it holds again");
	trust_revoke(&test_ws, &err);

	test_ws.state_dir = NULL;
	tap_ok(check(NULL, text, &err) == -EPERM && err.code == ERR_TRUST,
	       "without a home: untrusted");
	tap_ok(give(NULL, text, &err) < 0 && strstr(err.message, "no home"), "and cannot be: %s",
	       err.message);
	tap_ok(trust_revoke(&test_ws, &err) == 0, "there is nothing to revoke");
	test_ws.state_dir = state;
}

int main(void)
{
	files_enter();
	test_what_needs_trust();
	test_no_file();
	test_giving();
	test_users_own();
	test_groups();
	test_presets_of_the_user();
	test_list();
	test_long_list();
	test_state();
	files_leave();
	return tap_done();
}
