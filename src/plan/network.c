/* SPDX-License-Identifier: MIT */
#include "plan/network.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/compiler.h"
#include "plan/host.h"
#include "plan/op.h"
#include "plan/plan.h"
#include "policy/resolve.h"

/* The address is of those that are set aside for tests of networks: nobody lives there. */
const char network_resolv_conf[] = "nameserver 198.18.0.1\n";
const char network_hosts[] = "127.0.0.1 localhost pale\n::1 localhost ip6-localhost ip6-loopback\n";

static uint64_t or_default(uint64_t limit, uint64_t otherwise)
{
	return limit == SPEC_UNLIMITED ? otherwise : limit;
}

static bool is_name(const char *rule)
{
	return rule[0] != '[' && rule[strspn(rule, "0123456789./")] != ':';
}

/* A file of ours covers resolv.conf, for which that must be there, be it empty or, but for bwrap, a
 * link to nowhere. Without it the command would ask its own loopback, and hear from nobody. */
static int check_names(const struct compiler *c, struct err *err)
{
	const struct plan_net *net = &c->plan->net;
	bool dangles = c->host->resolv_conf_dangles;
	const char *name = NULL;

	if (c->host->resolv_conf && !(dangles && c->plan->engine == ENGINE_BWRAP))
		return 0;
	for (size_t i = 0; i < net->hosts.len && !name; i++)
		if (is_name(net->hosts.items[i]))
			name = net->hosts.items[i];
	if (!name && !(net->asks && c->spec->network == NETWORK_ALLOWED_HOSTS))
		return 0;
	err_set(err, ERR_UNSUPPORTED, -ENOTSUP, "names%s%s cannot be looked up inside: %s",
		name ? " such as " : "", name ? name : "",
		dangles ? "/etc/resolv.conf leads nowhere"
			: "this machine has no /etc/resolv.conf");
	return err_hint(
		err, -ENOTSUP,
		"make one, with a line \"nameserver ADDRESS\"; or allow addresses instead of "
		"names");
}

/* Lists that are empty open nothing: what is left then is a network like that of `none`. */
int network_compile(struct compiler *c, struct err *err)
{
	const struct spec *spec = c->spec;
	struct plan_net *net = &c->plan->net;
	int r = 0;

	if (!(c->plan->namespaces & CLONE_NEWNET))
		return 0;
	net->ports_set = spec->ports_set;
	net->loopback = spec->network != NETWORK_NONE && (!spec->ports_set || spec->ports.len);
	net->asks = c->resolved->asks;
	net->connections = or_default(spec->connections, SPEC_CONNECTIONS);
	net->rate = or_default(spec->connect_rate, SPEC_CONNECT_RATE);
	net->sent = spec->net_sent;
	net->received = spec->net_received;
	if (spec->network == NETWORK_ALLOWED_HOSTS)
		r = strv_copy(&net->hosts, &spec->hosts);
	if (r == 0 && net->loopback)
		r = strv_copy(&net->ports, &spec->ports);
	if (r == 0)
		r = strv_copy(&net->expose, &spec->expose);
	if (r == 0)
		r = strv_copy(&net->groups, &c->resolved->groups);
	net->brokered = net->loopback || net->hosts.len || net->expose.len || net->asks;
	return r < 0 ? err_oom(err) : check_names(c, err);
}

/* Nobody counts what has the host's own network; none needs no counting. */
int network_judge_limits(struct compiler *c)
{
	static const enum dim limits[] = {DIM_CONNECTIONS, DIM_CONNECT_RATE, DIM_NET_SENT,
					  DIM_NET_RECEIVED};
	int r = 0;

	for (size_t i = 0; r == 0 && i < array_len(limits); i++) {
		if (*spec_limit_const(c->spec, limits[i]) == SPEC_UNLIMITED)
			continue;
		if (c->spec->network == NETWORK_UNRESTRICTED)
			r = judge_give_up(c, limits[i], UNENFORCED,
					  "nobody counts what has the host's own network");
		else if (c->spec->network != NETWORK_NONE && c->plan->engine == ENGINE_LANDLOCK)
			r = judge_give_up(c, limits[i], UNENFORCED,
					  "nobody counts in the network of the sandbox around it");
		else
			plan_verdict(c->plan, dim_name(limits[i]), ENFORCED,
				     c->plan->net.brokered                ? "broker"
				     : c->plan->engine == ENGINE_LANDLOCK ? "seccomp: no sockets"
									  : "network namespace");
	}
	return r;
}

const char *network_by(const struct compiler *c)
{
	if (!(c->plan->namespaces & CLONE_NEWNET))
		return "unrestricted";
	return c->plan->net.brokered && c->spec->network != NETWORK_NONE
		       ? "network namespace, broker"
		       : "network namespace";
}

void network_release(struct plan *plan)
{
	strv_release(&plan->net.hosts);
	strv_release(&plan->net.ports);
	strv_release(&plan->net.expose);
	strv_release(&plan->net.groups);
}

static int print_list(const char *what, const struct strv *items, struct str *out)
{
	int r = items->len ? str_appendf(out, "  %-9s ", what) : 0;

	for (size_t i = 0; i < items->len && r == 0; i++)
		r = str_appendf(out, " %s", items->items[i]);
	return r < 0 || items->len == 0 ? r : str_append_char(out, '\n');
}

int network_print(const struct plan *plan, struct str *out)
{
	const struct plan_net *net = &plan->net;
	int r;

	if (!net->brokered)
		return 0;
	r = str_append(out, "\nreachable\n");
	if (r == 0)
		r = print_list("hosts", &net->hosts, out);
	if (r == 0)
		r = print_list("groups", &net->groups, out);
	if (r == 0 && net->asks)
		r = str_append(out, "  others     those that you agree to when asked\n");
	if (r == 0 && net->loopback && !net->ports_set)
		r = str_append(out, "  loopback   every port of the host's\n");
	if (r == 0 && net->ports_set)
		r = print_list("loopback", &net->ports, out);
	return r < 0 ? r : print_list("exposed", &net->expose, out);
}

void network_json(const struct plan *plan, struct json *json)
{
	const struct plan_net *net = &plan->net;

	if (!net->brokered) {
		json_add_null(json, "reachable");
		return;
	}
	json_begin_object(json, "reachable");
	json_add_strv(json, "hosts", &net->hosts);
	json_add_strv(json, "groups", &net->groups);
	json_add_bool(json, "asks", net->asks);
	json_add_bool(json, "loopback", net->loopback);
	if (net->loopback && !net->ports_set)
		json_add_null(json, "ports");
	else
		json_add_strv(json, "ports", &net->ports);
	json_add_strv(json, "expose", &net->expose);
	json_end_object(json);
}
