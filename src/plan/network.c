/* SPDX-License-Identifier: MIT */
/*
 * What is reachable from a private network, and within which limits: from the spec, for the
 * broker. A list that is empty is none, so a level alone opens nothing but the loopback.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "plan/compiler.h"
#include "plan/op.h"
#include "plan/plan.h"
#include "policy/resolve.h"
#include "policy/spec.h"

static uint64_t or_default(uint64_t limit, uint64_t otherwise)
{
	return limit == SPEC_UNLIMITED ? otherwise : limit;
}

static bool reaches_loopback(const struct spec *spec)
{
	return (spec->network == NETWORK_LOCALHOST || spec->network == NETWORK_ALLOWED_HOSTS) &&
	       (!spec->ports_set || spec->ports.len > 0);
}

static int fill(struct compiler *c)
{
	const struct spec *spec = c->spec;
	struct plan_net *net = &c->plan->net;
	int r = 0;

	net->loopback = reaches_loopback(spec);
	net->ports_set = spec->ports_set;
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
	net->brokered = net->hosts.len > 0 || net->loopback || net->expose.len > 0 || net->asks;
	return r;
}

/* Who has the host's network, or none, is not counted by anybody; none needs no counting. */
static int judge_limits(struct compiler *c)
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
		else
			plan_verdict(c->plan, dim_name(limits[i]), ENFORCED,
				     c->plan->net.brokered ? "broker" : "network namespace");
	}
	return r;
}

int network_compile(struct compiler *c)
{
	int r = c->plan->given || c->spec->network == NETWORK_UNRESTRICTED ? 0 : fill(c);

	return r < 0 || c->plan->given ? r : judge_limits(c);
}

void plan_net_release(struct plan_net *net)
{
	strv_release(&net->hosts);
	strv_release(&net->ports);
	strv_release(&net->expose);
	*net = (struct plan_net){0};
}
