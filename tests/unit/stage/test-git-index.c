/* SPDX-License-Identifier: MIT */
#include "stage/git-index.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/sha1.h"
#include "base/str.h"
#include "tap.h"

struct shape {
	unsigned version;
	size_t id_len;
	unsigned stat; /* what git remembers for itself */
	unsigned mode, id, flags;
	const char *name;
	bool is_unsummed;
};

static void put_number(struct str *out, uint32_t number)
{
	const char bytes[4] = {(char)(number >> 24), (char)(number >> 16), (char)(number >> 8),
			       (char)number};

	str_append_bytes(out, bytes, sizeof(bytes));
}

static void put_entry(struct str *out, const struct shape *s, const char *name)
{
	size_t begin = out->len;

	for (int i = 0; i < 6; i++)
		put_number(out, s->stat + (unsigned)i);
	put_number(out, s->mode);
	for (int i = 0; i < 3; i++)
		put_number(out, s->stat * 7);
	for (size_t i = 0; i < s->id_len; i++)
		str_append_char(out, (char)(s->id + i));
	str_append_char(out, (char)(s->flags >> 8));
	str_append_char(out, (char)s->flags);
	if (s->version >= 3 && s->flags & 0x4000)
		str_append_bytes(out, "\x20\0", 2);
	if (s->version == 4)
		str_append_bytes(out, "\x80\0", 2); /* of the name before: a long number */
	str_append_bytes(out, name, strlen(name) + 1);
	while (s->version < 4 && (out->len - begin) % 8 != 0)
		str_append_char(out, '\0');
}

static void put_sum(struct str *out, size_t id_len)
{
	uint8_t sum[SHA256_SIZE];
	struct sha256 long_hash;
	struct sha1 hash;

	if (id_len == SHA1_SIZE) {
		sha1_init(&hash);
		sha1_add(&hash, out->data, out->len);
		sha1_end(&hash, sum);
	} else {
		sha256_init(&long_hash);
		sha256_add(&long_hash, out->data, out->len);
		sha256_end(&long_hash, sum);
	}
	str_append_bytes(out, sum, id_len);
}

static struct str index_of(struct shape s)
{
	struct str out = {0};

	str_append(&out, "DIRC");
	put_number(&out, s.version);
	put_number(&out, 2);
	put_entry(&out, &s, "a");
	put_entry(&out, &s, s.name);
	str_append(&out, "TREE");
	put_number(&out, 3);
	str_append(&out, s.stat % 2 ? "one" : "two"); /* a cache: what it says does not count */
	put_sum(&out, s.id_len);
	if (s.is_unsummed)
		out.data[out.len - 1] ^= 1;
	return out;
}

static bool are_same(struct shape a, struct shape b)
{
	_cleanup_(str_release) struct str x = index_of(a), y = index_of(b);

	return git_index_is_same(x.data, x.len, y.data, y.len);
}

static void test_one(struct shape s, const char *what)
{
	struct shape other = s;

	other.stat = 12345;
	tap_ok(are_same(s, other), "%s: other times, owners and caches say the same", what);
	other.mode ^= 0111;
	tap_ok(!are_same(s, other), "%s: another mode does not", what);
	other = s, other.id++;
	tap_ok(!are_same(s, other), "%s: nor other content", what);
	other = s, other.flags ^= 0x8000;
	tap_ok(!are_same(s, other), "%s: nor other flags", what);
	other = s, other.name = "another";
	tap_ok(!are_same(s, other), "%s: nor another name", what);
	other = s, other.version = s.version == 4 ? 2 : 4;
	tap_ok(!are_same(s, other), "%s: nor another version", what);
	other = s, other.is_unsummed = true;
	tap_ok(!are_same(s, other) && !are_same(other, other), "%s: nor a damaged one", what);
}

static void test_cut(void)
{
	_cleanup_(str_release) struct str whole = index_of(
		(struct shape){.version = 2, .id_len = 20, .flags = 1, .name = "b"});
	size_t same = 0;

	for (size_t len = 0; len < whole.len; len++)
		same += git_index_is_same(whole.data, len, whole.data, len);
	tap_ok(same == 0, "what is cut off is no index, not even like itself");
	/* With a sum that is right, and entries that are not there. */
	for (size_t len = 12; len < whole.len - SHA1_SIZE - 12; len++) {
		_cleanup_(str_release) struct str cut = {0};

		str_append_bytes(&cut, whole.data, len);
		put_sum(&cut, SHA1_SIZE);
		same += len < 12 + 2 * 64 &&
			git_index_is_same(cut.data, cut.len, cut.data, cut.len);
	}
	tap_ok(same == 0, "nor what has fewer entries than it says");
}

int main(void)
{
	test_one(
		(struct shape){
			.version = 2, .id_len = 20, .mode = 0100644, .flags = 1, .name = "b"},
		"version 2");
	test_one(
		(struct shape){
			.version = 3, .id_len = 20, .mode = 0100644, .flags = 0x4001, .name = "b"},
		"version 3");
	test_one((struct shape){.version = 4,
				.id_len = 20,
				.mode = 0100644,
				.flags = 1,
				.name = "long/name"},
		 "version 4");
	test_one(
		(struct shape){
			.version = 2, .id_len = 32, .mode = 0100644, .flags = 1, .name = "b"},
		"SHA-256");
	test_cut();
	return tap_done();
}
