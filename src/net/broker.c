/* SPDX-License-Identifier: MIT */
#include "net/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "net/broker-impl.h"
#include "plan/plan.h"

#define SECOND_NS 1000000000ull

#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

void broker_refuse(struct broker *b, enum refusal_kind kind, const struct endpoint *to,
		   const char *name, const char *why, const char *program)
{
	struct refusal refusal = {kind, name, *to, why, program};

	if (b->ear.refused)
		b->ear.refused(b->ear.data, &refusal);
}

void broker_want_more(struct broker *b)
{
	if (b->asked_more || !b->has_first)
		return;
	b->asked_ns = clock_mono_ns();
	b->asked_more = b->more(b->more_data) >= 0;
}

/* One by one, when it is needed: most of a batch never is. */
static void prepare_socket(const struct broker *b, int fd)
{
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	socket_tune(fd, true); /* what it accepts inherits that */
	if (!b->has_v6)
		return;
	(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
	(void)setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &(int){1}, sizeof(int));
}

int broker_socket(struct broker *b)
{
	int fd = b->pool_len > 0 ? b->pool[--b->pool_len] : -1;

	if (fd >= 0)
		prepare_socket(b, fd);
	if (b->pool_len < POOL_LOW)
		broker_want_more(b);
	return fd;
}

/* Calls that wait have a time; so have listeners, and connections that are expected. */
static void see_to(struct passage *p, uint64_t now)
{
	struct broker *b = p->broker;
	bool late = now >= p->until_ns;

	switch (p->state) {
	case PASSAGE_WAITS_TURN:
		if (limits_has_turn(b, now))
			call_proceed(p);
		else if (late)
			passage_fail(p, ENETUNREACH);
		break;
	case PASSAGE_WAITS_SOCKET:
		if (late)
			passage_fail(p, ENETUNREACH);
		break;
	case PASSAGE_KEPT:
		if (late && p->outside >= 0) {
			p->outside = socket_reset(p->outside);
			p->until_ns += (EXPECTED_MS - KEPT_MS) * 1000000ull;
		} else if (late) {
			passage_free(p);
		}
		break;
	case PASSAGE_DIALS:
		if (p->exposed && late) {
			passage_free(p);
		} else if (p->dial && p->call.answer && !p->call.waits) {
			/* The host's own loopback, and no answer: not to be waited for. */
			dial_cancel(b->dials, take_ptr(p->dial));
			call_expect(p);
		}
		break;
	case PASSAGE_HEARS:
		if (late)
			hello_late(p);
		break;
	case PASSAGE_NEW:
	case PASSAGE_ASKS:
	case PASSAGE_LOOKS_UP:
	case PASSAGE_OPEN:
		break;
	}
}

static void on_tick(void *data)
{
	struct broker *b = data;
	uint64_t now = clock_mono_ns();

	for (struct passage *p = b->passages, *next; p; p = next) {
		next = p->next;
		see_to(p, now);
	}
	listeners_tick(b, now);
	expose_resume(b);
	/* An order may have been lost, or come back empty. */
	if (b->asked_more && now - b->asked_ns >= SECOND_NS)
		b->asked_more = false;
	if (b->pool_len < POOL_LOW)
		broker_want_more(b);
}

/* For a connection of the command's, and where it serves, for one that comes to it. */
static unsigned fds_of_one(const struct plan_net *net)
{
	return net->expose.len > 0 ? 2 * FDS_OF_ONE : FDS_OF_ONE;
}

static void set_limits(struct broker *b, const struct plan_net *net)
{
	b->connections_max = net->connections;
	b->fds_of_one = fds_of_one(net);
	b->rate = net->rate;
	b->left[0] = net->received;
	b->left[1] = net->sent;
	b->asks = net->asks;
}

static int make_parts(struct broker *b, const struct plan_net *net, struct loop *loop,
		      struct err *err)
{
	int r = poller_new(loop, &b->poller, err);

