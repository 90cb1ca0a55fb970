/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "learn/suggest-impl.h"
#include "observe/profile.h"
#include "policy/host-rule.h"

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

/* --- through a broker, which knows names --- */

/* What is reached, as rules of one port each. */
static int add_host(struct strv *hosts, const struct profile_connection *c)
{
	_cleanup_(freep) char *text = str_printf(strchr(c->address, ':') ? "[%s]:%u" : "%s:%u",
						 c->address, c->port);

	if (!text)
		return -ENOMEM;
	/* It was let out by a rule, so that it can be one. */
	return host_rule_parse(text, hosts, NULL) == -ENOMEM ? -ENOMEM : 0;
}

static int note_wanted(struct work *w, const struct profile_connection *c)
{
	bool six = strchr(c->address, ':');

	if (is_loopback(c))
		return strv_addf(&w->notes,
				 "it wanted port %u of the host's loopback, and was refused: "
				 "`ports` would allow it",
				 c->port);
	if (c->port == 0)
		return strv_addf(&w->notes,
				 "it wanted %s, and was refused: hosts = [\"%s\"] would allow it "
				 "at port 443; nobody has seen it work",
				 c->address, c->address);
	return strv_addf(&w->notes,
			 "it wanted %s at port %u, and was refused: hosts = [\"%s%s%s:%u\"] would "
			 "allow it; nobody has seen it work",
			 c->address, c->port, six ? "[" : "", c->address, six ? "]" : "", c->port);
}

static bool covers_all(const struct strv *wide, const struct strv *narrow)
{
	for (size_t i = 0; i < narrow->len; i++) {
		bool covered = false;

		for (size_t k = 0; k < wide->len && !covered; k++)
			covered = host_rule_covers(wide->items[k], narrow->items[i]);
		if (!covered)
			return false;
	}
	return true;
}

/* A name for all of them, which opens no more than the profiled run had; the smallest. */
static const struct suggest_group *find_group(const struct work *w, const struct strv *hosts)
{
	const struct suggest_group *best = NULL;

	for (size_t i = 0; i < w->in->groups_len; i++) {
		const struct suggest_group *at = &w->in->groups[i];

		if (covers_all(&at->rules, hosts) && covers_all(&w->in->asked->hosts, &at->rules) &&
		    (!best || at->rules.len < best->rules.len))
			best = at;
	}
	return best;
}

static int propose_group(struct work *w, const struct strv *hosts)
{
	_cleanup_(str_release) struct str list = {0};
	int r = 0;

	if (hosts->len < 2)
		return 0;
	for (size_t i = 0; i < hosts->len && r == 0; i++)
		r = str_appendf(&list, "%s\"%s\"", i ? ", " : "", hosts->items[i]);
	return r < 0 ? r
		     : strv_addf(&w->notes,
				 "if other commands need the same, the user's file can name them: "
				 "[host_groups] NAME = [%s], and here hosts = [\"@NAME\"]",
				 str_text(&list));
}

static int only_hosts(struct work *w, struct strv *hosts, struct strv *ports)
{
	const struct suggest_group *group = find_group(w, hosts);
	struct spec *spec = w->spec;
	int r;

	spec->network = NETWORK_ALLOWED_HOSTS;
	strv_release(&spec->ports);
	spec->ports = *ports;
	spec->ports_set = true;
	*ports = (struct strv){0};
	r = group ? work_say(w, DIM_HOSTS, "%zu hosts of the group were reached", hosts->len)
		  : propose_group(w, hosts);
	strv_release(&spec->hosts);
	if (group) {
		w->hosts = str_printf("[\"@%s\"]", group->name);
		return r < 0 || !w->hosts ? -ENOMEM : strv_copy(&spec->hosts, &group->rules);
	}
	spec->hosts = *hosts;
	*hosts = (struct strv){0};
	return r < 0 ? r : work_say(w, DIM_NETWORK, "what it reached, and no more");
}

static int suggest_brokered(struct work *w)
{
	const struct profile *profile = w->in->profile;
	_cleanup_(strv_release) struct strv hosts = {0}, ports = {0};
	int r = 0;

	for (size_t i = 0; i < profile->connections_len && r == 0; i++) {
		const struct profile_connection *c = &profile->connections[i];

		if (c->how & PROFILE_REACHED)
			r = is_loopback(c) ? add_port(w->in->asked, &ports, c->port)
					   : add_host(&hosts, c);
		if (r == 0 && c->how == PROFILE_REFUSED)
			r = note_wanted(w, c);
	}
	if (r < 0)
		return r;
	if (hosts.len > 0)
		return only_hosts(w, &hosts, &ports);
	if (ports.len > 0)
		return only_loopback(w, &ports);
	r = work_say(w, DIM_NETWORK, "nothing outside was reached");
	return r < 0 ? r : close_network(w);
}

static bool is_brokered(const struct profile *profile)
{
	for (size_t i = 0; i < profile->connections_len; i++)
		if (profile->connections[i].how)
			return true;
	return false;
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
	if (is_brokered(profile))
		return suggest_brokered(w);
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
