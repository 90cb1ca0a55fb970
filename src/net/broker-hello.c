/* SPDX-License-Identifier: MIT */
/*
 * The name that TLS asks for, of a connection that was made by name.
 *
 * Many hosts share an address, and who answers there is chosen by the name in the client's
 * hello: one that no rule allows would get through by a name that one does. So the first bytes
 * of the client are looked at before they are passed on. Where the server speaks first, it is
 * not TLS, and nothing is waited for.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "net/broker-impl.h"
#include "net/hello.h"

void hello_forget(struct passage *p)
{
	passage_unwatch(p);
	if (p->reply.fn)
		poller_remove(p->broker->poller, &p->reply);
	p->reply.fn = NULL;
	if (p->state != PASSAGE_HEARS)
		return;
	p->state = PASSAGE_OPEN;
	p->broker->tick.wanted--;
}

static void join(struct passage *p)
{
	hello_forget(p);
	passage_join(p);
}

/* Only what has begun has a time: who says nothing may do so for ever. */
static void await_rest(struct passage *p)
{
	if (p->state == PASSAGE_HEARS)
		return;
	p->state = PASSAGE_HEARS;
	p->until_ns = clock_mono_ns() + HELLO_MS * 1000000ull;
	p->broker->tick.wanted++;
	poller_wake(p->broker->poller);
}

static void refuse(struct passage *p, const char *name)
{
	broker_refuse(p->broker, REFUSED_SNI, &p->to, name[0] ? name : p->name, NULL, p->program);
	passage_free(p);
}

void hello_late(struct passage *p)
{
	refuse(p, "");
}

static void on_client(void *data, uint32_t events)
{
	static uint8_t bytes[HELLO_MAX];
	struct passage *p = data;
	char name[NAME_CANONICAL_MAX];
	ssize_t n = recv(p->inside, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	enum hello hello = n > 0 ? hello_judge(bytes, (size_t)n, name) : HELLO_NONE;

	if (n < 0 && errno == EAGAIN && !(events & (EPOLLERR | EPOLLHUP)))
		return;
	if (hello == HELLO_NAME && !rules_allow_name(&p->broker->rules, name, p->to.port))
		refuse(p, name);
	else if (hello == HELLO_MORE && n == HELLO_MAX)
		refuse(p, "");
	else if (hello == HELLO_MORE && !(events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP)))
		await_rest(p);
	else
		join(p);
}

static void on_server(void *data, uint32_t events)
{
	struct passage *p = data;

	/* Once the client's hello has begun, an answer to a part of it is no greeting. */
	if (p->state == PASSAGE_HEARS && !(events & (EPOLLERR | EPOLLHUP)))
		return;
	join(p);
}

void hello_await(struct passage *p)
{
	/* Told of changes only: bytes that are looked at stay where they are. */
	const uint32_t events = EPOLLIN | EPOLLRDHUP | EPOLLET;

	p->reply = (struct poll_entry){p->outside, events, on_server, p};
	if (poller_add(p->broker->poller, &p->reply) < 0) {
		p->reply.fn = NULL;
		passage_free(p);
		return;
	}
	if (passage_watch(p, events, on_client) < 0)
		passage_free(p);
}
