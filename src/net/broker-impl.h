/* SPDX-License-Identifier: MIT */
/*
 * broker-impl - what the parts of the broker share.
 *
 * A passage is one way out, from the first word about it to its end: a call that waits for
 * an answer, then the connection that is expected of it, then what was accepted and dialled.
 */
#pragma once
#include <signal.h>
#include <sys/resource.h>

#include "net/broker.h"
#include "net/dial.h"
#include "net/lookup.h"
#include "net/names.h"
#include "net/poller.h"
#include "net/relay.h"
#include "net/resolver.h"
#include "net/rules.h"

enum {
	POOL_LOW = 8,   /* fewer inner sockets: more are asked for */
	POOL_MAX = 128, /* more are not kept */
	LISTENERS_MAX = 128,
	BACKLOG = 128,
	ACCEPTS = 16,            /* of one listener in one go */
	FDS_OF_ONE = 6,          /* two sockets, a pipe each way */
	FDS_OF_OTHERS = 384,     /* pool, listeners, and what the supervisor has beside us */
	CONNECTIONS_MAX = 16384, /* whatever the plan says */
	CONNECTIONS_MIN = 16,    /* with room for fewer at once nothing is begun */
	CONNECTIONS_CUT = 256,   /* that many or fewer may be cut to what there is room for */
	KEPT_MS = 1000,          /* a dial that nobody claims */
	EXPECTED_MS = 5000,      /* a connection that was let go on, and is not seen */
	IDLE_MS = 5000,          /* a listener that nobody connects to */
	SOCKET_MS = 5000,        /* a call that waits for a socket */
	TURN_MS = 30000,         /* a call that waits for its turn */
	HELLO_MS = 5000,         /* the rest of a hello of TLS */
};

enum passage_state {
	PASSAGE_NEW,
	PASSAGE_WAITS_SOCKET, /* for an inner socket */
	PASSAGE_WAITS_TURN,   /* for the rate */
	PASSAGE_ASKS,         /* the user */
	PASSAGE_LOOKS_UP,
	PASSAGE_DIALS,
	PASSAGE_KEPT, /* the call went on: its connection is expected */
	PASSAGE_OPEN,
	PASSAGE_HEARS, /* open; what comes first is not passed on yet */
};

struct question;

struct passage {
	struct broker *broker;
	struct passage *next, **at; /* in the list of all, oldest first */
	enum passage_state state;
	struct endpoint to;        /* inside; of an exposed port the server's */
	const char *name;          /* that `to` stands for; NULL: none */
	char *program;             /* NULL: unknown */
	struct broker_call call;   /* `answer` is NULL when nobody waits */
	bool exposed;              /* comes from outside */
	bool paid;                 /* has had its share of the rate */
	int bound;                 /* a socket for its listener, which is not one yet; -1 */
	int inside, outside;       /* -1: none yet */
	struct poll_entry watch;   /* of `inside`, while the other side is made; fn NULL: not */
	struct poll_entry reply;   /* of `outside`, in PASSAGE_HEARS; fn NULL: not */
	struct question *question; /* to the user */
	struct dial *dial;
	struct endpoint dialled; /* what answered */
	struct relay *relay;
	uint64_t until_ns;
};

/* For one endpoint inside. */
struct listener {
	struct broker *broker;
	struct listener *next;
	struct endpoint at;
	struct poll_entry entry;
	bool paused;
	unsigned expected; /* passages that are PASSAGE_KEPT here */
	uint64_t used_ns;
};

/* A port of the host's loopback that leads inside. */
struct exposed {
	struct broker *broker;
	uint16_t port;
	struct poll_entry entries[2]; /* IPv4 and IPv6; fd -1: none */
	bool paused;
};

struct broker {
	struct poller *poller;
	struct poller_tick tick;
	struct dials *dials;
	struct relays *relays;
	struct lookups *lookups;
	struct resolver *resolver;
	struct names names;
	struct rules rules;
	struct broker_ear ear;
	bool asks;

