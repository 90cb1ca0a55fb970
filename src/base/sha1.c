/* SPDX-License-Identifier: MIT */
#include "base/sha1.h"

#include <stdio.h>
#include <string.h>

void sha1_init(struct sha1 *h)
{
	static const uint32_t start[5] = {
		0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0,
	};

	memset(h, 0, sizeof(*h));
	memcpy(h->state, start, sizeof(start));
}

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

/* The function and constant of the four times twenty rounds. */
static uint32_t mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
	switch (round / 20) {
	case 0:
		return ((b & c) | (~b & d)) + 0x5a827999;
	case 1:
		return (b ^ c ^ d) + 0x6ed9eba1;
	case 2:
		return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
	default:
		return (b ^ c ^ d) + 0xca62c1d6;
	}
}

static void compress(uint32_t *state, const uint8_t *block)
{
	uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

	for (int i = 0; i < 16; i++, block += 4)
		w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
		       (uint32_t)block[2] << 8 | block[3];
	for (int i = 16; i < 80; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (int i = 0; i < 80; i++) {
		uint32_t t = rotate(a, 5) + mix(i, b, c, d) + e + w[i];

		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = t;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

void sha1_add(struct sha1 *h, const void *data, size_t len)
{
	sha_blocks_add(&h->blocks, h->state, compress, data, len);
}

void sha1_end(struct sha1 *h, uint8_t digest[SHA1_SIZE])
{
	sha_blocks_end(&h->blocks, h->state, compress, digest, SHA1_SIZE);
}

void sha1_end_hex(struct sha1 *h, char hex[SHA1_HEX])
{
	uint8_t digest[SHA1_SIZE];

	sha1_end(h, digest);
	sha_blocks_hex(digest, SHA1_SIZE, hex);
}

void git_blob_id(const void *data, size_t len, char hex[SHA1_HEX])
{
	char head[32];
	int n = snprintf(head, sizeof(head), "blob %zu", len);
	struct sha1 h;

	sha1_init(&h);
	sha1_add(&h, head, (size_t)n + 1);
	sha1_add(&h, data, len);
	sha1_end_hex(&h, hex);
}
