/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/grade.h"
#include "tests/tap.h"

struct sample {
	const char *name;
	enum network network;
	enum filesystem filesystem;
	enum processes processes;
	const char *writable, *readable, *hidden, *host, *socket;
	dim_set weak;
	enum world world;
	unsigned ceiling;
};

#define WEAK(dim) .weak = DIM_BIT(DIM_##dim)

static const struct sample samples[] = {
	{.name = "nothing at all", .world = WORLD_SEALED, .ceiling = 2},
	{.name = "none with a readable path",
	 .readable = "/x",
	 .world = WORLD_PINHOLE,
	 .ceiling = 2},
	{.name = "preset readonly",
	 .filesystem = FILESYSTEM_READONLY,
	 .world = WORLD_PINHOLE,
	 .ceiling = 2},
	{.name = "preset build",
	 .filesystem = FILESYSTEM_WORKSPACE_ONLY,
	 .world = WORLD_SCOPED,
	 .ceiling = 4},
	{.name = "preset integration",
	 .network = NETWORK_LOCALHOST,
	 .filesystem = FILESYSTEM_WORKSPACE_ONLY,
	 .processes = PROCESSES_VISIBLE,
	 .world = WORLD_BROAD,
	 .ceiling = 8},
	{.name = "preset unrestricted",
	 .network = NETWORK_UNRESTRICTED,
	 .filesystem = FILESYSTEM_UNRESTRICTED,
	 .processes = PROCESSES_VISIBLE,
	 .world = WORLD_OPEN,
	 .ceiling = 8},
	{.name = "a writable workspace and visible processes",
	 .filesystem = FILESYSTEM_WORKSPACE_ONLY,
	 .processes = PROCESSES_VISIBLE,
	 .world = WORLD_SCOPED,
	 .ceiling = 7},
	{.name = "readonly and visible processes",
	 .filesystem = FILESYSTEM_READONLY,
	 .processes = PROCESSES_VISIBLE,
	 .world = WORLD_PINHOLE,
	 .ceiling = 2},
	{.name = "the whole filesystem without network",
	 .filesystem = FILESYSTEM_UNRESTRICTED,
	 .world = WORLD_BROAD,
	 .ceiling = 7},
	{.name = "\"/\" as a writable path",
	 .filesystem = FILESYSTEM_SCOPED_WRITE,
	 .writable = "/",
	 .world = WORLD_BROAD,
	 .ceiling = 7},
	{.name = "scoped_write without a path",
	 .filesystem = FILESYSTEM_SCOPED_WRITE,
	 .world = WORLD_PINHOLE,
	 .ceiling = 2},
	{.name = "scoped_write with a path",
	 .filesystem = FILESYSTEM_SCOPED_WRITE,
	 .writable = "/w/out",
	 .world = WORLD_SCOPED,
	 .ceiling = 4},
	{.name = "readonly with a writable path",
	 .filesystem = FILESYSTEM_READONLY,
	 .writable = "/x",
	 .world = WORLD_SCOPED,
	 .ceiling = 4},
	{.name = "a workspace that is hidden",
	 .filesystem = FILESYSTEM_WORKSPACE_ONLY,
	 .hidden = "/w",
	 .world = WORLD_SEALED,
	 .ceiling = 2},
	{.name = "allowed_hosts",
	 .network = NETWORK_ALLOWED_HOSTS,
	 .host = "a.example:443",
	 .world = WORLD_BROAD,
	 .ceiling = 8},
	{.name = "network unrestricted alone",
	 .network = NETWORK_UNRESTRICTED,
	 .world = WORLD_BROAD,
	 .ceiling = 8},
	{.name = "unenforced network", WEAK(NETWORK), .world = WORLD_BROAD, .ceiling = 8},
	{.name = "unenforced network, whole filesystem",
	 .filesystem = FILESYSTEM_UNRESTRICTED,
	 WEAK(NETWORK),
	 .world = WORLD_OPEN,
	 .ceiling = 8},
	{.name = "unenforced hosts, whole filesystem",
	 .network = NETWORK_ALLOWED_HOSTS,
	 .host = "a.example:443",
	 .filesystem = FILESYSTEM_UNRESTRICTED,
	 WEAK(HOSTS),
	 .world = WORLD_OPEN,
	 .ceiling = 8},
	{.name = "unenforced filesystem", WEAK(FILESYSTEM), .world = WORLD_BROAD, .ceiling = 7},
	{.name = "unenforced paths_hidden",
	 .filesystem = FILESYSTEM_READONLY,
	 .hidden = "/w/x",
	 WEAK(PATHS_HIDDEN),
	 .world = WORLD_BROAD,
	 .ceiling = 7},
	{.name = "unenforced processes over a writable workspace",
	 .filesystem = FILESYSTEM_WORKSPACE_ONLY,
	 WEAK(PROCESSES),
	 .world = WORLD_SCOPED,
	 .ceiling = 7},
	{.name = "a socket of the host",
	 .filesystem = FILESYSTEM_READONLY,
	 .socket = "/run/docker.sock",
	 .world = WORLD_BROAD,
	 .ceiling = 7},
	{.name = "a socket that is hidden",
	 .filesystem = FILESYSTEM_READONLY,
	 .socket = "/run/docker.sock",
	 .hidden = "/run",
	 .world = WORLD_PINHOLE,
	 .ceiling = 2},
	{.name = "a socket beside a network",
	 .network = NETWORK_UNRESTRICTED,
	 .socket = "/run/docker.sock",
	 .world = WORLD_BROAD,
	 .ceiling = 8},
	{.name = "a socket of all that there are",
	 .filesystem = FILESYSTEM_UNRESTRICTED,
	 .socket = "/run/docker.sock",
	 .world = WORLD_BROAD,
	 .ceiling = 7},
	{.name = "unenforced sockets", WEAK(SOCKETS), .world = WORLD_BROAD, .ceiling = 7},
	{.name = "degraded memory changes nothing",
	 WEAK(MEMORY),
	 .world = WORLD_SEALED,
	 .ceiling = 2},
};

