/* SPDX-License-Identifier: MIT */
#include "policy/rule-set.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "policy/host-rule.h"
#include "policy/secret-name.h"

const char rule_all[] = "everything";

static bool is_pattern(const char *text, size_t len)
{
	return len > 0 && text[len - 1] == '*';
}

/* A pattern never lets a secret pass; a name does. */
static bool var_covers(const char *wide, const char *narrow)
{
	size_t len = strlen(wide), narrow_len = strlen(narrow);

	if (!is_pattern(wide, len))
		return str_eq(wide, narrow);
	return strncmp(wide, narrow, len - 1) == 0 &&
	       (is_pattern(narrow, narrow_len) || !variable_is_secret(narrow, narrow_len));
}

bool rules_filesystem_is_open(const struct spec *spec)
{
	struct rule_set set = rules_writable(spec);

	return rule_set_covers(&set, "/");
}

static struct rule_set path_rules(const struct spec *spec)
{
	return (struct rule_set){
		.covers = path_covers,
		.extra_dim = DIM_FILESYSTEM,
		.hidden = &spec->paths_hidden,
		.hidden_dim = DIM_PATHS_HIDDEN,
	};
}

struct rule_set rules_readable(const struct spec *spec)
{
	struct rule_set set = path_rules(spec);

	set.lists[0] = &spec->paths_readable;
	set.list_dims[0] = DIM_PATHS_READABLE;
	set.lists[1] = &spec->paths_writable;
	set.list_dims[1] = DIM_PATHS_WRITABLE;
	if (spec->filesystem == FILESYSTEM_UNRESTRICTED)
		set.extra = "/";
	else if (spec->filesystem != FILESYSTEM_NONE)
		set.extra = spec->workspace;
	return set;
}

struct rule_set rules_writable(const struct spec *spec)
{
	struct rule_set set = path_rules(spec);

	set.lists[0] = &spec->paths_writable;
	set.list_dims[0] = DIM_PATHS_WRITABLE;
	if (spec->filesystem == FILESYSTEM_UNRESTRICTED)
		set.extra = "/";
	else if (spec->filesystem == FILESYSTEM_WORKSPACE_ONLY)
		set.extra = spec->workspace;
	return set;
}

struct rule_set rules_sockets(const struct spec *spec)
{
	struct rule_set set = path_rules(spec);

	set.lists[0] = &spec->sockets;
	set.list_dims[0] = DIM_SOCKETS;
	set.extra = rules_filesystem_is_open(spec) ? rule_all : NULL;
	return set;
}

/* A cache is a private copy and shows nothing that is hidden. */
struct rule_set rules_caches(const struct spec *spec)
{
	return (struct rule_set){
		.covers = path_covers,
		.lists = {&spec->caches},
		.list_dims = {DIM_CACHES},
		.extra = rules_filesystem_is_open(spec) ? rule_all : NULL,
		.extra_dim = DIM_FILESYSTEM,
	};
}

struct rule_set rules_hosts(const struct spec *spec)
{
	return (struct rule_set){
		.covers = host_rule_covers,
		.lists = {spec->network == NETWORK_ALLOWED_HOSTS ? &spec->hosts : NULL},
		.list_dims = {DIM_HOSTS},
		.extra = spec->network == NETWORK_UNRESTRICTED ? rule_all : NULL,
		.extra_dim = DIM_NETWORK,
	};
}

struct rule_set rules_ports(const struct spec *spec)
{
	struct rule_set set = {
		.covers = str_eq,
		.list_dims = {DIM_PORTS},
		.extra_dim = DIM_PORTS,
	};

	if (spec->network == NETWORK_UNRESTRICTED) {
		set.extra = rule_all;
		set.extra_dim = DIM_NETWORK;
	} else if (spec->network != NETWORK_NONE) {
		set.lists[0] = spec->ports_set ? &spec->ports : NULL;
		set.extra = spec->ports_set ? NULL : rule_all;
	}
	return set;
}

struct rule_set rules_expose(const struct spec *spec)
{
	return (struct rule_set){
		.covers = str_eq,
		.lists = {&spec->expose},
		.list_dims = {DIM_EXPOSE},
		.extra = spec->network == NETWORK_UNRESTRICTED ? rule_all : NULL,
		.extra_dim = DIM_NETWORK,
	};
}

struct rule_set rules_vars(const struct spec *spec)
{
	return (struct rule_set){
		.covers = var_covers,
		.lists = {spec->env == ENV_PASS ? &spec->env_pass : NULL},
		.list_dims = {DIM_ENV_PASS},
		.extra = spec->env == ENV_INHERIT ? rule_all : NULL,
		.extra_dim = DIM_ENV,
	};
}

/* The I-th rule and the dimension that it comes from; NULL past the last. */
static const char *rule_at(const struct rule_set *set, size_t i, enum dim *ret_dim)
{
	for (size_t k = 0; k < RULE_LISTS; k++) {
		const struct strv *list = set->lists[k];
		size_t len = list ? list->len : 0;

		if (i < len) {
			*ret_dim = set->list_dims[k];
			return list->items[i];
		}
		i -= len;
	}
	*ret_dim = set->extra_dim;
	return i == 0 ? set->extra : NULL;
}

