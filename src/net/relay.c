/* SPDX-License-Identifier: MIT */
#include "net/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "net/poller.h"

enum {
	CHUNK = 1024 * 1024, /* in a pipe at once, */
	LARGE = 16,          /* for as many; the others have what pipe(2) gives: a user's pipes
			      * share one allowance, and it is not only ours */
	TURN = 2048 * 1024,  /* passed in one go, before others have theirs */
	PIPES_KEPT = 8,
};

struct pipe {
	int in, out; /* where bytes go in, and come out */
	bool large;
};

enum { INSIDE, OUTSIDE };

struct side {
	struct relay *relay;
	struct poll_entry entry;
	bool readable, writable; /* as far as is known; EPOLLET tells only of changes */
	/* What is read here and written to the other side. */
	struct pipe pipe; /* {-1, -1} while it is empty */
	size_t held;      /* bytes in it */
	bool ended;       /* nothing more will be read */
	bool told;        /* and the other side knows */
};

struct relay {
	struct relays *relays;
	struct relay *next, **at;
	void *owner;
	struct side sides[2];
};

struct relays {
	struct poller *poller;
	struct relay_ear ear;
	void *data;
	struct relay *first;
	struct relay *current; /* being pumped; NULL: it is gone */
	struct pipe free_pipes[PIPES_KEPT];
	size_t free_len;
	unsigned large;
};

int socket_reset(int fd)
{
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1},
				 sizeof(struct linger));
	return fd_close(fd);
}

void socket_tune(int fd, bool near)
{
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	/* An urgent byte comes along like any other. */
	(void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &(int){1}, sizeof(int));
	if (near) {
		/* Between two sockets of one machine there is nothing to be measured or paced:
		 * that would cost more than the bytes. */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
		return;
	}
	/* What the command asks of its own socket ends here, so a peer that is gone without a
	 * word is found by us: after four minutes. */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){120}, sizeof(int));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){30}, sizeof(int));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){4}, sizeof(int));
}

static int pipe_lend(struct relays *relays, struct pipe *ret)
{
	int fds[2];

	if (relays->free_len > 0) {
		*ret = relays->free_pipes[--relays->free_len];
		return 0;
	}
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	*ret = (struct pipe){.in = fds[1], .out = fds[0]};
	ret->large = relays->large < LARGE && fcntl(fds[1], F_SETPIPE_SZ, CHUNK) >= 0;
	relays->large += ret->large;
	return 0;
}

static void pipe_close(struct relays *relays, struct pipe *pipe)
{
	relays->large -= pipe->large;
	pipe->in = fd_close(pipe->in);
	pipe->out = fd_close(pipe->out);
}

static void pipe_return(struct relays *relays, struct side *side)
{
	if (side->pipe.in < 0)
		return;
	if (side->held == 0 && relays->free_len < PIPES_KEPT)
		relays->free_pipes[relays->free_len++] = side->pipe;
	else
		pipe_close(relays, &side->pipe);
	side->pipe = (struct pipe){-1, -1, false};
}

static void unlink_relay(struct relay *relay)
{
	struct relays *relays = relay->relays;

	*relay->at = relay->next;
	if (relay->next)
		relay->next->at = relay->at;
	if (relays->current == relay)
		relays->current = NULL;
	for (int i = INSIDE; i <= OUTSIDE; i++) {
		if (relay->sides[i].entry.data)
			poller_remove(relays->poller, &relay->sides[i].entry);
		pipe_return(relays, &relay->sides[i]);
	}
}

void relay_reset(struct relays *relays, struct relay *relay)
{
	(void)relays;
	unlink_relay(relay);
	socket_reset(relay->sides[INSIDE].entry.fd);
	socket_reset(relay->sides[OUTSIDE].entry.fd);
	free(relay);
}

static void end(struct relay *relay, bool reset)
{
	struct relays *relays = relay->relays;

	relays->ear.ended(relays->data, relay);
	if (reset) {
		relay_reset(relays, relay);
		return;
	}
	unlink_relay(relay);
	fd_close(relay->sides[INSIDE].entry.fd);
	fd_close(relay->sides[OUTSIDE].entry.fd);
	free(relay);
}

