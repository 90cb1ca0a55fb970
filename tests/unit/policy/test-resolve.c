/* SPDX-License-Identifier: MIT */
/* resolve: presets, commands, the command line and the ceilings make one spec. */
#include <errno.h>

#include "resolve-case.h"
#include "tap.h"

static void test_presets(void)
{
	gives("readonly", (struct given){.preset = "readonly"},
	      "network = \"none\"\nfilesystem = \"readonly\"\nephemeral = false\ntimeout = \"30s\"\n"
	      "cpu = \"15s\"\nmemory = \"256m\"\nprocesses = \"isolated\"\nenv = \"clean\"");
	gives("test", (struct given){.preset = "test"},
	      "network = \"none\"\nfilesystem = \"readonly\"\nephemeral = true\ntimeout = \"1m\"\n"
	      "cpu = \"30s\"\nmemory = \"512m\"\nprocesses = \"isolated\"\nenv = \"clean\"");
	gives("build", (struct given){.preset = "build"},
	      "network = \"none\"\nfilesystem = \"workspace_only\"\nephemeral = false\n"
	      "timeout = \"5m\"\ncpu = \"2m\"\nmemory = \"2g\"\nprocesses = \"isolated\"");
	gives("integration", (struct given){.preset = "integration"},
	      "network = \"localhost\"\nports = \nfilesystem = \"workspace_only\"\n"
	      "timeout = \"10m\"\ncpu = \"5m\"\nmemory = \"4g\"\nprocesses = \"visible\"");
	gives("workspace", (struct given){.preset = "workspace"},
	      "network = \"none\"\nfilesystem = \"workspace_only\"\ntimeout = \ncpu = \n"
	      "memory = \nprocesses = \"isolated\"\nenv = \"clean\"\nnested = false");
	gives("unrestricted", (struct given){.preset = "unrestricted"},
	      "network = \"unrestricted\"\nfilesystem = \"unrestricted\"\ntimeout = \"30m\"\n"
	      "cpu = \nmemory = \nprocesses = \"visible\"\nenv = \"clean\"\nnested = false");
	gives("off", (struct given){.preset = "off"},
	      "network = \"unrestricted\"\nfilesystem = \"unrestricted\"\ntimeout = \n"
	      "processes = \"visible\"\nenv = \"inherit\"\nnested = true");
	gives("none is off", (struct given){.preset = "none"}, "env = \"inherit\"\nnested = true");
	gives("the default is workspace", (struct given){0},
	      "filesystem = \"workspace_only\"\ntimeout = ");
}

static void test_own_presets(void)
{
	gives("a preset of one's own starts from its base",
	      (struct given){.user = "[presets.ci]\nbase = \"build\"\nmemory = \"6g\"",
			     .preset = "ci"},
	      "filesystem = \"workspace_only\"\ntimeout = \"5m\"\nmemory = \"6g\"");
	gives("without one, from workspace", (struct given){.user = "[presets.ci]", .preset = "ci"},
	      "filesystem = \"workspace_only\"\ntimeout = ");
	gives("bases chain",
	      (struct given){.user = "[presets.a]\nbase = \"b\"\npids = 5\n"
				     "[presets.b]\nbase = \"test\"\npids = 6\ntimeout = \"7s\"",
			     .preset = "a"},
	      "pids = 5\ntimeout = \"7s\"\nmemory = \"512m\"\nephemeral = true");
	gives("a preset merges over the layers",
	      (struct given){.system = "[presets.ci]\nbase = \"build\"\npids = 5",
			     .user = "[presets.ci]\npids = 6",
			     .preset = "ci"},
	      "pids = 6\ntimeout = \"5m\"");
	refuses("a circle",
		(struct given){.user = "[presets.a]\nbase = \"b\"\n[presets.b]\nbase = \"a\"",
			       .preset = "a"},
		ERR_CONFIG, "user.toml:4:8: presets build on each other in a circle: a -> b -> a");
	refuses("a circle of one",
		(struct given){.user = "[presets.a]\nbase = \"a\"", .preset = "a"}, ERR_CONFIG,
		"a -> a");
	refuses("an unknown base",
		(struct given){.user = "[presets.a]\nbase = \"biuld\"", .preset = "a"}, ERR_CONFIG,
		"user.toml:2:8: unknown preset 'biuld'");
	refuses("an unknown preset", (struct given){.preset = "nonsense"}, ERR_USAGE,
		"--preset: unknown preset 'nonsense'");
	refuses("a built-in name, even when not used", (struct given){.workspace = "[presets.off]"},
		ERR_CONFIG, "ws/pale.toml:1:");
	refuses("the alias too", (struct given){.user = "[presets.none]"}, ERR_CONFIG,
		"preset 'none' is built in");
}

