/* SPDX-License-Identifier: MIT */
#include "base/sha1.h"

#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

/* From FIPS 180-4's examples and the NIST test vectors. */
static const struct {
	const char *text;
	const char *hex;
} vectors[] = {
	{"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
	{"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
	{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	 "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
};

static void test_vectors(void)
{
	char hex[SHA1_HEX];
	struct sha1 h;

	for (size_t i = 0; i < array_len(vectors); i++) {
		sha1_init(&h);
		sha1_add(&h, vectors[i].text, strlen(vectors[i].text));
		sha1_end_hex(&h, hex);
		tap_eq_str(hex, vectors[i].hex, "vector of %zu bytes", strlen(vectors[i].text));
	}
	sha1_init(&h);
	for (int i = 0; i < 1000000; i += 1000) {
		char block[1000];

		memset(block, 'a', sizeof(block));
		sha1_add(&h, block, sizeof(block));
	}
	sha1_end_hex(&h, hex);
	tap_eq_str(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f", "a million times 'a'");
}

static void test_cuts(void)
{
	uint8_t data[200], whole[SHA1_SIZE], parts[SHA1_SIZE];
	bool same = true;
	struct sha1 h;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31);
	for (size_t len = 0; len <= sizeof(data); len++) {
		sha1_init(&h);
		sha1_add(&h, data, len);
		sha1_end(&h, whole);
		for (size_t cut = 0; cut <= len; cut += 7) {
			sha1_init(&h);
			sha1_add(&h, data, cut);
			sha1_add(&h, data + cut, len - cut);
			sha1_end(&h, parts);
			same = same && memcmp(whole, parts, sizeof(whole)) == 0;
		}
	}
	tap_ok(same, "the digest does not depend on how the data is cut");
}

/* What git says of an empty file is known to everybody who uses it. */
static void test_blobs(void)
{
	char hex[SHA1_HEX];

	git_blob_id(NULL, 0, hex);
	tap_eq_str(hex, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "the id of an empty file");
	git_blob_id("hello\n", 6, hex);
	tap_eq_str(hex, "ce013625030ba8dba906f756967f9e9ca394464a", "the id of a small one");
}

int main(void)
{
	test_vectors();
	test_cuts();
	test_blobs();
	return tap_done();
}
