/* SPDX-License-Identifier: MIT */
#include "config/keys.h"

#include <string.h>

#include "base/cleanup.h"

#define KIB          ((uint64_t)1 << 10)
#define MIB          ((uint64_t)1 << 20)
#define PIB          ((uint64_t)1 << 50)
#define TEN_YEARS_MS ((uint64_t)3650 * 24 * 3600 * 1000)
#define PIDS_MAX     ((uint64_t)4194304) /* the kernel's PID_MAX_LIMIT */
#define CACHES_MAX   64                  /* each is a folder that stays, and a mount */

static const char *const networks[] = {"none", "localhost", "allowed_hosts", "unrestricted", NULL};
static const char *const filesystems[] = {"none",         "readonly",     "workspace_only",
					  "scoped_write", "unrestricted", NULL};
static const char *const processes[] = {"isolated", "visible", NULL};
static const char *const envs[] = {"clean", "pass", "inherit", NULL};
static const char *const modes[] = {"staged", "direct", NULL};
static const char *const engines[] = {"auto", "native", "bwrap", "landlock", NULL};
static const char *const moments[] = {"eager", "deferred", NULL};
const char *const event_kinds[] = {"sandbox",        "session",       "apply",
				   "stage",          "sandbox.start", "sandbox.exit",
				   "sandbox.denied", "sandbox.limit", "sandbox.degraded",
				   "sandbox.tamper", "session.start", "session.end",
				   "apply.done",     "apply.undo",    "apply.refused",
				   "stage.discard",  "stage.remove",  NULL};
static const char *const backends[] = {"local",         "auto",     "podman", "docker",      "ssh",
				       "remote-docker", "buildkit", "k8s",    "opensandbox", NULL};

/* The names of tools[] in mcp/. */
static const char *const tools[] = {"run",
				    "exec",
				    "output",
				    "read",
				    "write",
				    "edit",
				    "grep",
				    "glob",
				    "diff",
				    "commands",
				    "sandbox_info",
				    "sandbox_status",
				    "register_command",
				    "unregister_command",
				    "history",
				    "events",
				    "why",
				    "signal",
				    "wait",
				    "discard",
				    "apply",
				    "undo",
				    "allow",
				    NULL};

/* The names of spec_keys[], for lists of dimensions. */
static const char *const dims[] = {"network",
				   "hosts",
				   "ports",
				   "expose",
				   "sockets",
				   "filesystem",
				   "paths_readable",
				   "paths_writable",
				   "paths_hidden",
				   "ephemeral",
				   "caches",
				   "tmpfs",
				   "processes",
				   "env",
				   "env_pass",
				   "timeout",
				   "cpu",
				   "memory",
				   "pids",
				   "disk",
				   "max_output",
				   "nested",
				   "connections",
				   "connect_rate",
				   "net_sent",
				   "net_received",
				   NULL};
_Static_assert(array_len(dims) == DIM_COUNT_ + 1, "a dimension is missing");

/* Shapes of rows: the type, and the fields that go with it. */
#define CHOICE(list)     .type = KEY_CHOICE, .choices = (list)
#define CHOICES(list)    .type = KEY_CHOICES, .choices = (list)
#define UINT(low, high)  .type = KEY_UINT, .min = (low), .max = (high)
#define SIZE(low)        .type = KEY_SIZE, .min = (low), .max = PIB
#define DURATION         .type = KEY_DURATION, .min = 1, .max = TEN_YEARS_MS
#define PORTS            .type = KEY_PORTS, .min = 1, .max = 65535
#define OPTION(name, mv) .option = name, .flag = "--" name, .metavar = (mv)
#define ANYWHERE         .where = KEY_ANYWHERE
#define OUTSIDE          .where = KEY_SYSTEM | KEY_USER