static void test_unknown_preset_hint(void)
{
	_cleanup_(config_release) struct config config = {0};
	_cleanup_(resolved_release) struct resolved out = {0};
	struct given g = {.user = "[presets.mine]", .preset = "biuld"};
	struct err err = {0};

	resolve(&g, &config, &out, &err);
	tap_ok(strstr(err.hint, "did you mean 'build'?") && strstr(err.hint, "mine"),
	       "the hint guesses and lists: %s", err.hint);
}

static void test_deep_bases(void)
{
	_cleanup_(str_release) struct str text = {0};

	for (int i = 0; i < 500; i++)
		str_appendf(&text, "[presets.p%d]\nbase = \"p%d\"\n", i, i + 1);
	refuses("a tower of presets", (struct given){.workspace = str_text(&text), .preset = "p0"},
		ERR_CONFIG, "more than 32 presets");
}

/* Those of a file and of the command line together. */
static void test_caches(void)
{
	_cleanup_(str_release) struct str text = {0};

	str_append(&text, "[sandbox]\npreset = \"p\"\n[presets.p]\ncaches = [");
	for (int i = 0; i < 64; i++)
		str_appendf(&text, "\"/c/%d\", ", i);
	str_append(&text, "]\n");
	refuses("one cache more than there may be",
		(struct given){.workspace = str_text(&text), .items = {{DIM_CACHES, "/d"}}},
		ERR_USAGE, "--cache: caches has 65 entries, at most 64 are allowed");
	gives("one that is there already",
	      (struct given){.workspace = str_text(&text),
			     .items = {{DIM_CACHES, "/c/7"}, {DIM_PIDS, "9"}}},
	      "pids = 9");
}

static void test_commands(void)
{
	static const char table[] =
		"[sandbox]\npreset = \"build\"\n"
		"[commands.a]\ncmd = \"x\"\nsandbox = \"test\"\n"
		"[commands.b]\ncmd = \"x\"\n"
		"[commands.c]\ncmd = \"x\"\n[commands.c.sandbox]\npids = 9\n"
		"[commands.d]\ncmd = \"x\"\nsandbox = {base = \"test\", pids = 9}\n";

	gives("a command's preset", (struct given){.workspace = table, .command = "a"},
	      "memory = \"512m\"\nephemeral = true");
	gives("without one the default holds", (struct given){.workspace = table, .command = "b"},
	      "timeout = \"5m\"");
	gives("a table starts from readonly without limits",
	      (struct given){.workspace = table, .command = "c"},
	      "filesystem = \"readonly\"\ntimeout = \nmemory = \npids = 9");
	gives("or from its base", (struct given){.workspace = table, .command = "d"},
	      "timeout = \"1m\"\npids = 9");
	gives("--preset beats the command's own",
	      (struct given){.workspace = table, .command = "d", .preset = "readonly"},
	      "timeout = \"30s\"\npids = ");
	gives("the default also holds for ad-hoc runs", (struct given){.workspace = table},
	      "timeout = \"5m\"");
	gives("a closer table replaces a farther preset, and all behind it",
	      (struct given){.system = "[commands.a.sandbox]\npids = 3\ntimeout = \"1s\"",
			     .user = "[commands.a]\nsandbox = \"build\"",
			     .workspace = "[commands.a.sandbox]\npids = 4",
			     .command = "a"},
	      "filesystem = \"readonly\"\npids = 4\ntimeout = ");
	gives("tables merge over layers",
	      (struct given){.user = "[commands.a.sandbox]\nbase = \"build\"\npids = 3",
			     .workspace = "[commands.a.sandbox]\npids = 4",
			     .command = "a"},
	      "timeout = \"5m\"\npids = 4");
	refuses("a command that is not there", (struct given){.command = "zz"}, ERR_USAGE,
		"no command 'zz'");
	refuses("a bad host rule names its place",
		(struct given){.workspace = "[commands.a.sandbox]\nhosts = [\"a b\"]",
			       .command = "a"},
		ERR_CONFIG, "ws/pale.toml:2:9: ");
}

