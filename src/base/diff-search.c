/* SPDX-License-Identifier: MIT */
/*
 * E. Myers, "An O(ND) difference algorithm and its variations" (1986), in linear
 * space: search from both ends of a box until the paths meet, then do the two
 * boxes that are left. Before that, what cannot match or would only match by
 * chance is taken out.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/diff-impl.h"

/* A box whose search costs more edits than this is cut where one of the paths came
 * furthest. Each cut gains at least as many lines as it had edits, so the work is
 * at most about lines * limit. */
#define LIMIT_MIN   256
#define LIMIT_TIRED 32
#define WORK_MAX    ((uint64_t)100 * 1000 * 1000) /* steps; past them LIMIT_TIRED holds */

/* What is left of one side. */
struct rest {
	uint32_t *classes;
	uint32_t *lines; /* where they are in the whole */
	int32_t len;
	bool *changed;
};

struct search {
	struct rest old, new;
	/* By diagonal (old - new): how far along the old side the paths came. */
	int32_t *forward, *backward;
	int32_t *reach; /* owns both */
	int32_t limit;
	uint64_t work;
};

struct box {
	int32_t old_from, old_to;
	int32_t new_from, new_to;
	bool exact; /* known to be cheap: not to be cut */
};

/* Where to cut, and which of the halves is known to be cheap. */
struct cut {
	int32_t old, new;
	bool exact_before, exact_after;
};

/* Diagonals from..to of one direction, those of the last round. */
struct band {
	int32_t from, to;
};

/* One more edit: the band grows, or at the edges of the box shrinks. */
static void band_step(struct band *band, const struct band *edges, int32_t *reach, int32_t none)
{
	if (band->from > edges->from) {
		band->from--;
		reach[band->from - 1] = none;
	} else {
		band->from++;
	}
	if (band->to < edges->to) {
		band->to++;
		reach[band->to + 1] = none;
	} else {
		band->to--;
	}
}

static bool go_forward(struct search *s, const struct box *box, const struct band *band,
		       const struct band *met, struct cut *ret_cut)
{
	const uint32_t *a = s->old.classes, *b = s->new.classes;
	int32_t *reach = s->forward;

	for (int32_t k = band->to; k >= band->from; k -= 2) {
		int32_t x = reach[k - 1] >= reach[k + 1] ? reach[k - 1] + 1 : reach[k + 1];
		int32_t start = x;

		while (x < box->old_to && x - k < box->new_to && a[x] == b[x - k])
			x++;
		s->work += (uint64_t)(x - start) + 1;
		reach[k] = x;
		if (met && met->from <= k && k <= met->to && s->backward[k] <= x) {
			*ret_cut = (struct cut){x, x - k, true, true};
			return true;
		}
	}
	return false;
}

static bool go_backward(struct search *s, const struct box *box, const struct band *band,
			const struct band *met, struct cut *ret_cut)
{
	const uint32_t *a = s->old.classes, *b = s->new.classes;
	int32_t *reach = s->backward;

	for (int32_t k = band->to; k >= band->from; k -= 2) {
		int32_t x = reach[k - 1] < reach[k + 1] ? reach[k - 1] : reach[k + 1] - 1;
		int32_t start = x;

		while (x > box->old_from && x - k > box->new_from && a[x - 1] == b[x - k - 1])
			x--;
		s->work += (uint64_t)(start - x) + 1;
		reach[k] = x;
		if (met && met->from <= k && k <= met->to && x <= s->forward[k]) {
			*ret_cut = (struct cut){x, x - k, true, true};
			return true;
		}
	}
	return false;
}

