/* SPDX-License-Identifier: MIT */
/*
 * lattice-laws - what has to hold for any three specs.
 */
#pragma once
#include <stdlib.h>

#include "policy/grade.h"
#include "policy/lattice.h"

struct tally {
	unsigned long pairs, comparable, equal, chains, bounds;
};

static inline bool same(const struct spec *a, const struct spec *b)
{
	return spec_leq(a, b) && spec_leq(b, a);
}

static inline struct spec met(const struct spec *a, const struct spec *b)
{
	struct spec m;

	if (spec_meet(a, b, &m, NULL) < 0)
		abort();
	return m;
}

/* Nothing is within less than this: no limit leaves anything. */
static inline struct spec least(void)
{
	struct spec spec;

	spec_init_bottom(&spec);
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		if (spec_limit(&spec, dim))
			*spec_limit(&spec, dim) = 0;
	return spec;
}

static inline bool grade_leq(const struct spec *a, const struct spec *b, dim_set weak)
{
	struct grade x = spec_grade(a, weak), y = spec_grade(b, weak);

	return x.world <= y.world && x.ceiling <= y.ceiling;
}

/* Each returns the law that is broken, or NULL. */
static inline const char *order_laws(const struct spec *a, const struct spec *b,
				     const struct spec *c, dim_set weak, struct tally *tally)
{
	bool ab = spec_leq(a, b), bc = spec_leq(b, c);

	tally->pairs++;
	tally->comparable += ab || spec_leq(b, a);
	tally->equal += same(a, b);
	tally->chains += ab && bc;
	if (!spec_leq(a, a))
		return "a <= a";
	if (ab && bc && !spec_leq(a, c))
		return "a <= b and b <= c give a <= c";
	if (ab && !grade_leq(a, b, 0))
		return "a <= b gives grade(a) <= grade(b)";
	if (ab && !grade_leq(a, b, weak))
		return "a <= b gives grade(a) <= grade(b) where dimensions are weak";
	if (!grade_leq(a, a, 0) || !grade_leq(a, a, weak))
		return "a grade is its own";
	return NULL;
}

static inline const char *meet_laws(const struct spec *a, const struct spec *b,
				    const struct spec *c, struct tally *tally)
{
	struct spec ab = met(a, b), ba = met(b, a), aa = met(a, a), bc = met(b, c);
	struct spec ab_c = met(&ab, c), a_bc = met(a, &bc), again = met(&ab, &ab);
	struct spec *all[] = {&ab, &ba, &aa, &bc, &ab_c, &a_bc, &again};
	const char *broken = NULL;

	tally->bounds += spec_leq(c, a) && spec_leq(c, b);
	if (!spec_leq(&ab, a) || !spec_leq(&ab, b))
		broken = "meet is within both";
	else if (spec_leq(c, a) && spec_leq(c, b) && !spec_leq(c, &ab))
		broken = "c within a and b is within their meet";
	else if (spec_leq(a, b) != same(&ab, a))
		broken = "a <= b is meet(a, b) = a";
	else if (!same(&ab, &ba))
		broken = "meet(a, b) = meet(b, a)";
	else if (!same(&aa, a) || !same(&again, &ab))
		broken = "meet(a, a) = a";
	else if (!same(&ab_c, &a_bc))
		broken = "meet is associative";
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		spec_release(all[i]);
	return broken;
}

static inline const char *bound_laws(const struct spec *a)
{
	struct spec top, bottom = least(), up, down;
	const char *broken = NULL;

	spec_init_top(&top);
	up = met(a, &top);
	down = met(a, &bottom);
	if (!spec_leq(a, &top) || !spec_leq(&bottom, a))
		broken = "bottom <= a <= top";
	else if (!same(&up, a))
		broken = "meet(a, top) = a";
	else if (!same(&down, &bottom))
		broken = "meet(a, bottom) = bottom";
	spec_release(&up);
	spec_release(&down);
	return broken;
}

static inline const char *lattice_laws(const struct spec *a, const struct spec *b,
				       const struct spec *c, dim_set weak, struct tally *tally)
{
	const char *broken = order_laws(a, b, c, weak, tally);

	if (!broken)
		broken = meet_laws(a, b, c, tally);
	return broken ? broken : bound_laws(a);
}
