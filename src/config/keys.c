/* SPDX-License-Identifier: MIT */
#include "config/keys.h"

#include <string.h>

#include "base/cleanup.h"

#define KIB          ((uint64_t)1 << 10)
#define MIB          ((uint64_t)1 << 20)
#define PIB          ((uint64_t)1 << 50)
#define TEN_YEARS_MS ((uint64_t)3650 * 24 * 3600 * 1000)
#define PIDS_MAX     ((uint64_t)4194304) /* the kernel's PID_MAX_LIMIT */

static const char *const networks[] = {"none", "localhost", "allowed_hosts", "unrestricted", NULL};
static const char *const filesystems[] = {"none",         "readonly",     "workspace_only",
					  "scoped_write", "unrestricted", NULL};
static const char *const processes[] = {"isolated", "visible", NULL};
static const char *const envs[] = {"clean", "pass", "inherit", NULL};
static const char *const modes[] = {"staged", "direct", NULL};
static const char *const engines[] = {"auto", "native", "bwrap", "landlock", NULL};
static const char *const backends[] = {"local",         "auto",     "podman", "docker",      "ssh",
				       "remote-docker", "buildkit", "k8s",    "opensandbox", NULL};

/* The names of spec_keys[], for lists of dimensions. */
static const char *const dims[] = {
	"network",
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
	NULL,
};
_Static_assert(array_len(dims) == DIM_COUNT_ + 1, "a dimension is missing");