/* The paths did not meet: the point that is furthest from where it came. */
static struct cut cut_short(const struct search *s, const struct box *box,
			    const struct band *forward, const struct band *backward)
{
	int64_t best_gain = -1, best_rest = INT64_MAX;
	struct cut ahead = {0}, behind = {0};

	for (int32_t k = forward->to; k >= forward->from; k -= 2) {
		int32_t x = s->forward[k] < box->old_to ? s->forward[k] : box->old_to;

		if (x - k > box->new_to)
			x = box->new_to + k;
		if ((int64_t)x + x - k > best_gain) {
			best_gain = (int64_t)x + x - k;
			ahead = (struct cut){x, x - k, true, false};
		}
	}
	for (int32_t k = backward->to; k >= backward->from; k -= 2) {
		int32_t x = s->backward[k] > box->old_from ? s->backward[k] : box->old_from;

		if (x - k < box->new_from)
			x = box->new_from + k;
		if ((int64_t)x + x - k < best_rest) {
			best_rest = (int64_t)x + x - k;
			behind = (struct cut){x, x - k, false, true};
		}
	}
	best_gain -= (int64_t)box->old_from + box->new_from;
	best_rest = (int64_t)box->old_to + box->new_to - best_rest;
	return best_rest < best_gain ? ahead : behind;
}

static struct cut find_cut(struct search *s, const struct box *box)
{
	const struct band edges = {box->old_from - box->new_to, box->old_to - box->new_from};
	int32_t first = box->old_from - box->new_from, last = box->old_to - box->new_to;
	struct band forward = {first, first}, backward = {last, last};
	/* Only every second diagonal is visited in a round: which direction can
	 * find the other's newest points depends on this. */
	bool is_odd = (first - last) & 1;
	struct cut cut;

	s->forward[first] = box->old_from;
	s->backward[last] = box->old_to;
	for (int32_t edits = 1;; edits++) {
		band_step(&forward, &edges, s->forward, -1);
		if (go_forward(s, box, &forward, is_odd ? &backward : NULL, &cut))
			return cut;
		band_step(&backward, &edges, s->backward, INT32_MAX);
		if (go_backward(s, box, &backward, is_odd ? NULL : &forward, &cut))
			return cut;
		if (s->work > WORK_MAX)
			s->limit = LIMIT_TIRED;
		if (!box->exact && edits >= s->limit)
			return cut_short(s, box, &forward, &backward);
	}
}

/* Skip what is equal at both ends; true when nothing is left to search. */
static bool trim(const struct search *s, struct box *box)
{
	const uint32_t *a = s->old.classes, *b = s->new.classes;

	while (box->old_from < box->old_to && box->new_from < box->new_to &&
	       a[box->old_from] == b[box->new_from])
		box->old_from++, box->new_from++;
	while (box->old_from < box->old_to && box->new_from < box->new_to &&
	       a[box->old_to - 1] == b[box->new_to - 1])
		box->old_to--, box->new_to--;
	return box->old_from == box->old_to || box->new_from == box->new_to;
}

static int64_t box_size(const struct box *box)
{
	return (int64_t)(box->old_to - box->old_from) + (box->new_to - box->new_from);
}

/* Recurses into the smaller half only: its depth is logarithmic. */
static void search_box(struct search *s, struct box box)
{
	while (!trim(s, &box)) {
		struct cut cut = find_cut(s, &box);
		struct box before = box, after = box;

		before.old_to = cut.old;
		before.new_to = cut.new;
		before.exact = cut.exact_before;
		after.old_from = cut.old;
		after.new_from = cut.new;
		after.exact = cut.exact_after;
		if (box_size(&before) < box_size(&after)) {
			search_box(s, before);
			box = after;
		} else {
			search_box(s, after);
			box = before;
		}
	}
	for (int32_t i = box.old_from; i < box.old_to; i++)
		s->old.changed[s->old.lines[i]] = true;
	for (int32_t i = box.new_from; i < box.new_to; i++)
		s->new.changed[s->new.lines[i]] = true;
}

/* A power of two near the root. */
static size_t rough_root(size_t n)
{
	size_t root = 1;

	for (; n > 0; n >>= 2)
		root <<= 1;
	return root;
}

enum partner {
	PARTNER_NONE, /* the other side has no such line */
	PARTNER_FEW,
	PARTNER_MANY, /* "}" and blank lines */
};

#define AROUND       100  /* lines that are looked at before and after */
#define COMMON_MAX   1024 /* so many partners are many in any text */
#define COMMON_SHARE 4

/* Is the line at I, which has many partners, amid lines that have none? To match it
 * would tear a rewritten passage apart. PARTNERS has FROM..TO - 1 meaningful. */
