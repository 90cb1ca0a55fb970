/* SPDX-License-Identifier: MIT */
#include "engine/pump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RING_MIN = 4096 };

static size_t smaller(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

/* What is held, in two pieces at most, at TO. */
static void ring_copy(const struct ring *ring, char *to)
{
	size_t first = smaller(ring->len, ring->cap - ring->start);

	if (ring->len == 0)
		return;
	memcpy(to, ring->data + ring->start, first);
	memcpy(to + first, ring->data, ring->len - first);
}

/* Make room for MORE bytes if MAX and memory allow; returns the room. */
static size_t ring_reserve(struct ring *ring, size_t more, uint64_t max)
{
	uint64_t cap = ring->cap ? ring->cap : RING_MIN;
	char *data;

	while (cap < max && cap - ring->len < more)
		cap *= 2;
	cap = cap < max ? cap : max;
	if (cap > ring->cap && (data = malloc((size_t)cap))) {
		ring_copy(ring, data);
		free(ring->data);
		*ring = (struct ring){.data = data, .cap = (size_t)cap, .len = ring->len};
	}
	return ring->cap - ring->len;
}

/* LEN bytes into a ring that has room for them. */
static void ring_put(struct ring *ring, const char *data, size_t len)
{
	size_t end, first;

	if (len == 0)
		return;
	end = (ring->start + ring->len) % ring->cap;
	first = smaller(len, ring->cap - end);
	memcpy(ring->data + end, data, first);
	memcpy(ring->data, data + first, len - first);
	ring->len += len;
}

static size_t ring_peek(const struct ring *ring, const char **ret_data)
{
	*ret_data = ring->data + ring->start;
	return smaller(ring->len, ring->cap - ring->start);
}

static void ring_take(struct ring *ring, size_t len)
{
	ring->len -= len;
	ring->start = ring->len && len < ring->cap ? (ring->start + len) % ring->cap : 0;
}

void pump_init(struct pump *pump, uint64_t limit)
{
	*pump = (struct pump){.limited = limit != PUMP_UNLIMITED};
	if (!pump->limited) {
		pump->head_left = UINT64_MAX;
		pump->head_max = PUMP_QUEUE_MAX;
		return;
	}
	pump->head_left = pump->head_max = limit / 2;
	pump->tail_max = limit - limit / 2;
}

void pump_release(struct pump *pump)
{
	free(pump->head.data);
	free(pump->tail.data);
	pump_init(pump, PUMP_UNLIMITED);
}

size_t pump_room(struct pump *pump)
{
	size_t head = smaller(PUMP_CHUNK, pump->head_left), room;

	if (pump->ended)
		return 0;
	if (head == 0)
		return PUMP_CHUNK;
	room = ring_reserve(&pump->head, head, pump->head_max);
	return room < head ? room : PUMP_CHUNK;
}

/* The tail keeps the latest bytes that it has room for. */
static void keep_tail(struct pump *pump, const char *data, size_t len)
{
	size_t room = ring_reserve(&pump->tail, len, pump->tail_max), over;

	if (len > pump->tail.cap) {
		pump->dropped += len - pump->tail.cap;
		data += len - pump->tail.cap;
		len = pump->tail.cap;
	}
	over = len > room ? len - room : 0;
	ring_take(&pump->tail, over);
	pump->dropped += over;
	ring_put(&pump->tail, data, len);
}

void pump_put(struct pump *pump, const char *data, size_t len)
{
	size_t head = smaller(len, pump->head_left);

	if (head > 0) {
		ring_put(&pump->head, data, head);
		pump->last = data[head - 1];
		if (pump->limited)
			pump->head_left -= head;
	}
	if (len > head)
		keep_tail(pump, data + head, len - head);
}

void pump_end(struct pump *pump, const char *eol)
{
	bool fresh = pump->last == '\n' || pump->head_max == 0;

	if (pump->ended)
		return;
	pump->ended = true;
	if (pump->dropped > 0)
		pump->note_len = (size_t)snprintf(
			pump->note, sizeof(pump->note), "%s[pale: %llu bytes dropped]%s",
			fresh ? "" : eol, (unsigned long long)pump->dropped, eol);
}

size_t pump_peek(const struct pump *pump, const char **ret_data)
{
	if (pump->head.len > 0)
		return ring_peek(&pump->head, ret_data);
	if (pump->note_len > 0) {
		*ret_data = pump->note + pump->note_start;
		return pump->note_len;
	}
	return pump->ended && pump->tail.len > 0 ? ring_peek(&pump->tail, ret_data) : 0;
}

void pump_take(struct pump *pump, size_t len)
{
	if (pump->head.len > 0) {
		ring_take(&pump->head, len);
	} else if (pump->note_len > 0) {
		pump->note_start += len;
		pump->note_len -= len;
	} else {
		ring_take(&pump->tail, len);
	}
}
