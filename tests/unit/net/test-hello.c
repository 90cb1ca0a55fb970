/* SPDX-License-Identifier: MIT */
/* Hellos of TLS clients, whole, in pieces, and wrong. */
#include "net/hello.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tests/tap.h"

struct hello_bytes {
	uint8_t bytes[70000];
	size_t len;
};

static struct hello_bytes built, framed;

static void add(struct hello_bytes *to, const void *bytes, size_t len)
{
	memcpy(to->bytes + to->len, bytes, len);
	to->len += len;
}

static void add_number(struct hello_bytes *to, size_t value, unsigned bytes)
{
	while (bytes-- > 0)
		to->bytes[to->len++] = (uint8_t)(value >> 8 * bytes);
}

static void add_name(struct hello_bytes *to, const char *name, size_t len)
{
	add_number(to, 0, 2);
	add_number(to, len + 5, 2);
	add_number(to, len + 3, 2);
	add_number(to, 0, 1);
	add_number(to, len, 2);
	add(to, name, len);
}

/* The handshake message, as OpenSSL and Go send it in its outline; PADDING bytes of another
 * extension stand before the name (NULL: none). */
static void build(const char *name, size_t len, size_t padding)
{
	struct hello_bytes extensions = {0};
	uint8_t random[32];

	add_number(&extensions, 43, 2); /* versions */
	add_number(&extensions, 3, 2);
	add(&extensions, "\2\3\4", 3);
	if (padding) {
		add_number(&extensions, 21, 2);
		add_number(&extensions, padding, 2);
		memset(extensions.bytes + extensions.len, 0, padding);
		extensions.len += padding;
	}
	if (name)
		add_name(&extensions, name, len);
	add_number(&extensions, 23, 2);
	add_number(&extensions, 0, 2);
	memset(random, 7, sizeof(random));
	built.len = 0;
	add_number(&built, 1, 1);
	add_number(&built, 2 + 32 + 33 + 6 + 2 + 2 + extensions.len, 3);
	add(&built, "\3\3", 2);
	add(&built, random, 32);
	add_number(&built, 32, 1);
	add(&built, random, 32);
	add(&built, "\0\4\x13\x01\x13\x02", 6);
	add(&built, "\1\0", 2);
	add_number(&built, extensions.len, 2);
	add(&built, extensions.bytes, extensions.len);
}

/* In records of at most SIZE bytes. */
static void frame(size_t size)
{
	framed.len = 0;
	for (size_t at = 0; at < built.len; at += size) {
		size_t n = built.len - at < size ? built.len - at : size;

		add(&framed, "\x16\3\1", 3);
		add_number(&framed, n, 2);
		add(&framed, built.bytes + at, n);
	}
}

static enum hello judge(char name[NAME_CANONICAL_MAX])
{
	/* A copy of just that size: one byte too far is seen. */
	uint8_t *copy = malloc(framed.len);
	enum hello h;

	memcpy(copy, framed.bytes, framed.len);
	h = hello_judge(copy, framed.len, name);
	free(copy);
	return h;
}

static void test_names(void)
{
	char name[NAME_CANONICAL_MAX];

	build("Api.Example.ORG", 15, 0);
	frame(16384);
	tap_ok(judge(name) == HELLO_NAME && str_eq(name, "api.example.org"), "the name, canonical");
	frame(1);
	tap_ok(judge(name) == HELLO_NAME && str_eq(name, "api.example.org"),
	       "in records of a byte each");
	build("api.example.org", 15, 1500);
	frame(16384);
	tap_ok(judge(name) == HELLO_NAME && str_eq(name, "api.example.org"),
	       "behind a large extension, as with keys of new kinds");
	build("api.example.org", 15, 40000);
	frame(16384);
	tap_ok(judge(name) == HELLO_NAME && str_eq(name, "api.example.org"),
	       "over several whole records");
	build("a\0b.example", 11, 0);
	frame(16384);
	tap_ok(judge(name) == HELLO_NAME && name[0] == '\0', "what is no name is said to be none");
	build("10.0.0.1", 8, 0);
	frame(16384);
	tap_ok(judge(name) == HELLO_NAME && name[0] == '\0', "nor is an address");
	build("", 0, 0);
	frame(16384);
	tap_ok(judge(name) == HELLO_NAME && name[0] == '\0', "nor is nothing");
	build(NULL, 0, 0);
	frame(16384);
	tap_ok(judge(name) == HELLO_NONE, "no name at all");
}

