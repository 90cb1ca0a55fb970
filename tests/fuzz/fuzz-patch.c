/* SPDX-License-Identifier: MIT */
/* Bytes are three texts, between them a 0xff. A patch from the first to the second is
 * read back by a reader that knows nothing but the format, and leads there; chosen
 * hunks do, too; and the three can be merged. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/diff.h"
#include "base/str.h"
#include "stage/merge.h"
#include "stage/patch.h"
#include "stage/similar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

struct text {
	char *data; /* of exactly this length */
	size_t len;
};

static struct text cut(const uint8_t **data, size_t *size)
{
	const uint8_t *mark = *size ? memchr(*data, 0xff, *size) : NULL;
	struct text t = {.len = mark ? (size_t)(mark - *data) : *size};

	t.data = malloc(t.len ? t.len : 1);
	CHECK(t.data);
	if (t.len)
		memcpy(t.data, *data, t.len);
	*data += t.len + (mark != NULL);
	*size -= t.len + (mark != NULL);
	return t;
}

struct reader {
	const char *at, *end;
	const char *old, *old_end; /* what of the old text is left */
	struct str new;
};

/* A line of the patch without its newline. */
static bool next_line(struct reader *r, const char **line, size_t *len)
{
	const char *newline;

	if (r->at == r->end)
		return false;
	newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
	CHECK(newline);
	*line = r->at;
	*len = (size_t)(newline - r->at);
	r->at = newline + 1;
	return true;
}

/* Take a line of the old text, which is TEXT when that is given. */
static void take_old(struct reader *r, const char *text, size_t len, bool keep)
{
	size_t left = (size_t)(r->old_end - r->old), n;
	const char *newline = left ? memchr(r->old, '\n', left) : NULL;

	CHECK(left > 0);
	n = newline ? (size_t)(newline - r->old) : left;
	CHECK(!text || (n == len && memcmp(r->old, text, n) == 0));
	if (keep)
		CHECK(str_append_bytes(&r->new, r->old, n + (newline != NULL)) == 0);
	r->old += n + (newline != NULL);
}

/* "12,3 …": moves *P behind it. */
static size_t read_number(const char **p, size_t *ret_count)
{
	char *end;
	size_t n = strtoul(*p, &end, 10);

	CHECK(end != *p);
	*ret_count = 1;
	if (*end == ',')
		*ret_count = strtoul(end + 1, &end, 10);
	*p = end;
	return n;
}

static void read_hunk(struct reader *r, const char *head, size_t *old_line)
{
	size_t removed, added, start;
	const char *p = head + strlen("@@ -");
	char last = ' ';

	start = read_number(&p, &removed);
	CHECK(strncmp(p, " +", 2) == 0);
	p += 2;
	read_number(&p, &added);
	CHECK(strncmp(p, " @@", 3) == 0);
	for (; *old_line + (removed > 0) < start; (*old_line)++)
		take_old(r, NULL, 0, true);
	while (removed > 0 || added > 0 || (r->at < r->end && *r->at == '\\')) {
		const char *line;
		size_t len;

		CHECK(next_line(r, &line, &len) && len > 0);
		if (*line == '\\') {
			/* Context takes its end from the old text. */
			if (last == '+')
				str_truncate(&r->new, r->new.len - 1);
			else
				CHECK(r->old == r->old_end);
			continue;
		}
		last = *line;
		CHECK(last == ' ' || last == '-' || last == '+');
		if (last == '+') {
			CHECK(str_append_bytes(&r->new, line + 1, len) == 0); /* with the \n */
		} else {
			take_old(r, line + 1, len - 1, last == ' ');
			(*old_line)++;
		}
		CHECK(last == '+' || removed-- > 0);
		CHECK(last == '-' || added-- > 0);
	}
}