static bool is_chance(const uint8_t *partners, size_t i, size_t from, size_t to)
{
	size_t none_before = 0, none_after = 0, many = 2;

	for (size_t n = 1; n <= AROUND && n <= i - from; n++) {
		if (partners[i - n] == PARTNER_FEW)
			break;
		*(partners[i - n] == PARTNER_NONE ? &none_before : &many) += 1;
	}
	if (none_before == 0)
		return false;
	for (size_t n = 1; n <= AROUND && i + n < to; n++) {
		if (partners[i + n] == PARTNER_FEW)
			break;
		*(partners[i + n] == PARTNER_NONE ? &none_after : &many) += 1;
	}
	return none_after > 0 && many * COMMON_SHARE < many + none_before + none_after;
}

/* Fill REST with the lines FROM..TO - 1 of SIDE that are worth a search and mark
 * the others as changed. COUNTS: how often each class is on the other side. */
static int pick(const struct diff_side *side, size_t from, size_t to, const uint32_t *counts,
		struct rest *rest)
{
	_cleanup_(freep) uint8_t *partners = malloc(to + 1);
	size_t many = rough_root(side->lines->count);

	rest->changed = side->changed;
	rest->classes = malloc((to - from + 1) * sizeof(*rest->classes));
	rest->lines = malloc((to - from + 1) * sizeof(*rest->lines));
	if (!partners || !rest->classes || !rest->lines)
		return -ENOMEM;
	if (many > COMMON_MAX)
		many = COMMON_MAX;
	for (size_t i = from; i < to; i++) {
		uint32_t n = counts[side->classes[i]];

		partners[i] = n == 0 ? PARTNER_NONE : n < many ? PARTNER_FEW : PARTNER_MANY;
	}
	for (size_t i = from; i < to; i++) {
		if (partners[i] == PARTNER_NONE ||
		    (partners[i] == PARTNER_MANY && is_chance(partners, i, from, to))) {
			side->changed[i] = true;
			continue;
		}
		rest->classes[rest->len] = side->classes[i];
		rest->lines[rest->len++] = (uint32_t)i;
	}
	return 0;
}

static void search_release(struct search *s)
{
	free(s->old.classes);
	free(s->old.lines);
	free(s->new.classes);
	free(s->new.lines);
	free(s->reach);
}

static int search_rest(struct search *s)
{
	size_t diagonals = (size_t)s->old.len + (size_t)s->new.len + 3;
	size_t limit = rough_root(diagonals);

	s->reach = malloc(2 * diagonals * sizeof(*s->reach));
	if (!s->reach)
		return -ENOMEM;
	/* Diagonals go from -new.len - 1 to old.len + 1. */
	s->forward = s->reach + s->new.len + 1;
	s->backward = s->forward + diagonals;
	s->limit = (int32_t)(limit > LIMIT_MIN ? limit : LIMIT_MIN);
	search_box(s, (struct box){.old_to = s->old.len, .new_to = s->new.len});
	return 0;
}

static uint32_t *count_classes(const struct diff_side *side, size_t n_classes)
{
	uint32_t *counts = calloc(n_classes + 1, sizeof(*counts));

	for (size_t i = 0; counts && i < side->lines->count; i++)
		counts[side->classes[i]]++;
	return counts;
}

int diff_search(struct diff_side *old, struct diff_side *new, size_t n_classes)
{
	size_t from = 0, old_to = old->lines->count, new_to = new->lines->count;
	_cleanup_(search_release) struct search s = {0};
	_cleanup_(freep) uint32_t *in_old = count_classes(old, n_classes);
	_cleanup_(freep) uint32_t *in_new = count_classes(new, n_classes);
	int r;

	if (!in_old || !in_new)
		return -ENOMEM;
	while (from < old_to && from < new_to && old->classes[from] == new->classes[from])
		from++;
	while (old_to > from && new_to > from &&
	       old->classes[old_to - 1] == new->classes[new_to - 1])
		old_to--, new_to--;
	r = pick(old, from, old_to, in_new, &s.old);
	if (r == 0)
		r = pick(new, from, new_to, in_old, &s.new);
	return r < 0 ? r : search_rest(&s);
}