static void test_pieces(void)
{
	char name[NAME_CANONICAL_MAX];
	size_t sizes[] = {1, 7, 100, 16384}, whole, more, early;

	for (size_t i = 0; i < 4; i++) {
		build("api.example.org", 15, 300);
		frame(sizes[i]);
		whole = framed.len;
		more = early = 0;
		for (framed.len = 0; framed.len < whole; framed.len++) {
			enum hello h = judge(name);

			more += h == HELLO_MORE;
			early += h == HELLO_NAME && str_eq(name, "api.example.org");
		}
		tap_ok(more + early == whole && early < 50,
		       "records of %zu bytes: what is not whole is waited for (%zu, then %zu)",
		       sizes[i], more, early);
	}
}

static void changed(size_t at, uint8_t value, const char *what)
{
	char name[NAME_CANONICAL_MAX];

	build("api.example.org", 15, 0);
	frame(16384);
	framed.bytes[at] = value;
	tap_ok(judge(name) == HELLO_NAME && name[0] == '\0', "%s", what);
}

static void odd(const char *bytes, size_t len, const char *what)
{
	char name[NAME_CANONICAL_MAX] = "x";

	tap_ok(hello_judge((const uint8_t *)bytes, len, name) == HELLO_NAME && name[0] == '\0',
	       "TLS without a name that counts: %s", what);
}

static void test_wrong(void)
{
	static const char *const others[] = {
		"GET / HTTP/1.1\r\n", "SSH-2.0-x\r\n", "\x18\3\3", "\x16\2", "\x16GET",
		"\x80\x2e\1\3\1"};
	char name[NAME_CANONICAL_MAX];

	for (size_t i = 0; i < 6; i++)
		tap_ok(hello_judge((const uint8_t *)others[i], strlen(others[i]), name) ==
			       HELLO_NONE,
		       "other protocols, number %zu", i + 1);
	tap_ok(hello_judge((const uint8_t *)"", 0, name) == HELLO_MORE, "nothing yet");
	tap_ok(hello_judge((const uint8_t *)"\x16", 1, name) == HELLO_MORE, "one byte");
	tap_ok(hello_judge((const uint8_t *)"\x15", 1, name) == HELLO_MORE, "one of an alert");
	odd("\x16\3\1\0\0", 5, "an empty record");
	odd("\x16\3\1\x40\1", 5, "a record that is too large");
	odd("\x15\3\1\0\2\1\x5a", 7, "an alert before the hello");
	odd("\x14\3\1\0\1\1", 6, "a change of ciphers before it");
	odd("\x17\3\3", 3, "data before it");
	changed(5, 2, "another message");
	changed(6, 1, "a hello that is too long");
	changed(5 + 4 + 34, 255, "a session that is longer than the hello");
	changed(5 + 4 + 34 + 33, 255, "ciphers that are");
	changed(5 + 4 + 34 + 33 + 6, 255, "compression that is");
	changed(5 + 4 + 34 + 33 + 6 + 2, 1, "extensions that are");
	changed(5 + 4 + 34 + 33 + 6 + 2 + 2 + 2, 1, "one extension that is");
}

static void test_two_names(void)
{
	char name[NAME_CANONICAL_MAX];
	uint8_t *list;

	/* The list says it is longer by three, and the name is shorter: another follows. */
	build("api.example.org", 15, 0);
	frame(16384);
	list = framed.bytes + 5 + 4 + 34 + 33 + 6 + 2 + 2 + 7;
	tap_ok(list[0] == 0 && list[1] == 0 && list[3] == 20, "the extension is where it is");
	list[8] = 10;
	tap_ok(judge(name) == HELLO_NAME && name[0] == '\0', "more than one name is no name");
	list[8] = 15;
	list[6] = 1;
	tap_ok(judge(name) == HELLO_NAME && name[0] == '\0', "nor is one of another kind");
}

int main(void)
{
	test_names();
	test_pieces();
	test_wrong();
	test_two_names();
	return tap_done();
}
