/* SPDX-License-Identifier: MIT */
/* The pump against a model that keeps everything and cuts at the end. */
#include "engine/pump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tests/tap.h"

static unsigned long long seed = 88172645463325252ull;

static unsigned chance(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % below);
}

/* Write out at most MAX bytes of what is there. */
static void drain(struct pump *pump, size_t max, struct str *out)
{
	const char *data;
	size_t len;

	while (max > 0 && (len = pump_peek(pump, &data)) > 0) {
		size_t n = len < max ? len : max;

		if (str_append_bytes(out, data, n) < 0)
			abort();
		pump_take(pump, n);
		max -= n;
	}
}

static void put_all(struct pump *pump, const char *data, size_t len, struct str *out)
{
	while (len > 0) {
		size_t room = pump_room(pump), n = len < room ? len : room;

		if (room == 0)
			drain(pump, SIZE_MAX, out);
		pump_put(pump, data, n);
		data += n;
		len -= n;
	}
}

static void test_queue(void)
{
	struct str out = {0};
	char chunk[PUMP_CHUNK];
	struct pump pump;
	size_t put = 0;

	memset(chunk, 'x', sizeof(chunk));
	pump_init(&pump, PUMP_UNLIMITED);
	tap_eq_int((long long)pump_room(&pump), PUMP_CHUNK, "an empty queue takes a chunk");
	for (size_t room; (room = pump_room(&pump)) > 0; put += room)
		pump_put(&pump, chunk, room);
	tap_eq_int((long long)put, PUMP_QUEUE_MAX, "a full one takes nothing, and is bounded");
	drain(&pump, 10, &out);
	tap_eq_int((long long)pump_room(&pump), 10, "what was taken out makes room");
	pump_put(&pump, "0123456789", 10);
	pump_end(&pump, "\n");
	tap_eq_int((long long)pump_room(&pump), 0, "nothing after the end");
	drain(&pump, SIZE_MAX, &out);
	tap_ok(out.len == PUMP_QUEUE_MAX + 10 &&
		       memcmp(out.data + PUMP_QUEUE_MAX, "0123456789", 10) == 0,
	       "everything comes out, in order");
	tap_eq_int((long long)pump.dropped, 0, "nothing is dropped");
	str_release(&out);
	pump_release(&pump);
}

static void check(const char *text, uint64_t limit, const char *want, const char *what)
{
	struct str out = {0};
	struct pump pump;

	pump_init(&pump, limit);
	put_all(&pump, text, strlen(text), &out);
	pump_end(&pump, "\n");
	drain(&pump, SIZE_MAX, &out);
	tap_eq_str(str_text(&out), want, "%s", what);
	str_release(&out);
	pump_release(&pump);
}

static void test_examples(void)
{
	check("12345678", 8, "12345678", "as much as the limit passes as it is");
	check("123456789", 8, "1234\n[pale: 1 bytes dropped]\n6789", "one byte too many");
	check("123\n56789abc", 8, "123\n[pale: 4 bytes dropped]\n9abc", "no second line end");
	check("", 8, "", "nothing stays nothing");
	check("12345", 1, "[pale: 4 bytes dropped]\n5", "a limit of one keeps the last");
	check("12345", 0, "[pale: 5 bytes dropped]\n", "a limit of none keeps none");
	check("12345678", 7, "123\n[pale: 1 bytes dropped]\n5678", "an odd limit");
}

static void test_head_at_once(void)
{
	struct str out = {0};
	struct pump pump;

	pump_init(&pump, 8);
	put_all(&pump, "123456", 6, &out);
	drain(&pump, SIZE_MAX, &out);
	tap_eq_str(str_text(&out), "1234", "the first half comes out before the end");
	tap_ok(pump_room(&pump) > 0, "and room is left, whoever reads");
	pump_end(&pump, "\n");
	drain(&pump, SIZE_MAX, &out);
	tap_eq_str(str_text(&out), "123456", "the rest follows");
	str_release(&out);
	pump_release(&pump);
}

static void test_huge_limit(void)
{
	struct pump pump;

	pump_init(&pump, UINT64_MAX - 1);
	pump_put(&pump, "x", pump_room(&pump) > 0);
	tap_ok(pump.head.cap + pump.tail.cap <= PUMP_QUEUE_MAX,
	       "a huge limit takes memory only for what is there");
	pump_release(&pump);
}

/* The reader takes nothing: nobody waits, and memory is bounded. */
static void test_no_reader(void)
{
	static const char chunk[PUMP_CHUNK];
	bool waits = false, large = false;
	struct pump pump;

	pump_init(&pump, 100000);
	for (int i = 0; i < 1000; i++) {
		waits |= pump_room(&pump) != PUMP_CHUNK;
		pump_put(&pump, chunk, PUMP_CHUNK);
		large |= pump.head.cap + pump.tail.cap > 100000;
	}
	tap_ok(!waits, "with a limit nobody waits for a reader");
	tap_ok(!large, "memory stays within the limit");
	tap_eq_int((long long)pump.dropped, 1000ll * PUMP_CHUNK - 100000, "the count is right");
	pump_release(&pump);
}

/* What a limited pump must give for TEXT. */
static void model(const struct str *text, uint64_t limit, struct str *want)
{
	size_t head = (size_t)(limit / 2), tail = (size_t)(limit - limit / 2);
	int r;

	if (text->len <= limit) {
		r = str_append_bytes(want, str_text(text), text->len);
	} else {
		r = str_append_bytes(want, text->data, head);
		r |= str_appendf(want, "%s[pale: %zu bytes dropped]\r\n",
				 head == 0 || text->data[head - 1] == '\n' ? "" : "\r\n",
				 text->len - (size_t)limit);
		r |= str_append_bytes(want, text->data + text->len - tail, tail);
	}
	if (r < 0)
		abort();
}

static bool agrees(uint64_t limit)
{
	struct str text = {0}, out = {0}, want = {0};
	char piece[PUMP_CHUNK];
	struct pump pump;
	bool same;

	pump_init(&pump, limit);
	for (unsigned pieces = chance(60); pieces > 0; pieces--) {
		unsigned len = 1 + chance(chance(4) ? 300 : sizeof(piece));

		for (unsigned i = 0; i < len; i++)
			piece[i] = (char)(chance(8) ? chance(256) : '\n');
		if (str_append_bytes(&text, piece, len) < 0)
			abort();
		put_all(&pump, piece, len, &out);
		if (chance(2))
			drain(&pump, chance(5000), &out);
	}
	pump_end(&pump, "\r\n");
	drain(&pump, SIZE_MAX, &out);
	model(&text, limit, &want);
	same = out.len == want.len && memcmp(str_text(&out), str_text(&want), out.len) == 0;
	str_release(&text);
	str_release(&out);
	str_release(&want);
	pump_release(&pump);
	return same;
}

static void test_model(void)
{
	unsigned failed = 0, rounds = tap_on_valgrind() ? 50 : 1000;

	for (unsigned i = 0; i < rounds; i++)
		failed += !agrees(chance(3) ? chance(20000) : chance(500000));
	tap_eq_int(failed, 0, "%u random streams come out as the model says", rounds);
}

int main(void)
{
	test_queue();
	test_examples();
	test_head_at_once();
	test_huge_limit();
	test_no_reader();
	test_model();
	return tap_done();
}
