/* SPDX-License-Identifier: MIT */
#include "net/rules.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "net/endpoint.h"
#include "plan/plan.h"
#include "policy/host-rule.h"

static_assert(NAME_CANONICAL_MAX == HOST_NAME_SIZE, "a name is the same everywhere");

int rules_init(struct rules *rules, const struct plan_net *net)
{
	*rules = (struct rules){.loopback = net->loopback, .ports_set = net->ports_set};
	if (strv_copy(&rules->hosts, &net->hosts) == 0 &&
	    strv_copy(&rules->ports, &net->ports) == 0)
		return 0;
	rules_release(rules);
	return -ENOMEM;
}

void rules_release(struct rules *rules)
{
	strv_release(&rules->hosts);
	strv_release(&rules->ports);
	*rules = (struct rules){0};
}

bool name_canonical(const char *text, size_t len, char ret[NAME_CANONICAL_MAX])
{
	return host_name_canonical(text, len, ret);
}

bool rules_allow_name(const struct rules *rules, const char *name, uint16_t port)
{
	for (size_t i = 0; i < rules->hosts.len; i++)
		if (host_rule_allows_name(rules->hosts.items[i], name, port))
			return true;
	return false;
}

bool rules_have_literal(const struct rules *rules, const struct endpoint *e)
{
	for (size_t i = 0; i < rules->hosts.len; i++)
		if (host_rule_allows_address(rules->hosts.items[i], &e->address, e->port))
			return true;
	return false;
}

static bool loopback_has(const struct rules *rules, uint16_t port)
{
	char text[8];

	snprintf(text, sizeof(text), "%u", (unsigned)port);
	return rules->loopback && (!rules->ports_set || strv_has(&rules->ports, text));
}

bool rules_allow_address(const struct rules *rules, const struct endpoint *e)
{
	if (endpoint_is_loopback(e) &&
	    (loopback_has(rules, e->port) || rules_allow_name(rules, "localhost", e->port)))
		return true;
	return rules_have_literal(rules, e);
}

/* -- What changes while a sandbox is up ------------------------------------ */

/* A rule of a host, or of the loopback: one port of it, or ("" for PORT) all. */
struct change {
	struct strv hosts; /* canonical, with the ports that were given, or 443 */
	bool every_port;   /* none was given */
	bool loopback;
	char port[8];
};

static void change_release(struct change *change)
{
	strv_release(&change->hosts);
}

/* The loopback at one port, or at all: by its name and by its addresses as well. */
static int read_loopback(const char *rule, struct change *ret, struct err *err)
{
	static const char *const targets[] = {"localhost", "127.0.0.0/8", "[::1]"};
	const char *port = host_rule_loopback(rule);

	for (size_t i = 0; i < array_len(targets); i++) {
		_cleanup_(freep) char *one = str_printf("%s%s", targets[i], port);

		if (!one)
			return err_oom(err);
		if (host_rule_parse(one, &ret->hosts, NULL) < 0 || ret->hosts.len != i + 1)
			return err_set(err, ERR_USAGE, -EINVAL,
				       "bad rule \"%s\": a port is a number from 1 to 65535", rule);
	}
	ret->loopback = true;
	ret->every_port = port[0] == '\0';
	if (!ret->every_port)
		snprintf(ret->port, sizeof(ret->port), "%s", strrchr(ret->hosts.items[0], ':') + 1);
	return 0;
}

static bool names_a_port(const char *rule)
{
	return strchr(rule[0] == '[' ? rule + strcspn(rule, "]") : rule, ':');
}

static int change_read(const char *rule, struct change *ret, struct err *err)
{
	*ret = (struct change){0};
	if (host_rule_loopback(rule))
		return read_loopback(rule, ret, err);
	ret->every_port = !names_a_port(rule);
	return host_rule_parse(rule, &ret->hosts, err);
}

/* Does HAVE, one of our rules, fall under the one of CHANGE at I, or the other way round? */
static int compare(const struct change *change, size_t i, const char *have, bool *ret_covered,
		   bool *ret_covers)
{
	const char *asked = change->hosts.items[i];
	_cleanup_(freep) char *at_its_port = NULL;

	if (change->every_port) {
		at_its_port = str_printf("%.*s%s", (int)(strrchr(asked, ':') - asked), asked,
					 strrchr(have, ':'));
		if (!at_its_port)
			return -ENOMEM;
		asked = at_its_port;
	}
	*ret_covered = host_rule_covers(asked, have);
	*ret_covers = host_rule_covers(have, asked);
	return 0;
}

static void remove_at(struct strv *v, size_t i)
{
	free(v->items[i]);
	memmove(v->items + i, v->items + i + 1, (v->len - i) * sizeof(*v->items));
	v->len--;
}

