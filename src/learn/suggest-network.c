/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/cleanup.h"
#include "learn/suggest-impl.h"
#include "observe/profile.h"

static bool is_unix(const struct profile_connection *c)
{
	return c->port == 0 && (c->address[0] == '/' || c->address[0] == '@');
}

static bool is_loopback(const struct profile_connection *c)
{
	return str_starts(c->address, "127.") || str_starts(c->address, "::ffff:127.") ||
	       str_eq(c->address, "::1") || str_eq(c->address, "0.0.0.0") ||
	       str_eq(c->address, "::");
}

/* Ports that were closed to the profiled run stay so. */
static int add_port(const struct spec *asked, struct strv *ports, unsigned port)
{
	bool narrowed = asked->network != NETWORK_UNRESTRICTED && asked->ports_set;
	char text[16];

	snprintf(text, sizeof(text), "%u", port);
	if (port == 0 || strv_has(ports, text) || (narrowed && !strv_has(&asked->ports, text)))
		return 0;
	return strv_add(ports, text);
}

static int close_network(struct work *w)
{
	struct spec *spec = w->spec;

	spec->network = NETWORK_NONE;
	strv_release(&spec->hosts);
	strv_release(&spec->ports);
	spec->ports_set = false;
	return 0;
}

/* The host's loopback, and of it what was used. */
static int only_loopback(struct work *w, struct strv *ports)
{
	struct spec *spec = w->spec;

	spec->network = NETWORK_LOCALHOST;
	strv_release(&spec->hosts);
	strv_release(&spec->ports);
	spec->ports = *ports;
	spec->ports_set = true;
	*ports = (struct strv){0};
	return work_say(w, DIM_NETWORK, "it connects to the host's loopback");
}

/* Sockets of the host that were used. */
static int narrow_sockets(struct work *w)
{
	const struct profile *profile = w->in->profile;
	_cleanup_(strv_release) struct strv used = {0};
	int r = 0;

	for (size_t i = 0; i < profile->connections_len && r == 0; i++) {
		const struct profile_connection *c = &profile->connections[i];

		if (is_unix(c) && strv_has(&w->in->asked->sockets, c->address) &&
		    !strv_has(&used, c->address))
			r = strv_add(&used, c->address);
	}
	if (r < 0)
		return r;
	strv_release(&w->spec->sockets);
	w->spec->sockets = used;
	used = (struct strv){0};
	return 0;
}

/* It reached something outside: which names that were cannot be seen in addresses. */
static int stay_open(struct work *w, const struct profile_connection *outside)
{
	int r = work_say(w, DIM_NETWORK, "it connected to %s:%u", outside->address, outside->port);

	if (r == 0 && w->spec->network == NETWORK_UNRESTRICTED)
		r = strv_addf(&w->notes,
			      "network stays \"unrestricted\", because it connected to %s:%u: "
			      "name what it needs in hosts instead",
			      outside->address, outside->port);
	return r;
}

int suggest_network(struct work *w)
{
	const struct profile *profile = w->in->profile;
	const struct profile_connection *outside = NULL;
	_cleanup_(strv_release) struct strv ports = {0};
	int r = narrow_sockets(w);

	for (size_t i = 0; i < profile->connections_len && r == 0; i++) {
		const struct profile_connection *c = &profile->connections[i];

		if (is_loopback(c))
			r = add_port(w->in->asked, &ports, c->port);
		else if (!is_unix(c))
			outside = c;
	}
	if (r < 0)
		return r;
	if (w->in->asked->network == NETWORK_NONE)
		return ports.len > 0 ? work_say(w, DIM_NETWORK, "its own loopback is all it needs")
				     : work_say(w, DIM_NETWORK, "no connections");
	if (outside && w->in->asked->network > NETWORK_LOCALHOST)
		return stay_open(w, outside);
	if (ports.len == 0) {
		r = work_say(w, DIM_NETWORK, "no connections");
		return r < 0 ? r : close_network(w);
	}
	if (w->in->wider)
		return only_loopback(w, &ports);
	w->has_wider = true;
	r = work_say(w, DIM_NETWORK, "its own loopback is all it needs");
	return r < 0 ? r : close_network(w);
}
