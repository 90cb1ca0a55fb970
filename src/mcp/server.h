/* SPDX-License-Identifier: MIT */
/*
 * server - the protocol: who may ask what when, and what is answered.
 *
 * Bytes in, bytes out; it owns no descriptor but those of its workers. Calls that need a
 * `pale` process wait, work and end as struct call; everything else is answered at once.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"

struct err;
struct pollfd;
struct server;
struct workspace;

/* Borrowed until server_free(). */
struct server_setup {
	const char *program;           /* `pale` */
	const char *workspace;         /* its root */
	const struct strv *session;    /* options for the session: its boundary, its mode */
	bool staged;                   /* writes are staged */
	const struct workspace *place; /* of the history; NULL: there is none */
	bool has_history;
	const char *preset; /* what a command gets that names none */
	uint64_t exposed;   /* tools, as tools_exposed() has them */
	bool no_workers;    /* every call that needs one ends as if it had said nothing */
};

struct server *server_new(const struct server_setup *setup); /* NULL: no memory */
struct server *server_free(struct server *server);           /* kills what still works */
DEFINE_CLEANUP(struct server *, server_free);

/* What the client sent; and that it will send no more. 0 or -ENOMEM. */
int server_feed(struct server *server, const char *bytes, size_t len);
void server_feed_end(struct server *server);
/* Is there room for more of it? Not while answers pile up. */
bool server_wants_input(const struct server *server);

/* What is to be sent: its bytes, and that LEN of them were. */
const char *server_output(const struct server *server, size_t *ret_len);
void server_sent(struct server *server, size_t len);

/* Turn the wheel: take what workers have brought, start those that wait, tell of
 * progress. 0 or -ENOMEM. */
int server_turn(struct server *server, uint64_t now_ns);
uint64_t server_due(const struct server *server, uint64_t now_ns); /* UINT64_MAX: never */
/* FDS for poll(2): at most SERVER_FDS; returns how many. */
enum { SERVER_FDS = 4 * 80 };
size_t server_fds(const struct server *server, struct pollfd *fds);
size_t server_calls(const struct server *server); /* that are not answered */
/* End all that works: what waits is forgotten. To be called until server_works() says no. */
void server_end_calls(struct server *server, uint64_t now_ns);
bool server_works(const struct server *server);
/* After the last call: end the session, and remove its stage if nothing is in it. */
void server_clean(struct server *server);

/* The configuration has changed: clients are told, and later calls follow it. */
void server_reconfigure(struct server *server, uint64_t exposed);
