/* SPDX-License-Identifier: MIT */
#include "net/hello.h"

#include <string.h>

enum {
	RECORD_FIRST = 20,
	RECORD_HANDSHAKE = 22,
	RECORD_LAST = 23,
	RECORD_MAX = 16384,
	RECORD_MAJOR = 3,
	CLIENT_HELLO = 1,
	EXTENSION_SERVER_NAME = 0,
	NAME_OF_HOST = 0,
	WIRE_NAME_MAX = 255,
};

/* A handshake, wherever its records begin and end. Once it is not GOOD, everything is 0. */
struct reader {
	const uint8_t *at, *end;
	size_t record; /* bytes that are left of the current one */
	enum {
		GOOD,
		SHORT, /* what is needed has not come yet */
		WRONG
	} state;
};

static void begin_record(struct reader *r)
{
	const uint8_t *head = r->at;
	size_t have = (size_t)(r->end - head);

	if ((have > 0 && head[0] != RECORD_HANDSHAKE) || (have > 1 && head[1] != RECORD_MAJOR)) {
		r->state = WRONG;
		return;
	}
	if (have < 5) {
		r->state = SHORT;
		return;
	}
	r->record = (size_t)head[3] << 8 | head[4];
	if (r->record == 0 || r->record > RECORD_MAX)
		r->state = WRONG;
	r->at += 5;
}

/* COUNT bytes, to TO unless that is NULL. */
static void take(struct reader *r, uint8_t *to, size_t count)
{
	while (count > 0 && r->state == GOOD) {
		size_t n = count, have = (size_t)(r->end - r->at);

		if (r->record == 0) {
			begin_record(r);
			continue;
		}
		n = n < r->record ? n : r->record;
		if (have == 0) {
			r->state = SHORT;
			return;
		}
		n = n < have ? n : have;
		if (to) {
			memcpy(to, r->at, n);
			to += n;
		}
		r->at += n;
		r->record -= n;
		count -= n;
	}
}

/* A number of so many bytes, which ends what is left of *LEFT. */
static size_t take_number(struct reader *r, unsigned bytes, size_t *left)
{
	uint8_t b[3] = {0};
	size_t n = 0;

	if (*left < bytes && r->state == GOOD)
		r->state = WRONG;
	take(r, b, bytes);
	if (r->state != GOOD)
		return 0;
	*left -= bytes;
	for (unsigned i = 0; i < bytes; i++)
		n = n << 8 | b[i];
	return n;
}

static void skip(struct reader *r, size_t count, size_t *left)
{
	if (*left < count && r->state == GOOD)
		r->state = WRONG;
	take(r, NULL, count);
	*left = r->state == GOOD ? *left - count : 0;
}

/* Something with its length, in so many bytes, before it. */
static void skip_vector(struct reader *r, unsigned bytes, size_t *left)
{
	skip(r, take_number(r, bytes, left), left);
}

/* Somebody may take it for a hello all the same. */
static enum hello odd(struct reader *r)
{
	if (r->state == GOOD)
		r->state = WRONG;
	return HELLO_NONE;
}

/* A list of names, of which there is one of a host; otherwise nobody can say which counts. */
static enum hello read_names(struct reader *r, size_t left, char ret[NAME_CANONICAL_MAX])
{
	uint8_t name[WIRE_NAME_MAX];
	size_t list = take_number(r, 2, &left), type, len;

	if (r->state != GOOD || list != left)
		return odd(r);
	type = take_number(r, 1, &left);
	len = take_number(r, 2, &left);
	ret[0] = '\0';
	if (r->state != GOOD)
		return HELLO_NONE;
	if (type != NAME_OF_HOST || len != left || len > sizeof(name))
		return HELLO_NAME;
	take(r, name, len);
	if (r->state != GOOD)
		return HELLO_NONE;
	if (!name_canonical((const char *)name, len, ret))
		ret[0] = '\0';
	return HELLO_NAME;
}

static enum hello read_extensions(struct reader *r, size_t left, char ret[NAME_CANONICAL_MAX])
{
	bool found = false;

	while (left > 0 && r->state == GOOD) {
		size_t type = take_number(r, 2, &left), len = take_number(r, 2, &left);

		if (r->state != GOOD || len > left || (type == EXTENSION_SERVER_NAME && found))
			return odd(r);
		if (type != EXTENSION_SERVER_NAME) {
			skip(r, len, &left);
			continue;
		}
		if (read_names(r, len, ret) == HELLO_NONE || ret[0] == '\0')
			return r->state == GOOD ? HELLO_NAME : HELLO_NONE;
		found = true;
		left -= len;
	}
	return r->state == GOOD && found ? HELLO_NAME : HELLO_NONE;
}

static enum hello read_hello(struct reader *r, char ret[NAME_CANONICAL_MAX])
{
	size_t head = 4, left, type = take_number(r, 1, &head), extensions;

	if (r->state != GOOD || type != CLIENT_HELLO)
		return odd(r);
	left = take_number(r, 3, &head);
	if (r->state != GOOD || left > HELLO_MAX)
		return odd(r);
	skip(r, 2 + 32, &left);   /* version, random */
	skip_vector(r, 1, &left); /* session */
	skip_vector(r, 2, &left); /* ciphers */
	skip_vector(r, 1, &left); /* compression */
	if (r->state != GOOD || left == 0)
		return HELLO_NONE;
	extensions = take_number(r, 2, &left);
	if (r->state != GOOD || extensions != left)
		return odd(r);
	return read_extensions(r, left, ret);
}

/* As far as LEN goes. */
static bool is_tls(const uint8_t *bytes, size_t len)
{
	return bytes[0] >= RECORD_FIRST && bytes[0] <= RECORD_LAST &&
	       (len == 1 || bytes[1] == RECORD_MAJOR);
}

enum hello hello_judge(const uint8_t *bytes, size_t len, char ret_name[NAME_CANONICAL_MAX])
{
	struct reader r = {.at = bytes, .end = bytes + len};
	enum hello hello = read_hello(&r, ret_name);

	if (hello != HELLO_NONE || r.state == GOOD)
		return hello;
	if (r.state == SHORT || (is_tls(bytes, len) && len == 1))
		return HELLO_MORE;
	if (!is_tls(bytes, len))
		return HELLO_NONE;
	/* Servers pass over what may stand before a hello, and some over what is wrong in it. */
	ret_name[0] = '\0';
	return HELLO_NAME;
}