const struct key spec_keys[DIM_COUNT_] = {
	[DIM_NETWORK] =
		{
			.path = "network",
			.type = KEY_CHOICE,
			.choices = networks,
			.def = "\"none\"",
			.help = "what the command may reach",
			.where = KEY_ANYWHERE,
			.option = "network",
			.metavar = "CHOICE",
		},
	[DIM_HOSTS] =
		{
			.path = "hosts",
			.type = KEY_HOSTS,
			.def = "[]",
			.help = "names and addresses for allowed_hosts, port 443 unless given",
			.where = KEY_ANYWHERE,
			.option = "host",
			.metavar = "HOST[:PORTS]",
		},
	[DIM_PORTS] =
		{
			.path = "ports",
			.type = KEY_PORTS,
			.min = 1,
			.max = 65535,
			.help = "ports of the host's loopback that localhost means; all when left out",
			.where = KEY_ANYWHERE,
			.option = "port",
			.metavar = "N",
		},
	[DIM_EXPOSE] =
		{
			.path = "expose",
			.type = KEY_PORTS,
			.min = 1,
			.max = 65535,
			.def = "[]",
			.help = "ports that the command serves to the host",
			.where = KEY_ANYWHERE,
			.option = "expose",
			.metavar = "N",
		},
	[DIM_SOCKETS] =
		{
			.path = "sockets",
			.type = KEY_PATHS,
			.def = "[]",
			.help = "unix sockets of the host that the command may use",
			.where = KEY_ANYWHERE,
			.option = "socket",
			.metavar = "PATH",
		},
	[DIM_FILESYSTEM] =
		{
			.path = "filesystem",
			.type = KEY_CHOICE,
			.choices = filesystems,
			.def = "\"readonly\"",
			.help = "what the command may see and write",
			.where = KEY_ANYWHERE,
			.option = "filesystem",
			.metavar = "CHOICE",
		},
	[DIM_PATHS_READABLE] =
		{
			.path = "paths_readable",
			.type = KEY_PATHS,
			.def = "[]",
			.help = "paths that can be read besides the workspace",
			.where = KEY_ANYWHERE,
			.option = "read",
			.metavar = "PATH",
		},
	[DIM_PATHS_WRITABLE] =
		{
			.path = "paths_writable",
			.type = KEY_PATHS,
			.def = "[]",
			.help = "paths that can be written; beats readable",
			.where = KEY_ANYWHERE,
			.option = "write",
			.metavar = "PATH",
		},
	[DIM_PATHS_HIDDEN] =
		{
			.path = "paths_hidden",
			.type = KEY_PATHS,
			.def = "[]",
			.help = "paths that cannot be seen; beats writable",
			.where = KEY_ANYWHERE,
			.option = "hide",
			.metavar = "PATH",
		},
	[DIM_EPHEMERAL] =
		{
			.path = "ephemeral",
			.type = KEY_BOOL,
			.def = "false",
			.help = "with readonly: writes in the workspace work and are thrown away",
			.where = KEY_ANYWHERE,
			.option = "ephemeral",
		},
	[DIM_CACHES] =
		{
			.path = "caches",
			.type = KEY_PATHS,
			.def = "[]",
			.help = "paths of which the project keeps a private, writable copy",
			.where = KEY_ANYWHERE,
			.option = "cache",
			.metavar = "PATH",
		},
	[DIM_TMPFS] =
		{
			.path = "tmpfs",
			.type = KEY_SIZE,
			.min = 64 * KIB,
			.max = PIB,
			.help = "size of the private /tmp; half of memory, at most 1g, when left out",
			.where = KEY_ANYWHERE,
			.option = "tmpfs",
			.metavar = "SIZE",
		},
	[DIM_PROCESSES] =
		{
			.path = "processes",
			.type = KEY_CHOICE,
			.choices = processes,
			.def = "\"isolated\"",
			.help = "whether the host's processes can be seen",
			.where = KEY_ANYWHERE,
			.option = "processes",
			.metavar = "CHOICE",
		},
	[DIM_ENV] =
		{
			.path = "env",
			.type = KEY_CHOICE,
			.choices = envs,
			.def = "\"clean\"",
			.help = "which environment variables the command gets",
			.where = KEY_ANYWHERE,
			.option = "env",
			.metavar = "CHOICE",
		},
	[DIM_ENV_PASS] =
		{
			.path = "env_pass",
			.type = KEY_VARS,
			.def = "[]",
			.help = "variables that pass besides the built-in list",
			.where = KEY_ANYWHERE,
			.option = "pass",
			.metavar = "NAME",
		},
	[DIM_TIMEOUT] =
		{
			.path = "timeout",
			.type = KEY_DURATION,
			.min = 1,
			.max = TEN_YEARS_MS,
			.help = "wall-clock time after which the command is ended",
			.where = KEY_ANYWHERE,
			.option = "timeout",
			.metavar = "DURATION",
		},
	[DIM_CPU] =
		{
			.path = "cpu",
			.type = KEY_DURATION,
			.min = 1,
			.max = TEN_YEARS_MS,
			.help = "CPU time that the command may use",
			.where = KEY_ANYWHERE,
			.option = "cpu",
			.metavar = "DURATION",
		},
	[DIM_MEMORY] =
		{
			.path = "memory",
			.type = KEY_SIZE,
			.min = MIB,
			.max = PIB,
			.help = "memory of all processes together, swap included",
			.where = KEY_ANYWHERE,
			.option = "memory",
			.metavar = "SIZE",
		},
	[DIM_PIDS] =
		{
			.path = "pids",
			.type = KEY_UINT,
			.min = 1,
			.max = PIDS_MAX,
			.help = "number of processes and threads",
			.where = KEY_ANYWHERE,
			.option = "pids",
			.metavar = "N",
		},
	[DIM_DISK] =
		{
			.path = "disk",
			.type = KEY_SIZE,
			.min = 64 * KIB,
			.max = PIB,
			.help = "what the run may write in total",
			.where = KEY_ANYWHERE,
			.option = "disk",
			.metavar = "SIZE",
		},
	[DIM_MAX_OUTPUT] =
		{
			.path = "max_output",
			.type = KEY_SIZE,
			.min = KIB,
			.max = PIB,
			.help = "output that is kept; past it the middle is dropped",
			.where = KEY_ANYWHERE,
			.option = "max-output",
			.metavar = "SIZE",
		},
	[DIM_NESTED] =
		{
			.path = "nested",
			.type = KEY_BOOL,
			.def = "false",
			.help = "allow user namespaces inside",
			.where = KEY_ANYWHERE,
			.option = "nested",
		},
};

