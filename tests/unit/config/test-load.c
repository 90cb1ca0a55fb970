/* SPDX-License-Identifier: MIT */
/* load and check: what a file may hold, whose it must be, and which layer wins. */
#include <errno.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/check.h"
#include "config/load.h"
#include "scratch.h"
#include "tap.h"

static int check_text(const char *text, enum layer layer, struct err *err)
{
	scratch_write("one.toml", text);
	return config_check_file("one.toml", layer, err);
}

static const char *const fine[] = {
	"",
	"# only a comment\n",
	"[sandbox]\n",
	"[sandbox]\nmode = \"staged\"\nbackend = \"remote-docker\"\npreset = \"build\"\nengine = \"auto\"",
	"[sandbox.env]\npass = [\"A\", \"LC_*\"]\nset = { CI = \"1\", EMPTY = \"\" }",
	"sandbox.env.set.CI = \"1\"",
	"[presets.ci]\nbase = \"build\"\nmemory = \"6g\"\npids = 64\ntmpfs = 1048576\nnested = true",
	"[presets]\nci.memory = \"1g\"",
	"[commands.test]\ncmd = \"make\"\nsandbox = \"test\"\ndescription = \"\"",
	"[commands.test]\nargv = [\"make\", \"\"]\n[commands.test.sandbox]\nnetwork = \"none\"",
	"[commands.x.sandbox]\nbase = \"ci\"\nports = [80]\nhosts = [\"a.org\"]\nephemeral = false",
	"commands = { a = { cmd = \"x\" } }",
};