static void test_command_find(void)
{
	_cleanup_(config_release) struct config config = {0};
	_cleanup_(command_release) struct command c = {0}, d = {0}, n = {0};
	struct err err = {.message = "untouched"};

	files_load(NULL, "[commands.c]\ncmd = \"user\"\ndescription = \"text\"",
		   "[commands.c]\nargv = [\"ls\", \"-l\"]\n[commands.d]\ncmd = \"true\"\n"
		   "[commands.both]\ncmd = \"x\"\nargv = [\"x\"]\n[commands.none]\n",
		   &config, &err);
	tap_ok(command_find(&config, "zz", &n, &err) == -ENOENT && str_eq(err.message, "untouched"),
	       "no such command: no error text");
	tap_ok(command_find(&config, "d", &d, &err) == 0 && str_eq(d.cmd, "true") &&
		       d.argv.len == 0 && !d.description && d.origin.line == 4,
	       "a shell line");
	tap_ok(command_find(&config, "c", &c, &err) == 0 && !c.cmd && c.argv.len == 2 &&
		       str_eq(c.description, "text"),
	       "the closer file's argv replaces the farther one's cmd; the rest merges");
	tap_ok(command_find(&config, "both", &n, &err) < 0 && strstr(err.message, "has both"),
	       "both in one file: %s", err.message);
	tap_ok(command_find(&config, "none", &n, &err) < 0 && strstr(err.message, "neither"),
	       "neither: %s", err.message);
}

static void test_options(void)
{
	static const char lists[] =
		"[sandbox]\npreset = \"p\"\n[presets.p]\nnetwork = "
		"\"allowed_hosts\"\nhosts = [\"a.org\"]\npaths_writable = [\"out\"]";

	gives("scalars replace", (struct given){.user = lists, .items = {{DIM_NETWORK, "none"}}},
	      "network = \"none\"");
	gives("the last one holds", (struct given){.items = {{DIM_PIDS, "1"}, {DIM_PIDS, "2"}}},
	      "pids = 2");
	gives("lists add",
	      (struct given){.user = lists,
			     .items = {{DIM_HOSTS, "b.org:80"}, {DIM_HOSTS, "c.org"}}},
	      "hosts = [\"a.org:443\", \"b.org:80\", \"c.org:443\"]");
	gives("paths of files start at the workspace, those of options at the cwd",
	      (struct given){.user = lists, .items = {{DIM_PATHS_WRITABLE, "out"}}},
	      "paths_writable = [\"{}/ws/out\", \"{}/ws/sub/out\"]");
	gives("~ and ${WORKSPACE}",
	      (struct given){.items = {{DIM_PATHS_READABLE, "~/x/"},
				       {DIM_PATHS_READABLE, "${WORKSPACE}/y/**"}}},
	      "paths_readable = [\"/home/u/x\", \"{}/ws/y\"]");
	gives("a flag", (struct given){.items = {{DIM_NESTED, "true"}}}, "nested = true");
	gives("writing below readonly stays readonly",
	      (struct given){.preset = "readonly", .items = {{DIM_PATHS_WRITABLE, "/data"}}},
	      "filesystem = \"readonly\"\npaths_writable = [\"/data\"]");
	refuses("a bad value", (struct given){.items = {{DIM_MEMORY, "12q"}}}, ERR_USAGE,
		"--memory: memory: bad size");
	refuses("a bad choice", (struct given){.items = {{DIM_NETWORK, "all"}}}, ERR_USAGE,
		"--network: network cannot be \"all\"");
	refuses("an empty path", (struct given){.items = {{DIM_PATHS_HIDDEN, ""}}}, ERR_USAGE,
		"--hide: ");
}