/* Removes what CHANGE covers; with JUST_CHECK nothing, and a wider rule is an error. */
static int narrow_hosts(struct rules *rules, const struct change *change, bool just_check,
			struct err *err)
{
	for (size_t k = 0; k < rules->hosts.len;) {
		bool covered = false, covers = false;

		for (size_t i = 0; i < change->hosts.len && !covered && !covers; i++)
			if (compare(change, i, rules->hosts.items[k], &covered, &covers) < 0)
				return err_oom(err);
		if (just_check && covers && !covered)
			return err_hint(err,
					err_set(err, ERR_USAGE, -ENOTSUP,
						"the rule \"%s\" would still allow it",
						rules->hosts.items[k]),
					"take back that one");
		if (!just_check && covered)
			remove_at(&rules->hosts, k);
		else
			k++;
	}
	return 0;
}

static int narrow_loopback(struct rules *rules, const char *port, struct err *err)
{
	if (port[0] == '\0') {
		rules->loopback = false;
		return 0;
	}
	if (rules->loopback && !rules->ports_set)
		return err_hint(err,
				err_set(err, ERR_USAGE, -ENOTSUP,
					"every port of the host's loopback is allowed"),
				"take back \"localhost\", then allow the ports that are needed");
	for (size_t k = 0; k < rules->ports.len; k++)
		if (str_eq(rules->ports.items[k], port)) {
			remove_at(&rules->ports, k);
			break;
		}
	return 0;
}

/* Does the rule of CHANGE at I have an address of the loopback in it? */
static int is_of_loopback(const struct change *change, size_t i, bool *ret)
{
	static const char *const targets[] = {"127.0.0.0/8", "[::1]"};
	const char *asked = change->hosts.items[i];

	*ret = false;
	for (size_t k = 0; k < array_len(targets) && !*ret; k++) {
		_cleanup_(freep) char *target = str_printf("%s%s", targets[k], strrchr(asked, ':'));

		if (!target)
			return -ENOMEM;
		*ret = host_rule_covers(target, asked) || host_rule_covers(asked, target);
	}
	return 0;
}

/* What is taken back by its address must not stay within reach as the loopback. */
static int check_loopback(const struct rules *rules, const struct change *change, struct err *err)
{
	for (size_t i = 0; i < change->hosts.len; i++) {
		unsigned long port = strtoul(strrchr(change->hosts.items[i], ':') + 1, NULL, 10);
		bool of_loopback, open = rules->loopback && (!rules->ports_set || rules->ports.len);

		if (!change->every_port)
			open = loopback_has(rules, (uint16_t)port);
		if (!open)
			continue;
		if (is_of_loopback(change, i, &of_loopback) < 0)
			return err_oom(err);
		if (of_loopback)
			return err_hint(err,
					err_set(err, ERR_USAGE, -ENOTSUP,
						"the host's loopback would still allow it"),
					"take back \"localhost\", or a port of it, first");
	}
	return 0;
}

int rules_narrow(struct rules *rules, const char *rule, struct err *err)
{
	_cleanup_(change_release) struct change change;
	int r = change_read(rule, &change, err);

	if (r < 0)
		return r;
	r = narrow_hosts(rules, &change, true, err);
	if (r == 0 && !change.loopback)
		r = check_loopback(rules, &change, err);
	if (r == 0 && change.loopback)
		r = narrow_loopback(rules, change.port, err);
	if (r == 0)
		r = narrow_hosts(rules, &change, false, err);
	return r;
}

static int widen_loopback(struct rules *rules, const char *port)
{
	int r = 0;

	if (port[0] == '\0') {
		rules->ports_set = false;
	} else if (!rules->loopback || rules->ports_set) {
		if (!rules->loopback) /* what it held before counts no more */
			strv_release(&rules->ports);
		if (!strv_has(&rules->ports, port))
			r = strv_add(&rules->ports, port);
		rules->ports_set = true;
	}
	rules->loopback = rules->loopback || r == 0;
	return r;
}

int rules_widen(struct rules *rules, const char *rule, struct err *err)
{
	_cleanup_(change_release) struct change change;
	int r = change_read(rule, &change, err);

	if (r < 0)
		return r;
	if (change.loopback)
		return widen_loopback(rules, change.port) < 0 ? err_oom(err) : 0;
	for (size_t i = 0; i < change.hosts.len; i++)
		if (!strv_has(&rules->hosts, change.hosts.items[i]) &&
		    strv_add(&rules->hosts, change.hosts.items[i]) < 0)
			return err_oom(err);
	return 0;
}
