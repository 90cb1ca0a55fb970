/* SPDX-License-Identifier: MIT */
#include "config/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "config/keys.h"
#include "config/value.h"
#include "config/weight.h"

#define DEPTH_MAX      8 /* deeper than any key */
#define CANDIDATES_MAX 64
#define ENTRIES_MAX    1024 /* of a list or table in a project's file */

struct check {
	const char *file;
	enum layer layer;
	const char *path[DEPTH_MAX];
	size_t depth;
	size_t root; /* the depth of what the text holds: 0 for a whole file */
	struct err *err;
};

static int check_table(struct check *c, const struct toml_value *table, const struct key *spec);

/* Put the position in front of what err says. */
static int at(const struct check *c, struct toml_pos pos, int r)
{
	return position_error(c->file, pos, r, c->err);
}

/* "[presets.ci]" for the table that we are in, N levels deep. */
static const char *table_name(const struct check *c, size_t n, char *buf, size_t size)
{
	size_t len = 0;

	if (n == c->root)
		return c->root ? "the spec" : "the file";
	for (size_t i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%c%s", i ? '.' : '[', c->path[i]);
	if (len < size)
		snprintf(buf + len, size - len, "]");
	return buf;
}

/* Do the first DEPTH components of the current path fit PATTERN? *ret_rest is
 * what of the pattern comes after them. */
static bool matches(const struct check *c, const char *pattern, size_t depth, const char **ret_rest)
{
	for (size_t i = 0; i < depth; i++) {
		size_t len = strcspn(pattern, ".");

		if (!(len == 1 && pattern[0] == '*') &&
		    !(strncmp(c->path[i], pattern, len) == 0 && c->path[i][len] == '\0'))
			return false;
		pattern += len;
		if (*pattern == '.')
			pattern++;
		else if (i + 1 < depth)
			return false;
	}
	*ret_rest = pattern;
	return true;
}

/* The key at the current path, or NULL; *ret_inner: a table on the way to one. */
static const struct key *find_key(const struct check *c, bool *ret_inner)
{
	const struct key *found = NULL;
	const char *rest;

	*ret_inner = false;
	for (size_t i = 0; i < config_keys_len; i++) {
		if (!matches(c, config_keys[i].path, c->depth, &rest))
			continue;
		if (*rest)
			*ret_inner = true;
		else
			found = &config_keys[i];
	}
	return found;
}

static int unknown_key(const struct check *c, const struct toml_entry *entry, bool in_spec)
{
	char names[CANDIDATES_MAX][32], buf[256];
	const char *candidates[CANDIDATES_MAX], *rest, *near;
	size_t n = 0, parent = c->depth - 1;

	for (int dim = 0; in_spec && dim < DIM_COUNT_; dim++)
		candidates[n++] = spec_keys[dim].path;
	for (size_t i = 0; i < config_keys_len && n < CANDIDATES_MAX; i++) {
		if (!matches(c, config_keys[i].path, parent, &rest) || !*rest || *rest == '*')
			continue;
		snprintf(names[n], sizeof(names[n]), "%.*s", (int)strcspn(rest, "."), rest);
		candidates[n] = names[n];
		n++;
	}
	err_set(c->err, ERR_CONFIG, -EINVAL, "unknown key '%s' in %s", entry->key,
		table_name(c, parent, buf, sizeof(buf)));
	near = str_nearest(entry->key, candidates, n);
	if (near)
		err_hint(c->err, -EINVAL, "did you mean '%s'?", near);
	else
		err_hint(c->err, -EINVAL, "`pale config keys` lists what there is");
	return at(c, entry->pos, -EINVAL);
}

static const char *wanted(const struct key *key)
{
	switch (key->type) {
	case KEY_BOOL:
		return "true or false";
	case KEY_UINT:
		return "a number";
	case KEY_SIZE:
		return "a size such as \"512m\"";
	case KEY_DURATION:
		return "a duration such as \"30s\"";
	case KEY_CHOICE:
	case KEY_TEXT:
	case KEY_NAME:
		return "a string";
	case KEY_SPEC:
		return "the name of a preset or a table";
	case KEY_TEXT_MAP:
	case KEY_SPEC_TABLE:
		return "a table";
	case KEY_TEXTS:
	case KEY_CHOICES:
	case KEY_PATHS:
	case KEY_HOSTS:
	case KEY_VARS:
		return "a list of strings";
	case KEY_PORTS:
		return "a list of numbers";
	}
	BUG("key type");
}

static const char *article(enum toml_type type)
{
	return type == TOML_INTEGER || type == TOML_ARRAY ? "an" : "a";
}

static int wrong_type(const struct check *c, const struct key *key, const struct toml_value *value,
		      const char *where)
{
	err_set(c->err, ERR_CONFIG, -EINVAL, "%s must be %s, not %s %s%s", c->path[c->depth - 1],
		wanted(key), article(value->type), toml_type_name(value->type), where);
	return at(c, value->pos, -EINVAL);
}

static bool scalar_fits(const struct key *key, enum toml_type type)
{
	switch (key->type) {
	case KEY_BOOL:
		return type == TOML_BOOL;
	case KEY_UINT:
	case KEY_PORTS:
		return type == TOML_INTEGER;
	case KEY_SIZE:
		return type == TOML_STRING || type == TOML_INTEGER;
	case KEY_CHOICE:
	case KEY_DURATION:
	case KEY_TEXT:
	case KEY_NAME:
	case KEY_SPEC:
	case KEY_TEXTS:
	case KEY_CHOICES:
	case KEY_PATHS:
	case KEY_HOSTS:
	case KEY_VARS:
	case KEY_TEXT_MAP:
		return type == TOML_STRING;
	case KEY_SPEC_TABLE:
		break;
	}
	return false;
}

/* A scalar, or an item of a list. */
static int check_scalar(const struct check *c, const struct key *key,
			const struct toml_value *value, const char *where)
{
	const char *text = value->type == TOML_STRING ? value->string.bytes : "true";
	char number[24];
	uint64_t n;
	int r;

	if (!scalar_fits(key, value->type))
		return wrong_type(c, key, value, where);
	if (value->type == TOML_STRING && strlen(text) != value->string.len) {
		err_set(c->err, ERR_CONFIG, -EINVAL, "%s holds a NUL byte", c->path[c->depth - 1]);
		return at(c, value->pos, -EINVAL);
	}
	if (value->type == TOML_BOOL)
		return 0;
	if (value->type == TOML_INTEGER) {
		snprintf(number, sizeof(number), "%" PRId64, value->integer);
		text = number;
	}
	r = key_parse(key, text, &n, c->err);
	return r < 0 ? at(c, value->pos, r) : 0;
}

/* Is a list or table of ENTRIES short enough? */
static int check_count(const struct check *c, const struct key *key, size_t entries,
		       struct toml_pos pos)
{
	bool bounded = c->layer == LAYER_WORKSPACE;
	int r = key_check_count(key, entries, bounded ? ENTRIES_MAX : 0, c->err);

	if (r == 0)
		return 0;
	if (bounded && !key->most)
		err_hint(c->err, r, "a project may not list more; your own file can");
	return at(c, pos, r);
}

/* "example.org:80,443" becomes a rule for each port. */
static size_t count_ports(const char *host)
{
	size_t n = 1;

	for (const char *comma = strchr(host, ','); comma; comma = strchr(comma + 1, ','))
		n++;
	return n;
}

static int check_list(const struct check *c, const struct key *key, const struct toml_value *value)
{
	size_t entries;
	int r;

	if (value->type != TOML_ARRAY)
		return wrong_type(c, key, value, "");
	entries = value->array.len;
	r = check_count(c, key, entries, value->pos);
	for (size_t i = 0; i < value->array.len && r == 0; i++) {
		const struct toml_value *item = value->array.items[i];

		r = check_scalar(c, key, item, " in it");
		if (r == 0 && key->type == KEY_HOSTS)
			entries += count_ports(item->string.bytes) - 1;
	}
	return r < 0 ? r : check_count(c, key, entries, value->pos);
}

static int check_text_map(struct check *c, const struct key *key, const struct toml_value *value)
{
	int r;

	if (value->type != TOML_TABLE)
		return wrong_type(c, key, value, "");
	r = check_count(c, key, value->table.len, value->pos);
	if (r < 0)
		return r;
	for (const struct toml_entry *e = value->table.first; e; e = e->next) {
		if (strlen(e->key) != e->key_len || !variable_is_valid(e->key)) {
			err_set(c->err, ERR_CONFIG, -EINVAL, "'%s' is no name of a variable",
				e->key);
			return at(c, e->pos, -EINVAL);
		}
		c->path[c->depth++] = e->key;
		r = e->value->type == TOML_STRING
			    ? check_scalar(c, key, e->value, "")
			    : wrong_type(c, &(struct key){.type = KEY_TEXT}, e->value, "");
		c->depth--;
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_value(struct check *c, const struct key *key, const struct toml_value *value)
{
	bool empty;
	int r;

	if (key->type == KEY_SPEC_TABLE && value->type != TOML_TABLE)
		return wrong_type(c, key, value, "");
	if (key->type == KEY_SPEC_TABLE || (key->type == KEY_SPEC && value->type == TOML_TABLE))
		return check_table(c, value, key);
	if (key->type == KEY_TEXT_MAP)
		return check_text_map(c, key, value);
	if (key->type == KEY_TEXTS || key_is_list(key))
		r = check_list(c, key, value);
	else
		r = check_scalar(c, key, value, "");
	if (r < 0)
		return r;
	/* a command that is nothing */
	empty = (strcmp(key->path, "commands.*.cmd") == 0 && value->string.len == 0) ||
		(strcmp(key->path, "commands.*.argv") == 0 &&
		 (value->array.len == 0 || value->array.items[0]->string.len == 0));
	if (empty) {
		err_set(c->err, ERR_CONFIG, -EINVAL, "%s is empty", c->path[c->depth - 1]);
		return at(c, value->pos, -EINVAL);
	}
	return 0;
}

static int check_where(const struct check *c, const struct key *key, const struct toml_entry *entry)
{
	if (key->where & (1u << c->layer))
		return 0;
	err_set(c->err, ERR_CONFIG, -EPERM,
		"'%s' may stand only in the system's or the user's file", entry->key);
	err_hint(c->err, -EPERM, "remove it here; a project cannot decide that");
	return at(c, entry->pos, -EPERM);
}

/* Names that a user chooses: commands, presets and groups. */
static int check_name(const struct check *c, const struct toml_entry *entry)
{
	if (c->depth != 2 || name_is_valid(entry->key) ||
	    (strcmp(c->path[0], "commands") != 0 && strcmp(c->path[0], "presets") != 0 &&
	     strcmp(c->path[0], "host_groups") != 0))
		return 0;
	err_set(c->err, ERR_CONFIG, -EINVAL, "'%s' is no name", entry->key);
	err_hint(c->err, -EINVAL, "a letter or digit, then letters, digits, '.', '_' or '-'");
	return at(c, entry->pos, -EINVAL);
}

/* A table whose keys are names that the user chooses, or one on the way to keys. */
static int check_names(struct check *c, const struct toml_entry *entry)
{
	const struct key key = {.path = entry->key, .type = KEY_TEXT_MAP};
	int r;

	if (entry->value->type != TOML_TABLE)
		return wrong_type(c, &key, entry->value, "");
	r = check_count(c, &key, entry->value->table.len, entry->value->pos);
	return r < 0 ? r : check_table(c, entry->value, NULL);
}

/* SPEC is the key of the table if it is a spec table. */
static int check_entry(struct check *c, const struct toml_entry *entry, const struct key *spec)
{
	const struct key *key;
	bool inner;
	int dim, r;

	if (strlen(entry->key) != entry->key_len)
		return unknown_key(c, entry, spec != NULL);
	key = find_key(c, &inner);
	dim = spec && !key ? dim_by_name(entry->key) : -1;
	if (dim >= 0)
		return check_value(c, &spec_keys[dim], entry->value);
	if (!key && !inner)
		return unknown_key(c, entry, spec != NULL);
	r = check_name(c, entry);
	if (r < 0)
		return r;
	if (!key)
		return check_names(c, entry);
	r = check_where(c, key, entry);
	return r < 0 ? r : check_value(c, key, entry->value);
}

static int check_table(struct check *c, const struct toml_value *table, const struct key *spec)
{
	int r = 0;

	for (const struct toml_entry *e = table->table.first; e && r == 0; e = e->next) {
		c->path[c->depth++] = e->key;
		r = check_entry(c, e, spec);
		c->depth--;
	}
	return r;
}

int config_check(const struct toml *doc, const char *file, enum layer layer, struct err *err)
{
	struct check c = {.file = file, .layer = layer, .err = err};
	const struct toml_entry *heavy;
	int r = check_table(&c, toml_root(doc), NULL);

	heavy = r == 0 && layer == LAYER_WORKSPACE ? weight_excess(doc) : NULL;
	if (!heavy)
		return r;
	err_set(err, ERR_CONFIG, -E2BIG,
		"up to '%s', presets and commands build on more than %zu entries of lists",
		heavy->key, WEIGHT_MAX);
	err_hint(err, -E2BIG, "let fewer of them have the long lists");
	return at(&c, heavy->pos, -E2BIG);
}

int config_check_spec(const struct toml *doc, const char *file, struct err *err)
{
	struct check c = {
		.file = file,
		.layer = LAYER_USER,
		.path = {"commands", "it", "sandbox"},
		.depth = 3,
		.root = 3,
		.err = err,
	};

	return check_table(&c, toml_root(doc), &(struct key){.type = KEY_SPEC_TABLE});
}