const struct key config_keys[] = {
	{.path = "sandbox.mode",
	 .type = KEY_CHOICE,
	 .choices = modes,
	 .def = "\"direct\"",
	 .help = "write to the workspace directly, or stage writes for review",
	 .where = KEY_ANYWHERE},
	{.path = "sandbox.backend",
	 .type = KEY_CHOICE,
	 .choices = backends,
	 .def = "\"local\"",
	 .help = "where commands run",
	 .where = KEY_ANYWHERE},
	{.path = "sandbox.preset",
	 .type = KEY_NAME,
	 .def = "\"workspace\"",
	 .help = "what a command without a sandbox of its own gets",
	 .where = KEY_ANYWHERE},
	{.path = "sandbox.engine",
	 .type = KEY_CHOICE,
	 .choices = engines,
	 .def = "\"auto\"",
	 .help = "what enforces the boundary on this machine",
	 .where = KEY_ANYWHERE},
	{.path = "sandbox.allow_degraded",
	 .type = KEY_CHOICES,
	 .choices = dims,
	 .def = "[]",
	 .help = "dimensions that may be enforced in part",
	 .where = KEY_SYSTEM | KEY_USER},
	{.path = "sandbox.env.pass",
	 .type = KEY_VARS,
	 .def = "[]",
	 .help = "variables that pass in every sandbox but off",
	 .where = KEY_ANYWHERE},
	{.path = "sandbox.env.set",
	 .type = KEY_TEXT_MAP,
	 .def = "{}",
	 .help = "variables that every command gets",
	 .where = KEY_ANYWHERE},
	{.path = "presets.*",
	 .type = KEY_SPEC_TABLE,
	 .help = "a preset of your own",
	 .where = KEY_ANYWHERE},
	{.path = "presets.*.base",
	 .type = KEY_NAME,
	 .def = "\"workspace\"",
	 .help = "the preset that it starts from",
	 .where = KEY_ANYWHERE},
	{.path = "commands.*.cmd",
	 .type = KEY_TEXT,
	 .help = "a shell line; further arguments become \"$@\"",
	 .where = KEY_ANYWHERE},
	{.path = "commands.*.argv",
	 .type = KEY_TEXTS,
	 .help = "a program and its arguments, run without a shell",
	 .where = KEY_ANYWHERE},
	{.path = "commands.*.description",
	 .type = KEY_TEXT,
	 .help = "one line for lists",
	 .where = KEY_ANYWHERE},
	{.path = "commands.*.sandbox",
	 .type = KEY_SPEC,
	 .help = "a preset's name, or a table of dimensions; [sandbox] preset when left out",
	 .where = KEY_ANYWHERE},
	{.path = "commands.*.sandbox.base",
	 .type = KEY_NAME,
	 .help = "the preset that the table starts from; readonly without limits when left out",
	 .where = KEY_ANYWHERE},
	{.path = "ceiling",
	 .type = KEY_SPEC_TABLE,
	 .help = "the loosest that anything may ask for; what is left out is not bounded",
	 .where = KEY_SYSTEM | KEY_USER},
	{.path = "ceiling.mode",
	 .type = KEY_CHOICE,
	 .choices = modes,
	 .def = "\"direct\"",
	 .help = "the loosest mode",
	 .where = KEY_SYSTEM | KEY_USER},
	{.path = "ceiling.backends",
	 .type = KEY_CHOICES,
	 .choices = backends,
	 .help = "the backends that may be used; all when left out",
	 .where = KEY_SYSTEM | KEY_USER},
	{.path = "ceiling.allow_degraded",
	 .type = KEY_CHOICES,
	 .choices = dims,
	 .help = "the dimensions that allow_degraded may name; all when left out",
	 .where = KEY_SYSTEM | KEY_USER},
};

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