	int (*more)(void *more_data);
	void *more_data;
	bool asked_more;
	uint64_t asked_ns;
	int pool[POOL_MAX];
	size_t pool_len;
	bool has_first, has_v6;    /* of the batches */
	struct rlimit old_fds;     /* put back at the end, as the next */
	struct sigaction old_pipe; /* SIGPIPE */

	struct passage *passages, **passages_end;
	size_t passages_len, entered_len; /* those that come from outside among them */
	struct listener *listeners;
	size_t listeners_len;
	struct exposed *exposed;
	size_t exposed_len;
	struct poll_entry evidence[2]; /* ICMP and ICMPv6; fd -1: none */

	uint64_t connections_max, rate;
	unsigned fds_of_one;
	uint64_t turn_ns; /* when the rate is used up to */
	uint64_t left[2]; /* bytes: received, sent */
	bool exhausted;   /* more than that was wanted: nobody gets out any more */
	struct broker_usage usage;
};

/* broker.c */
int broker_socket(struct broker *b); /* an inner one, the caller's; -1: none is there yet */
void broker_want_more(struct broker *b);
void broker_refuse(struct broker *b, enum refusal_kind kind, const struct endpoint *to,
		   const char *name, const char *why, const char *program);

/* broker-limits.c */
bool limits_admit(struct passage *p); /* this one, too; else a refusal was told */
bool limits_has_turn(const struct broker *b, uint64_t now);
void limits_take_turn(struct broker *b, uint64_t now); /* whether there is one or not */
void limits_meet(struct broker *b, const char *key);   /* remembers the first */
extern const struct relay_ear limits_ear;

/* broker-passage.c */
struct passage *passage_new(struct broker *b, const struct endpoint *to, const char *program);
struct passage *passage_free(struct passage *p); /* resets what is open; nobody is answered */
enum judgement { ALLOWED, ASKED, REFUSED };
enum judgement passage_judge(struct passage *p); /* by the rules as they are now; sets `name` */
void passage_tell_refusal(struct passage *p);
void passage_seek(struct passage *p); /* ask, look up, dial; may free it */
void passage_open(struct passage *p); /* both sides are there; may free it */
void passage_join(struct passage *p); /* let bytes pass; may free it */
/* Whoever waits gets ERROR, whoever is connected a reset; frees it. */
void passage_fail(struct passage *p, int error);
void passage_answer(struct passage *p, int error); /* if somebody waits; once */
int passage_watch(struct passage *p, uint32_t events, void (*fn)(void *data, uint32_t events));
void passage_unwatch(struct passage *p);

/* broker-hello.c */
/* Wait for the first bytes, and judge the name that TLS asks for; then passage_join(). */
void hello_await(struct passage *p);
void hello_forget(struct passage *p); /* does not wait any more */
void hello_late(struct passage *p);   /* its hello began, and does not end; frees it */

/* broker-call.c */
void call_proceed(struct passage *p); /* at first, and after a wait; may free it */
void call_dialled(struct passage *p, int error);
void call_expect(struct passage *p); /* let it go on; may free it */

/* broker-listen.c */
struct listener *listener_find(struct broker *b, const struct endpoint *at);
/* Bound, not listening. -EAGAIN: no socket yet; -EADDRINUSE: somebody inside has the place. */
int listener_bind(struct broker *b, const struct endpoint *at);
/* P->bound, or the listener that is there, expects P from here on. 0 or -errno as above. */
int listener_expect(struct passage *p);
void listener_forget(struct passage *p); /* P is not expected any more */
void listeners_tick(struct broker *b, uint64_t now);
void listeners_free(struct broker *b);
void listener_normalise(struct endpoint *e); /* 0.0.0.0 and :: are the loopback */

/* broker-expose.c */
int expose_open(struct broker *b, const struct strv *ports, struct err *err);
bool expose_has(const struct broker *b, const struct endpoint *at); /* is it one of ours? */
void expose_resume(struct broker *b);
void expose_free(struct broker *b);

/* broker-evidence.c */
void evidence_take(struct broker *b, int fd, int family);
void evidence_free(struct broker *b);
/* Whom a datagram was for that nobody received: MESSAGE as a raw socket of FAMILY gives it. */
bool unreachable_parse(const uint8_t *message, size_t len, int family, struct endpoint *ret);
