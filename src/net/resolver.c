/* SPDX-License-Identifier: MIT */
#include "net/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "net/broker.h"
#include "net/endpoint.h"
#include "net/names.h"
#include "net/resolver-impl.h"

enum {
	AT_ONCE = 32,        /* datagrams, before others have their turn */
	DATAGRAM_MAX = 1232, /* of ours */
	PORT = 53,
};
#define TOLD_NS UINT64_C(5000000000)
static const uint8_t loopback_v4[] = {127, 0, 0, 1}, loopback_v6[16] = {[15] = 1};

/* -- What to answer --------------------------------------------------------- */

void resolver_answer(struct resolver *resolver, const struct asker *asker, enum dns_code code,
		     const uint8_t *address, const char *ptr)
{
	uint8_t answer[DATAGRAM_MAX];
	size_t size = sizeof(answer), len;

	if (asker->gone)
		return;
	if (!asker->stream && asker->q.payload < size)
		size = asker->q.payload;
	len = dns_answer(asker->head, &asker->q, code, address, ptr, answer, size);
	if (asker->stream)
		stream_send(resolver, asker->stream, answer, len);
	else /* one that is lost is asked for again */
		(void)!sendto(resolver->datagrams.fd, answer, len, MSG_DONTWAIT | MSG_NOSIGNAL,
			      (const struct sockaddr *)&asker->from, asker->from_len);
}

static void tell(const struct resolver *resolver, enum refusal_kind kind, const char *name,
		 const char *why)
{
	const struct refusal refusal = {
		.kind = kind,
		.name = name,
		.why = why,
		.program = resolver->program[0] ? resolver->program : NULL,
	};

	if (resolver->ear && resolver->ear->refused)
		resolver->ear->refused(resolver->ear->data, &refusal);
}

static void refuse(struct resolver *resolver, const char *name)
{
	uint64_t now = clock_mono_ns();

	for (unsigned i = 0; i < RESOLVER_TOLD_MAX; i++)
		if (str_eq(resolver->told[i].name, name) && now - resolver->told[i].at_ns < TOLD_NS)
			return;
	snprintf(resolver->told[resolver->told_next].name, NAME_CANONICAL_MAX, "%s", name);
	resolver->told[resolver->told_next].at_ns = now;
	resolver->told_next = (resolver->told_next + 1) % RESOLVER_TOLD_MAX;
	tell(resolver, REFUSED_NAME, name, NULL);
}

void resolver_answer_name(struct resolver *resolver, const struct asker *asker, const char *name)
{
	struct in6_addr address;
	uint32_t number;

	if (names_number(resolver->names, name, &number) < 0) {
		if (!resolver->told_full)
			tell(resolver, REFUSED_LIMIT, name, "names");
		resolver->told_full = true;
		resolver_answer(resolver, asker, DNS_SERVFAIL, NULL, NULL);
		return;
	}
	if (asker->q.type == DNS_A) {
		names_address(number, AF_INET, &address);
		resolver_answer(resolver, asker, DNS_NOERROR, address.s6_addr + 12, NULL);
	} else if (asker->q.type == DNS_AAAA && resolver->has_v6) {
		names_address(number, AF_INET6, &address);
		resolver_answer(resolver, asker, DNS_NOERROR, address.s6_addr, NULL);
	} else {
		resolver_answer(resolver, asker, DNS_NOERROR, NULL, NULL);
	}
}

static bool is_known(const struct resolver *resolver, const char *name)
{
	for (uint32_t i = 0; i < resolver->names->len; i++)
		if (str_eq(resolver->names->items[i], name))
			return true;
	return false;
}

/* What needs no rule: the loopback inside, and names of addresses that we gave. */
static bool answer_own(struct resolver *resolver, const struct asker *asker)
{
	const struct dns_question *q = &asker->q;
	struct endpoint e = {0};
	const char *ptr;

	if (str_eq(q->name, "localhost") || str_ends(q->name, ".localhost")) {
		resolver_answer(resolver, asker, DNS_NOERROR,
				q->type == DNS_A      ? loopback_v4
				: q->type == DNS_AAAA ? loopback_v6
						      : NULL,
				NULL);
		return true;
	}
	if (!str_ends(q->name, ".arpa"))
		return false;
	ptr = dns_reverse(q->name, &e.address) ? names_find(resolver->names, &e.address) : NULL;
	if (!ptr && (e.address.s6_addr[12] == 127 || IN6_IS_ADDR_LOOPBACK(&e.address)) &&
	    endpoint_is_loopback(&e))
		ptr = "localhost";
	resolver_answer(resolver, asker, ptr ? DNS_NOERROR : DNS_NXDOMAIN, NULL,
			q->type == DNS_PTR ? ptr : NULL);
	return true;
}