	if (r < 0)
		return r;
	b->tick = (struct poller_tick){.fn = on_tick, .data = b};
	poller_add_tick(b->poller, &b->tick);
	if (dials_new(b->poller, &b->dials) < 0 ||
	    relays_new(b->poller, &limits_ear, b, &b->relays) < 0)
		return err_oom(err);
	r = lookups_new(b->poller, &b->rules, &b->lookups, err);
	if (r == 0)
		r = resolver_new(b->poller, &b->rules, &b->names, b->lookups, &b->ear, &b->resolver,
				 err);
	if (r == 0)
		r = expose_open(b, &net->expose, err);
	return r;
}

/* Without descriptors every connection would be refused, and look like the policy's doing. */
static int check_room(const struct plan_net *net, struct err *err)
{
	uint64_t connections = net->connections;
	uint64_t needed = connections < CONNECTIONS_MAX ? connections : CONNECTIONS_MAX;
	struct rlimit limit;

	if (needed <= CONNECTIONS_CUT && needed > CONNECTIONS_MIN)
		needed = CONNECTIONS_MIN;
	needed = FDS_OF_OTHERS + needed * fds_of_one(net);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max >= needed)
		return 0;
	err_set(err, ERR_SYSTEM, -EMFILE,
		"a network of %llu connections takes %llu open files at least, and "
		"the limit is %llu",
		(unsigned long long)connections, (unsigned long long)needed,
		(unsigned long long)limit.rlim_max);
	return err_hint(err, -EMFILE,
			"raise the hard limit (ulimit -Hn; LimitNOFILE= of a service), or lower "
			"`connections`");
}

int broker_new(const struct plan_net *net, struct loop *loop, int (*more)(void *more_data),
	       void *more_data, const struct broker_ear *ear, struct broker **ret, struct err *err)
{
	struct broker *b = calloc(1, sizeof(*b));
	int r = check_room(net, err);

	if (r < 0 || !b) {
		free(b);
		return r < 0 ? r : err_oom(err);
	}
	b->more = more;
	b->more_data = more_data;
	b->ear = *ear;
	if (!net->asks)
		b->ear.ask = NULL;
	b->passages_end = &b->passages;
	b->evidence[0].fd = b->evidence[1].fd = -1;
	set_limits(b, net);
	r = rules_init(&b->rules, net);
	if (r < 0)
		err_oom(err);
	else
		r = make_parts(b, net, loop, err);
	if (r < 0) {
		broker_free(b);
		return r;
	}
	*ret = b;
	return 0;
}

struct broker *broker_free(struct broker *b)
{
	if (!b)
		return NULL;
	while (b->passages)
		passage_free(b->passages);
	listeners_free(b);
	evidence_free(b);
	expose_free(b);
	resolver_free(b->resolver);
	if (b->lookups)
		lookups_free(b->lookups);
	relays_free(b->relays);
	dials_free(b->dials);
	if (b->poller)
		poller_remove_tick(b->poller, &b->tick);
	poller_free(b->poller);
	while (b->pool_len > 0)
		fd_close(b->pool[--b->pool_len]);
	if (b->has_first) {
		(void)sigaction(SIGPIPE, &b->old_pipe, NULL);
		(void)setrlimit(RLIMIT_NOFILE, &b->old_fds);
	}
	names_release(&b->names);
	rules_release(&b->rules);
	free(b);
	return NULL;
}

