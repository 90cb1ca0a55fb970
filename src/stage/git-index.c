/* SPDX-License-Identifier: MIT */
#include "stage/git-index.h"

#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/sha1.h"

enum {
	HEAD = 12,    /* "DIRC", version, number of entries */
	MODE_AT = 24, /* in an entry: behind times, device and inode */
	MODE_LEN = 4,
	ID_AT = MODE_AT + MODE_LEN + 12, /* of what is in it: behind owner, group and size */
	EXTENDED = 0x4000,               /* flags: two more bytes follow */
	ALIGNMENT = 8,
	EXTENSION_HEAD = 8, /* its name, and how long it is */
};

struct reader {
	const char *at;
	size_t left;
	uint32_t version, count;
	size_t id_len; /* of SHA-1 or SHA-256 */
};

struct entry {
	const char *mode;
	const char *rest; /* id, flags, name */
	size_t rest_len;
};

static uint32_t number_at(const char *at)
{
	const unsigned char *b = (const unsigned char *)at;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Of its ids: as long as the sum at the end, which must be right. 0: it is no index. */
static size_t id_len_of(const char *text, size_t len)
{
	uint8_t sum[SHA256_SIZE];
	struct sha256 long_hash;
	struct sha1 hash;

	if (len < HEAD + SHA1_SIZE || memcmp(text, "DIRC", 4) != 0)
		return 0;
	sha1_init(&hash);
	sha1_add(&hash, text, len - SHA1_SIZE);
	sha1_end(&hash, sum);
	if (memcmp(text + len - SHA1_SIZE, sum, SHA1_SIZE) == 0)
		return SHA1_SIZE;
	if (len < HEAD + SHA256_SIZE)
		return 0;
	sha256_init(&long_hash);
	sha256_add(&long_hash, text, len - SHA256_SIZE);
	sha256_end(&long_hash, sum);
	return memcmp(text + len - SHA256_SIZE, sum, SHA256_SIZE) == 0 ? SHA256_SIZE : 0;
}

static bool reader_init(struct reader *r, const char *text, size_t len)
{
	size_t id_len = id_len_of(text, len);

	if (id_len == 0)
		return false;
	*r = (struct reader){.at = text + HEAD,
			     .left = len - HEAD - id_len,
			     .version = number_at(text + 4),
			     .count = number_at(text + 8),
			     .id_len = id_len};
	return r->version >= 2 && r->version <= 4;
}

/* How much of an entry stands before its name; 0: there is no room for it. */
static size_t before_name(const struct reader *r)
{
	size_t len = ID_AT + r->id_len + 2;
	const unsigned char *flags = (const unsigned char *)r->at + ID_AT + r->id_len;

	if (r->left < len)
		return 0;
	if (r->version >= 3 && (flags[0] << 8 & EXTENDED))
		len += 2;
	return r->left < len ? 0 : len;
}

static bool take_entry(struct reader *r, struct entry *ret)
{
	size_t name = before_name(r), len;
	const char *end;

	if (name == 0)
		return false;
	/* In version 4 the name begins with a number, of which only the last byte may be 0. */
	if (r->version == 4)
		while (name < r->left && (unsigned char)r->at[name++] & 0x80)
			;
	end = memchr(r->at + name, '\0', r->left - name);
	if (!end)
		return false;
	*ret = (struct entry){.mode = r->at + MODE_AT,
			      .rest = r->at + ID_AT,
			      .rest_len = (size_t)(end - r->at) - ID_AT};
	len = (size_t)(end - r->at) + 1;
	if (r->version < 4)
		len = (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (len > r->left)
		return false;
	r->at += len;
	r->left -= len;
	return true;
}

/* What must be understood by whoever reads the index, and here is not: the entries of a split one
 * are elsewhere. True, too, where it is not well formed. */
static bool says_more(struct reader *r)
{
	while (r->left >= EXTENSION_HEAD) {
		size_t len = number_at(r->at + 4);

		if (r->at[0] < 'A' || r->at[0] > 'Z' || len > r->left - EXTENSION_HEAD)
			return true;
		r->at += EXTENSION_HEAD + len;
		r->left -= EXTENSION_HEAD + len;
	}
	return r->left > 0;
}

bool git_index_is_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	struct reader one, other;

	if (!reader_init(&one, a, a_len) || !reader_init(&other, b, b_len) ||
	    one.id_len != other.id_len || one.version != other.version || one.count != other.count)
		return false;
	for (uint32_t i = 0; i < one.count; i++) {
		struct entry x, y;

		if (!take_entry(&one, &x) || !take_entry(&other, &y) || x.rest_len != y.rest_len ||
		    memcmp(x.mode, y.mode, MODE_LEN) != 0 ||
		    memcmp(x.rest, y.rest, x.rest_len) != 0)
			return false;
	}
	return !says_more(&one) && !says_more(&other);
}