void resolver_question(struct resolver *resolver, const struct asker *asker)
{
	const struct dns_question *q = &asker->q;

	if (q->version > 0) {
		resolver_answer(resolver, asker, DNS_BADVERS, NULL, NULL);
	} else if (q->class != DNS_IN) {
		resolver_answer(resolver, asker, DNS_REFUSED, NULL, NULL);
	} else if (q->name[0] == '\0') {
		resolver_answer(resolver, asker, DNS_NXDOMAIN, NULL, NULL);
	} else if (answer_own(resolver, asker)) {
		return;
	} else if (rules_allow_name(resolver->rules, q->name, 0)) {
		if (is_known(resolver, q->name)) /* whether it still exists is seen on dialling */
			resolver_answer_name(resolver, asker, q->name);
		else
			pending_add(resolver, asker);
	} else if (resolver->ear && resolver->ear->ask) {
		resolver_answer_name(resolver, asker, q->name);
	} else {
		refuse(resolver, q->name);
		resolver_answer(resolver, asker, DNS_NXDOMAIN, NULL, NULL);
	}
}

/* -- Datagrams -------------------------------------------------------------- */

static void on_datagram(struct resolver *resolver, const uint8_t *message, size_t len,
			struct asker *asker)
{
	struct endpoint from;
	int r;

	/* Who asks is a client: no answer goes to a server, which might answer it. */
	if (!endpoint_read(&asker->from, asker->from_len, &from) || from.port == PORT ||
	    from.port == 0)
		return;
	r = dns_parse(message, len, &asker->q);
	if (r == -EBADMSG)
		return;
	memcpy(asker->head, message, DNS_HEADER + asker->q.question_len);
	if (r < 0)
		resolver_answer(resolver, asker, r == -ENOTSUP ? DNS_NOTIMP : DNS_FORMERR, NULL,
				NULL);
	else
		resolver_question(resolver, asker);
}

static void on_datagrams(void *data, uint32_t events)
{
	struct resolver *resolver = data;
	uint8_t message[4096];

	(void)events;
	for (int i = 0; i < AT_ONCE; i++) {
		struct asker asker = {.from_len = sizeof(asker.from)};
		ssize_t n = recvfrom(resolver->datagrams.fd, message, sizeof(message),
				     MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&asker.from,
				     &asker.from_len);

		if (n < 0)
			return;
		if ((size_t)n <= sizeof(message))
			on_datagram(resolver, message, (size_t)n, &asker);
	}
}

/* -- What others call ------------------------------------------------------- */

int resolver_new(struct poller *poller, const struct rules *rules, struct names *names,
		 struct lookups *lookups, const struct broker_ear *ear, struct resolver **ret,
		 struct err *err)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return err_oom(err);
	resolver->poller = poller;
	resolver->rules = rules;
	resolver->names = names;
	resolver->lookups = lookups;
	resolver->ear = ear;
	resolver->datagrams.fd = resolver->listener.fd = -1;
	*ret = resolver;
	return 0;
}

void resolver_take(struct resolver *resolver, int datagrams, int stream)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	if (stream >= 0) {
		(void)getsockopt(stream, SOL_SOCKET, SO_DOMAIN, &domain, &len);
		resolver->has_v6 = domain == AF_INET6;
		streams_listen(resolver, stream);
	}
	if (datagrams < 0)
		return;
	/* As much as may be: whoever's question is lost waits for seconds. */
	(void)setsockopt(datagrams, SOL_SOCKET, SO_RCVBUF, &(int){1 << 20}, sizeof(int));
	resolver->datagrams = (struct poll_entry){
		.fd = datagrams, .events = EPOLLIN, .fn = on_datagrams, .data = resolver};
	if (poller_add(resolver->poller, &resolver->datagrams) < 0)
		resolver->datagrams.fd = fd_close(datagrams); /* names do not work, then */
}

void resolver_note_program(struct resolver *resolver, const char *program)
{
	snprintf(resolver->program, sizeof(resolver->program), "%s", program ? program : "");
}

struct resolver *resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return NULL;
	streams_free(resolver);
	pending_free_all(resolver);
	if (resolver->datagrams.fd >= 0) {
		poller_remove(resolver->poller, &resolver->datagrams);
		fd_close(resolver->datagrams.fd);
	}
	free(resolver);
	return NULL;
}
