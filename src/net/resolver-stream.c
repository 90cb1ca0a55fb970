/* SPDX-License-Identifier: MIT */
/* Questions over TCP: two bytes of length before each message. A stream has one question at a
 * time; what follows waits in its socket. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "net/resolver-impl.h"

enum { QUESTION_MAX = 1024, AT_ONCE = 16 };
#define SECOND_NS UINT64_C(1000000000)

struct stream {
	struct resolver *owner;
	struct poll_entry entry;
	uint8_t bytes[2 + QUESTION_MAX];
	size_t len;
	bool asked; /* an answer is to be sent before more is read */
	uint64_t until_ns;
	struct stream *next;
};

static void stream_free(struct stream *stream)
{
	struct resolver *resolver = stream->owner;
	struct stream **at = &resolver->streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	resolver->streams_len--;
	resolver->tick.wanted--;
	pending_forget(resolver, stream);
	poller_remove(resolver->poller, &stream->entry);
	fd_close(stream->entry.fd);
	free(stream);
}

/* How long a message is with its length before it; 0: not all of that is there yet. */
static size_t wanted(const struct stream *stream)
{
	return stream->len < 2 ? 0 : 2 + (size_t)(stream->bytes[0] << 8 | stream->bytes[1]);
}

/* A whole message. It may be answered, and the stream freed, before this returns. */
static void on_message(struct stream *stream)
{
	struct resolver *resolver = stream->owner;
	struct asker asker = {.stream = stream};
	int r = dns_parse(stream->bytes + 2, stream->len - 2, &asker.q);

	if (r == -EBADMSG) {
		stream_free(stream);
		return;
	}
	memcpy(asker.head, stream->bytes + 2, DNS_HEADER + asker.q.question_len);
	stream->len = 0;
	stream->asked = true;
	if (poller_change(resolver->poller, &stream->entry, 0) < 0) {
		stream_free(stream);
		return;
	}
	if (r < 0)
		resolver_answer(resolver, &asker, r == -ENOTSUP ? DNS_NOTIMP : DNS_FORMERR, NULL,
				NULL);
	else
		resolver_question(resolver, &asker);
}

static void on_readable(void *data, uint32_t events)
{
	struct stream *stream = data;

	if (stream->asked) { /* nothing is waited for but the other end's hang-up */
		if (events & (EPOLLERR | EPOLLHUP))
			stream_free(stream);
		return;
	}
	for (;;) {
		size_t want = wanted(stream), whole = want ? want : 2;
		ssize_t n;

		if (want > sizeof(stream->bytes)) {
			stream_free(stream);
			return;
		}
		if (want && stream->len == want) {
			on_message(stream);
			return;
		}
		n = recv(stream->entry.fd, stream->bytes + stream->len, whole - stream->len,
			 MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			stream_free(stream);
			return;
		}
		stream->len += (size_t)n;
	}
}

void stream_send(struct resolver *resolver, struct stream *stream, const uint8_t *answer,
		 size_t len)
{
	uint8_t framed[2 + QUESTION_MAX * 2] = {(uint8_t)(len >> 8), (uint8_t)len};

	memcpy(framed + 2, answer, len);
	/* The buffer is empty for who reads its answers: what does not fit ends it. */
	if (send(stream->entry.fd, framed, len + 2, MSG_DONTWAIT | MSG_NOSIGNAL) !=
		    (ssize_t)len + 2 ||
	    poller_change(resolver->poller, &stream->entry, EPOLLIN) < 0) {
		stream_free(stream);
		return;
	}
	stream->asked = false;
	stream->until_ns = clock_mono_ns() + RESOLVER_STREAM_S * SECOND_NS;
}

static void on_tick(void *data)
{
	struct resolver *resolver = data;
	struct stream *stream = resolver->streams;
	uint64_t now = clock_mono_ns();

	if (resolver->paused &&
	    poller_change(resolver->poller, &resolver->listener, EPOLLIN) == 0) {
		resolver->paused = false;
		resolver->tick.wanted--;
	}
	while (stream) {
		struct stream *next = stream->next;

		if (!stream->asked && stream->until_ns <= now)
			stream_free(stream);
		stream = next;
	}
}

static void wait_for_time(struct resolver *resolver)
{
	if (resolver->tick.wanted++ == 0)
		poller_wake(resolver->poller);
}

static void stream_new(struct resolver *resolver, int fd)
{
	struct stream *stream = resolver->streams_len < RESOLVER_STREAMS_MAX
					? calloc(1, sizeof(*stream))
					: NULL;

	if (!stream) {
		fd_close(fd);
		return;
	}
	stream->owner = resolver;
	stream->entry = (struct poll_entry){
		.fd = fd, .events = EPOLLIN, .fn = on_readable, .data = stream};
	stream->until_ns = clock_mono_ns() + RESOLVER_STREAM_S * SECOND_NS;
	if (poller_add(resolver->poller, &stream->entry) < 0) {
		fd_close(fd);
		free(stream);
		return;
	}
	stream->next = resolver->streams;
	resolver->streams = stream;
	resolver->streams_len++;
	wait_for_time(resolver);
}

static void on_connection(void *data, uint32_t events)
{
	struct resolver *resolver = data;

	(void)events;
	for (int i = 0; i < AT_ONCE; i++) {
		int fd = accept4(resolver->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE) &&
		    poller_change(resolver->poller, &resolver->listener, 0) == 0) {
			resolver->paused = true;
			wait_for_time(resolver);
		}
		if (fd < 0)
			return;
		stream_new(resolver, fd);
	}
}

void streams_listen(struct resolver *resolver, int fd)
{
	resolver->listener = (struct poll_entry){
		.fd = fd, .events = EPOLLIN, .fn = on_connection, .data = resolver};
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
	    poller_add(resolver->poller, &resolver->listener) < 0) {
		resolver->listener.fd = fd_close(fd);
		return;
	}
	resolver->tick = (struct poller_tick){.fn = on_tick, .data = resolver};
	poller_add_tick(resolver->poller, &resolver->tick);
}

void streams_free(struct resolver *resolver)
{
	while (resolver->streams)
		stream_free(resolver->streams);
	if (resolver->listener.fd < 0)
		return;
	poller_remove_tick(resolver->poller, &resolver->tick);
	poller_remove(resolver->poller, &resolver->listener);
	resolver->listener.fd = fd_close(resolver->listener.fd);
}