static void test_implied(void)
{
	gives("--host brings allowed_hosts", (struct given){.items = {{DIM_HOSTS, "a.org"}}},
	      "network = \"allowed_hosts\"\nports = []");
	gives("a level that was there keeps its loopback",
	      (struct given){.preset = "integration", .items = {{DIM_HOSTS, "a.org"}}},
	      "network = \"allowed_hosts\"\nports = ");
	gives("as one that is written does",
	      (struct given){.items = {{DIM_HOSTS, "a.org"}, {DIM_NETWORK, "allowed_hosts"}}},
	      "network = \"allowed_hosts\"\nports = ");
	gives("idle ports of a project stay idle",
	      (struct given){.workspace = "[presets.p]\nports = [80]",
			     .preset = "p",
			     .items = {{DIM_HOSTS, "a.org"}}},
	      "network = \"allowed_hosts\"\nports = []");
	gives("and do not add to those of options",
	      (struct given){.workspace = "[presets.p]\nports = [80]",
			     .preset = "p",
			     .items = {{DIM_PORTS, "81"}}},
	      "network = \"localhost\"\nports = [81]");
	gives("--port brings localhost", (struct given){.items = {{DIM_PORTS, "80"}}},
	      "network = \"localhost\"\nports = [80]");
	gives("both bring the looser one",
	      (struct given){.items = {{DIM_PORTS, "80"}, {DIM_HOSTS, "a.org"}}},
	      "network = \"allowed_hosts\"\nports = [80]");
	refuses("unless it is contradicted",
		(struct given){.items = {{DIM_HOSTS, "a.org"}, {DIM_NETWORK, "none"}}}, ERR_USAGE,
		"--host needs network = \"allowed_hosts\", but --network says \"none\"");
	gives("--pass brings pass", (struct given){.items = {{DIM_ENV_PASS, "A"}}},
	      "env = \"pass\"\nenv_pass = [\"A\"]");
	gives("so does env.pass, and they add",
	      (struct given){.user = "sandbox.env.pass = [\"B\"]", .items = {{DIM_ENV_PASS, "A"}}},
	      "env = \"pass\"\nenv_pass = [\"A\", \"B\"]");
	gives("with everything inherited it says nothing",
	      (struct given){.user = "sandbox.env.pass = [\"B\"]", .preset = "off"},
	      "env = \"inherit\"\nenv_pass = []");
	gives("--env clean takes the variables of the files away",
	      (struct given){.user = "sandbox.env.pass = [\"B\"]", .items = {{DIM_ENV, "clean"}}},
	      "env = \"clean\"\nenv_pass = []");
	refuses("clean and a list contradict each other",
		(struct given){.user = "[sandbox]\npreset = \"p\"\nenv.pass = [\"B\"]\n"
				       "[presets.p]\nenv = \"clean\""},
		ERR_CONFIG,
		"env = \"clean\" (user.toml:5) contradicts the variables that pass "
		"(user.toml:3)");
	refuses("on the command line as well",
		(struct given){.items = {{DIM_ENV, "clean"}, {DIM_ENV_PASS, "A"}}}, ERR_CONFIG,
		"env = \"clean\" (--env) contradicts");
	gives("ephemeral brings readonly", (struct given){.items = {{DIM_EPHEMERAL, "true"}}},
	      "filesystem = \"readonly\"\nephemeral = true");
	gives("a level of one's own ends the preset's ephemeral",
	      (struct given){.preset = "test", .items = {{DIM_FILESYSTEM, "workspace_only"}}},
	      "filesystem = \"workspace_only\"\nephemeral = false");
	refuses("asked for together they contradict",
		(struct given){
			.items = {{DIM_EPHEMERAL, "true"}, {DIM_FILESYSTEM, "unrestricted"}}},
		ERR_CONFIG, "ephemeral (--ephemeral) needs filesystem");
}

