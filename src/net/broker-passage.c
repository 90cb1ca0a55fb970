/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "net/broker-impl.h"

/* Outlives its passage: an answer may come when nobody waits any more. */
struct question {
	struct passage *passage; /* NULL: gone */
};

struct passage *passage_new(struct broker *b, const struct endpoint *to, const char *program)
{
	struct passage *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->broker = b;
	p->to = *to;
	p->inside = p->outside = p->bound = -1;
	p->program = program ? strdup(program) : NULL;
	p->at = b->passages_end;
	*p->at = p;
	b->passages_end = &p->next;
	b->passages_len++;
	b->tick.wanted++;
	poller_wake(b->poller);
	return p;
}

struct passage *passage_free(struct passage *p)
{
	struct broker *b = p->broker;

	if (p->state == PASSAGE_KEPT)
		listener_forget(p);
	if (p->state == PASSAGE_LOOKS_UP)
		lookup_forget(b->lookups, p);
	if (p->question)
		p->question->passage = NULL;
	if (p->dial)
		dial_cancel(b->dials, p->dial);
	if (p->relay)
		relay_reset(b->relays, p->relay);
	passage_unwatch(p);
	hello_forget(p);
	fd_close(p->bound);
	socket_reset(p->inside);
	socket_reset(p->outside);
	*p->at = p->next;
	if (p->next)
		p->next->at = p->at;
	else
		b->passages_end = p->at;
	b->passages_len--;
	b->entered_len -= p->exposed;
	if (p->state != PASSAGE_OPEN)
		b->tick.wanted--;
	free(p->program);
	free(p);
	return NULL;
}

int passage_watch(struct passage *p, uint32_t events, void (*fn)(void *data, uint32_t events))
{
	int r;

	p->watch = (struct poll_entry){p->inside, events, fn, p};
	r = poller_add(p->broker->poller, &p->watch);
	if (r < 0)
		p->watch.fn = NULL;
	return r;
}

void passage_unwatch(struct passage *p)
{
	if (p->watch.fn)
		poller_remove(p->broker->poller, &p->watch);
	p->watch.fn = NULL;
}

void passage_answer(struct passage *p, int error)
{
	struct broker_call call = p->call;

	p->call.answer = NULL;
	if (call.answer)
		call.answer(call.data, call.id, error);
}

void passage_fail(struct passage *p, int error)
{
	struct broker_call call = p->call;

	passage_free(p);
	if (call.answer)
		call.answer(call.data, call.id, error);
}

enum judgement passage_judge(struct passage *p)
{
	const struct broker *b = p->broker;

	if (p->exposed)
		return ALLOWED;
	if (!names_is_synthetic(&p->to.address))
		return rules_allow_address(&b->rules, &p->to) ? ALLOWED : REFUSED;
	p->name = names_find(&b->names, &p->to.address);
	if (!p->name)
		return REFUSED;
	if (rules_allow_name(&b->rules, p->name, p->to.port))
		return ALLOWED;
	return b->asks && b->ear.ask ? ASKED : REFUSED;
}

void passage_tell_refusal(struct passage *p)
{
	enum refusal_kind kind = REFUSED_ADDRESS;

	if (p->name)
		kind = rules_allow_name(&p->broker->rules, p->name, 0) ? REFUSED_PORT
								       : REFUSED_NAME;
	broker_refuse(p->broker, kind, &p->to, p->name, NULL, p->program);
}

void passage_join(struct passage *p)
{
	struct broker *b = p->broker;

	if (relay_start(b->relays, take_fd(p->inside), take_fd(p->outside), p, &p->relay) < 0)
		passage_free(p);
}

void passage_open(struct passage *p)
{
	struct broker *b = p->broker;

	passage_unwatch(p);
	p->state = PASSAGE_OPEN;
	b->tick.wanted--;
	b->usage.connections += p->exposed;
	if (p->name)
		hello_await(p);
	else
		passage_join(p);
}

/* Counted here, for whoever answers has been reached, also when nobody inside waits any more. */
static void note_reached(struct passage *p, int fd, const struct endpoint *to)
{
	const struct broker_ear *ear = &p->broker->ear;

	p->outside = fd;
	p->dialled = *to;
	p->broker->usage.connections++;
	if (ear->reached)
		ear->reached(ear->data, p->name, to, p->program);
}

static void on_dial(void *data, int fd, const struct endpoint *to)
{
	struct passage *p = data;

	if (fd >= 0)
		note_reached(p, fd, to);
	p->state = PASSAGE_NEW;
	if (p->call.answer)
		call_dialled(p, fd < 0 ? -fd : 0);
	else if (fd < 0)
		passage_fail(p, -fd);
	else
		passage_open(p);
}

static void start_dial(struct passage *p, const struct in6_addr *addresses, size_t len)
{
	int r;

	p->state = PASSAGE_DIALS;
	r = dial_start(p->broker->dials, addresses, len, p->to.port, on_dial, p, &p->dial);
	if (r < 0)
		passage_fail(p, -r);
}

static void on_lookup(void *data, const struct lookup_answer *answer)
{
	struct passage *p = data;

	p->state = PASSAGE_NEW;
	if (answer->error < 0) {
		passage_fail(p, EHOSTUNREACH);
		return;
	}
	if (answer->len == 0) {
		broker_refuse(p->broker, REFUSED_LEADS,
			      &(struct endpoint){answer->refused, p->to.port}, p->name,
			      answer->complaint, p->program);
		passage_fail(p, ENETUNREACH);
		return;
	}
	start_dial(p, answer->addresses, answer->len);
}

static bool add_rule(const struct passage *p)
{
	char rule[NAME_CANONICAL_MAX + 8];

	snprintf(rule, sizeof(rule), "%s:%u", p->name, (unsigned)p->to.port);
	return rules_widen(&p->broker->rules, rule, NULL) == 0;
}

static void on_user(void *data, bool allow)
{
	struct question *question = data;
	struct passage *p = question->passage;

	free(question);
	if (!p)
		return;
	p->question = NULL;
	p->state = PASSAGE_NEW;
	/* Connections are judged by rules alone, so a yes becomes one. */
	if (!allow || !add_rule(p) || passage_judge(p) != ALLOWED) {
		passage_tell_refusal(p);
		passage_fail(p, ENETUNREACH);
		return;
	}
	passage_seek(p);
}

static void ask(struct passage *p)
{
	struct broker *b = p->broker;
	struct question *question = calloc(1, sizeof(*question));

	if (!question) {
		passage_fail(p, ENETUNREACH);
		return;
	}
	question->passage = p;
	p->question = question;
	p->state = PASSAGE_ASKS;
	b->ear.ask(b->ear.data, p->name, p->to.port, p->program, on_user, question);
}

static void on_hangup(void *data, uint32_t events)
{
	(void)events;
	passage_free(data);
}

void passage_seek(struct passage *p)
{
	struct broker *b = p->broker;

	if (p->inside >= 0 && !p->watch.fn && passage_watch(p, 0, on_hangup) < 0) {
		passage_free(p);
		return;
	}
	if (passage_judge(p) == ASKED) {
		ask(p);
	} else if (p->name) {
		p->state = PASSAGE_LOOKS_UP;
		lookup_start(b->lookups, p->name, p->to.port, on_lookup, p);
	} else {
		start_dial(p, &p->to.address, 1);
	}
}
