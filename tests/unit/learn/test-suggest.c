/* SPDX-License-Identifier: MIT */
/* suggest: a made-up profile to a sandbox, never wider than what was profiled. */
#include "learn/suggest.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "config/workspace.h"
#include "observe/profile.h"
#include "policy/lattice.h"
#include "policy/sensitive.h"
#include "policy/spec-text.h"
#include "store/store.h"
#include "tap.h"
#include "tree.h"

#define R PROFILE_READ
#define W PROFILE_WRITE
#define C PROFILE_CREATE
#define D PROFILE_REMOVE
#define X PROFILE_EXECUTE

static const struct user user = {
	.home = "/home/ann",
	.pw_home = "/home/ann",
	.config_dir = "/home/ann/.config/pale",
	.state_dir = "/home/ann/.local/state/pale",
};

static const char *const host[] = {
	"/home/ann/w/src/a.c",
	"/home/ann/w/obj/",
	"/home/ann/w/.git/HEAD",
	"/home/ann/w/.vscode/",
	"/home/ann/w/Makefile",
	"/home/ann/.ssh/id_rsa",
	"/home/ann/.netrc",
	"/home/ann/other/x",
	"/data/in/1",
	"/data/in/2",
	"/data/in/3",
	"/data/in/4",
	"/data/in/sub/5",
	"/data/out/",
	"/data/$X/y",
	"/data/in/**/y",
	"/home/ann/w/a\"b\n/",
	"/home/ann/w/~/",
	"/home/ann/w/${WORKSPACE}/",
	"/home/ann/w/src/**/",
	"/home/ann/w/not utf-8 \xff/",
	NULL,
};

struct seen {
	const char *path;
	unsigned what;
};

#define PATHS_MAX 8