/* A list that is there to bound the network, under a level that bounds nothing. */
static void test_unbounded(void)
{
	static const char base[] = "[presets.p]\nnetwork = \"allowed_hosts\"\nhosts = [\"a.org\"]\n"
				   "[presets.q]\nbase = \"p\"\nnetwork = \"unrestricted\"\n";

	refuses("--host where a preset opens everything",
		(struct given){.preset = "unrestricted", .items = {{DIM_HOSTS, "a.org"}}},
		ERR_USAGE, "--host bounds nothing: network is \"unrestricted\" (--preset)");
	refuses("or the command line",
		(struct given){.items = {{DIM_HOSTS, "a.org"}, {DIM_NETWORK, "unrestricted"}}},
		ERR_USAGE, "--host bounds nothing: network is \"unrestricted\" (--network)");
	refuses("--port as well",
		(struct given){.items = {{DIM_PORTS, "80"}, {DIM_NETWORK, "unrestricted"}}},
		ERR_USAGE, "--port bounds nothing");
	gives("a level that does bound makes sense of it",
	      (struct given){.preset = "unrestricted",
			     .items = {{DIM_HOSTS, "a.org"}, {DIM_NETWORK, "allowed_hosts"}}},
	      "network = \"allowed_hosts\"\nhosts = [\"a.org:443\"]");
	refuses("hosts of a file",
		(struct given){.user = "[presets.p]\nnetwork = \"unrestricted\"\n"
				       "hosts = [\"a.org\"]\n",
			       .preset = "p"},
		ERR_CONFIG,
		"user.toml:3:9: hosts bounds nothing: network is \"unrestricted\" (user.toml:2)");
	refuses("where the base opens everything",
		(struct given){.user = "[presets.p]\nbase = \"off\"\nports = []\n", .preset = "p"},
		ERR_CONFIG,
		"user.toml:3:9: ports bounds nothing: network is \"unrestricted\" (user.toml:2)");
	gives("a network that is opened for good forgets what bounded it",
	      (struct given){.user = base, .preset = "q"},
	      "network = \"unrestricted\"\nhosts = []");
	gives("on the command line as well",
	      (struct given){.user = base, .preset = "p", .items = {{DIM_NETWORK, "unrestricted"}}},
	      "network = \"unrestricted\"\nhosts = []");
	gives("what opens is open already",
	      (struct given){.preset = "unrestricted",
			     .items = {{DIM_EXPOSE, "80"}, {DIM_SOCKETS, "/run/s"}}},
	      "network = \"unrestricted\"\nexpose = [80]\nsockets = [\"/run/s\"]");
}

static void test_ceiling(void)
{
	static const char none[] = "[ceiling]\nnetwork = \"none\"\nmemory = \"1g\"\n";

	gives("what is within passes", (struct given){.system = none, .preset = "test"},
	      "network = \"none\"\nmemory = \"512m\"");
	gives("a limit that nobody wrote is cut", (struct given){.system = none},
	      "filesystem = \"workspace_only\"\nmemory = \"1g\"");
	gives("so is that of a built-in preset", (struct given){.system = none, .preset = "build"},
	      "memory = \"1g\"\ntimeout = \"5m\"");
	gives("the default preset is cut",
	      (struct given){.user = "[ceiling]\nfilesystem = \"readonly\""},
	      "filesystem = \"readonly\"");
	refuses("a named one is not",
		(struct given){.user = "[ceiling]\nfilesystem = \"readonly\"",
			       .workspace = "[sandbox]\npreset = \"build\""},
		ERR_POLICY,
		"filesystem = \"workspace_only\" (preset build, ws/pale.toml:2) is looser than the "
		"ceiling \"readonly\" (user.toml:2)");
	refuses("a written value names both lines",
		(struct given){.system = none,
			       .command = "x",
			       .workspace = "[commands.x]\ncmd = \"x\"\n[commands.x.sandbox]\n"
					    "network = \"unrestricted\""},
		ERR_POLICY,
		"network = \"unrestricted\" (ws/pale.toml:4) is looser than the ceiling \"none\" "
		"(sys.toml:2)");
	refuses("a written limit", (struct given){.system = none, .items = {{DIM_MEMORY, "2g"}}},
		ERR_POLICY,
		"memory = \"2g\" (--memory) is looser than the ceiling \"1g\" (sys.toml:3)");
	gives("a tighter one is fine",
	      (struct given){.system = none, .items = {{DIM_MEMORY, "2m"}}}, "memory = \"2m\"");
	refuses("an implied level", (struct given){.system = none, .items = {{DIM_HOSTS, "a.org"}}},
		ERR_POLICY, "network = \"allowed_hosts\" (--host)");
	refuses("off", (struct given){.system = none, .preset = "off"}, ERR_POLICY,
		"network = \"unrestricted\" (preset off, --preset)");
	refuses("the user's own file is bound by the system's",
		(struct given){.system = none, .user = "[sandbox]\npreset = \"off\""}, ERR_POLICY,
		"(preset off, user.toml:2)");
	gives("both ceilings hold",
	      (struct given){.system = none,
			     .user = "[ceiling]\ntimeout = \"5s\"\nmemory = \"8g\""},
	      "timeout = \"5s\"\nmemory = \"1g\"");
	refuses("the tighter of both is named",
		(struct given){.system = none,
			       .user = "[ceiling]\nmemory = \"8g\"",
			       .items = {{DIM_MEMORY, "9g"}}},
		ERR_POLICY, "(sys.toml:3)");
}

