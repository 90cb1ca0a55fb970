/* SPDX-License-Identifier: MIT */
#include "base/sha-blocks.h"

#include <string.h>

void sha_blocks_add(struct sha_blocks *b, uint32_t *state, sha_compress_fn *compress,
		    const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t used = b->bytes % sizeof(b->block);

	b->bytes += len;
	if (used > 0) {
		size_t n = sizeof(b->block) - used;

		if (n > len)
			n = len;
		if (n > 0)
			memcpy(b->block + used, p, n);
		if (used + n < sizeof(b->block))
			return;
		compress(state, b->block);
		p += n;
		len -= n;
	}
	for (; len >= sizeof(b->block); len -= sizeof(b->block), p += sizeof(b->block))
		compress(state, p);
	if (len > 0)
		memcpy(b->block, p, len);
}

void sha_blocks_end(struct sha_blocks *b, uint32_t *state, sha_compress_fn *compress,
		    uint8_t *digest, size_t size)
{
	static const uint8_t padding[64] = {0x80};
	uint64_t bits = b->bytes * 8;
	size_t used = b->bytes % sizeof(b->block);
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha_blocks_add(b, state, compress, padding, (used < 56 ? 56 : 120) - used);
	sha_blocks_add(b, state, compress, length, sizeof(length));
	for (size_t i = 0; i < size; i++)
		digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha_blocks_hex(const uint8_t *digest, size_t size, char *hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		hex[2 * i] = digits[digest[i] >> 4];
		hex[2 * i + 1] = digits[digest[i] & 15];
	}
	hex[2 * size] = '\0';
}
