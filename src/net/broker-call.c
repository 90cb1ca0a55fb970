/* SPDX-License-Identifier: MIT */
/*
 * Calls that wait for an answer: for honesty, not for safety (see broker-listen.c). A caller
 * that blocks gets the error that the connection outside has; others learn it later, as a reset.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "net/broker-impl.h"
#include "net/host-port.h"

static void wait_for(struct passage *p, enum passage_state state, unsigned ms)
{
	p->state = state;
	p->until_ns = clock_mono_ns() + ms * 1000000ull;
}

/* A port of the loopback that must not be reached: inside nobody listens there, and that is
 * what the kernel answers. Who waits for an own server to come up expects just that; and
 * which ports the host uses is not to be learned. */
static void refuse(struct passage *p)
{
	bool loopback = endpoint_is_loopback(&p->to);

	if (!loopback || host_port_listens(&p->to))
		passage_tell_refusal(p);
	passage_fail(p, loopback ? 0 : ENETUNREACH);
}

void call_expect(struct passage *p)
{
	int r = listener_expect(p);

	if (r == -EAGAIN)
		wait_for(p, PASSAGE_WAITS_SOCKET, SOCKET_MS);
	else if (r == -ENOBUFS || r == -ENOMEM)
		passage_fail(p, EAGAIN);
	else if (r == -EADDRINUSE && !endpoint_is_loopback(&p->to))
		/* A server inside, for every address: not who is meant. */
		passage_fail(p, EADDRINUSE);
	else if (r < 0)
		passage_fail(p, 0); /* the command's own listener wins, or nobody can */
	else
		passage_answer(p, 0);
}

void call_dialled(struct passage *p, int error)
{
	if (error == 0)
		call_expect(p);
	else if (!p->call.waits && error == ECONNREFUSED && !listener_find(p->broker, &p->to))
		passage_fail(p, 0); /* the kernel says so, in the way that the caller expects */
	else
		passage_fail(p, error);
}

void call_proceed(struct passage *p)
{
	struct broker *b = p->broker;
	bool loopback = endpoint_is_loopback(&p->to);
	enum judgement judgement = passage_judge(p);
	uint64_t now = clock_mono_ns();

	if (!b->has_first) {
		wait_for(p, PASSAGE_WAITS_SOCKET, SOCKET_MS);
		return;
	}
	if (loopback && p->bound < 0 && !listener_find(b, &p->to)) {
		int fd = listener_bind(b, &p->to);

		if (fd == -EAGAIN)
			wait_for(p, PASSAGE_WAITS_SOCKET, SOCKET_MS);
		else if (fd < 0)
			passage_fail(p, 0); /* the command's own listener wins */
		if (fd < 0)
			return;
		p->bound = fd;
	}
	if (judgement == REFUSED) {
		refuse(p);
		return;
	}
	if (!limits_admit(p)) {
		passage_fail(p, ENETUNREACH);
		return;
	}
	if (!p->paid && limits_has_turn(b, now)) {
		limits_take_turn(b, now);
		p->paid = true;
	}
	if (!p->paid)
		limits_meet(b, "connect_rate");
	if (!p->paid && p->call.waits)
		wait_for(p, PASSAGE_WAITS_TURN, TURN_MS);
	else if (p->outside < 0 && p->paid && (p->call.waits || loopback))
		passage_seek(p);
	else
		call_expect(p);
}

static bool is_resolver(const struct endpoint *to)
{
	struct in6_addr resolver;

	if (to->port != 53)
		return false;
	resolver = (struct in6_addr){.s6_addr = {[10] = 0xff, 0xff, 198, 18, 0, 1}};
	return IN6_ARE_ADDR_EQUAL(&to->address, &resolver);
}

/* A datagram socket. To connect one sends nothing, and the C library does it to sort the
 * addresses of a name; what is sent to a name in the end is seen by broker-evidence.c. */
static int judge_datagrams(struct broker *b, const struct endpoint *to, const char *program)
{
	if (endpoint_is_loopback(to) || names_is_synthetic(&to->address))
		return 0;
	broker_refuse(b, REFUSED_UDP, to, NULL, NULL, program);
	return ENETUNREACH;
}

void broker_connect(struct broker *b, const struct broker_call *call)
{
	struct endpoint to = call->to;
	struct passage *p;

	listener_normalise(&to);
	if (is_resolver(&to)) {
		resolver_note_program(b->resolver, call->program);
		call->answer(call->data, call->id, 0);
		return;
	}
	if (!call->stream) {
		call->answer(call->data, call->id, judge_datagrams(b, &to, call->program));
		return;
	}
	/* Nobody can listen there; or outside we do, and it leads back to a server that is not up. */
	if (to.port == 0 || expose_has(b, &to)) {
		call->answer(call->data, call->id, 0);
		return;
	}
	p = passage_new(b, &to, call->program);
	if (!p) {
		call->answer(call->data, call->id, ENETUNREACH);
		return;
	}
	p->call = *call;
	p->call.program = NULL;
	call_proceed(p);
}

static void forget(struct broker *b, const void *data, const uint64_t *id)
{
	for (struct passage *p = b->passages, *next; p; p = next) {
		next = p->next;
		if (p->call.answer && p->call.data == data && (!id || p->call.id == *id))
			passage_free(p);
	}
}

void broker_forget(struct broker *b, void *data)
{
	forget(b, data, NULL);
}

void broker_cancel(struct broker *b, void *data, uint64_t id)
{
	forget(b, data, &id);
}