static void test_ceiling_lists(void)
{
	static const char paths[] =
		"[ceiling]\nfilesystem = \"workspace_only\"\n"
		"paths_readable = [\"/opt\"]\npaths_hidden = [\"${WORKSPACE}/.env\"]";

	gives("a path within",
	      (struct given){.user = paths, .items = {{DIM_PATHS_READABLE, "/opt/x"}}},
	      "filesystem = \"workspace_only\"\npaths_readable = [\"/opt/x\"]\n"
	      "paths_hidden = [\"{}/ws/.env\"]");
	refuses("a path outside",
		(struct given){.user = paths, .items = {{DIM_PATHS_READABLE, "/srv"}}}, ERR_POLICY,
		"paths_readable = [\"/srv\"] (--read) is looser than the ceiling [\"/opt\"] (user.toml:3)");
	refuses("a hidden path asked for by name",
		(struct given){.user = paths, .items = {{DIM_PATHS_READABLE, "../.env"}}},
		ERR_POLICY, "ws/.env\"] (--read) is hidden by the ceiling");
	refuses("variables",
		(struct given){.user = "ceiling.env = \"clean\"\nsandbox.env.pass = [\"A\"]"},
		ERR_POLICY, "(user.toml:2) is looser than the ceiling");
	refuses("a list without a level bounds nothing",
		(struct given){.system = "[ceiling]\nhosts = [\"a.org\"]"}, ERR_CONFIG,
		"sys.toml:2:9: a ceiling of hosts bounds nothing without one of network");
	gives("with its level it does",
	      (struct given){
		      .system =
			      "[ceiling]\nnetwork = \"allowed_hosts\"\nhosts = [\"*.example.org\"]",
		      .items = {{DIM_HOSTS, "a.example.org"}}},
	      "hosts = [\"a.example.org:443\"]");
}

static void test_ephemeral_ceiling(void)
{
	static const char user[] = "[ceiling]\nephemeral = true";

	gives("a ceiling of throw-away writes makes them that", (struct given){.user = user},
	      "filesystem = \"readonly\"\nephemeral = true");
	gives("what leaves nothing is within it",
	      (struct given){.user = user, .items = {{DIM_FILESYSTEM, "readonly"}}},
	      "filesystem = \"readonly\"\nephemeral = false");
	refuses("a level that would keep them",
		(struct given){.user = user, .items = {{DIM_FILESYSTEM, "workspace_only"}}},
		ERR_POLICY,
		"filesystem = \"workspace_only\" (--filesystem) is looser than the ceiling "
		"ephemeral = true (user.toml:2)");
	refuses("a path that would",
		(struct given){.user = user, .items = {{DIM_PATHS_WRITABLE, "/x"}}}, ERR_POLICY,
		"(--write) is looser than the ceiling ephemeral = true (user.toml:2)");
}

static const struct resolved *modes(struct given g, struct err *err)
{
	static struct resolved out;
	static struct config config;

	resolved_release(&out);
	config_release(&config);
	return resolve(&g, &config, &out, err) < 0 ? NULL : &out;
}

static void test_modes(void)
{
	const struct resolved *out;
	struct err err = {0};

	out = modes((struct given){0}, &err);
	tap_ok(out && str_eq(out->mode, "direct") && str_eq(out->engine, "auto") &&
		       str_eq(out->backend, "local") && str_eq(out->sandbox, "workspace"),
	       "the defaults");
	out = modes((struct given){.user = "[sandbox]\nmode = \"staged\"\nengine = \"bwrap\"\n"
					   "backend = \"ssh\"",
				   .engine = "native"},
		    &err);
	tap_ok(out && str_eq(out->mode, "staged") && str_eq(out->engine, "native") &&
		       str_eq(out->backend, "ssh"),
	       "files, and the command line before them");
	out = modes((struct given){.user = "ceiling.mode = \"staged\""}, &err);
	tap_ok(out && str_eq(out->mode, "staged"), "a ceiling of staged makes it staged");
	refuses("direct is refused then",
		(struct given){.user = "ceiling.mode = \"staged\"", .mode = "direct"}, ERR_POLICY,
		"mode \"direct\" (--direct) is not within the ceiling (user.toml:1)");
	refuses("backends",
		(struct given){.system = "ceiling.backends = [\"local\"]",
			       .workspace = "[sandbox]\nbackend = \"ssh\""},
		ERR_POLICY,
		"backend \"ssh\" (ws/pale.toml:2) is not within the ceiling (sys.toml:1)");
	refuses("an unknown engine", (struct given){.engine = "natve"}, ERR_USAGE, "--engine: ");
	out = modes((struct given){.user = "[commands.x.sandbox]\npids = 4", .command = "x"}, &err);
	tap_ok(out && str_eq(out->sandbox, "custom") &&
		       str_eq(out->origins[DIM_PIDS].file, "user.toml") &&
		       out->origins[DIM_PIDS].line == 2 && (out->written & DIM_BIT(DIM_PIDS)) &&
		       !(out->written & DIM_BIT(DIM_MEMORY)),
	       "who wrote what is known");
	modes((struct given){.preset = "?"}, &err);
}

