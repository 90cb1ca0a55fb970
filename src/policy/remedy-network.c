/* SPDX-License-Identifier: MIT */
/* Rules for what was refused by a private network; observe/refused.h says what stands for what. */
#include <arpa/inet.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "config/toml.h"
#include "policy/host-rule.h"
#include "policy/remedy-impl.h"
#include "policy/sensitive.h"

/* "NAME", "NAME:PORT", "1.2.3.4:80", "[fd00::1]:80". */
struct peer {
	char host[256];
	char port[8];        /* "443" when none is given */
	bool is_literal;     /* an address, and this is it: */
	struct in6_addr six; /* IPv4 as ::ffff:a.b.c.d */
};

static bool parse_address(struct peer *peer)
{
	struct in_addr four;

	if (inet_pton(AF_INET, peer->host, &four) == 1) {
		peer->six = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
		memcpy(peer->six.s6_addr + 12, &four, sizeof(four));
		return true;
	}
	return inet_pton(AF_INET6, peer->host, &peer->six) == 1;
}

static bool parse_peer(const char *target, struct peer *peer)
{
	const char *end = *target == '[' ? strchr(target, ']') : NULL;
	const char *colon = strrchr(end ? end : target, ':');
	size_t len;

	*peer = (struct peer){.port = "443"};
	target += end != NULL;
	len = end ? (size_t)(end - target) : colon ? (size_t)(colon - target) : strlen(target);
	if (len == 0 || len >= sizeof(peer->host))
		return false;
	memcpy(peer->host, target, len);
	if (colon && (strlen(colon + 1) == 0 || strlen(colon + 1) >= sizeof(peer->port)))
		return false;
	if (colon)
		snprintf(peer->port, sizeof(peer->port), "%s", colon + 1);
	peer->is_literal = parse_address(peer);
	return true;
}

static bool is_loopback(const struct peer *peer)
{
	const struct in6_addr *six = &peer->six;
	const uint8_t *four = six->s6_addr + 12;

	if (!peer->is_literal)
		return false;
	if (IN6_IS_ADDR_V4MAPPED(six))
		return four[0] == 127 || (four[0] | four[1] | four[2] | four[3]) == 0;
	return IN6_IS_ADDR_LOOPBACK(six) || IN6_IS_ADDR_UNSPECIFIED(six);
}

static bool asks_for_name(const struct peer *peer)
{
	return peer->is_literal && str_eq(peer->port, "53");
}

bool remedy_is_name_server(const char *target)
{
	struct peer peer;

	return target && !strchr("/@", target[0]) && parse_peer(target, &peer) &&
	       asks_for_name(&peer);
}

/* Where machines get their credentials, and what is no place of the world. */
static const char *why_never(const struct peer *peer)
{
	static const char *const metadata[] = {"169.254.169.254", "100.100.100.200", "192.0.0.192",
					       "fd00:ec2::254"};
	const struct in6_addr *six = &peer->six;
	const uint8_t *four = six->s6_addr + 12;

	if (!peer->is_literal)
		return NULL;
	for (size_t i = 0; i < array_len(metadata); i++)
		if (str_eq(peer->host, metadata[i]))
			return "a metadata service hands out the machine's credentials";
	if (IN6_IS_ADDR_V4MAPPED(six) ? four[0] == 169 && four[1] == 254
				      : IN6_IS_ADDR_LINKLOCAL(six))
		return "link-local addresses are this machine's neighbours, and its metadata "
		       "services";
	if (IN6_IS_ADDR_V4MAPPED(six) ? four[0] >= 224 : IN6_IS_ADDR_MULTICAST(six))
		return "no connection leads to a group of hosts";
	if (IN6_IS_ADDR_V4MAPPED(six) && four[0] == 198 && (four[1] & 0xfe) == 18)
		return "inside, such an address stands for a name that is allowed";
	return NULL;
}

static void also(struct remedy *remedy, enum dim dim, const char *value)
{
	remedy->also[remedy->also_len].dim = dim;
	remedy->also[remedy->also_len++].value = value;
}

/* A port of the host's loopback. */
static int open_port(const struct attempt *a, const struct peer *peer)
{
	const struct spec *spec = a->spec;
	_cleanup_(freep) char *opens = NULL;
	bool reached = spec->network >= NETWORK_LOCALHOST;

	if (reached && (!spec->ports_set || strv_has(&spec->ports, peer->port)))
		return remedy_allowed(a, "the policy allows it: nobody listens there");
	opens = str_printf("port %s of the host's loopback could be connected to, and nothing else",
			   peer->port);
	if (!opens)
		return err_oom(a->err);
	if (!reached)
		also(a->remedy, DIM_NETWORK, "\"localhost\"");
	return remedy_open_key(a, DIM_PORTS, peer->port, peer->port, opens);
}

static bool covers(const struct spec *spec, const char *rule)
{
	for (size_t i = 0; spec->network >= NETWORK_ALLOWED_HOSTS && i < spec->hosts.len; i++)
		if (host_rule_covers(spec->hosts.items[i], rule))
			return true;
	return false;
}