enum pumped {
	PUMP_WAITS, /* for one of the two sides */
	PUMP_MORE,  /* has had its share */
	PUMP_GONE,  /* the relay has ended */
};

/* Nothing is left of what may pass: is there more, or is this the end of it? */
static ssize_t probe(struct side *from)
{
	char byte;

	return recv(from->entry.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
}

/* splice(2) stops before an urgent byte, and says that there is nothing, or no more: only a read gets
 * past it. N: what it said. */
static ssize_t take_urgent(const struct side *from, ssize_t n)
{
	int at_mark = 0;
	char byte;

	if (ioctl(from->entry.fd, SIOCATMARK, &at_mark) < 0 || !at_mark ||
	    recv(from->entry.fd, &byte, 1, MSG_DONTWAIT) != 1)
		return n;
	return write(from->pipe.in, &byte, 1) == 1 ? 1 : -EPIPE;
}

/* Bytes into FROM's empty pipe; 0: the end; -EAGAIN: none yet; -EDQUOT: none may pass. */
static ssize_t fill(struct relays *relays, struct side *from, bool sent)
{
	uint64_t left = relays->ear.left(relays->data, sent);
	ssize_t n;
	int r;

	if (left == 0) {
		n = probe(from);
		if (n > 0)
			return -EDQUOT;
	} else {
		if (from->pipe.in < 0) {
			r = pipe_lend(relays, &from->pipe);
			if (r < 0)
				return r;
		}
		n = splice(from->entry.fd, NULL, from->pipe.in, NULL, left < CHUNK ? left : CHUNK,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n < 0)
			n = -errno;
		return n == 0 || n == -EAGAIN ? take_urgent(from, n) : n;
	}
	return n < 0 ? -errno : n;
}

static ssize_t drain(struct side *from, struct side *to)
{
	ssize_t n = splice(from->pipe.out, NULL, to->entry.fd, NULL, from->held,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	return n < 0 ? -errno : n;
}

enum step { STEP_ON, STEP_STOP, STEP_GONE };

static enum step broken(struct relay *relay)
{
	end(relay, true);
	return STEP_GONE;
}

/* Fill the pipe, if it is empty: it is never full then, and EAGAIN always means the socket. */
static enum step take(struct relay *relay, int which)
{
	struct relays *relays = relay->relays;
	struct side *from = &relay->sides[which];
	bool sent = which == INSIDE;
	ssize_t n;

	while (from->held == 0 && !from->ended && from->readable) {
		n = fill(relays, from, sent);
		if (n == -EAGAIN) {
			from->readable = false;
		} else if (n == -EDQUOT) {
			relays->ear.exceeded(relays->data, relay, sent);
			return relays->current ? STEP_STOP : STEP_GONE;
		} else if (n < 0 && n != -EINTR) {
			return broken(relay);
		} else if (n >= 0) {
			from->ended = n == 0;
			from->held = (size_t)n;
			relays->ear.passed(relays->data, (uint64_t)n, sent);
		}
	}
	return from->held > 0 ? STEP_ON : STEP_STOP;
}

static enum step give(struct relay *relay, int which, size_t *passed)
{
	struct side *from = &relay->sides[which], *to = &relay->sides[!which];
	ssize_t n;

	if (!to->writable)
		return STEP_STOP;
	n = drain(from, to);
	if (n == -EAGAIN)
		to->writable = false;
	else if (n < 0 && n != -EINTR)
		return broken(relay);
	else if (n > 0) {
		from->held -= (size_t)n;
		*passed += (size_t)n;
	}
	return STEP_ON;
}

/* Whoever said that nothing more will come may still wait for an answer, or be gone altogether: the
 * kernel finds out. Else what a command left would be held for as long as its server likes. */
static void watch_half(int fd)
{
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){30}, sizeof(int));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){15}, sizeof(int));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){4}, sizeof(int));
}

/* One direction, as far as it goes. */
static enum pumped pump(struct relay *relay, int which)
{
	struct side *from = &relay->sides[which];
	enum step step = STEP_ON;
	size_t passed = 0;

