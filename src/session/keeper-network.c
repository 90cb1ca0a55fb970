/* SPDX-License-Identifier: MIT */
/*
 * What a session may reach, while it runs. Who asks is the user, outside: see keeper-peer.c.
 * Less is always possible; more only within the ceilings that held when it was started.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "backend/standing.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "net/rules.h"
#include "policy/host-group.h"
#include "policy/host-rule.h"
#include "session/keeper-impl.h"

enum { RULES_MAX = 256 };

struct network_change {
	struct keeper *k;
	char **deny, **allow;
	struct strv denied, added; /* the rules themselves, groups taken apart */
	unsigned gone;
	struct err err;
};

static void change_release(struct network_change *c)
{
	free(c->deny);
	free(c->allow);
	strv_release(&c->denied);
	strv_release(&c->added);
}

static bool change_take(struct session_message *message, struct network_change *c)
{
	struct session_cursor cursor = session_cursor(message);
	struct session_network fixed;

	if (!session_take(&cursor, &fixed, sizeof(fixed)) || fixed.n_deny > RULES_MAX ||
	    fixed.n_allow > RULES_MAX)
		return false;
	c->deny = session_take_strings(&cursor, fixed.n_deny);
	c->allow = c->deny ? session_take_strings(&cursor, fixed.n_allow) : NULL;
	return c->allow && session_take_end(&cursor);
}

static int expand(struct network_change *c, char *const *texts, struct strv *ret)
{
	for (; *texts; texts++) {
		int r = host_is_group(*texts)
				? host_group_expand(&c->k->run->context.config, LAYER_USER, *texts,
						    ret, NULL, &c->err)
				: strv_add(ret, *texts);

		if (r < 0)
			return r == -ENOMEM ? err_oom(&c->err) : r;
	}
	return 0;
}

static int refuse(struct network_change *c, const char *rule)
{
	err_set(&c->err, ERR_POLICY, -EPERM, "\"%.200s\" is not within the ceiling", rule);
	return err_hint(&c->err, -EPERM,
			"`pale config show --origin` shows the ceilings; a session keeps those "
			"that it was started with");
}

/* Before anything is changed. */
static int check_added(struct network_change *c)
{
	const struct resolved *resolved = &c->k->run->resolved;

	for (size_t i = 0; i < c->added.len; i++) {
		const char *text = c->added.items[i];
		_cleanup_(strv_release) struct strv rules = {0};
		const char *port = host_rule_loopback(text);
		int r = host_rule_parse(text, &rules, &c->err);

		if (r < 0)
			return r;
		if (port && !*port) {
			if (!resolved_may_reach(resolved, text))
				return refuse(c, text);
			continue;
		}
		for (size_t k = 0; k < rules.len; k++)
			if (!resolved_may_reach(resolved, rules.items[k]))
				return refuse(c, rules.items[k]);
	}
	return 0;
}

/* Rules are checked by trying them on a copy. */
static int rehearse(struct network_change *c, const struct rules *now)
{
	struct rules copy = *now;
	int r;

	copy.hosts = copy.ports = (struct strv){0};
	r = strv_copy(&copy.hosts, &now->hosts);
	if (r == 0)
		r = strv_copy(&copy.ports, &now->ports);
	if (r < 0)
		err_oom(&c->err);
	for (size_t i = 0; r == 0 && i < c->denied.len; i++)
		r = rules_narrow(&copy, c->denied.items[i], &c->err);
	for (size_t i = 0; r == 0 && i < c->added.len; i++)
		r = rules_widen(&copy, c->added.items[i], &c->err);
	rules_release(&copy);
	return r;
}

static int apply(struct network_change *c)
{
	struct standing *standing = c->k->standing;
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->denied.len; i++) {
		unsigned gone = 0;

		r = standing_narrow(standing, c->denied.items[i], &gone, &c->err);
		c->gone += gone;
	}
	for (size_t i = 0; r == 0 && i < c->added.len; i++)
		r = standing_widen(standing, c->added.items[i], &c->err);
	return r;
}

static int change_network(struct network_change *c)
{
	struct standing_network now;
	int r = expand(c, c->deny, &c->denied);

	if (r == 0)
		r = expand(c, c->allow, &c->added);
	if (r < 0 || (c->denied.len == 0 && c->added.len == 0))
		return r;
	if (!standing_network(c->k->standing, &now)) {
		err_set(&c->err, ERR_USAGE, -ENOTSUP,
			c->k->run->resolved.spec.network == NETWORK_UNRESTRICTED
				? "session '%s' has the host's own network, which nobody stands "
				  "between"
				: "session '%s' has no network",
			c->k->place.name);
		return err_hint(&c->err, -ENOTSUP,
				"start one with --host, --port or another --network");
	}
	r = check_added(c);
	if (r == 0)
		r = rehearse(c, now.rules);
	return r < 0 ? r : apply(c);
}

static void put_ports(struct json *json, const struct rules *rules)
{
	if (!rules->loopback || rules->ports_set) {
		json_begin_array(json, "ports");
		for (size_t i = 0; rules->loopback && i < rules->ports.len; i++)
			json_add_uint(json, NULL, strtoul(rules->ports.items[i], NULL, 10));
		json_end_array(json);
	} else {
		json_add_null(json, "ports"); /* all */
	}
}

static int put(const struct network_change *c, struct str *text)
{
	static const struct rules nothing = {.ports_set = true};
	struct standing_network now = {.rules = &nothing};
	bool brokered = standing_network(c->k->standing, &now);
	struct json json = {.out = text};

	json_begin_object(&json, NULL);
	json_add_string(&json, "session", c->k->place.name);
	json_add_string(&json, "network",
			spec_keys[DIM_NETWORK].choices[c->k->run->resolved.spec.network]);
	json_add_strv(&json, "hosts", &now.rules->hosts);
	put_ports(&json, now.rules);
	json_add_bool(&json, "brokered", brokered);
	json_add_uint(&json, "connections", now.connections);
	json_add_uint(&json, "sent", now.sent);
	json_add_uint(&json, "received", now.received);
	json_add_uint(&json, "gone", c->gone);
	json_end_object(&json);
	return json_finish(&json) < 0 ? -ENOMEM : str_append_char(text, '\0');
}

const struct rules *keeper_rules(const struct keeper *k)
{
	struct standing_network now;

	return k->standing && standing_network(k->standing, &now) ? now.rules : NULL;
}

void keeper_network(struct client *client, struct session_message *message)
{
	_cleanup_(change_release) struct network_change c = {.k = client->keeper};
	_cleanup_(str_release) struct str text = {0};

	if (!change_take(message, &c)) {
		(void)shutdown(client->sock, SHUT_RDWR);
		return;
	}
	if (change_network(&c) < 0)
		client_fail(client, &c.err);
	else if (put(&c, &text) == 0)
		client_answer(client, SESSION_FACTS, &text, NULL, 0);
	else
		(void)shutdown(client->sock, SHUT_RDWR);
}
