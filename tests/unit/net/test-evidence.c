/* SPDX-License-Identifier: MIT */
/* What the kernel says about datagrams that nobody received: whom they were for. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "net/broker-impl.h"
#include "tests/tap.h"

/* As a raw socket gives it: IPv4, ICMP, then the head of what was sent to 192.0.2.9 port 4711. */
static const uint8_t good4[] = {0x45, 0xc0, 0, 57, 0, 0,    0,    0,    64,   1,  0, 0, 127, 0,  0,
				1,    127,  0, 0,  1,                /* IPv4 */
				3,    3,    0, 0,  0, 0,    0,    0, /* unreachable */
				0x45, 0,    0, 29, 0, 0,    0x40, 0,    64,   17, 0, 0, 127, 0,  0,
				1,    192,  0, 2,  9, 0x90, 0x01, 0x12, 0x67, 0,  9, 0, 0,   'x'};

static bool parse4(const uint8_t *bytes, size_t len)
{
	struct endpoint to;

	return unreachable_parse(bytes, len, AF_INET, &to);
}

static bool with4(size_t at, uint8_t value)
{
	uint8_t bytes[sizeof(good4)];

	memcpy(bytes, good4, sizeof(bytes));
	bytes[at] = value;
	return parse4(bytes, sizeof(bytes));
}

static void test_ipv4(void)
{
	char text[ENDPOINT_TEXT_MAX] = "";
	struct endpoint to;

	if (tap_ok(unreachable_parse(good4, sizeof(good4), AF_INET, &to), "IPv4"))
		endpoint_print(&to, text);
	tap_eq_str(text, "192.0.2.9:4711", "whom it was for");
	tap_ok(parse4(good4, 56), "the ports are enough");
	for (size_t len = 0; len < 56; len++) {
		/* A copy of just that size, so that a sanitizer sees a step too far. */
		uint8_t *cut = malloc(len + 1);

		memcpy(cut, good4, len);
		if (parse4(cut, len))
			tap_ok(false, "cut to %zu bytes", len);
		free(cut);
	}
	tap_ok(true, "whatever is cut is nothing");
	tap_ok(!with4(0, 0x65), "not IPv4");
	tap_ok(!with4(0, 0x4f), "a header longer than the message");
	tap_ok(!with4(0, 0x44), "one shorter than any");
	tap_ok(!with4(9, 6), "not ICMP");
	tap_ok(!with4(20, 8), "an echo");
	tap_ok(!with4(21, 1), "unreachable for another reason");
	tap_ok(!with4(28, 0x4f), "an inner header longer than the message");
	tap_ok(!with4(37, 6), "about TCP");
	tap_ok(!with4(35, 1), "about a later fragment");
}

static void test_ipv6(void)
{
	uint8_t bytes[8 + 40 + 8] = {1, 4, [8] = 0x60, [14] = 17, [15] = 64, [31] = 1};
	char text[ENDPOINT_TEXT_MAX] = "";
	struct endpoint to;

	bytes[32] = 0x20, bytes[33] = 1, bytes[34] = 0x0d, bytes[35] = 0xb8, bytes[47] = 9;
	bytes[50] = 1, bytes[51] = 0xbb;
	if (tap_ok(unreachable_parse(bytes, sizeof(bytes), AF_INET6, &to), "IPv6"))
		endpoint_print(&to, text);
	tap_eq_str(text, "[2001:db8::9]:443", "whom it was for");
	tap_ok(!unreachable_parse(bytes, sizeof(bytes) - 1, AF_INET6, &to), "cut");
	bytes[14] = 0;
	tap_ok(!unreachable_parse(bytes, sizeof(bytes), AF_INET6, &to), "not UDP");
	bytes[14] = 17, bytes[8] = 0x40;
	tap_ok(!unreachable_parse(bytes, sizeof(bytes), AF_INET6, &to), "not IPv6");
}

static void test_noise(void)
{
	uint8_t bytes[128];
	struct endpoint to;

	srandom(1);
	for (int i = 0; i < 200000; i++) {
		size_t len = (size_t)random() % sizeof(bytes);

		for (size_t k = 0; k < len; k++)
			bytes[k] = (uint8_t)random();
		(void)unreachable_parse(bytes, len, i % 2 ? AF_INET : AF_INET6, &to);
	}
	tap_ok(true, "noise does no harm");
}

int main(void)
{
	test_ipv4();
	test_ipv6();
	test_noise();
	return tap_done();
}