	while (step == STEP_ON && passed < TURN) {
		step = take(relay, which);
		if (step == STEP_ON)
			step = give(relay, which, &passed);
	}
	if (step == STEP_GONE)
		return PUMP_GONE;
	if (from->held == 0) {
		pipe_return(relay->relays, from);
		if (from->ended && !from->told) {
			from->told = true;
			(void)shutdown(relay->sides[!which].entry.fd, SHUT_WR);
			if (which == INSIDE)
				watch_half(from->entry.fd);
		}
	}
	return passed < TURN ? PUMP_WAITS : PUMP_MORE;
}

/* Of both: either may be the one that is ready. */
static void tell_again(struct relay *relay)
{
	for (int i = INSIDE; i <= OUTSIDE; i++)
		(void)poller_change(relay->relays->poller, &relay->sides[i].entry,
				    relay->sides[i].entry.events);
}

static void pump_both(struct relay *relay)
{
	struct relays *relays = relay->relays;
	enum pumped results[2];

	relays->current = relay;
	for (int i = INSIDE; i <= OUTSIDE; i++) {
		results[i] = pump(relay, i);
		if (results[i] == PUMP_GONE)
			return;
	}
	relays->current = NULL;
	if (relay->sides[INSIDE].told && relay->sides[OUTSIDE].told)
		end(relay, false);
	else if (results[INSIDE] == PUMP_MORE || results[OUTSIDE] == PUMP_MORE)
		tell_again(relay);
}

/* What came before the reset can be read still: many a server answers, and then resets
 * since it did not read all of the request. */
static void pass_reset(struct side *side)
{
	struct relay *relay = side->relay;

	side->readable = true;
	relay->relays->current = relay;
	if (pump(relay, side == &relay->sides[OUTSIDE]) != PUMP_GONE)
		end(relay, true);
}

static void on_side(void *data, uint32_t events)
{
	struct side *side = data;

	side->readable |= events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP);
	side->writable |= events & EPOLLOUT;
	if (events & EPOLLERR)
		pass_reset(side);
	else
		pump_both(side->relay);
}

static int side_begin(struct relay *relay, int which)
{
	struct side *side = &relay->sides[which];
	int r;

	side->entry.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
	side->entry.fn = on_side;
	side->entry.data = side;
	r = poller_add(relay->relays->poller, &side->entry);
	if (r < 0)
		side->entry.data = NULL;
	return r;
}

int relay_start(struct relays *relays, int inside, int outside, void *owner, struct relay **ret)
{
	struct relay *relay = calloc(1, sizeof(*relay));
	int r;

	if (!relay) {
		socket_reset(inside);
		socket_reset(outside);
		return -ENOMEM;
	}
	*relay = (struct relay){.relays = relays, .next = relays->first, .owner = owner};
	relay->at = &relays->first;
	if (relay->next)
		relay->next->at = &relay->next;
	relays->first = relay;
	for (int i = INSIDE; i <= OUTSIDE; i++)
		relay->sides[i] = (struct side){.relay = relay,
						.entry.fd = i == INSIDE ? inside : outside,
						.pipe = {-1, -1, false}};
	r = side_begin(relay, INSIDE);
	if (r == 0)
		r = side_begin(relay, OUTSIDE);
	if (r < 0) {
		relay_reset(relays, relay);
		return r;
	}
	*ret = relay;
	return 0;
}

void *relay_owner(const struct relay *relay)
{
	return relay->owner;
}

int relays_new(struct poller *poller, const struct relay_ear *ear, void *data, struct relays **ret)
{
	struct relays *relays = calloc(1, sizeof(*relays));

	if (!relays)
		return -ENOMEM;
	*relays = (struct relays){.poller = poller, .ear = *ear, .data = data};
	*ret = relays;
	return 0;
}

struct relays *relays_free(struct relays *relays)
{
	if (!relays)
		return NULL;
	while (relays->first)
		relay_reset(relays, relays->first);
	while (relays->free_len > 0)
		pipe_close(relays, &relays->free_pipes[--relays->free_len]);
	free(relays);
	return NULL;
}
