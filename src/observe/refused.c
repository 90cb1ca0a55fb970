/* SPDX-License-Identifier: MIT */
#include "observe/refused.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "net/broker.h"
#include "net/rules.h"
#include "observe/noise.h"
#include "result/violation.h"

#define TARGET_MAX (NAME_CANONICAL_MAX + 8)

static const char *op_of(const struct refusal *r)
{
	switch (r->kind) {
	case REFUSED_NAME:
		return r->to.port ? "connect" : "resolve";
	case REFUSED_LEADS:
		return "resolve";
	case REFUSED_UDP:
		return "send";
	case REFUSED_PORT:
	case REFUSED_ADDRESS:
	case REFUSED_LIMIT:
	case REFUSED_SNI:
		break;
	}
	return "connect";
}

/* What a rule would be about. */
static void put_target(const struct refusal *r, char ret[TARGET_MAX])
{
	char text[ENDPOINT_TEXT_MAX];

	if (r->name && r->kind != REFUSED_LEADS && r->to.port)
		snprintf(ret, TARGET_MAX, "%.253s:%u", r->name, r->to.port);
	else if (r->name && r->kind != REFUSED_LEADS)
		snprintf(ret, TARGET_MAX, "%.253s", r->name);
	else if (r->to.port)
		endpoint_print(&r->to, text);
	else
		endpoint_print_address(&r->to, text);
	if (!r->name || r->kind == REFUSED_LEADS)
		snprintf(ret, TARGET_MAX, "%s", text);
}

/* What speaks against it, where that is not simply the lack of a rule. */
static char *rule_of(const struct refusal *r)
{
	switch (r->kind) {
	case REFUSED_LEADS:
		return str_printf("%s leads to %s", r->name ? r->name : "the name",
				  r->why ? r->why : "where no name may lead");
	case REFUSED_LIMIT:
		return r->why ? strdup(r->why) : NULL;
	case REFUSED_UDP:
		return strdup("no datagrams but to the resolver");
	case REFUSED_SNI:
		return strdup("TLS asks for another name than was connected to");
	case REFUSED_NAME:
	case REFUSED_PORT:
	case REFUSED_ADDRESS:
		break;
	}
	return NULL;
}

/* Of a name that was not resolved there is none. */
static bool has_address(const struct refusal *r)
{
	return r->kind == REFUSED_LEADS || !r->name;
}

struct violation *refused_add(struct violations *list, const struct refusal *r, uint64_t at_ms)
{
	char target[TARGET_MAX], address[ENDPOINT_TEXT_MAX];
	struct violation *new;

	put_target(r, target);
	/* Without memory there is one line less to report. */
	if (violations_add(list, r->kind == REFUSED_LIMIT && r->why ? r->why : "network", op_of(r),
			   target, at_ms, &new) < 0 ||
	    !new)
		return NULL;
	endpoint_print_address(&r->to, address);
	violation_set_peer(new, r->program, r->name, has_address(r) ? address : NULL, r->to.port);
	new->cause = CAUSE_NETWORK;
	new->rule = rule_of(r);
	new->weight = noise_weigh(new->op, target);
	return new;
}
