/* SPDX-License-Identifier: MIT */
#include "net/dial.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "net/poller.h"
#include "net/relay.h"

enum { ADDRESSES_MAX = 16 };

struct attempt {
	struct dial *dial;
	struct endpoint to;
	struct poll_entry entry; /* its fd is -1: not being tried */
};

struct dial {
	struct dials *dials;
	struct dial *next, **at; /* in the list of all; the list's end, and who points here */
	dial_fn *fn;
	void *data;
	struct dial **slot; /* where its owner knows it */
	uint64_t begun_ns, next_ns;
	int error;         /* of the last that failed */
	size_t len, begun; /* how many there are, how many were tried */
	size_t open;       /* how many are being tried */
	struct attempt tries[];
};

struct dials {
	struct poller *poller;
	struct poller_tick tick;
	struct dial *first;
};

static void attempt_end(struct attempt *a)
{
	poller_remove(a->dial->dials->poller, &a->entry);
	a->entry.fd = fd_close(a->entry.fd);
	a->dial->open--;
}

void dial_cancel(struct dials *dials, struct dial *dial)
{
	if (!dial)
		return;
	for (size_t i = 0; i < dial->begun; i++)
		if (dial->tries[i].entry.fd >= 0)
			attempt_end(&dial->tries[i]);
	*dial->at = dial->next;
	if (dial->next)
		dial->next->at = dial->at;
	dials->tick.wanted--;
	free(dial);
}

static void finish(struct dial *dial, int fd, const struct endpoint *to)
{
	struct endpoint copy = *to;
	dial_fn *fn = dial->fn;
	void *data = dial->data;

	*dial->slot = NULL;
	dial_cancel(dial->dials, dial);
	fn(data, fd, &copy);
}

static void on_attempt(void *data, uint32_t events);

/* 0: connected; -EINPROGRESS; else -errno. */
static int attempt_begin(struct attempt *a)
{
	int family = endpoint_is_v4(&a->to) ? AF_INET : AF_INET6;
	int r, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage address;
	socklen_t len = endpoint_write(&a->to, family, &address);

	if (fd < 0)
		return -errno;
	socket_tune(fd, endpoint_is_loopback(&a->to));
	r = connect(fd, (struct sockaddr *)&address, len) < 0 ? -errno : 0;
	/* What is on this machine has answered when connect() returns, but only
	 * a second call tells. */
	if (r == -EINPROGRESS && endpoint_is_loopback(&a->to)) {
		r = connect(fd, (struct sockaddr *)&address, len) < 0 ? -errno : 0;
		if (r == -EALREADY)
			r = -EINPROGRESS;
	}
	if (r < 0 && r != -EINPROGRESS) {
		fd_close(fd);
		return r;
	}
	a->entry = (struct poll_entry){fd, EPOLLOUT, on_attempt, a};
	if (r < 0) {
		int added = poller_add(a->dial->dials->poller, &a->entry);

		if (added < 0) {
			a->entry.fd = fd_close(fd);
			return added;
		}
		a->dial->open++;
	}
	return r;
}

/* Begin with the next one that does not fail at once. True: the dial has ended. */
static bool try_next(struct dial *dial)
{
	while (dial->begun < dial->len) {
		struct attempt *a = &dial->tries[dial->begun++];
		int r = attempt_begin(a);

		dial->next_ns = clock_mono_ns() + DIAL_NEXT_MS * 1000000ull;
		if (r == -EINPROGRESS)
			return false;
		if (r == 0) {
			finish(dial, take_fd(a->entry.fd), &a->to);
			return true;
		}
		dial->error = r;
	}
	if (dial->open > 0)
		return false;
	finish(dial, dial->error, &dial->tries[dial->len - 1].to);
	return true;
}

static void on_attempt(void *data, uint32_t events)
{
	struct attempt *a = data;
	struct dial *dial = a->dial;
	socklen_t len = sizeof(int);
	int error = 0;

	(void)events;
	if (getsockopt(a->entry.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error == 0) {
		int fd = a->entry.fd;

		poller_remove(dial->dials->poller, &a->entry);
		a->entry.fd = -1;
		finish(dial, fd, &a->to);
		return;
	}
	attempt_end(a);
	dial->error = -error;
	(void)try_next(dial);
}

/* All that are due; FN may end any other, so it begins anew after each. */
static bool see_to_one(struct dials *dials, uint64_t now)
{
	for (struct dial *dial = dials->first; dial; dial = dial->next) {
		if (now - dial->begun_ns >= DIAL_MS * 1000000ull) {
			finish(dial, -ETIMEDOUT, &dial->tries[dial->begun - 1].to);
			return true;
		}
		if (dial->begun < dial->len && now >= dial->next_ns && try_next(dial))
			return true;
	}
	return false;
}

static void on_tick(void *data)
{
	uint64_t now = clock_mono_ns();

	while (see_to_one(data, now))
		;
}

int dials_new(struct poller *poller, struct dials **ret)
{
	struct dials *dials = calloc(1, sizeof(*dials));

	if (!dials)
		return -ENOMEM;
	dials->poller = poller;
	dials->tick = (struct poller_tick){.fn = on_tick, .data = dials};
	poller_add_tick(poller, &dials->tick);
	*ret = dials;
	return 0;
}

struct dials *dials_free(struct dials *dials)
{
	if (!dials)
		return NULL;
	while (dials->first)
		dial_cancel(dials, dials->first);
	poller_remove_tick(dials->poller, &dials->tick);
	free(dials);
	return NULL;
}

/* In their order, but the families by turns: where one of the two leads nowhere, the other
 * is not far. */
static void set_addresses(struct dial *dial, const struct in6_addr *addresses, uint16_t port)
{
	bool used[ADDRESSES_MAX] = {false};
	bool last_v4 = false;

	for (size_t n = 0; n < dial->len; n++) {
		size_t pick = dial->len;

		for (size_t i = 0; i < dial->len; i++) {
			bool v4 = IN6_IS_ADDR_V4MAPPED(&addresses[i]);

			if (used[i] || (pick < dial->len && (n == 0 || v4 == last_v4)))
				continue;
			pick = i;
			if (n == 0 || v4 != last_v4)
				break;
		}
		used[pick] = true;
		last_v4 = IN6_IS_ADDR_V4MAPPED(&addresses[pick]);
		dial->tries[n].to = (struct endpoint){addresses[pick], port};
		dial->tries[n].dial = dial;
		dial->tries[n].entry.fd = -1;
	}
}

int dial_start(struct dials *dials, const struct in6_addr *addresses, size_t len, uint16_t port,
	       dial_fn *fn, void *data, struct dial **ret)
{
	struct dial *dial;

	*ret = NULL;
	if (len == 0)
		return -EHOSTUNREACH;
	if (len > ADDRESSES_MAX)
		len = ADDRESSES_MAX;
	dial = calloc(1, sizeof(*dial) + len * sizeof(dial->tries[0]));
	if (!dial)
		return -ENOMEM;
	*dial = (struct dial){.dials = dials, .fn = fn, .data = data, .slot = ret, .len = len};
	dial->begun_ns = clock_mono_ns();
	set_addresses(dial, addresses, port);
	dial->next = dials->first;
	dial->at = &dials->first;
	if (dial->next)
		dial->next->at = &dial->next;
	dials->first = dial;
	dials->tick.wanted++;
	*ret = dial;
	if (!try_next(dial))
		poller_wake(dials->poller);
	return 0;
}