static const struct {
	const char *text, *message, *hint;
} bad[] = {
	{"[presets.ci]\nmemoryy = \"1g\"", "one.toml:2:1: unknown key 'memoryy' in [presets.ci]",
	 "did you mean 'memory'?"},
	{"[sandbx]", "unknown key 'sandbx' in the file", "did you mean 'sandbox'?"},
	{"[sandbox]\nnetwork = \"none\"", "unknown key 'network' in [sandbox]", "pale config keys"},
	{"[sandbox.env]\npas = []", "unknown key 'pas' in [sandbox.env]", "did you mean 'pass'?"},
	{"[commands.x]\ncommand = \"x\"", "unknown key 'command' in [commands.x]", NULL},
	{"[commands.x.sandbox]\nbse = \"x\"", "unknown key 'bse' in [commands.x.sandbox]",
	 "'base'"},
	{"[presets.ci]\n\"memory\\u0000\" = 1", "unknown key", NULL},
	{"[presets.ci]\nephemeral = \"false\"",
	 "one.toml:2:13: ephemeral must be true or false, not a string", NULL},
	{"[presets.ci]\nephemeral = 1", "ephemeral must be true or false, not an integer", NULL},
	{"[presets.ci]\nnetwork = [\"none\"]", "network must be a string, not an array", NULL},
	{"[presets.ci]\nnetwork = true", "network must be a string", NULL},
	{"[presets.ci]\nnetwork = \"non\"", "network cannot be \"non\"", "did you mean \"none\"?"},
	{"[presets.ci]\npids = \"4\"", "pids must be a number, not a string", NULL},
	{"[presets.ci]\npids = 4.5", "pids must be a number, not a float", NULL},
	{"[presets.ci]\npids = -1", "pids must be a number, not \"-1\"", NULL},
	{"[presets.ci]\npids = 0", "out of range", "leave pids out"},
	{"[presets.ci]\ntimeout = 30", "timeout must be a duration such as \"30s\", not an integer",
	 NULL},
	{"[presets.ci]\ntimeout = \"0s\"", "out of range", "for no limit leave timeout out"},
	{"[lanes]\nmax_parallel = 0", "out of range", "the number of cores when left out"},
	{"[presets.ci]\ntimeout = \"1.5s\"", "one.toml:2:11: timeout: ", NULL},
	{"[presets.ci]\nmemory = \"9999999999999g\"", "one.toml:2:10: memory: ", NULL},
	{"[presets.ci]\nmemory = \"0\"", "out of range, 1m to", NULL},
	{"[presets.ci]\nmemory = -5", "memory: ", NULL},
	{"[presets.ci]\nmemory = 1e9", "memory must be a size", NULL},
	{"[presets.ci]\npaths_readable = \"/x\"", "paths_readable must be a list of strings", NULL},
	{"[presets.ci]\npaths_readable = [\"/x\", 3]", "not an integer in it", NULL},
	{"[presets.ci]\npaths_readable = [\"\"]", "empty path", NULL},
	{"[presets.ci]\npaths_readable = [\"$HOME\"]", "variables are not expanded",
	 "${WORKSPACE}"},
	{"[presets.ci]\npaths_readable = [\"a\\u0000b\"]", "holds a NUL byte", NULL},
	{"[presets.ci]\nports = [\"80\"]", "ports must be a list of numbers", NULL},
	{"[presets.ci]\nports = [70000]", "out of range, 1 to 65535", NULL},
	{"[presets.ci]\nenv_pass = [\"*\"]", "would pass everything", "inherit"},
	{"[presets]\n\"a b\" = {}", "'a b' is no name", "a letter or digit"},
	{"[commands.\"-x\"]\ncmd = \"x\"", "'-x' is no name", NULL},
	{"[commands.x]\ncmd = \"\"", "cmd is empty", NULL},
	{"[commands.x]\nargv = []", "argv is empty", NULL},
	{"[commands.x]\nargv = [\"\"]", "argv is empty", NULL},
	{"[commands.x]\nargv = \"ls\"", "argv must be a list of strings, not a string", NULL},
	{"[commands.x]\ncmd = [\"ls\"]", "cmd must be a string, not an array", NULL},
	{"[commands.x]\ncmd = \"a\\u0000b\"", "cmd holds a NUL byte", NULL},
	{"[commands.x]\nsandbox = true", "sandbox must be the name of a preset or a table", NULL},
	{"[commands.x]\nsandbox = \"a/b\"", "is no name", NULL},
	{"[[commands]]\nname = \"x\"", "commands must be a table, not an array", NULL},
	{"sandbox = \"off\"", "one.toml:1:11: sandbox must be a table, not a string", NULL},
	{"presets.ci = 4", "ci must be a table, not an integer", NULL},
	{"[sandbox]\nmode = \"stagd\"", "mode cannot be", "did you mean \"staged\"?"},
	{"[sandbox.env]\nset = { A = 1 }", "A must be a string, not an integer", NULL},
	{"[sandbox.env]\nset = { \"A-B\" = \"1\" }", "'A-B' is no name of a variable", NULL},
	{"[sandbox]\nallow_degraded = [\"memoryy\"]", "allow_degraded cannot be \"memoryy\"",
	 "did you mean \"memory\"?"},
	{"x = ", "one.toml:1:", NULL},
	{"\x01\x02\xff", "one.toml:1:", NULL},
	{"[a]\n[a]\n", "one.toml:2:", NULL},
};

static void test_documents(void)
{
	for (size_t i = 0; i < array_len(fine); i++) {
		struct err err = {0};
		int r = check_text(fine[i], LAYER_USER, &err);

		tap_ok(r == 0, "document %zu is fine %s", i, err.message);
	}
	for (size_t i = 0; i < array_len(bad); i++) {
		struct err err = {0};
		int r = check_text(bad[i].text, LAYER_USER, &err);

		tap_ok(r < 0 && err.code == ERR_CONFIG && strstr(err.message, bad[i].message) &&
			       str_starts(err.message, "one.toml:"),
		       "refused: %s", err.message);
		if (bad[i].hint)
			tap_ok(strstr(err.hint, bad[i].hint), "… with the hint: %s", err.hint);
	}
}

