/* SPDX-License-Identifier: MIT */
/* pale session network */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json-read.h"
#include "cli/cmd-exec.h"
#include "cli/common.h"
#include "session/session-proto.h"
#include "session/session.h"

enum { ANSWER_MS = 5000 };

struct network_args {
	struct session_where where;
	struct strv deny, allow;
	bool json;
};

static int set_option(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct network_args *args = data;

	switch (opt->id) {
	case OPT_DENY:
		return strv_add(&args->deny, value) < 0 ? err_oom(err) : 0;
	case OPT_ALLOW:
		return strv_add(&args->allow, value) < 0 ? err_oom(err) : 0;
	case OPT_WORKSPACE:
		args->where.workspace = value;
		return 0;
	case OPT_JSON:
		args->json = true;
		return 0;
	default:
		BUG("an option of session network that nobody handles");
	}
}

static int make_body(const struct network_args *args, struct str *body)
{
	const struct session_network fixed = {.n_deny = (uint32_t)args->deny.len,
					      .n_allow = (uint32_t)args->allow.len};
	int r = str_append_bytes(body, &fixed, sizeof(fixed));

	for (size_t i = 0; r == 0 && i < args->deny.len; i++)
		r = session_put_string(body, args->deny.items[i]);
	for (size_t i = 0; r == 0 && i < args->allow.len; i++)
		r = session_put_string(body, args->allow.items[i]);
	return r;
}

static int ask(const struct network_args *args, struct str *ret, struct err *err)
{
	static struct session_buffer buffer;
	_cleanup_(fd_closep) int sock = session_reach(&args->where, err);
	_cleanup_(str_release) struct str body = {0};
	struct session_message m;
	struct session_cursor c;
	const char *text;
	int r;

	if (sock < 0)
		return sock;
	if (make_body(args, &body) < 0)
		return err_oom(err);
	r = session_ask(sock, SESSION_NETWORK, 0, &body, &buffer, &m, ANSWER_MS, err);
	if (r == -ETIMEDOUT)
		return err_set(err, ERR_SYSTEM, r, "the session does not answer");
	if (r < 0)
		return r;
	c = session_cursor(&m);
	text = m.head.kind == SESSION_FACTS ? session_take_string(&c) : NULL;
	r = !text                       ? err_sys(err, -EBADMSG, "the session's answer")
	    : str_append(ret, text) < 0 ? err_oom(err)
					: 0;
	session_message_release(&m, &buffer);
	return r;
}

/* One rule in a line, as --deny takes it. */
static int put_hosts(struct json_slice facts, struct str *out)
{
	struct json_slice list, item;
	size_t cursor = 0;
	int r = 0;

	if (!json_get(facts, "hosts", &list))
		return 0;
	while (r == 0 && json_next_item(list, &cursor, &item)) {
		_cleanup_(freep) char *rule = json_get_string(item);

		r = rule ? str_appendf(out, "%s\n", rule) : -ENOMEM;
	}
	return r;
}

static int put_ports(struct json_slice facts, struct str *out)
{
	struct json_slice list, item;
	size_t cursor = 0;
	int r = 0;

	if (!json_get(facts, "ports", &list) || list.text[0] != '[')
		return str_append(out, "localhost\n");
	while (r == 0 && json_next_item(list, &cursor, &item))
		r = str_appendf(out, "localhost:%.*s\n", (int)item.len, item.text);
	return r;
}

/* Where no rules are held, by nobody. */
static const char *without_rules(const char *network)
{
	if (str_eq(network, "none"))
		return "nothing can be reached";
	return str_eq(network, "unrestricted") ? "everything can be reached: the host's own network"
					       : "no rules are held here";
}

static int put_usage(struct json_slice facts, struct str *out)
{
	unsigned long long connections = json_get_number(facts, "connections", 0);

	return str_appendf(out, "%llu connection%s so far; bytes: %llu sent, %llu received\n",
			   connections, connections == 1 ? "" : "s",
			   (unsigned long long)json_get_number(facts, "sent", 0),
			   (unsigned long long)json_get_number(facts, "received", 0));
}

static int put_text(const char *text, struct str *out)
{
	_cleanup_(freep) char *network = NULL;
	struct json_slice facts, brokered;
	int r = 0;

	if (!json_slice_init(&facts, text, strlen(text)) || !json_get(facts, "brokered", &brokered))
		return -EBADMSG;
	network = json_get_text(facts, "network");
	if (brokered.text[0] != 't')
		return str_appendf(out, "%s: network = \"%s\"\n", without_rules(network),
				   network ? network : "?");
	r = put_hosts(facts, out);
	if (r == 0)
		r = put_ports(facts, out);
	return r < 0 ? r : put_usage(facts, out);
}

int cmd_session_network(enum verb_id id, int argc, char **argv)
{
	_cleanup_(str_release) struct str answer = {0}, out = {0};
	struct network_args args = {0};
	struct opt_args operands;
	struct err err = {0};
	int r = verb_parse(id, argc, argv, set_option, &args, &operands, &err);

	if (r > 0)
		return 0;
	if (r == 0) {
		args.where.session = operands.operands[0];
		r = ask(&args, &answer, &err);
	}
	strv_release(&args.deny);
	strv_release(&args.allow);
	if (r < 0)
		return report(&err);
	r = args.json ? str_appendf(&out, "%s\n", str_text(&answer))
		      : put_text(str_text(&answer), &out);
	return r < 0 ? report_oom() : emit(&out);
}
