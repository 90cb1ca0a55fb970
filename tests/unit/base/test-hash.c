/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

/* From FIPS 180-4's examples and the NIST test vectors. */
static const struct {
	const char *text;
	const char *hex;
} vectors[] = {
	{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
	 "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
	 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

static void test_vectors(void)
{
	char hex[SHA256_HEX];
	struct sha256 h;

	for (size_t i = 0; i < array_len(vectors); i++) {
		sha256_hex(vectors[i].text, strlen(vectors[i].text), hex);
		tap_eq_str(hex, vectors[i].hex, "vector of %zu bytes", strlen(vectors[i].text));
	}
	sha256_init(&h);
	for (int i = 0; i < 1000000; i += 1000) {
		char block[1000];

		memset(block, 'a', sizeof(block));
		sha256_add(&h, block, sizeof(block));
	}
	sha256_end_hex(&h, hex);
	tap_eq_str(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
		   "a million times 'a'");
}

/* Every length around the padding boundaries, cut in every way. */
static void test_cuts(void)
{
	uint8_t data[200], whole[SHA256_SIZE], parts[SHA256_SIZE];
	bool same = true;
	struct sha256 h;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31);
	for (size_t len = 0; len <= sizeof(data); len++) {
		sha256_init(&h);
		sha256_add(&h, data, len);
		sha256_end(&h, whole);
		for (size_t cut = 0; cut <= len; cut += 7) {
			sha256_init(&h);
			sha256_add(&h, data, cut);
			sha256_add(&h, data + cut, len - cut);
			sha256_end(&h, parts);
			same = same && memcmp(whole, parts, sizeof(whole)) == 0;
		}
	}
	tap_ok(same, "the digest does not depend on how the data is cut");
}

int main(void)
{
	test_vectors();
	test_cuts();
	return tap_done();
}