static void test_where(void)
{
	static const char *const outside[] = {
		"[sandbox]\nallow_degraded = []",
		"[ceiling]\nnetwork = \"none\"",
		"ceiling.backends = [\"local\"]",
	};

	for (size_t i = 0; i < array_len(outside); i++) {
		struct err err = {0};

		tap_ok(check_text(outside[i], LAYER_WORKSPACE, &err) == -EPERM &&
			       strstr(err.message, "only in the system's or the user's file"),
		       "not in a project: %s", err.message);
		tap_ok(check_text(outside[i], LAYER_USER, &err) == 0, "but in the user's file");
		tap_ok(check_text(outside[i], LAYER_SYSTEM, &err) == 0, "and in the system's");
	}
}

static void test_kinds_of_files(void)
{
	struct config config = {0};
	struct err err = {0};
	char *big;

	tap_ok(config_load("missing/a", "missing", NULL, &config, &err) == 0 &&
		       !config.files[LAYER_USER].path,
	       "files that are absent are no error");
	tap_ok(config_check_file("missing", LAYER_USER, &err) == -ENOENT, "unless asked for");

	mkdir("dir.toml", 0755);
	tap_ok(config_load(NULL, "dir.toml", NULL, &config, &err) < 0 &&
		       strstr(err.message, "a directory"),
	       "a directory: %s", err.message);
	mkfifo("fifo.toml", 0644);
	tap_ok(config_load(NULL, "fifo.toml", NULL, &config, &err) < 0 &&
		       strstr(err.message, "a fifo"),
	       "a fifo does not hang: %s", err.message);
	if (symlink("nowhere", "dangling.toml") < 0)
		perror("symlink");
	tap_ok(config_load("dangling.toml", NULL, NULL, &config, &err) < 0 &&
		       strstr(err.message, "symbolic link to nothing"),
	       "a dangling link is not the same as no file");

	big = malloc(CONFIG_MAX_BYTES + 2);
	memset(big, '#', CONFIG_MAX_BYTES + 1);
	big[CONFIG_MAX_BYTES + 1] = '\0';
	scratch_write("big.toml", big);
	tap_ok(config_load(NULL, "big.toml", NULL, &config, &err) == -EFBIG, "too large: %s",
	       err.message);
	big[CONFIG_MAX_BYTES] = '\0';
	scratch_write("big.toml", big);
	tap_ok(config_load(NULL, "big.toml", NULL, &config, &err) == 0, "one byte less is fine");
	config_release(&config);
	free(big);
}

static void test_links(void)
{
	struct config config = {0};
	struct err err = {0};

	scratch_write("real.toml", "");
	if (symlink("real.toml", "link.toml") < 0)
		perror("symlink");
	tap_ok(config_load(NULL, "link.toml", NULL, &config, &err) == 0,
	       "the user's file may be a link");
	config_release(&config);
	tap_ok(config_load(NULL, NULL, "link.toml", &config, &err) == -ELOOP,
	       "the workspace's may not: %s", err.message);
	tap_ok(config_load(NULL, NULL, "real.toml", &config, &err) == 0, "itself it may be loaded");
	config_release(&config);
}

static void load_with_mode(mode_t mode, bool want)
{
	struct config config = {0};
	struct err err = {0};
	int r;

	chmod("mode.toml", mode);
	r = config_load(NULL, NULL, "mode.toml", &config, &err);
	tap_ok((r == 0) == want && (want || (strstr(err.message, "can be written by others") &&
					     strstr(err.hint, "chmod go-w mode.toml"))),
	       "mode %04o is %s", (unsigned)mode, want ? "fine" : "refused");
	config_release(&config);
}

static void test_modes(void)
{
	bool private_group = getegid() == geteuid();

	scratch_write("mode.toml", "");
	load_with_mode(0644, true);
	load_with_mode(0600, true);
	load_with_mode(0646, false);
	load_with_mode(0666, false);
	load_with_mode(0664, private_group);
	if (geteuid() != 0) {
		tap_skip("only root can give files away");
		return;
	}
	if (chown("mode.toml", 0, 12345) < 0)
		perror("chown");
	load_with_mode(0664, false);
}