static void check_patch(const struct text *old, const struct text *new, size_t context)
{
	const struct patch_side a = {"f", PATCH_MODE_FILE, old->data, old->len};
	const struct patch_side b = {"f", PATCH_MODE_FILE, new->data, new->len};
	struct patch_options options = {.context = context};
	_cleanup_(str_release) struct str patch = {0};
	struct reader r = {.old = old->data, .old_end = old->data + old->len};
	size_t len, old_line = 0;
	const char *line;

	CHECK(patch_write(&patch, &a, &b, &options) == 0);
	if (diff_is_binary(old->data, old->len) || diff_is_binary(new->data, new->len))
		return;
	r.at = str_text(&patch);
	r.end = r.at + patch.len;
	while (next_line(&r, &line, &len))
		if (len > 4 && memcmp(line, "@@ -", 4) == 0)
			read_hunk(&r, line, &old_line);
	CHECK(str_append_bytes(&r.new, r.old, (size_t)(r.old_end - r.old)) == 0);
	CHECK(r.new.len == new->len &&memcmp(str_text(&r.new), new->data, new->len) == 0);
	str_release(&r.new);
	str_truncate(&patch, 0);
	CHECK(patch_write_shown(&patch, &a, &b, &options, true) == 0);
}

/* Some now, the rest later: both is everything. */
static void check_choice(const struct text *old, const struct text *new, size_t context)
{
	_cleanup_(diff_release) struct diff d = {0};
	_cleanup_(freep) struct diff_hunk *hunks = NULL;
	_cleanup_(freep) bool *chosen = NULL;
	_cleanup_(str_release) struct str some = {0}, all = {0}, none = {0};
	size_t n = 0;

	CHECK(diff_compute(old->data, old->len, new->data, new->len, DIFF_NATURAL, &d) == 0);
	CHECK(diff_hunks(&d, context, &hunks, &n) == 0);
	chosen = calloc(n + 1, sizeof(*chosen));
	CHECK(chosen);
	CHECK(patch_apply_hunks(&d, hunks, n, chosen, &none) == 0);
	CHECK(none.len == old->len && memcmp(none.data, old->data, old->len) == 0);
	for (size_t i = 0; i < n; i += 2)
		chosen[i] = true;
	CHECK(patch_apply_hunks(&d, hunks, n, chosen, &some) == 0);
	for (size_t i = 0; i < n; i++)
		chosen[i] = true;
	CHECK(patch_apply_hunks(&d, hunks, n, chosen, &all) == 0);
	CHECK(all.len == new->len &&memcmp(all.data, new->data, new->len) == 0);
}

static void check_merge(const struct text *base, const struct text *ours, const struct text *theirs)
{
	static const struct merge_names names = {"a", NULL, "c"};
	struct merge_text b = {base->data, base->len}, o = {ours->data, ours->len};
	struct merge_text t = {theirs->data, theirs->len};
	_cleanup_(merge_release) struct merge m = {0}, same = {0}, turned = {0};
	_cleanup_(str_release) struct str out = {0}, one = {0};

	CHECK(merge_compute(b, o, t, &m) == 0 && merge_compute(b, t, o, &turned) == 0);
	CHECK(m.conflicts == turned.conflicts && m.len == turned.len);
	CHECK(merge_write(&m, &names, &out) == 0);
	/* Against itself, or against no change: it is that. */
	CHECK(merge_compute(b, o, o, &same) == 0 && same.conflicts == 0);
	CHECK(merge_write(&same, NULL, &one) == 0);
	CHECK(one.len == ours->len && memcmp(one.data, ours->data, one.len) == 0);
	merge_release(&same);
	str_truncate(&one, 0);
	CHECK(merge_compute(b, b, t, &same) == 0 && same.conflicts == 0);
	CHECK(merge_write(&same, NULL, &one) == 0);
	CHECK(one.len == theirs->len && memcmp(one.data, theirs->data, one.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text old = cut(&data, &size), new = cut(&data, &size), third = cut(&data, &size);
	size_t context = old.len % 5;
	int percent = similar_percent(old.data, old.len, new.data, new.len);

	CHECK(percent >= 0 && percent <= 100);
	CHECK((percent == 100) == (old.len == new.len &&memcmp(old.data, new.data, old.len) == 0));
	check_patch(&old, &new, context);
	check_choice(&old, &new, context);
	check_merge(&old, &new, &third);
	free(old.data);
	free(new.data);
	free(third.data);
	return 0;
}
