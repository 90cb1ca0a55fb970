/* SPDX-License-Identifier: MIT */
/*
 * local-network - ties broker, engine and observers of one sandbox together.
 *
 * The engine brings a loop and sockets (struct gateway), observers bring calls, the broker
 * tells what became of them. One of a run; of a session all errands share it.
 */
#pragma once
#include "base/loop.h"
#include "engine/engine.h"
#include "net/broker.h"

struct run_ear;
struct observer;
struct plan;
struct result;

struct local_network {
	const struct plan *plan;
	const struct run_ear *ear; /* NULL: nobody listens */
	struct broker *broker;     /* NULL: not brokered, not yet, or not any more */
	struct loop *loop;
	struct loop_timer check; /* of calls that wait */
	struct gateway gateway;
	/* Those that may have something to do with what the broker says. */
	struct observer **observers;
	size_t len, cap;
	struct observer *asking; /* within a call of its own */
	struct observer *last;   /* that asked something */
	struct broker_usage usage;
};

/* N stays where it is. */
void local_network_init(struct local_network *n, const struct plan *plan,
			const struct run_ear *ear);
/* For the engine; NULL: the plan is not brokered. */
const struct gateway *local_network_gateway(const struct local_network *n);
int local_network_add(struct local_network *n, struct observer *o); /* 0 or -ENOMEM */
void local_network_remove(struct local_network *n, struct observer *o);
bool local_network_serve(struct local_network *n, struct observer *o); /* observer_serve() */
/* What was used since BEFORE, or in all for NULL (unknown without a broker), and the limit that
 * was met since. */
void local_network_judge(const struct local_network *n, const struct broker_usage *before,
			 struct result *ret);
void local_network_release(struct local_network *n);