/* The command has its own of both already: it was started before. */
static void prepare_process(struct broker *b)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	uint64_t room, wanted = b->connections_max;
	struct rlimit limit;

	(void)sigaction(SIGPIPE, &ignore, &b->old_pipe);
	if (wanted > CONNECTIONS_MAX)
		wanted = CONNECTIONS_MAX;
	if (getrlimit(RLIMIT_NOFILE, &b->old_fds) < 0)
		return;
	limit = b->old_fds;
	if (limit.rlim_cur < FDS_OF_OTHERS + wanted * b->fds_of_one)
		limit.rlim_cur = FDS_OF_OTHERS + wanted * b->fds_of_one;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		limit = b->old_fds;
	/* A connection for which there is no descriptor is refused before it is made. */
	room = limit.rlim_cur > FDS_OF_OTHERS ? limit.rlim_cur - FDS_OF_OTHERS : 0;
	b->connections_max = wanted < room / b->fds_of_one ? wanted : room / b->fds_of_one;
}

static int socket_option(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

static void take_stream(struct broker *b, int fd, bool is_v6)
{
	if (b->pool_len == POOL_MAX) {
		fd_close(fd);
		return;
	}
	b->has_v6 |= is_v6;
	b->pool[b->pool_len++] = fd;
}

/* Where the commands of a sandbox ask for names. */
static void open_resolver(struct broker *b, int datagrams)
{
	struct endpoint at = {.address.s6_addr = {[10] = 0xff, 0xff, 198, 18, 0, 1}, .port = 53};
	struct sockaddr_storage address;
	socklen_t len = endpoint_write(&at, AF_INET, &address);
	int stream = listener_bind(b, &at);

	if (stream >= 0 && listen(stream, BACKLOG) < 0)
		stream = fd_close(stream);
	if (datagrams >= 0 && bind(datagrams, (struct sockaddr *)&address, len) < 0)
		datagrams = fd_close(datagrams);
	resolver_take(b->resolver, datagrams, stream < 0 ? -1 : stream);
}

void broker_take(struct broker *b, const int *fds, size_t len)
{
	bool first = !b->has_first;
	int datagrams = -1;

	if (first)
		prepare_process(b);
	b->has_first = true;
	b->asked_more = false;
	for (size_t i = 0; i < len; i++) {
		int domain = socket_option(fds[i], SO_DOMAIN),
		    type = socket_option(fds[i], SO_TYPE);

		if (type == SOCK_STREAM)
			take_stream(b, fds[i], domain == AF_INET6);
		else if (type == SOCK_RAW && (domain == AF_INET || domain == AF_INET6))
			evidence_take(b, fds[i], domain);
		else if (type == SOCK_DGRAM && domain == AF_INET && datagrams < 0)
			datagrams = fds[i];
		else
			fd_close(fds[i]);
	}
	if (first)
		open_resolver(b, datagrams);
	else
		fd_close(datagrams);
	for (struct passage *p = b->passages, *next; p && b->pool_len > 0; p = next) {
		next = p->next;
		if (p->state == PASSAGE_WAITS_SOCKET)
			call_proceed(p);
	}
	expose_resume(b);
}

/* By its name, and by the address that the name led to. */
static bool still_allowed(struct passage *p)
{
	enum judgement judgement = passage_judge(p);

	if (judgement == REFUSED || (judgement == ASKED && p->state > PASSAGE_ASKS))
		return false;
	return !p->name || p->dialled.port == 0 ||
	       !lookup_complaint(&p->broker->rules, &p->dialled);
}

int broker_narrow(struct broker *b, const char *rule, unsigned *ret_gone, struct err *err)
{
	int r = rules_narrow(&b->rules, rule, err);

	if (r < 0)
		return r;
	*ret_gone = 0;
	for (struct passage *p = b->passages, *next; p; p = next) {
		next = p->next;
		if (still_allowed(p))
			continue;
		passage_fail(p, ENETUNREACH);
		++*ret_gone;
	}
	return 0;
}

int broker_widen(struct broker *b, const char *rule, struct err *err)
{
	return rules_widen(&b->rules, rule, err);
}

const struct rules *broker_rules(const struct broker *b)
{
	return &b->rules;
}

void broker_usage(const struct broker *b, struct broker_usage *ret)
{
	*ret = b->usage;
}
