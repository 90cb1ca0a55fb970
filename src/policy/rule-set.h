/* SPDX-License-Identifier: MIT */
/*
 * rule-set - the sets that the lists of a spec stand for.
 *
 * A rule covers itself and everything below it. Rules form a forest: two of
 * them are disjoint, or one covers the other. That makes inclusion and
 * intersection exact by looking at pairs of rules.
 *
 * A rule_set is a view: it borrows the lists of a spec, adds the one rule that
 * a level stands for, and takes away what other rules hide. It owns nothing, so
 * that comparing cannot fail.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "policy/spec.h"

typedef bool rule_covers_fn(const char *wide, const char *narrow);

/* As `extra`: everything. Known by its address; never part of a list. */
extern const char rule_all[];

#define RULE_LISTS 2

struct rule_set {
	rule_covers_fn *covers;
	const struct strv *lists[RULE_LISTS]; /* each may be NULL */
	enum dim list_dims[RULE_LISTS];       /* where a list comes from */
	const char *extra;                    /* one more rule, or NULL */
	enum dim extra_dim;
	const struct strv *hidden; /* taken away; may be NULL */
	enum dim hidden_dim;
};

/* The lists and levels of a spec. */
struct rule_set rules_readable(const struct spec *spec);
struct rule_set rules_writable(const struct spec *spec);
struct rule_set rules_sockets(const struct spec *spec);
struct rule_set rules_caches(const struct spec *spec);
struct rule_set rules_hosts(const struct spec *spec);
struct rule_set rules_ports(const struct spec *spec);
struct rule_set rules_expose(const struct spec *spec);
struct rule_set rules_vars(const struct spec *spec);

/* Is the whole filesystem writable, but for what is hidden? */
bool rules_filesystem_is_open(const struct spec *spec);

bool rule_set_is_empty(const struct rule_set *set);
bool rule_set_covers(const struct rule_set *set, const char *rule);
/* The dimensions from which A has what B lacks; 0 when A is within B. */
dim_set rule_set_excess(const struct rule_set *a, const struct rule_set *b);
/* Append to RET what is in both, but for rule_all. Nothing in the result
 * covers anything else in it. */
int rule_set_intersect(const struct rule_set *a, const struct rule_set *b, struct strv *ret);
/* Append the rules of SET itself in the same form. */
int rule_set_list(const struct rule_set *set, struct strv *ret);

/* Sort, and drop what another rule covers. */
void rules_normalize(struct strv *rules, rule_covers_fn *covers);
