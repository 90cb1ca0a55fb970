/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <string.h>

static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

void sha256_init(struct sha256 *h)
{
	static const uint32_t start[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};

	memset(h, 0, sizeof(*h));
	memcpy(h->state, start, sizeof(start));
}

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void expand(const uint8_t *block, uint32_t w[64])
{
	for (int i = 0; i < 16; i++, block += 4)
		w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
		       (uint32_t)block[2] << 8 | block[3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
}

/* One round. The letters take turns, so that nothing is moved. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                           \
	do {                                                                                       \
		uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +                 \
			      (g ^ (e & (f ^ g))) + round_constants[i] + w[i];                     \
		uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +                     \
			      ((a & b) ^ (a & c) ^ (b & c));                                       \
		d += t1;                                                                           \
		h = t1 + t2;                                                                       \
	} while (0)

static void compress(uint32_t *state, const uint8_t *block)
{
	uint32_t w[64];
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

	expand(block, w);
	for (int i = 0; i < 64; i += 8) {
		ROUND(a, b, c, d, e, f, g, h, i);
		ROUND(h, a, b, c, d, e, f, g, i + 1);
		ROUND(g, h, a, b, c, d, e, f, i + 2);
		ROUND(f, g, h, a, b, c, d, e, i + 3);
		ROUND(e, f, g, h, a, b, c, d, i + 4);
		ROUND(d, e, f, g, h, a, b, c, i + 5);
		ROUND(c, d, e, f, g, h, a, b, i + 6);
		ROUND(b, c, d, e, f, g, h, a, i + 7);
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
	state[5] += f;
	state[6] += g;
	state[7] += h;
}

void sha256_add(struct sha256 *h, const void *data, size_t len)
{
	sha_blocks_add(&h->blocks, h->state, compress, data, len);
}

void sha256_end(struct sha256 *h, uint8_t digest[SHA256_SIZE])
{
	sha_blocks_end(&h->blocks, h->state, compress, digest, SHA256_SIZE);
}

void sha256_end_hex(struct sha256 *h, char hex[SHA256_HEX])
{
	uint8_t digest[SHA256_SIZE];

	sha256_end(h, digest);
	sha_blocks_hex(digest, SHA256_SIZE, hex);
}

void sha256_hex(const void *data, size_t len, char hex[SHA256_HEX])
{
	struct sha256 h;

	sha256_init(&h);
	sha256_add(&h, data, len);
	sha256_end_hex(&h, hex);
}