/* clang-format off */
const struct key spec_keys[DIM_COUNT_] = {
	[DIM_NETWORK] = {"network", CHOICE(networks), .def = "\"none\"", ANYWHERE,
		OPTION("network", "CHOICE"),
		.help = "what the command may reach"},
	[DIM_HOSTS] = {"hosts", .type = KEY_HOSTS, .def = "[]", ANYWHERE,
		OPTION("host", "HOST[:PORTS]"),
		.help = "names and addresses for allowed_hosts, port 443 unless given"},
	[DIM_PORTS] = {"ports", PORTS, ANYWHERE,
		OPTION("port", "N"),
		.help = "ports of the host's loopback that localhost means; all when left out"},
	[DIM_EXPOSE] = {"expose", PORTS, .def = "[]", ANYWHERE,
		OPTION("expose", "N"),
		.help = "ports that the command serves to the host"},
	[DIM_SOCKETS] = {"sockets", .type = KEY_PATHS, .def = "[]", ANYWHERE,
		OPTION("socket", "PATH"),
		.help = "unix sockets of the host that the command may use"},
	[DIM_FILESYSTEM] = {"filesystem", CHOICE(filesystems), .def = "\"readonly\"", ANYWHERE,
		OPTION("filesystem", "CHOICE"),
		.help = "what the command may see and write"},
	[DIM_PATHS_READABLE] = {"paths_readable", .type = KEY_PATHS, .def = "[]", ANYWHERE,
		OPTION("read", "PATH"),
		.help = "paths that can be read besides the workspace"},
	[DIM_PATHS_WRITABLE] = {"paths_writable", .type = KEY_PATHS, .def = "[]", ANYWHERE,
		OPTION("write", "PATH"),
		.help = "paths that can be written; beats readable"},
	[DIM_PATHS_HIDDEN] = {"paths_hidden", .type = KEY_PATHS, .def = "[]", ANYWHERE,
		OPTION("hide", "PATH"),
		.help = "paths that cannot be seen; beats writable"},
	[DIM_EPHEMERAL] = {"ephemeral", .type = KEY_BOOL, .def = "false", ANYWHERE,
		OPTION("ephemeral", NULL),
		.help = "with readonly: writes in the workspace work and are thrown away"},
	[DIM_CACHES] = {"caches", .type = KEY_PATHS, .most = CACHES_MAX, .def = "[]", ANYWHERE,
		OPTION("cache", "PATH"),
		.help = "paths of which the project keeps a private, writable copy"},
	[DIM_TMPFS] = {"tmpfs", SIZE(64 * KIB), ANYWHERE,
		OPTION("tmpfs", "SIZE"),
		.help = "size of the private /tmp; half of memory, at most 1g, when left out"},
	[DIM_PROCESSES] = {"processes", CHOICE(processes), .def = "\"isolated\"", ANYWHERE,
		OPTION("processes", "CHOICE"),
		.help = "whether the host's processes can be seen"},
	[DIM_ENV] = {"env", CHOICE(envs), .def = "\"clean\"", ANYWHERE,
		OPTION("env", "CHOICE"),
		.help = "which environment variables the command gets"},
	[DIM_ENV_PASS] = {"env_pass", .type = KEY_VARS, .def = "[]", ANYWHERE,
		OPTION("pass", "NAME"),
		.help = "variables that pass besides the built-in list"},
	[DIM_TIMEOUT] = {"timeout", DURATION, ANYWHERE,
		OPTION("timeout", "DURATION"),
		.help = "wall-clock time after which the command is ended"},
	[DIM_CPU] = {"cpu", DURATION, ANYWHERE,
		OPTION("cpu", "DURATION"),
		.help = "CPU time that the command may use"},
	[DIM_MEMORY] = {"memory", SIZE(MIB), ANYWHERE,
		OPTION("memory", "SIZE"),
		.help = "memory of all processes together, swap included"},
	[DIM_PIDS] = {"pids", UINT(1, PIDS_MAX), ANYWHERE,
		OPTION("pids", "N"),
		.help = "number of processes and threads"},
	[DIM_DISK] = {"disk", SIZE(64 * KIB), ANYWHERE,
		OPTION("disk", "SIZE"),
		.help = "what the run may write in total"},
	[DIM_MAX_OUTPUT] = {"max_output", SIZE(KIB), ANYWHERE,
		OPTION("max-output", "SIZE"),
		.help = "output that is kept; past it the middle is dropped"},
	[DIM_NESTED] = {"nested", .type = KEY_BOOL, .def = "false", ANYWHERE,
		OPTION("nested", NULL),
		.help = "allow user namespaces inside"},
	[DIM_CONNECTIONS] = {"connections", UINT(1, 65535), ANYWHERE,
		OPTION("connections", "N"),
		.help = "connections out of the sandbox at once; 256 when left out"},
	[DIM_CONNECT_RATE] = {"connect_rate", UINT(1, 1000000), ANYWHERE,
		OPTION("connect-rate", "N"),
		.help = "new connections in a second; 1000 when left out"},
	[DIM_NET_SENT] = {"net_sent", SIZE(KIB), ANYWHERE,
		OPTION("net-sent", "SIZE"),
		.help = "what the command may send over all of its connections"},
	[DIM_NET_RECEIVED] = {"net_received", SIZE(KIB), ANYWHERE,
		OPTION("net-received", "SIZE"),
		.help = "what it may receive over all of them"},
};