static void add(struct strv *list, const char *text)
{
	if (text && strv_add(list, text) < 0)
		abort();
}

static void test_sample(const struct sample *sample)
{
	struct grade grade;
	struct spec spec;

	spec_init_bottom(&spec);
	spec.workspace = strdup("/w");
	spec.network = sample->network;
	spec.ports_set = sample->host;
	spec.filesystem = sample->filesystem;
	spec.processes = sample->processes;
	add(&spec.paths_writable, sample->writable);
	add(&spec.paths_readable, sample->readable);
	add(&spec.paths_hidden, sample->hidden);
	add(&spec.hosts, sample->host);
	add(&spec.sockets, sample->socket);
	grade = spec_grade(&spec, sample->weak);
	if (!tap_ok(grade.world == sample->world && grade.ceiling == sample->ceiling, "%s: %s, %u",
		    sample->name, world_name(sample->world), sample->ceiling))
		tap_note("got %s, %u", world_name(grade.world), grade.ceiling);
	spec.ephemeral = true;
	grade = spec_grade(&spec, sample->weak);
	tap_ok(grade.world == sample->world && grade.ceiling == sample->ceiling,
	       "the same when ephemeral");
	spec_release(&spec);
}

static void test_empty_lists_are_none(void)
{
	struct spec spec;

	spec_init_bottom(&spec);
	spec.network = NETWORK_ALLOWED_HOSTS;
	spec.ports_set = true;
	tap_ok(spec_grade(&spec, 0).world == WORLD_SEALED, "no host and no port is no network");
	spec.network = NETWORK_LOCALHOST;
	tap_ok(spec_grade(&spec, 0).world == WORLD_SEALED, "nor is localhost without a port");
	spec.ports_set = false;
	tap_ok(spec_grade(&spec, 0).world == WORLD_BROAD, "ports that are not set are all ports");
	spec_release(&spec);
}

int main(void)
{
	for (size_t i = 0; i < array_len(samples); i++)
		test_sample(&samples[i]);
	test_empty_lists_are_none();
	return tap_done();
}
