/* SPDX-License-Identifier: MIT */
/*
 * How many, how often, how much. What is too often waits, since that is honest; what is
 * too many or too much is refused.
 */
#include <errno.h>

#include "net/broker-impl.h"

#define SECOND_NS 1000000000ull

void limits_meet(struct broker *b, const char *key)
{
	if (!b->usage.limit)
		b->usage.limit = key;
}

bool limits_admit(struct passage *p)
{
	struct broker *b = p->broker;

	if (b->exhausted)
		return false; /* was told when it happened */
	/* Who comes from outside takes none of the command's, nor is it told: it did nothing. */
	if (p->exposed)
		return b->entered_len <= b->connections_max;
	if (b->passages_len - b->entered_len <= b->connections_max)
		return true;
	limits_meet(b, "connections");
	broker_refuse(b, REFUSED_LIMIT, &p->to, p->name, "connections", p->program);
	return false;
}

/* One second's worth may come at once: turn_ns runs ahead of the clock by what was used. */
bool limits_has_turn(const struct broker *b, uint64_t now)
{
	return b->rate == UINT64_MAX || b->turn_ns + SECOND_NS / b->rate <= now + SECOND_NS;
}

void limits_take_turn(struct broker *b, uint64_t now)
{
	if (b->rate == UINT64_MAX)
		return;
	if (b->turn_ns < now)
		b->turn_ns = now;
	b->turn_ns += SECOND_NS / b->rate;
}

static uint64_t on_left(void *data, bool sent)
{
	const struct broker *b = data;

	return b->left[sent];
}

static void on_passed(void *data, uint64_t bytes, bool sent)
{
	struct broker *b = data;

	*(sent ? &b->usage.sent : &b->usage.received) += bytes;
	if (b->left[sent] != UINT64_MAX)
		b->left[sent] -= bytes;
}

/* Everything is cut, not just this one: a command must not go on as if all were well. */
static void on_exceeded(void *data, struct relay *relay, bool sent)
{
	struct broker *b = data;
	const struct passage *of = relay_owner(relay);
	const char *key = sent ? "net_sent" : "net_received";

	b->exhausted = true;
	limits_meet(b, key);
	broker_refuse(b, REFUSED_LIMIT, &of->to, of->name, key, of->program);
	while (b->passages)
		passage_fail(b->passages, ENETUNREACH);
}

static void on_ended(void *data, struct relay *relay)
{
	struct passage *p = relay_owner(relay);

	(void)data;
	p->relay = NULL;
	passage_free(p);
}

const struct relay_ear limits_ear = {on_left, on_passed, on_exceeded, on_ended};
