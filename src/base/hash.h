/* SPDX-License-Identifier: MIT */
/* hash - SHA-256 (FIPS 180-4). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/sha-blocks.h"

#define SHA256_SIZE 32
#define SHA256_HEX  65 /* with the NUL */

struct sha256 {
	uint32_t state[8];
	struct sha_blocks blocks;
};

void sha256_init(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *data, size_t len);
void sha256_end(struct sha256 *h, uint8_t digest[SHA256_SIZE]);
void sha256_hex(const void *data, size_t len, char hex[SHA256_HEX]);
void sha256_end_hex(struct sha256 *h, char hex[SHA256_HEX]);