/* u::rw-,u:12345:rw-,g::r--,m::rw-,o::r-- as the kernel writes it */
static const unsigned char acl[] = {
	2,    0, 0, 0,                         /* version */
	0x01, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, /* owner */
	0x02, 0, 6, 0, 0x39, 0x30, 0,    0,    /* uid 12345 */
	0x04, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, /* group */
	0x10, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, /* mask */
	0x20, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, /* others */
};

static void test_access_list(void)
{
	if (getegid() != geteuid()) {
		tap_skip("the group is not private");
		return;
	}
	unlink("mode.toml"); /* which may have another group */
	scratch_write("mode.toml", "");
	if (setxattr("mode.toml", "system.posix_acl_access", acl, sizeof(acl), 0) < 0) {
		tap_skip("no access lists here");
		return;
	}
	load_with_mode(0664, false);
	removexattr("mode.toml", "system.posix_acl_access");
	load_with_mode(0664, true);
}

static void load_in_folder(mode_t mode, const char *name, bool want)
{
	struct config config = {0};
	struct err err = {0};
	int r;

	chmod("own", mode);
	r = config_load(NULL, name, NULL, &config, &err);
	tap_ok((r == 0) == want && (want || (strstr(err.message, "others can replace") &&
					     strstr(err.hint, "chmod go-w own"))),
	       "%s in a folder of mode %04o is %s %s", name, (unsigned)mode,
	       want ? "fine" : "refused", err.message);
	config_release(&config);
	r = config_load(NULL, NULL, name, &config, NULL);
	tap_ok(r == 0, "in a workspace it is fine");
	config_release(&config);
}

static void test_folders(void)
{
	mkdir("own", 0755);
	scratch_write("own/pale.toml", "");
	load_in_folder(0755, "own/pale.toml", true);
	load_in_folder(0777, "own/pale.toml", false);
	load_in_folder(0757, "own/missing.toml", false);
	load_in_folder(01777, "own/pale.toml", true);
	load_in_folder(0775, "own/pale.toml", getegid() == geteuid());
}

static void test_owners(void)
{
	struct config config = {0};
	struct err err = {0};

	if (geteuid() != 0) {
		tap_skip("only root can give files away");
		return;
	}
	mkdir("theirs", 0755);
	scratch_write("theirs/pale.toml", "");
	if (chown("theirs/pale.toml", 12345, 12345) < 0)
		perror("chown");
	tap_ok(config_load(NULL, NULL, "theirs/pale.toml", &config, &err) == -EPERM &&
		       strstr(err.message, "belongs to uid 12345"),
	       "a stranger's file: %s", err.message);
	if (chown("theirs", 12345, 12345) < 0)
		perror("chown");
	tap_ok(config_load(NULL, NULL, "theirs/pale.toml", &config, &err) == 0,
	       "root in somebody's checkout accepts that somebody's file");
	config_release(&config);
	tap_ok(config_load(NULL, "theirs/pale.toml", NULL, &config, &err) == -EPERM,
	       "but not as root's own configuration");
}

static const char *get(const struct config *config, const char *const *path)
{
	struct setting s;

	return config_get(config, path, &s) ? s.value->string.bytes : NULL;
}

