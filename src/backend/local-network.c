/* SPDX-License-Identifier: MIT */
#include "backend/local-network.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/run-ear.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "net/broker.h"
#include "observe/observer.h"
#include "plan/plan.h"
#include "result/result.h"

/* -- What the broker tells ------------------------------------------------ */

/* Whose a refusal is: who calls right now, who waits for just that, who asked last. */
static struct observer *whose(const struct local_network *n, const struct endpoint *to)
{
	if (n->asking)
		return n->asking;
	for (size_t i = 0; i < n->len; i++)
		if (brokered_waits_for(&n->observers[i]->brokered, to))
			return n->observers[i];
	return n->last ? n->last : n->len > 0 ? n->observers[n->len - 1] : NULL;
}

static void on_refused(void *data, const struct refusal *refusal)
{
	struct observer *o = whose(data, &refusal->to);

	if (o)
		observer_refused(o, refusal);
}

static void on_reached(void *data, const char *name, const struct endpoint *to, const char *program)
{
	struct observer *o = whose(data, to);

	(void)program;
	if (o)
		observer_reached(o, name, to);
}

static void on_ask(void *data, const char *name, uint16_t port, const char *program,
		   void (*answer)(void *answer_data, bool allow), void *answer_data)
{
	const struct local_network *n = data;

	n->ear->ask(n->ear->data, name, port, program, answer, answer_data);
}

/* -- What the engine brings ----------------------------------------------- */

static void on_check(void *data, short revents)
{
	struct local_network *n = data;
	size_t waiting = 0;

	(void)revents;
	for (size_t i = 0; i < n->len; i++) {
		brokered_check(n->observers[i]);
		waiting += n->observers[i]->brokered.len;
	}
	if (waiting > 0)
		n->check.at_ns = clock_mono_ns() + BROKERED_CHECK_MS * 1000000ull;
}

static int gateway_open(void *data, struct loop *loop, int (*more)(void *more_data),
			void *more_data, struct err *err)
{
	struct local_network *n = data;
	const struct broker_ear ear = {.refused = on_refused,
				       .reached = on_reached,
				       .ask = n->ear && n->ear->ask ? on_ask : NULL,
				       .data = n};
	int r = broker_new(&n->plan->net, loop, more, more_data, &ear, &n->broker, err);

	if (r < 0)
		return r;
	n->loop = loop;
	n->check = (struct loop_timer){.at_ns = LOOP_NEVER, .fn = on_check, .data = n};
	loop_add_timer(loop, &n->check);
	for (size_t i = 0; i < n->len; i++)
		n->observers[i]->brokered.broker = n->broker;
	if (n->ear && n->ear->begins)
		n->ear->begins(n->ear->data, loop);
	return 0;
}

static void gateway_take(void *data, const int *fds, size_t len)
{
	struct local_network *n = data;

	broker_take(n->broker, fds, len);
}

static void gateway_close(void *data)
{
	struct local_network *n = data;

	if (n->ear && n->ear->over)
		n->ear->over(n->ear->data);
	for (size_t i = 0; i < n->len; i++) {
		broker_forget(n->broker, n->observers[i]);
		n->observers[i]->brokered.broker = NULL;
	}
	broker_usage(n->broker, &n->usage);
	loop_remove_timer(n->loop, &n->check);
	n->broker = broker_free(n->broker);
}

/* -- For the backend ------------------------------------------------------ */

void local_network_init(struct local_network *n, const struct plan *plan, const struct run_ear *ear)
{
	*n = (struct local_network){.plan = plan, .ear = ear};
	n->gateway = (struct gateway){
		.open = gateway_open, .take = gateway_take, .close = gateway_close, .data = n};
}

const struct gateway *local_network_gateway(const struct local_network *n)
{
	return n->plan->net.brokered ? &n->gateway : NULL;
}

int local_network_add(struct local_network *n, struct observer *o)
{
	if (n->len == n->cap) {
		size_t cap = n->cap ? n->cap * 2 : 4;
		struct observer **grown = reallocarray(n->observers, cap,
						       sizeof(struct observer *));

		if (!grown)
			return -ENOMEM;
		n->observers = grown;
		n->cap = cap;
	}
	n->observers[n->len++] = o;
	o->brokered.broker = n->broker;
	return 0;
}

void local_network_remove(struct local_network *n, struct observer *o)
{
	size_t kept = 0;

	brokered_release(o);
	for (size_t i = 0; i < n->len; i++)
		if (n->observers[i] != o)
			n->observers[kept++] = n->observers[i];
	n->len = kept;
	n->last = n->last == o ? NULL : n->last;
}

bool local_network_serve(struct local_network *n, struct observer *o)
{
	uint64_t taken = o->brokered.taken;
	bool ok;

	n->asking = o;
	ok = observer_serve(o);
	n->asking = NULL;
	if (o->brokered.taken != taken)
		n->last = o;
	if (o->brokered.len > 0 && n->check.at_ns == LOOP_NEVER)
		n->check.at_ns = clock_mono_ns() + BROKERED_CHECK_MS * 1000000ull;
	return ok;
}

void local_network_judge(const struct local_network *n, const struct broker_usage *before,
			 struct result *ret)
{
	const struct broker_usage none = {0};
	struct broker_usage now = n->usage;
	struct usage *usage = &ret->usage;

	if (!n->plan->net.brokered) {
		usage->connections = usage->net_sent = usage->net_received = USAGE_UNKNOWN;
		return;
	}
	if (n->broker)
		broker_usage(n->broker, &now);
	before = before ? before : &none;
	usage->connections = now.connections - before->connections;
	usage->net_sent = now.sent - before->sent;
	usage->net_received = now.received - before->received;
	ret->net_limit = before->limit ? NULL : now.limit;
}

void local_network_release(struct local_network *n)
{
	free(n->observers);
	n->observers = NULL;
	n->len = n->cap = 0;
}