static void test_degraded(void)
{
	const struct resolved *out;
	struct err err = {0};

	out = modes(
		(struct given){.user = "sandbox.allow_degraded = [\"disk\"]", .degraded = "memory"},
		&err);
	tap_ok(out && out->allow_degraded == (DIM_BIT(DIM_DISK) | DIM_BIT(DIM_MEMORY)),
	       "files and options add up");
	refuses("an unknown one", (struct given){.degraded = "memoryy"}, ERR_USAGE,
		"--allow-degraded: ");
	refuses("the ceiling binds the option",
		(struct given){.system = "ceiling.allow_degraded = [\"disk\"]",
			       .degraded = "memory"},
		ERR_POLICY,
		"allow_degraded \"memory\" (--allow-degraded) is not within the ceiling");
	refuses("and the file",
		(struct given){.system = "ceiling.allow_degraded = []",
			       .user = "sandbox.allow_degraded = [\"disk\"]"},
		ERR_POLICY, "(user.toml:1) is not within the ceiling (sys.toml:1)");
	modes((struct given){.preset = "?"}, &err);
}

static void test_env_set(void)
{
	const struct resolved *out;
	struct err err = {0};

	out = modes((struct given){.user = "sandbox.env.set = { A = \"1\", B = \"2\" }",
				   .workspace = "sandbox.env.set = { B = \"3\" }",
				   .setenv = "A=x=y"},
		    &err);
	tap_ok(out && out->env_set.len == 2 && strv_has(&out->env_set, "A=x=y") &&
		       strv_has(&out->env_set, "B=3"),
	       "variables merge by name, the closest wins");
	for (int i = 0; i < 3; i++) {
		struct given g = {.user = "sandbox.env.set = { A = \"1\" }",
				  .workspace = "sandbox.env.set = { B = \"3\" }",
				  .asks = i == 1};

		if (i == 2)
			g.items[0].dim = DIM_HOSTS, g.items[0].text = "a.org";
		out = modes(g, &err);
		tap_ok(out && strv_has(&out->env_set, "A=1") &&
			       strv_has(&out->env_set, "B=3") == (i == 0),
		       "a project's variables hold %s",
		       i == 0   ? "within its ceiling"
		       : i == 1 ? "not where names can be asked for"
				: "not where a host can be reached");
	}
	refuses("no value", (struct given){.setenv = "A"}, ERR_USAGE, "is not NAME=VALUE");
	refuses("no name", (struct given){.setenv = "=A"}, ERR_USAGE, "is not NAME=VALUE");
	modes((struct given){.preset = "?"}, &err);
}

static void test_no_home(void)
{
	char *home = test_user.home;

	test_user.home = NULL;
	refuses("~ without a home",
		(struct given){.workspace = "[sandbox]\npreset = \"p\"\n[presets.p]\n"
					    "paths_readable = [\"~/x\"]"},
		ERR_CONFIG,
		"ws/pale.toml:4:18: paths_readable: path \"~/x\": your home is not known");
	test_user.home = home;
}

int main(void)
{
	files_enter();
	test_presets();
	test_own_presets();
	test_unknown_preset_hint();
	test_deep_bases();
	test_caches();
	test_commands();
	test_command_find();
	test_options();
	test_implied();
	test_unbounded();
	test_ceiling();
	test_ceiling_lists();
	test_modes();
	test_degraded();
	test_env_set();
	test_ephemeral_ceiling();
	test_no_home();
	files_leave();
	return tap_done();
}