static void test_layers(void)
{
	static const char *const mode[] = {"sandbox", "mode", NULL};
	static const char *const engine[] = {"sandbox", "engine", NULL};
	static const char *const preset[] = {"sandbox", "preset", NULL};
	static const char *const backend[] = {"sandbox", "backend", NULL};
	static const char *const timeout[] = {"presets", "ci", "timeout", NULL};
	static const char *const memory[] = {"presets", "ci", "memory", NULL};
	static const char *const presets[] = {"presets", NULL};
	_cleanup_(config_release) struct config config = {0};
	_cleanup_(strv_release) struct strv names = {0};
	char buf[ORIGIN_TEXT_MAX], small[40];
	struct setting s;
	struct err err = {0};

	scratch_write("s.toml", "[sandbox]\nmode = \"staged\"\nengine = \"native\"\n"
				"preset = \"build\"\n[presets.ci]\ntimeout = \"1s\"\n");
	scratch_write("u.toml", "[sandbox]\nengine = \"bwrap\"\npreset = \"test\"\n"
				"[presets.ci]\ntimeout = \"2s\"\nmemory = \"1g\"\n[presets.b]\n");
	scratch_write("w.toml", "[presets.a]\n[sandbox]\npreset = \"readonly\"\n"
				"[presets.ci]\ntimeout = \"3s\"\n");
	tap_ok(config_load("s.toml", "u.toml", "w.toml", &config, &err) == 0, "three files load");
	tap_eq_str(get(&config, mode), "staged", "the system's value holds when alone");
	tap_eq_str(get(&config, engine), "bwrap", "the user's beats it");
	tap_eq_str(get(&config, preset), "readonly", "the workspace's beats both");
	tap_ok(!get(&config, backend), "what nobody wrote is not there");
	tap_eq_str(get(&config, timeout), "3s", "tables merge per key:");
	tap_eq_str(get(&config, memory), "1g", "… the rest of the table stays");

	tap_ok(config_get(&config, preset, &s) && s.layer == LAYER_WORKSPACE, "the layer is known");
	tap_eq_str(origin_text(&s.origin, buf, sizeof(buf)), "w.toml:3", "and file and line");
	tap_ok(config_get_at(&config, LAYER_SYSTEM, preset, &s) &&
		       str_eq(s.value->string.bytes, "build"),
	       "one layer can be asked alone");
	tap_ok(config_names(&config, presets, &names) == 0 && names.len == 3 &&
		       str_eq(names.items[0], "a") && str_eq(names.items[2], "ci"),
	       "names come from all layers, sorted, once");

	s.origin = (struct origin){.file = "/a/very/long/path/that/does/not/fit/pale.toml",
				   .line = 7};
	tap_ok(str_starts(origin_text(&s.origin, small, sizeof(small)), "...") &&
		       str_ends(small, "e.toml:7"),
	       "of a long path the end is shown: %s", small);
	s.origin = (struct origin){.file = "--network"};
	tap_eq_str(origin_text(&s.origin, buf, sizeof(buf)), "--network", "an option has no line");
}

/* FORMAT with NUMBER in place of '#'. */
static void number_into(const char *format, size_t number, char *ret, size_t size)
{
	const char *mark = strchr(format, '#');

	snprintf(ret, size, "%.*s%zu%s", (int)(mark - format), format, number, mark + 1);
}

/* A list of N entries, which FORMAT makes of their numbers, between HEAD and TAIL. */
static void many_entries(struct str *text, const char *head, const char *format, size_t n,
			 const char *tail)
{
	str_append(text, head);
	for (size_t i = 0; i < n; i++) {
		char entry[64];

		number_into(format, i, entry, sizeof(entry));
		str_append(text, entry);
	}
	str_append(text, tail);
}

static const struct {
	const char *what, *head, *format, *tail, *where;
} lists[] = {
	{"paths_readable", "[presets.p]\npaths_readable = [", "\"/a/#\",", "]", "2:18"},
	{"paths_writable", "[presets.p]\npaths_writable = [", "\"a/#\",", "]", "2:18"},
	{"paths_hidden", "[presets.p]\npaths_hidden = [", "\"a/#\",", "]", "2:16"},
	{"sockets", "[commands.c.sandbox]\nsockets = [", "\"/a/#\",", "]", "2:11"},
	{"hosts", "[presets.p]\nhosts = [", "\"h#.example\",", "]", "2:9"},
	{"hosts", "[presets.p]\nhosts = [\"h.example:1", ",1#", "\"]", "2:9"},
	{"ports", "[presets.p]\nports = [", "1#,", "]", "2:9"},
	{"expose", "[presets.p]\nexpose = [", "1#,", "]", "2:10"},
	{"env_pass", "[presets.p]\nenv_pass = [", "\"V#\",", "]", "2:12"},
	{"pass", "[sandbox.env]\npass = [", "\"V#\",", "]", "2:8"},
	{"set", "[sandbox.env.set]\n", "V# = \"x\"\n", "", "1:1"},
	{"presets", "[presets]\n", "p#.pids = 1\n", "", "1:1"},
	{"commands", "[commands]\n", "c#.cmd = \"x\"\n", "", "1:1"},
	{"argv", "[commands.c]\nargv = [\"x\"", ",\"#\"", "]", "2:8"},
	{"check", "[lanes]\ncheck = [", "\"c#\",", "]", "2:9"},
};