static const struct {
	const char *name, *asked; /* TOML */
	struct seen paths[PATHS_MAX];
	const char *connections; /* "127.0.0.1:80 …" */
	const char *changed;
	bool wider;
	const char *lines; /* "key = value; …", those with a reason or not by default */
	const char *note;  /* part of one; NULL: no notes at all */
} cases[] = {
	{"a program that only reads",
	 "filesystem='workspace_only'",
	 {{"/home/ann/w/src/a.c", R}, {"/usr/bin/cat", X}, {"/etc/passwd", R}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"a build into a folder that is there",
	 "filesystem='workspace_only'",
	 {{"/home/ann/w/obj/a.o", W | C}, {"/home/ann/w/obj/b.o", W | C}, {"/tmp/cc1.s", W | C}},
	 "",
	 "/home/ann/w/obj/a.o /home/ann/w/obj/b.o",
	 false,
	 "filesystem = \"scoped_write\"; paths_writable = [\"obj\"]; network = \"none\"; "
	 "processes = \"isolated\"",
	 "is missing, in a fresh checkout"},
	{"the same, one step wider",
	 "filesystem='workspace_only'",
	 {{"/home/ann/w/obj/a.o", W | C}},
	 "",
	 "/home/ann/w/obj/a.o",
	 true,
	 "filesystem = \"workspace_only\"; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"a build into a new folder",
	 "filesystem='workspace_only'",
	 {{"/home/ann/w/build/a.o", W | C}},
	 "",
	 "/home/ann/w/build/a.o",
	 false,
	 "filesystem = \"workspace_only\"; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"tests that leave by-products",
	 "filesystem='workspace_only'",
	 {{"/home/ann/w/src/__pycache__/a.pyc", W | C}, {"/home/ann/w/.pytest_cache/v", C}},
	 "",
	 "/home/ann/w/src/__pycache__/a.pyc /home/ann/w/.pytest_cache/v",
	 false,
	 "filesystem = \"readonly\"; ephemeral = true; network = \"none\"; processes = "
	 "\"isolated\"",
	 NULL},
	{"what was made and removed again",
	 "filesystem='workspace_only'",
	 {{"/home/ann/w/tmp.1", W | C | D}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; ephemeral = true; network = \"none\"; processes = "
	 "\"isolated\"",
	 NULL},
	{"a file written anew with what it held",
	 "filesystem='workspace_only'",
	 {{"/home/ann/w/src/a.c", W | C}},
	 "",
	 "",
	 false,
	 "filesystem = \"scoped_write\"; paths_writable = [\"src\"]; network = \"none\"; "
	 "processes = \"isolated\"",
	 "is missing, in a fresh checkout"},
	{"by-products, one step wider",
	 "filesystem='workspace_only'",
	 {{"/home/ann/w/tmp.1", W | C | D}},
	 "",
	 "",
	 true,
	 "filesystem = \"workspace_only\"; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"git's own folder is never a rule",
	 "filesystem='workspace_only'",
	 {{"/home/ann/w/.git/index", W | C}},
	 "",
	 "/home/ann/w/.git/index",
	 false,
	 "filesystem = \"workspace_only\"; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"nor is a protected name",
	 "filesystem='workspace_only'",
	 {{"/home/ann/w/.vscode/tasks.json", W | C}},
	 "",
	 "/home/ann/w/.vscode/tasks.json",
	 false,
	 "filesystem = \"workspace_only\"; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"scoped already: less of it",
	 "filesystem='scoped_write'\npaths_writable=['src', 'obj', '/data/out']",
	 {{"/home/ann/w/obj/a.o", W | C}},
	 "",
	 "/home/ann/w/obj/a.o",
	 false,
	 "filesystem = \"scoped_write\"; paths_writable = [\"obj\"]; network = \"none\"; "
	 "processes = \"isolated\"",
	 NULL},
	{"readonly stays, ephemeral goes when it is not used",
	 "filesystem='readonly'\nephemeral=true",
	 {{"/home/ann/w/src/a.c", R}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"refused writes open nothing",
	 "filesystem='readonly'",
	 {{"/home/ann/w/obj/a.o", W | C}, {"/data/out/x", W | C}, {"/home/ann/other/x", W}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; network = \"none\"; processes = \"isolated\"",
	 "/home/ann/other/x"},
	{"a parent of the workspace, the root, a home: no rule",
	 "filesystem='workspace_only'",
	 {{"/home/ann/evil", W | C}, {"/evil", W | C}, {"/home/evil", W | C}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; network = \"none\"; processes = \"isolated\"",
	 "/home/ann/evil"},
	{"granted and used: reads, few files",
	 "filesystem='readonly'\npaths_readable=['/data']",
	 {{"/data/in/1", R}, {"/data/in/2", R}, {"/data/in/gone", R}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; paths_readable = [\"/data/in\"]; network = \"none\"; "
	 "processes = \"isolated\"",
	 NULL},
	{"granted and used: files alone",
	 "filesystem='readonly'\npaths_readable=['/data']",
	 {{"/data/in/1", R}, {"/data/in/sub/5", R}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; paths_readable = [\"/data/in/1\", \"/data/in/sub/5\"]; "
	 "network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"granted and not used",
	 "filesystem='readonly'\npaths_readable=['/data']\npaths_writable=['/data/out']",
	 {{"/home/ann/w/src/a.c", R}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"granted and used: writes outside",
	 "filesystem='readonly'\npaths_writable=['/data']",
	 {{"/data/out/x", W | C}, {"/data/in/1", R}},
	 "",
	 "/data/out/x",
	 false,
	 "filesystem = \"readonly\"; paths_writable = [\"/data/out\"]; paths_readable = "
	 "[\"/data/in/1\"]; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"the whole home was readable: credentials are not learned",
	 "filesystem='readonly'\npaths_readable=['~']",
	 {{"/home/ann/.ssh/id_rsa", R}, {"/home/ann/.netrc", R}, {"/home/ann/other/x", R}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; paths_readable = [\"~/other/x\"]; network = \"none\"; "
	 "processes = \"isolated\"",
	 "/home/ann/.ssh/id_rsa was used, and no rule is learned for it: credentials"},
	{"the whole system was writable: the home and / are not learned",
	 "filesystem='readonly'\npaths_writable=['/']",
	 {{"/home/ann/new", W | C}, {"/new", W | C}, {"/data/out/x", W | C}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; paths_writable = [\"/data/out\"]; network = \"none\"; "
	 "processes = \"isolated\"",
	 "/home/ann was used, and no rule is learned for it: it holds your whole home"},
	{"caches: of one program, never all of them",
	 "filesystem='workspace_only'",
	 {{"/home/ann/.cache/tool/v1/x", W | C},
	  {"/home/ann/.cache/tool/v1/y", W | C},
	  {"/home/ann/.npm/_logs/1", W | C}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; caches = [\"~/.cache/tool\", \"~/.npm\"]; network = "
	 "\"none\"; processes = \"isolated\"",
	 NULL},
	{"caches: a file at the top is none",
	 "filesystem='workspace_only'",
	 {{"/home/ann/.cache", C}, {"/home/ann/.cache/x", W | C}, {"/home/ann/.bashrc", W}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; network = \"none\"; processes = \"isolated\"",
	 "3 paths in the home were written"},
	{"caches: those that were there and are used",
	 "filesystem='workspace_only'\ncaches=['/var/cache/w', '~/.cache/old', '~/.stuff']",
	 {{"/var/cache/w/x", R}, {"/home/ann/.stuff/deep/x", W}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; caches = [\"~/.stuff\", \"/var/cache/w\"]; network = "
	 "\"none\"; processes = \"isolated\"",
	 NULL},
	{"its own loopback",
	 "filesystem='readonly'",
	 {{"/usr/bin/x", X}},
	 "127.0.0.1:8080 ::1:8080",
	 "",
	 false,
	 "filesystem = \"readonly\"; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"localhost: a loopback of its own first",
	 "filesystem='readonly'\nnetwork='localhost'",
	 {{"/usr/bin/x", X}},
	 "127.0.0.1:5432",
	 "",
	 false,
	 "filesystem = \"readonly\"; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"localhost: then the host's, with the ports that were used",
	 "filesystem='readonly'\nnetwork='unrestricted'",
	 {{"/usr/bin/x", X}},
	 "127.0.0.1:5432 ::1:6379 127.0.0.1:5432",
	 "",
	 true,
	 "filesystem = \"readonly\"; network = \"localhost\"; ports = [5432, 6379]; processes = "
	 "\"isolated\"",
	 NULL},
	{"unrestricted and not used",
	 "filesystem='readonly'\nnetwork='unrestricted'\nprocesses='visible'",
	 {{"/usr/bin/x", X}},
	 "",
	 "",
	 true,
	 "filesystem = \"readonly\"; network = \"none\"; processes = \"isolated\"",
	 NULL},
	{"unrestricted and used: never silently",
	 "filesystem='readonly'\nnetwork='unrestricted'",
	 {{"/usr/bin/x", X}},
	 "192.0.2.1:443 127.0.0.1:80",
	 "",
	 false,
	 "filesystem = \"readonly\"; network = \"unrestricted\"; processes = \"isolated\"",
	 "network stays \"unrestricted\", because it connected to 192.0.2.1:443"},
	{"what cannot be observed stays",
	 "filesystem='readonly'\npaths_hidden=['secret']\nenv='pass'\nenv_pass=['A']\npids=50\n"
	 "nested=true\nmax_output='1m'",
	 {{"/usr/bin/x", X}},
	 "",
	 "",
	 false,
	 "filesystem = \"readonly\"; paths_hidden = [\"secret\"]; network = \"none\"; processes = "
	 "\"isolated\"; env = \"pass\"; env_pass = [\"A\"]; pids = 50; max_output = \"1m\"; "
	 "nested = true",
	 NULL},
};

static int make_profile(const struct seen *paths, const char *connections, struct profile *ret)
{
	_cleanup_(strv_release) struct strv list = {0};
	int r = words(connections, &list);

	for (size_t i = 0; i < PATHS_MAX && paths[i].path && r == 0; i++)
		r = profile_add_path(ret, paths[i].path, paths[i].what);
	for (size_t i = 0; i < list.len && r == 0; i++) {
		char *colon = strrchr(list.items[i], ':');

		*colon = '\0';
		r = profile_add_connection(ret, list.items[i], (unsigned)atoi(colon + 1));
	}
	return r;
}

static void show_lines(const struct suggestion *s, struct str *out)
{
	for (size_t i = 0; i < s->lines_len; i++)
		str_appendf(out, "%s%s = %s", i ? "; " : "", dim_name(s->lines[i].dim),
			    s->lines[i].value);
}

static bool has_note(const struct suggestion *s, const char *part)
{
	for (size_t i = 0; i < s->notes.len; i++)
		if (strstr(s->notes.items[i], part))
			return true;
	return false;
}

/* The text that is printed means the spec that was checked. */
static bool reads_back(const struct suggestion *s)
{
	_cleanup_(spec_release) struct spec spec = {0};
	_cleanup_(str_release) struct str text = {0};
	struct err err = {0};
	const char *body;

	if (suggestion_toml(s, "x", &text) < 0)
		return false;
	body = strchr(str_text(&text), '\n');
	if (!body || spec_parse(body, "/home/ann/w", &user, &spec, &err) < 0) {
		tap_note("%s", err.message);
		return false;
	}
	return spec_leq(&spec, &s->spec) && spec_leq(&s->spec, &spec);
}

static void test_cases(void)
{
	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(profile_release) struct profile profile = {0};
		_cleanup_(strv_release) struct strv changed = {0};
		_cleanup_(spec_release) struct spec asked = {0};
		_cleanup_(suggestion_release) struct suggestion got = {0};
		_cleanup_(str_release) struct str lines = {0};
		struct suggest_input in = {
			.asked = &asked,
			.user = &user,
			.profile = &profile,
			.changed = &changed,
			.look = tree_look,
			.data = (void *)host,
			.wider = cases[i].wider,
		};
		struct err err = {0};

		if (!tap_ok(spec_parse(cases[i].asked, "/home/ann/w", &user, &asked, &err) == 0 &&
				    make_profile(cases[i].paths, cases[i].connections, &profile) ==
					    0 &&
				    words(cases[i].changed, &changed) == 0 &&
				    suggest(&in, &got, &err) == 0,
			    "%s", cases[i].name)) {
			tap_note("%s", err.message);
			continue;
		}
		show_lines(&got, &lines);
		tap_eq_str(str_text(&lines), cases[i].lines, "%s: lines", cases[i].name);
		tap_ok(cases[i].note ? has_note(&got, cases[i].note) : got.notes.len == 0,
		       "%s: notes", cases[i].name);
		for (size_t k = 0; k < got.notes.len; k++)
			tap_note("%s", got.notes.items[k]);
		tap_ok(strchr(str_text(&lines), '@') || reads_back(&got),
		       "%s: what is printed is what is meant", cases[i].name);
		tap_ok((spec_excess(&got.spec, &asked) & ~DIM_BIT(DIM_CACHES)) == 0,
		       "%s: within what was asked for", cases[i].name);
	}
}

static void test_limits(void)
{
	_cleanup_(profile_release) struct profile profile = {0};
	_cleanup_(strv_release) struct strv changed = {0};
	_cleanup_(spec_release) struct spec asked = {0};
	_cleanup_(suggestion_release) struct suggestion got = {0}, unheld = {0};
	_cleanup_(str_release) struct str toml = {0};
	const struct run_stats stats = {.runs = 4,
					.successful = 4,
					.memory_peak = 300 << 20,
					.cpu_ms_peak = 100,
					.duration_ms_longest = 100};
	struct suggest_input in = {.asked = &asked,
				   .user = &user,
				   .profile = &profile,
				   .changed = &changed,
				   .stats = &stats,
				   .held = DIM_BIT(DIM_MEMORY) | DIM_BIT(DIM_CPU),
				   .used = {.memory_peak = 10 << 20, .cpu_ms = 9000},
				   .look = tree_look,
				   .data = (void *)host};

	spec_parse("timeout='20s'\nmemory='1g'", "/home/ann/w", &user, &asked, NULL);
	suggest(&in, &got, NULL);
	tap_eq_int((long long)got.spec.memory, 640 << 20, "limits: memory from the history");
	tap_eq_int((long long)got.spec.cpu, 20000, "limits: cpu from the profiled run");
	tap_eq_int((long long)got.spec.timeout, 10000, "limits: timeout, the floor");
	in.held = 0;
	suggest(&in, &unheld, NULL);
	tap_ok(unheld.spec.cpu == SPEC_UNLIMITED && has_note(&unheld, "no limit of cpu"),
	       "limits: none that this machine cannot hold");
	tap_eq_int((long long)unheld.spec.memory, 640 << 20,
		   "limits: one that is there is narrowed");
	suggestion_toml(&got, "a b", &toml);
	tap_eq_str(str_text(&toml),
		   "[commands.\"a b\".sandbox]\n"
		   "filesystem = \"readonly\"\n"
		   "network = \"none\"  # no connections\n"
		   "processes = \"isolated\"\n"
		   "memory = \"640m\"   # at least 2 x the peak of 300.0m\n"
		   "cpu = \"20s\"       # at least 2 x the peak of 9000ms\n"
		   "timeout = \"10s\"   # at least 3 x the longest run of 100ms\n",
		   "limits: the text");
}

/* Whatever a command does, in whatever it was given: nothing is opened that was closed,
 * and no rule is one of those that are never learned. */
static const char *const anything[] = {
	"/",
	"/evil",
	"/home",
	"/home/ann",
	"/home/ann/x",
	"/home/ann/.ssh/id_rsa",
	"/home/ann/.aws/credentials",
	"/home/ann/.bashrc",
	"/home/ann/.cache/tool/x",
	"/home/ann/.cache/mozilla/x",
	"/home/ann/.config/gh/hosts.yml",
	"/home/ann/w",
	"/home/ann/w/a",
	"/home/ann/w/src/a.c",
	"/home/ann/w/obj/a.o",
	"/home/ann/w/.git/index",
	"/home/ann/w/pale.toml",
	"/home/ann/other/x",
	"/data/in/1",
	"/data/in/2",
	"/data/out/y",
	"/etc/shadow",
	"/etc/passwd",
	"/proc/1/mem",
	"/dev/sda",
	"/tmp/x",
	"/run/docker.sock",
	"/home/ann/.local/state/pale/x",
	"relative",
	"/data/$X/y",
	"/data/in/**/y",
	"/home/ann/w/a\"b\n/x",
	"/home/ann/w/~/x",
	"/home/ann/w/${WORKSPACE}/x",
	"/home/ann/w/src/**/x",
	"/home/ann/w/not utf-8 \xff/x",
	"/home/ann/.cache/$X/y",
	"/home/ann/.cache/**/y",
	"/home/ann/.cache/a\"b\n/y",
};
static const char *const askings[] = {
	"filesystem='none'",
	"filesystem='readonly'",
	"filesystem='readonly'\nephemeral=true",
	"filesystem='workspace_only'",
	"filesystem='scoped_write'\npaths_writable=['src','/data']",
	"filesystem='readonly'\npaths_readable=['/']",
	"filesystem='workspace_only'\npaths_writable=['~','/data/out']",
	"filesystem='workspace_only'\npaths_readable=['/home']\npaths_hidden=['~/.aws','src']",
	"filesystem='readonly'\npaths_writable=['/']\nnetwork='unrestricted'",
	"filesystem='readonly'\nnetwork='allowed_hosts'\nhosts=['a.org']\nports=[80]",
	"filesystem='workspace_only'\ncaches=['~/.cache']\nnetwork='localhost'\nprocesses='visible'",
};

struct random {
	uint64_t seed;
};

static unsigned draw(struct random *random, size_t n)
{
	random->seed = random->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((random->seed >> 33) % n);
}

/* Is there a rule in LIST that is never to be learned? One that somebody wrote, in the
 * workspace or exactly so, is not learned. */
static bool opens_sensitive(const struct strv *list)
{
	for (size_t i = 0; i < list->len; i++)
		if (!path_covers("/home/ann/w", list->items[i]) &&
		    (path_covers(list->items[i], "/home/ann/w") ||
		     path_is_sensitive(list->items[i], &user, NULL))) {
			tap_note("opens %s", list->items[i]);
			return true;
		}
	return false;
}

static void test_laws(void)
{
	struct random random = {42};
	int excess = 0, sensitive = 0, broken = 0, failed = 0, n = 0;

	for (; n < 4000; n++) {
		_cleanup_(profile_release) struct profile profile = {0};
		_cleanup_(strv_release) struct strv changed = {0};
		_cleanup_(spec_release) struct spec asked = {0};
		_cleanup_(suggestion_release) struct suggestion got = {0};
		struct suggest_input in = {.asked = &asked,
					   .user = &user,
					   .profile = &profile,
					   .changed = &changed,
					   .look = tree_look,
					   .data = (void *)host,
					   .wider = draw(&random, 2)};

		spec_parse(askings[draw(&random, array_len(askings))], "/home/ann/w", &user, &asked,
			   NULL);
		for (unsigned k = draw(&random, 12); k > 0; k--) {
			const char *path = anything[draw(&random, array_len(anything))];

			profile_add_path(&profile, path, 1 + draw(&random, 31));
			if (draw(&random, 3) == 0 && path[0] == '/')
				strv_add(&changed, path);
		}
		for (unsigned k = draw(&random, 3); k > 0; k--)
			profile_add_connection(&profile,
					       draw(&random, 2) ? "127.0.0.1" : "192.0.2.1",
					       draw(&random, 100));
		if (suggest(&in, &got, NULL) < 0) {
			failed++;
			continue;
		}
		excess += (spec_excess(&got.spec, &asked) & ~DIM_BIT(DIM_CACHES)) != 0;
		sensitive += opens_sensitive(&got.spec.paths_readable) ||
			     opens_sensitive(&got.spec.paths_writable);
		for (size_t i = 0; i < got.spec.caches.len; i++)
			sensitive += str_eq(got.spec.caches.items[i], "/home/ann");
		broken += !reads_back(&got);
	}
	tap_eq_int(failed, 0, "generated: %d suggestions", n);
	tap_eq_int(excess, 0, "generated: none goes beyond what was asked for");
	tap_eq_int(sensitive, 0, "generated: none has a rule that is never learned");
	tap_eq_int(broken, 0, "generated: each is printed as it is meant");
}

int main(void)
{
	test_cases();
	test_limits();
	test_laws();
	return tap_done();
}