static bool rule_covers(const struct rule_set *set, const char *wide, const char *narrow)
{
	if (wide == rule_all || narrow == rule_all)
		return wide == rule_all;
	return set->covers(wide, narrow);
}

static bool is_hidden(const struct rule_set *set, const char *rule)
{
	for (size_t i = 0; set->hidden && i < set->hidden->len; i++)
		if (rule_covers(set, set->hidden->items[i], rule))
			return true;
	return false;
}

bool rule_set_is_empty(const struct rule_set *set)
{
	const char *rule;
	enum dim dim;

	for (size_t i = 0; (rule = rule_at(set, i, &dim)); i++)
		if (!is_hidden(set, rule))
			return false;
	return true;
}

static int compare(const void *text, const void *item)
{
	return strcmp(text, *(char *const *)item);
}

/* Lists of a spec are sorted: what is in both of two long ones is found at once. One that is not
 * is searched as ever. */
static bool is_in_lists(const struct rule_set *set, const char *rule)
{
	for (size_t k = 0; k < RULE_LISTS; k++) {
		const struct strv *list = set->lists[k];

		if (list && list->len > 0 && rule != rule_all &&
		    bsearch(rule, list->items, list->len, sizeof(*list->items), compare))
			return true;
	}
	return false;
}

bool rule_set_covers(const struct rule_set *set, const char *rule)
{
	const char *wide;
	enum dim dim;

	if (is_hidden(set, rule))
		return false;
	if (is_in_lists(set, rule))
		return true;
	for (size_t i = 0; (wide = rule_at(set, i, &dim)); i++)
		if (rule_covers(set, wide, rule))
			return true;
	return false;
}

/* Does RULE of A show something that B hides? */
static bool is_unveiled(const struct rule_set *a, const char *rule, const struct rule_set *b)
{
	for (size_t i = 0; b->hidden && i < b->hidden->len; i++) {
		const char *hidden = b->hidden->items[i], *common = NULL;

		if (rule_covers(a, rule, hidden))
			common = hidden;
		else if (rule_covers(a, hidden, rule))
			common = rule;
		if (common && !is_hidden(a, common))
			return true;
	}
	return false;
}

/* Like rule_set_covers(), but what B hides is is_unveiled()'s to report. */
static bool is_listed(const struct rule_set *b, const char *rule)
{
	struct rule_set bare = *b;

	bare.hidden = NULL;
	return rule_set_covers(&bare, rule);
}

dim_set rule_set_excess(const struct rule_set *a, const struct rule_set *b)
{
	dim_set excess = 0;
	const char *rule;
	enum dim dim;

	for (size_t i = 0; (rule = rule_at(a, i, &dim)); i++) {
		if (is_hidden(a, rule))
			continue;
		if (!is_listed(b, rule))
			excess |= DIM_BIT(dim);
		if (is_unveiled(a, rule, b))
			excess |= DIM_BIT(b->hidden_dim);
	}
	return excess;
}

/* Append the rules of A that B covers as a whole, before B hides anything. */
static int add_listed(const struct rule_set *a, const struct rule_set *b, struct strv *ret)
{
	const char *rule;
	enum dim dim;

	for (size_t i = 0; (rule = rule_at(a, i, &dim)); i++) {
		int r;

		if (rule == rule_all || is_hidden(a, rule) || is_hidden(b, rule))
			continue;
		if (!is_listed(b, rule))
			continue;
		r = strv_add(ret, rule);
		if (r < 0)
			return r;
	}
	return 0;
}

int rule_set_intersect(const struct rule_set *a, const struct rule_set *b, struct strv *ret)
{
	int r = add_listed(a, b, ret);

	if (r == 0)
		r = add_listed(b, a, ret);
	if (r == 0)
		rules_normalize(ret, a->covers);
	return r;
}

int rule_set_list(const struct rule_set *set, struct strv *ret)
{
	int r = add_listed(set, set, ret);

	if (r == 0)
		rules_normalize(ret, set->covers);
	return r;
}

void rules_normalize(struct strv *rules, rule_covers_fn *covers)
{
	size_t kept = 0;

	strv_sort_unique(rules);
	for (size_t i = 0; i < rules->len; i++) {
		bool covered = false;

		/* What was dropped needs no look: what covered it is still here. */
		for (size_t k = 0; k < kept && !covered; k++)
			covered = covers(rules->items[k], rules->items[i]);
		for (size_t k = i + 1; k < rules->len && !covered; k++)
			covered = covers(rules->items[k], rules->items[i]);
		if (covered)
			free(rules->items[i]);
		else
			rules->items[kept++] = rules->items[i];
	}
	rules->len = kept;
	if (rules->items)
		rules->items[kept] = NULL;
}
