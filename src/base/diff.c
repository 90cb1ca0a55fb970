/* SPDX-License-Identifier: MIT */
#include "base/diff.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/diff-impl.h"

#define LINES_MAX ((size_t)1 << 30)

int diff_lines_split(const void *data, size_t len, struct diff_lines *ret_lines)
{
	const char *text = len ? data : "", *p = text, *end = text + len;
	size_t count = 0, *starts;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));

		p = newline ? newline + 1 : end;
		count++;
	}
	if (count > LINES_MAX)
		return -EFBIG;
	starts = malloc((count + 1) * sizeof(*starts));
	if (!starts)
		return -ENOMEM;
	p = text;
	for (size_t i = 0; i < count; i++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));

		starts[i] = (size_t)(p - text);
		p = newline ? newline + 1 : end;
	}
	starts[count] = len;
	*ret_lines = (struct diff_lines){.data = text, .starts = starts, .count = count};
	return 0;
}

void diff_lines_release(struct diff_lines *lines)
{
	free(lines->starts);
	*lines = (struct diff_lines){0};
}

/* Lines get numbers by a hash table. Its key is different each time, since whoever
 * wrote the texts may want collisions; the numbers do not depend on it. */
struct interner {
	uint32_t *slots; /* class + 1 */
	size_t mask;
	uint64_t key;
	uint64_t *hashes;   /* by class */
	const char **texts; /* by class */
	size_t *lens;
	size_t n;
};

static void interner_release(struct interner *in)
{
	free(in->slots);
	free(in->hashes);
	free(in->texts);
	free(in->lens);
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_line(uint64_t key, const char *text, size_t len)
{
	uint64_t h = key ^ len, word;

	for (; len >= sizeof(word); text += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		h = fold(h ^ word, 0x9e3779b97f4a7c15) + key;
	}
	word = 0;
	if (len > 0)
		memcpy(&word, text, len);
	return fold(fold(h ^ word, 0xd6e8feb86659fd93) ^ key, 0xa0761d6478bd642f);
}

static int interner_init(struct interner *in, size_t lines)
{
	size_t size = 64;

	while (size < lines * 2)
		size *= 2;
	*in = (struct interner){
		.slots = calloc(size, sizeof(*in->slots)),
		.hashes = malloc((lines + 1) * sizeof(*in->hashes)),
		.texts = malloc((lines + 1) * sizeof(*in->texts)),
		.lens = malloc((lines + 1) * sizeof(*in->lens)),
		.mask = size - 1,
	};
	in->key = fold(clock_mono_ns() ^ (uintptr_t)in->slots, 0xe7037ed1a0b428db) | 1;
	return in->slots && in->hashes && in->texts && in->lens ? 0 : -ENOMEM;
}

static uint32_t intern(struct interner *in, const char *text, size_t len)
{
	uint64_t hash = hash_line(in->key, text, len);
	size_t at = hash & in->mask;

	for (; in->slots[at]; at = (at + 1) & in->mask) {
		uint32_t class = in->slots[at] - 1;

		if (in->hashes[class] == hash && in->lens[class] == len &&
		    memcmp(in->texts[class], text, len) == 0)
			return class;
	}
	in->hashes[in->n] = hash;
	in->texts[in->n] = text;
	in->lens[in->n] = len;
	in->slots[at] = (uint32_t)++in->n;
	return (uint32_t)(in->n - 1);
}

static int classify(struct interner *in, struct diff_side *side)
{
	const struct diff_lines *lines = side->lines;

	side->flags = calloc(lines->count + 2, sizeof(*side->flags));
	side->classes = malloc((lines->count + 1) * sizeof(*side->classes));
	if (!side->flags || !side->classes)
		return -ENOMEM;
	side->changed = side->flags + 1;
	for (size_t i = 0; i < lines->count; i++)
		side->classes[i] = intern(in, diff_line(lines, i), diff_span(lines, i, 1));
	return 0;
}

static void side_release(struct diff_side *side)
{
	free(side->flags);
	free(side->classes);
}

/* The next edit from lines I and J on, which are moved to its end. */
static bool next_edit(const struct diff_side *old, const struct diff_side *new, size_t *i,
		      size_t *j, struct diff_edit *ret_edit)
{
	size_t a = *i, b = *j;

	while (a < old->lines->count && !old->changed[a] && !new->changed[b])
		a++, b++;
	*ret_edit = (struct diff_edit){.old_line = a, .new_line = b};
	while (old->changed[a])
		a++;
	while (new->changed[b])
		b++;
	ret_edit->old_count = a - ret_edit->old_line;
	ret_edit->new_count = b - ret_edit->new_line;
	*i = a;
	*j = b;
	return ret_edit->old_count + ret_edit->new_count > 0;
}

static int collect_edits(const struct diff_side *old, const struct diff_side *new, struct diff *d)
{
	struct diff_edit edit;
	size_t n = 0;

	for (size_t i = 0, j = 0; next_edit(old, new, &i, &j, &edit);)
		n++;
	if (n == 0)
		return 0;
	d->edits = calloc(n, sizeof(*d->edits));
	if (!d->edits)
		return -ENOMEM;
	for (size_t i = 0, j = 0; d->len < n; d->len++)
		next_edit(old, new, &i, &j, &d->edits[d->len]);
	return 0;
}

static int compute(struct diff *d, enum diff_style style)
{
	_cleanup_(side_release) struct diff_side old = {.lines = &d->old};
	_cleanup_(side_release) struct diff_side new = {.lines = &d->new};
	_cleanup_(interner_release) struct interner in = {0};
	int r = interner_init(&in, d->old.count + d->new.count);

	if (r == 0)
		r = classify(&in, &old);
	if (r == 0)
		r = classify(&in, &new);
	if (r == 0)
		r = diff_search(&old, &new, in.n);
	if (r < 0)
		return r;
	diff_slide(&old, &new, style);
	diff_slide(&new, &old, style);
	return collect_edits(&old, &new, d);
}

int diff_compute(const void *old, size_t old_len, const void *new, size_t new_len,
		 enum diff_style style, struct diff *ret_diff)
{
	_cleanup_(diff_release) struct diff d = {0};
	int r = diff_lines_split(old, old_len, &d.old);

	if (r == 0)
		r = diff_lines_split(new, new_len, &d.new);
	if (r == 0 && (old_len != new_len || (old_len && memcmp(old, new, old_len) != 0)))
		r = compute(&d, style);
	if (r < 0)
		return r;
	*ret_diff = d;
	d = (struct diff){0};
	return 0;
}

void diff_release(struct diff *d)
{
	diff_lines_release(&d->old);
	diff_lines_release(&d->new);
	free(d->edits);
	*d = (struct diff){0};
}