/* What anybody may have written is bounded, so that it takes no time to look at. */
static void test_counts(void)
{
	for (size_t i = 0; i < array_len(lists); i++) {
		_cleanup_(str_release) struct str few = {0}, many = {0}, want = {0};
		struct err err = {0};

		many_entries(&few, lists[i].head, lists[i].format, 1000, lists[i].tail);
		many_entries(&many, lists[i].head, lists[i].format, 1025, lists[i].tail);
		str_appendf(&want, "one.toml:%s: %s has 10", lists[i].where, lists[i].what);
		tap_ok(check_text(str_text(&few), LAYER_WORKSPACE, &err) == 0,
		       "%s: a project may list 1000: %s", lists[i].what, err.message);
		tap_ok(check_text(str_text(&many), LAYER_WORKSPACE, &err) == -E2BIG &&
			       err.code == ERR_CONFIG && str_starts(err.message, str_text(&want)) &&
			       strstr(err.message, "at most 1024") && strstr(err.hint, "your own"),
		       "but not more: %s", err.message);
		err = (struct err){0};
		tap_ok(check_text(str_text(&many), LAYER_USER, &err) == 0, "a user may: %s",
		       err.message);
	}
}

static void test_caches(void)
{
	static const char head[] = "[presets.p]\ncaches = [", format[] = "\"~/.cache/#\",";
	_cleanup_(str_release) struct str few = {0}, many = {0};
	struct err err = {0};

	many_entries(&few, head, format, 64, "]");
	many_entries(&many, head, format, 65, "]");
	for (enum layer layer = 0; layer < LAYER_COUNT_; layer++) {
		tap_ok(check_text(str_text(&few), layer, &err) == 0, "64 caches: %s", err.message);
		tap_ok(check_text(str_text(&many), layer, &err) == -E2BIG &&
			       strstr(err.message,
				      "one.toml:2:10: caches has 65 entries, at most 64"),
		       "one more is refused, whoever asks: %s", err.message);
		err = (struct err){0};
	}
}

/* A list is short, and so are the names of those that build on it. */
static void test_weight(void)
{
	static const char head[] = "[presets.p]\npaths_hidden = [", format[] = "\"h#\",";
	static const char *const users[] = {
		"[presets.q#]\nbase = \"p\"\n",
		"[commands.c#]\ncmd = \"x\"\nsandbox = \"p\"\n",
		"[commands.c#.sandbox]\nbase = \"p\"\n",
		"[commands.c#]\ncmd = \"x\"\n",
	};

	for (size_t i = 0; i < array_len(users); i++) {
		_cleanup_(str_release) struct str few = {0}, many = {0};
		const char *begin = "]\n[sandbox]\npreset = \"p\"\n";
		struct err err = {0};

		many_entries(&few, head, format, 1000, begin);
		many_entries(&many, head, format, 1000, begin);
		many_entries(&few, "", users[i], 200, "");
		many_entries(&many, "", users[i], 300, "");
		tap_ok(check_text(str_text(&few), LAYER_WORKSPACE, &err) == 0,
		       "200 build on a list of 1000: %s", err.message);
		tap_ok(check_text(str_text(&many), LAYER_WORKSPACE, &err) == -E2BIG &&
			       err.code == ERR_CONFIG && str_starts(err.message, "one.toml:") &&
			       strstr(err.message, "more than 250000 entries"),
		       "300 are too many: %s", err.message);
	}
}

int main(void)
{
	umask(022);
	scratch_enter();
	test_documents();
	test_where();
	test_kinds_of_files();
	test_links();
	test_modes();
	test_access_list();
	test_folders();
	test_owners();
	test_layers();
	test_counts();
	test_caches();
	test_weight();
	scratch_leave();
	return tap_done();
}
