/* SPDX-License-Identifier: MIT */
#include "policy/grade.h"

#include "policy/rule-set.h"

/* What the grade looks at. */
struct reach {
	bool network;      /* anything beyond the private loopback */
	bool network_open; /* unrestricted */
	bool readable;     /* something besides system directories */
	bool writable;     /* something outside scratch */
	bool filesystem_open;
	bool sockets; /* of the host: who listens there does what it does outside */
	bool visible;
};

/* Those that are listed. With the whole filesystem all can be reached, which is graded as such. */
static bool lists_sockets(const struct spec *spec)
{
	struct rule_set sockets = rules_sockets(spec);

	sockets.extra = NULL;
	return !rule_set_is_empty(&sockets);
}

static struct reach reach_of(const struct spec *spec, dim_set weak)
{
	const dim_set paths = DIM_BIT(DIM_FILESYSTEM) | DIM_BIT(DIM_PATHS_READABLE) |
			      DIM_BIT(DIM_PATHS_WRITABLE) | DIM_BIT(DIM_PATHS_HIDDEN);
	struct rule_set readable = rules_readable(spec), writable = rules_writable(spec);
	struct rule_set hosts = rules_hosts(spec), ports = rules_ports(spec);
	struct reach reach = {
		.network = !rule_set_is_empty(&hosts) || !rule_set_is_empty(&ports),
		.network_open = spec->network == NETWORK_UNRESTRICTED,
		.readable = !rule_set_is_empty(&readable),
		.writable = !rule_set_is_empty(&writable),
		.filesystem_open = rules_filesystem_is_open(spec),
		.sockets = lists_sockets(spec),
		.visible = spec->processes == PROCESSES_VISIBLE,
	};

	if (weak & DIM_BIT(DIM_NETWORK) ||
	    (weak & DIM_BIT(DIM_HOSTS) && !rule_set_is_empty(&hosts)))
		reach.network = reach.network_open = true;
	if (weak & paths)
		reach.readable = reach.writable = reach.filesystem_open = true;
	if (weak & DIM_BIT(DIM_SOCKETS))
		reach.sockets = true;
	if (weak & DIM_BIT(DIM_PROCESSES))
		reach.visible = true;
	return reach;
}

static enum world world_of(const struct reach *reach)
{
	if (reach->network_open && reach->filesystem_open)
		return WORLD_OPEN;
	if (reach->network || reach->filesystem_open || reach->sockets)
		return WORLD_BROAD;
	if (reach->writable)
		return WORLD_SCOPED;
	return reach->readable ? WORLD_PINHOLE : WORLD_SEALED;
}

static unsigned ceiling_of(const struct reach *reach)
{
	if (reach->network)
		return 8;
	if ((reach->writable && reach->visible) || reach->filesystem_open || reach->sockets)
		return 7;
	return reach->writable ? 4 : 2;
}

struct grade spec_grade(const struct spec *spec, dim_set weak)
{
	struct reach reach = reach_of(spec, weak);

	return (struct grade){.world = world_of(&reach), .ceiling = ceiling_of(&reach)};
}

const char *world_name(enum world world)
{
	static const char *const names[] = {
		[WORLD_SEALED] = "sealed", [WORLD_PINHOLE] = "pinhole", [WORLD_SCOPED] = "scoped",
		[WORLD_BROAD] = "broad",   [WORLD_OPEN] = "open",
	};

	return names[world];
}