/* The level alone would open the loopback with it. */
static void raise_level(const struct attempt *a)
{
	if (a->spec->network >= NETWORK_ALLOWED_HOSTS)
		return;
	also(a->remedy, DIM_NETWORK, "\"allowed_hosts\"");
	if (a->spec->network == NETWORK_NONE && !a->spec->ports_set)
		also(a->remedy, DIM_PORTS, "[]");
}

static int open_host(const struct attempt *a, const struct peer *peer)
{
	_cleanup_(strv_release) struct strv rules = {0};
	_cleanup_(str_release) struct str value = {0};
	_cleanup_(freep) char *opens = NULL, *text = NULL;
	bool six = peer->is_literal && strchr(peer->host, ':');
	int r;

	text = str_printf(six ? "[%s]:%s" : "%s:%s", peer->host, peer->port);
	if (!text)
		return err_oom(a->err);
	r = host_rule_parse(text, &rules, NULL);
	if (r == -ENOMEM)
		return err_oom(a->err);
	if (r < 0 || rules.len != 1)
		return remedy_never(a, "no rule can name that host");
	if (covers(a->spec, rules.items[0]))
		return remedy_allowed(
			a, "the policy allows it: what the name leads to, or a limit, was refused");
	opens = str_printf("%s could be connected to, and nothing else", rules.items[0]);
	if (!opens || toml_quote(&value, rules.items[0], strlen(rules.items[0])) < 0)
		return err_oom(a->err);
	raise_level(a);
	return remedy_open_key(a, DIM_HOSTS, str_text(&value), rules.items[0], opens);
}

/* Engines of containers and machines, displays, terminals, editors, agents that hold keys: who may talk
 * to one is outside. Patterns of fnmatch(3), in which '*' goes across slashes. */
static bool is_way_out(const char *path)
{
	static const char *const known[] = {
		"*docker*.sock",   "*containerd*.sock*",
		"*podman*",        "*crio*.sock",
		"*buildkit*.sock", "*/lxd*",
		"*/incus*",        "*/libvirt/*",
		"*/snapd*",        "*/.X11-unix/*",
		"*/.ICE-unix/*",   "*/wayland-*",
		"*/tmux-*",        "*/screen*/*",
		"*/zellij*/*",     "*/kitty*",
		"*/emacs*/*",      "*/nvim*",
		"*/vscode-*",      "*/ssh-*",
		"*/agent.*",       "*ssh-agent*",
		"*/S.gpg-agent*",  "*/keyring*/*",
		"*/bus",           "*/dbus-*",
		"*/system_bus_*",  "*/pulse/*",
		"*/pipewire-*",    "*/qemu*",
		"*/firecracker*",
	};

	for (size_t i = 0; i < array_len(known); i++)
		if (fnmatch(known[i], path, 0) == 0)
			return true;
	return false;
}

static int open_socket(const struct attempt *a)
{
	_cleanup_(freep) char *real = NULL;
	const char *why;

	if (a->target[0] == '@')
		return remedy_never(a, "a socket without a path cannot be shown inside");
	/* The rule names it as the command does, by /var/run, say. */
	if (path_resolve(a->target, &real) < 0)
		real = strdup(a->target);
	if (!real)
		return err_oom(a->err);
	if (path_is_sensitive(real, a->user, &why))
		return remedy_never(a, why);
	if (is_way_out(real) || is_way_out(a->target) || path_is_obeyed(real, a->user))
		return remedy_never(a, "who serves there may do outside whatever it is told");
	return remedy_open_path(a, DIM_SOCKETS, a->target, "whoever listens at ",
				" could be talked to");
}

int remedy_find_network(const struct attempt *a)
{
	struct peer peer;
	const char *why;

	if (a->target && strchr("/@", a->target[0]))
		return open_socket(a);
	if (a->spec->network == NETWORK_UNRESTRICTED)
		return remedy_allowed(a,
				      "the policy allows it: the machine's own network refused it");
	if (str_eq(a->op, "bind") || str_eq(a->op, "listen"))
		return remedy_never(a, "what listens inside is reached from the host by expose");
	if (str_eq(a->op, "send"))
		return remedy_never(a, "no rule opens datagrams: what is brokered is TCP");
	if (!a->target || (!str_eq(a->op, "connect") && !str_eq(a->op, "resolve")))
		return remedy_never(a, "such sockets are refused in every sandbox");
	if (!parse_peer(a->target, &peer))
		return remedy_never(a, "no rule can name that host");
	if (is_loopback(&peer))
		return str_eq(a->op, "resolve")
			       ? remedy_never(a, "no name leads to the host's own loopback")
			       : open_port(a, &peer);
	if (asks_for_name(&peer))
		return remedy_never(a, "a name is asked for there: with a rule for the host that "
				       "is wanted, its name is known inside");
	why = why_never(&peer);
	return why ? remedy_never(a, why) : open_host(a, &peer);
}
