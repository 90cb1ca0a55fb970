/* SPDX-License-Identifier: MIT */
/*
 * A session has no terminal, its clients may have: who runs a command and said that it can be
 * asked gets the question, and answers for the session.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "api/asking.h"
#include "base/cleanup.h"
#include "session/keeper-impl.h"

struct keeper_question {
	uint64_t id;
	char *rule;
	struct client *client;
	void (*answer)(void *data, bool allow);
	void *data;
	struct keeper_question *next;
};

static void answer(struct keeper_question *q, bool allow)
{
	q->answer(q->data, allow);
	free(q->rule);
	free(q);
}

/* The newest first. */
static struct client *find_client(const struct keeper *k)
{
	for (struct client *c = k->clients; c; c = c->next)
		if (c->job && c->job->flags & (SESSION_ASKS | SESSION_MAY_ASK))
			return c;
	return NULL;
}

static bool is_open(const struct keeper *k, const char *rule)
{
	for (const struct keeper_question *q = k->questions; q; q = q->next)
		if (str_eq(q->rule, rule))
			return true;
	return false;
}

static int send_question(const struct keeper_question *q, const char *program)
{
	const struct session_number number = {q->id};
	_cleanup_(str_release) struct str body = {0};
	int r = str_append_bytes(&body, &number, sizeof(number));

	if (r == 0)
		r = session_put_string(&body, q->rule);
	if (r == 0)
		r = session_put_string(&body, program);
	if (r == 0)
		client_answer(q->client, SESSION_QUESTION, &body, NULL, 0);
	return r;
}

void keeper_ask(void *data, const char *name, uint16_t port, const char *program,
		void (*fn)(void *answer_data, bool allow), void *answer_data)
{
	struct keeper *k = data;
	struct client *client = find_client(k);
	_cleanup_(freep) char *rule = str_printf("%s:%u", name, (unsigned)port);
	bool known = rule && is_open(k, rule);
	struct keeper_question *q = NULL;

	if (client && rule && !strv_has(&k->said_no, rule) && (known || k->n_asked < ASKING_MAX) &&
	    resolved_may_reach(&k->run->resolved, rule))
		q = calloc(1, sizeof(*q));
	if (!q) {
		fn(answer_data, false);
		return;
	}
	k->n_asked += !known;
	*q = (struct keeper_question){.id = ++k->last_question,
				      .rule = take_ptr(rule),
				      .client = client,
				      .answer = fn,
				      .data = answer_data,
				      .next = k->questions};
	if (send_question(q, program) < 0)
		answer(q, false);
	else
		k->questions = q;
}

void keeper_answer(struct client *client, struct session_message *message)
{
	struct session_cursor c = session_cursor(message);
	struct keeper *k = client->keeper;
	struct session_number number;

	if (!session_take(&c, &number, sizeof(number)) || !session_take_end(&c)) {
		(void)shutdown(client->sock, SHUT_RDWR);
		return;
	}
	for (struct keeper_question **at = &k->questions; *at; at = &(*at)->next)
		if ((*at)->id == number.value >> 1 && (*at)->client == client) {
			struct keeper_question *q = *at;

			*at = q->next;
			if (!(number.value & 1) && !strv_has(&k->said_no, q->rule))
				(void)strv_add(&k->said_no, q->rule);
			answer(q, number.value & 1);
			return;
		}
}

/* Nobody said no: the next who can be asked is. An answer may bring the next question: from the
 * beginning each time. */
void keeper_unask(struct keeper *k, const struct client *client)
{
	struct keeper_question **at = &k->questions;

	while (*at) {
		struct keeper_question *q = *at;

		if (client && q->client != client) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		answer(q, false);
		at = &k->questions;
	}
}