const struct key config_keys[] = {
	{"sandbox.mode", CHOICE(modes), .def = "\"direct\"", ANYWHERE,
		.help = "write to the workspace directly, or stage writes for review"},
	{"sandbox.backend", CHOICE(backends), .def = "\"local\"", ANYWHERE,
		.help = "where commands run"},
	{"sandbox.preset", .type = KEY_NAME, .def = "\"workspace\"", ANYWHERE,
		.help = "what a command without a sandbox of its own gets"},
	{"sandbox.engine", CHOICE(engines), .def = "\"auto\"", ANYWHERE,
		.help = "what enforces the boundary on this machine"},
	{"sandbox.allow_degraded", CHOICES(dims), .def = "[]", OUTSIDE,
		.help = "dimensions that may be enforced in part"},
	{"sandbox.observe", .type = KEY_BOOL, .def = "true", ANYWHERE,
		.help = "watch what a confined command attempts, to report what was refused"},
	{"sandbox.ask", .type = KEY_BOOL, .def = "false", OUTSIDE,
		.help = "ask on your terminal about names that no rule allows, where there is a network"},
	{"sandbox.env.pass", .type = KEY_VARS, .def = "[]", ANYWHERE,
		.help = "variables that pass in every sandbox, besides the built-in list"},
	{"sandbox.env.set", .type = KEY_TEXT_MAP, .def = "{}", ANYWHERE,
		.help = "variables that every command gets"},
	{"presets.*", .type = KEY_SPEC_TABLE, ANYWHERE,
		.help = "a preset of your own"},
	{"presets.*.base", .type = KEY_NAME, .def = "\"workspace\"", ANYWHERE,
		.help = "the preset that it starts from"},
	{"host_groups.*", .type = KEY_HOSTS, OUTSIDE,
		.help = "names and addresses that \"@NAME\" stands for in a list of hosts"},
	{"commands.*.cmd", .type = KEY_TEXT, ANYWHERE,
		.help = "a shell line, run by sh -c inside the sandbox"},
	{"commands.*.argv", .type = KEY_TEXTS, ANYWHERE,
		.help = "a program and its arguments, run without a shell"},
	{"commands.*.description", .type = KEY_TEXT, ANYWHERE,
		.help = "one line for lists"},
	{"commands.*.sandbox", .type = KEY_SPEC, ANYWHERE,
		.help = "a preset's name, or a table of dimensions; [sandbox] preset when left out"},
	{"commands.*.sandbox.base", .type = KEY_NAME, ANYWHERE,
		.help = "the preset that the table starts from; readonly without limits when left out"},
	{"lanes.max_parallel", UINT(1, 256), ANYWHERE,
		.help = "commands of a workspace that pale check runs at once; the number of cores when left out"},
	{"lanes.queue_capacity", UINT(0, 4096), .def = "64", ANYWHERE,
		.help = "commands that may wait for a lane"},
	{"lanes.check", .type = KEY_TEXTS, ANYWHERE,
		.help = "what pale check runs when no command is named; all when left out"},
	{"history.enabled", .type = KEY_BOOL, .def = "true", OUTSIDE,
		.help = "remember runs: what ran, how it ended, what was refused"},
	{"history.store_argv", .type = KEY_BOOL, .def = "false", OUTSIDE,
		.help = "remember the arguments of commands too, not only a digest of them"},
	{"history.output_keep", DURATION, .def = "\"7d\"", OUTSIDE,
		.help = "how long output is kept of runs that have max_output"},
	{"session.idle", DURATION, .def = "\"30m\"", OUTSIDE,
		.help = "a session that nothing runs in, and nothing was asked of for so long, ends"},
	{"annotators.*.when", CHOICE(moments), .def = "\"deferred\"", OUTSIDE,
		.help = "after a run is stored, or only by pale events annotate"},
	{"annotators.*.timeout", DURATION, .def = "\"5s\"", OUTSIDE,
		.help = "how long it may take for one event"},
	{"annotators.*.kinds", CHOICES(event_kinds), .def = "[]", OUTSIDE,
		.help = "kinds of events that it is asked about, or their first words; all when empty"},
	{"mcp.expose", CHOICES(tools), .def = "[]", OUTSIDE,
		.help = "tools that agents get by pale mcp, besides those that they always have"},
	{"ceiling", .type = KEY_SPEC_TABLE, OUTSIDE,
		.help = "the loosest that anything may ask for; what is left out is not bounded"},
	{"ceiling.mode", CHOICE(modes), .def = "\"direct\"", OUTSIDE,
		.help = "the loosest mode"},
	{"ceiling.backends", CHOICES(backends), OUTSIDE,
		.help = "the backends that may be used; all when left out"},
	{"ceiling.allow_degraded", CHOICES(dims), OUTSIDE,
		.help = "the dimensions that allow_degraded may name; all when left out"},
	{"ceiling.mcp_tools", CHOICES(tools), OUTSIDE,
		.help = "the tools that pale mcp may offer at all; all when left out"},
};
/* clang-format on */

const size_t config_keys_len = array_len(config_keys);

int dim_by_name(const char *name)
{
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		if (strcmp(spec_keys[dim].path, name) == 0)
			return dim;
	return -1;
}

int key_choice(const struct key *key, const char *text)
{
	for (int i = 0; key->choices && key->choices[i]; i++)
		if (strcmp(key->choices[i], text) == 0)
			return i;
	return -1;
}
