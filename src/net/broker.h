/* SPDX-License-Identifier: MIT */
/*
 * broker - the only way out of a private network.
 *
 * Inside, every address is the loopback's own, and nothing listens there but the command and
 * the broker. A connection that the broker accepts says by its own address (getsockname) where it
 * wanted to go: that is judged, an address that the broker resolved itself is dialled outside,
 * and the two are spliced. So nothing rests on what a program says, and no race helps it.
 *
 * That a command wants to connect is told beforehand by the observer (broker_connect()): the
 * broker then opens the listener, and for a call that waits it dials first, so that the caller
 * sees the real error. This is for honesty and evidence; what decides is the accepted socket.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/endpoint.h"

struct broker;
struct err;
struct loop;
struct plan_net;
struct rules;

enum refusal_kind {
	REFUSED_NAME,    /* no rule knows the name: it was not resolved */
	REFUSED_PORT,    /* of a name that is known at others */
	REFUSED_ADDRESS, /* a literal that no rule covers */
	REFUSED_LEADS,   /* an allowed name led to an address that must not be reached */
	REFUSED_UDP,     /* a datagram to anybody but the resolver */
	REFUSED_LIMIT,   /* connections, rate, bytes */
	REFUSED_SNI,     /* TLS asked an allowed host for a name that is not */
};

/* Something that was not let out. Strings are the caller's for the call. */
struct refusal {
	enum refusal_kind kind;
	const char *name;    /* NULL: an address was given */
	struct endpoint to;  /* the port may be 0 for REFUSED_NAME */
	const char *why;     /* of endpoint_complaint(), or the limit's key; or NULL */
	const char *program; /* best known; NULL */
};

struct broker_ear {
	void (*refused)(void *data, const struct refusal *refusal);
	/* Something was reached, for profiles: NAME may be NULL. */
	void (*reached)(void *data, const char *name, const struct endpoint *to,
			const char *program);
	/* About NAME at PORT, which no rule allows: ANSWER(answer_data, allow) is called once,
	 * later or at once. It is asked when a connection is wanted, for that is when the port is
	 * known: until then the resolver gives a name an address that stands for it, and looks up
	 * nothing. NULL: nobody can be asked. */
	void (*ask)(void *data, const char *name, uint16_t port, const char *program,
		    void (*answer)(void *answer_data, bool allow), void *answer_data);
	void *data;
};

struct broker_usage {
	uint64_t connections, sent, received; /* in all; bytes as the command sees them */
	const char *limit;                    /* the first that was met, its key; or NULL */
};

/* What needs no sandbox yet: the ports that it exposes are bound. MORE: as in engine.h. */
int broker_new(const struct plan_net *net, struct loop *loop, int (*more)(void *more_data),
	       void *more_data, const struct broker_ear *ear, struct broker **ret, struct err *err);
struct broker *broker_free(struct broker *broker); /* resets what is open; NULL ok */
void broker_take(struct broker *broker, const int *fds, size_t len); /* see struct gateway */

/* A call of connect(2) that waits for an answer. */
struct broker_call {
	struct endpoint to;
	bool stream;         /* else a datagram socket */
	bool waits;          /* the socket is blocking */
	const char *program; /* copied; NULL: unknown */
	/* 0: let it go on. Called once, unless broker_forget() comes first. Else an errno. */
	void (*answer)(void *data, uint64_t id, int error);
	void *data;
	uint64_t id;
};
/* The answer may come before this returns. */
void broker_connect(struct broker *broker, const struct broker_call *call);
void broker_forget(struct broker *broker, void *data); /* nobody waits for its answers any more */
void broker_cancel(struct broker *broker, void *data, uint64_t id); /* the same of one call */

int broker_narrow(struct broker *broker, const char *rule, unsigned *ret_gone, struct err *err);
int broker_widen(struct broker *broker, const char *rule, struct err *err);
const struct rules *broker_rules(const struct broker *broker); /* as they are now */
void broker_usage(const struct broker *broker, struct broker_usage *ret);
