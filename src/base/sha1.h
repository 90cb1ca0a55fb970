/* SPDX-License-Identifier: MIT */
/* sha1 - SHA-1 (FIPS 180-4), for the object ids of git and for nothing that must
 * withstand an attacker. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/sha-blocks.h"

#define SHA1_SIZE 20
#define SHA1_HEX  41 /* with the NUL */

struct sha1 {
	uint32_t state[5];
	struct sha_blocks blocks;
};

void sha1_init(struct sha1 *h);
void sha1_add(struct sha1 *h, const void *data, size_t len);
void sha1_end(struct sha1 *h, uint8_t digest[SHA1_SIZE]);
void sha1_end_hex(struct sha1 *h, char hex[SHA1_HEX]);

/* What `git hash-object` says of a file with these bytes. */
void git_blob_id(const void *data, size_t len, char hex[SHA1_HEX]);
