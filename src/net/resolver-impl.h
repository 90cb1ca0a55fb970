/* SPDX-License-Identifier: MIT */
/* resolver-impl - between resolver.c, which knows what to answer, and resolver-pending.c and
 * resolver-stream.c, which know who waits and how it is sent. */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "net/dns.h"
#include "net/poller.h"
#include "net/resolver.h"

enum {
	RESOLVER_NAMES_MAX = 64,    /* being looked up */
	RESOLVER_WAITING_MAX = 512, /* questions about those */
	RESOLVER_STREAMS_MAX = 16,
	RESOLVER_STREAM_S = 5, /* without a whole question */
	RESOLVER_TOLD_MAX = 16,
};

struct stream;

/* Who sent a question, and what is needed of it for the answer. */
struct asker {
	struct dns_question q;
	uint8_t head[DNS_HEAD_MAX];
	struct sockaddr_storage from; /* of a datagram */
	socklen_t from_len;
	struct stream *stream; /* NULL: a datagram; see `gone` */
	bool gone;             /* its stream has ended */
	struct asker *next;
};

/* A name that has no answer yet, with all who wait for it. */
struct pending {
	struct resolver *owner;
	char name[NAME_CANONICAL_MAX];
	struct asker *askers;
	struct pending *next;
};

struct resolver {
	struct poller *poller;
	const struct rules *rules;
	struct names *names;
	struct lookups *lookups;
	const struct broker_ear *ear;
	struct poll_entry datagrams, listener; /* fd -1: none */
	struct poller_tick tick;
	struct stream *streams;
	struct pending *pending;
	unsigned streams_len, pending_len, waiting;
	bool paused; /* the listener, until descriptors are free again */
	bool has_v6, told_full;
	char program[64];
	/* The last that were refused, so that A and AAAA of a name are one refusal. */
	struct {
		char name[NAME_CANONICAL_MAX];
		uint64_t at_ns;
	} told[RESOLVER_TOLD_MAX];
	unsigned told_next;
};

/* ASKER is copied where its answer has to wait. Exactly one answer is sent. */
void resolver_question(struct resolver *resolver, const struct asker *asker);
void resolver_answer(struct resolver *resolver, const struct asker *asker, enum dns_code code,
		     const uint8_t *address, const char *ptr);
/* An allowed name that is known to exist. */
void resolver_answer_name(struct resolver *resolver, const struct asker *asker, const char *name);

/* resolver-pending.c: */
/* Its name is looked up; ASKER gets its answer then. */
void pending_add(struct resolver *resolver, const struct asker *asker);
void pending_free_all(struct resolver *resolver);
void pending_forget(struct resolver *resolver, const struct stream *stream);

/* resolver-stream.c: */
void streams_listen(struct resolver *resolver, int fd);
void stream_send(struct resolver *resolver, struct stream *stream, const uint8_t *answer,
		 size_t len);
void streams_free(struct resolver *resolver);
