/* SPDX-License-Identifier: MIT */
/* sha-blocks - what SHA-1 and SHA-256 have in common: blocks of 64 bytes, the
 * padding, and the digest in big-endian words. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct sha_blocks {
	uint64_t bytes;
	uint8_t block[64];
};

typedef void sha_compress_fn(uint32_t *state, const uint8_t *block);

void sha_blocks_add(struct sha_blocks *b, uint32_t *state, sha_compress_fn *compress,
		    const void *data, size_t len);
/* SIZE: of the digest. */
void sha_blocks_end(struct sha_blocks *b, uint32_t *state, sha_compress_fn *compress,
		    uint8_t *digest, size_t size);
void sha_blocks_hex(const uint8_t *digest, size_t size, char *hex);
