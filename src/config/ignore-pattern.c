/* SPDX-License-Identifier: MIT */
/*
 * A pattern becomes a list of tokens, each for one byte or for a run of bytes.
 *
 * Matching goes back to the last run only, and to the last one that may cross
 * slashes: what an earlier run could take instead, that one could take as well.
 * So it needs no recursion, and its time is bounded by a polynomial.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/ignore-impl.h"

struct compiler {
	const char *at, *end, *begin;
	struct ignore_rule *rule;
	const char *why;
};

static int refuse(struct compiler *c, const char *why)
{
	c->why = why;
	return -EINVAL;
}

static void set_add(struct ignore_set *set, unsigned first, unsigned last)
{
	for (unsigned byte = first; byte <= last; byte++)
		set->bits[byte / 32] |= 1u << byte % 32;
}

static bool set_has(const struct ignore_set *set, unsigned char byte)
{
	return set->bits[byte / 32] >> byte % 32 & 1;
}

/* The classes of the C locale, as pairs of bounds. */
static const struct {
	const char *name;
	const char *bounds;
} classes[] = {
	{"alnum", "09AZaz"},   {"alpha", "AZaz"},
	{"blank", "\t\t  "},   {"cntrl", "\x01\x1f\x7f\x7f"},
	{"digit", "09"},       {"graph", "!~"},
	{"lower", "az"},       {"print", " ~"},
	{"punct", "!/:@[`{~"}, {"space", "\t\r  "},
	{"upper", "AZ"},       {"xdigit", "09AFaf"},
};

/* AT is behind "[:". Returns 1, or 0 when this is no class after all. */
static int add_class(struct compiler *c, struct ignore_set *set)
{
	const char *close = memchr(c->at, ']', (size_t)(c->end - c->at));
	size_t len;

	if (!close)
		return refuse(c, "a [ without its ]");
	if (close == c->at || close[-1] != ':')
		return 0;
	len = (size_t)(close - 1 - c->at);
	for (size_t i = 0; i < array_len(classes); i++) {
		const char *b = classes[i].bounds;

		if (strlen(classes[i].name) != len || memcmp(classes[i].name, c->at, len) != 0)
			continue;
		for (; *b; b += 2)
			set_add(set, (unsigned char)b[0], (unsigned char)b[1]);
		c->at = close + 1;
		return 1;
	}
	return refuse(c, "an unknown class in [[:...:]]");
}

/* One byte of a set, which may be escaped. */
static int take_byte(struct compiler *c)
{
	if (c->at < c->end && *c->at == '\\')
		c->at++;
	if (c->at == c->end)
		return refuse(c, "a [ without its ]");
	return (unsigned char)*c->at++;
}

/* A byte, a range or a class. */
static int add_item(struct compiler *c, struct ignore_set *set)
{
	int first, last;

	if (c->end - c->at >= 2 && c->at[0] == '[' && c->at[1] == ':') {
		c->at += 2;
		first = add_class(c, set);
		if (first != 0)
			return first < 0 ? first : 0;
		c->at -= 2;
	}
	first = last = take_byte(c);
	if (first >= 0 && c->end - c->at >= 2 && c->at[0] == '-' && c->at[1] != ']') {
		c->at++;
		last = take_byte(c);
	}
	if (first < 0 || last < 0)
		return -EINVAL;
	if (last < first)
		return refuse(c, "a range in [] that runs backwards");
	set_add(set, (unsigned)first, (unsigned)last);
	return 0;
}

static int add_token(struct compiler *c, enum ignore_token_kind kind, unsigned char byte)
{
	struct ignore_rule *rule = c->rule;

	rule->tokens[rule->len++] = (struct ignore_token){.kind = (uint8_t)kind, .byte = byte};
	return 0;
}

/* AT is behind "[". */
static int add_set(struct compiler *c)
{
	struct ignore_rule *rule = c->rule;
	struct ignore_set set = {0}, none = {0};
	bool negated = c->at < c->end && (*c->at == '!' || *c->at == '^');
	struct ignore_set *grown;

	c->at += negated;
	do {
		int r = add_item(c, &set);

		if (r < 0)
			return r;
	} while (c->at < c->end && *c->at != ']');
	if (c->at == c->end)
		return refuse(c, "a [ without its ]");
	c->at++;
	for (size_t i = 0; i < array_len(set.bits) && negated; i++)
		set.bits[i] = ~set.bits[i];
	set.bits['/' / 32] &= ~(1u << '/' % 32);
	if (memcmp(&set, &none, sizeof(set)) == 0)
		return refuse(c, "a [] that no byte can match");
	grown = reallocarray(rule->sets, rule->sets_len + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	rule->sets = grown;
	grown[rule->sets_len] = set;
	rule->tokens[rule->len++] = (struct ignore_token){.kind = TOKEN_SET,
							  .index = (uint16_t)rule->sets_len++};
	return 0;
}

/* Does a run of stars begin where a name does? Git compares the bytes before the
 * first wildcard by themselves and takes what follows for a beginning, so that
 * "a**" and the like cross slashes there. A rule means here what it means there. */
static bool begins_name(const struct compiler *c, const char *stars)
{
	return stars == c->begin || stars[-1] == '/' ||
	       strcspn(c->begin, "*?[\\") == (size_t)(stars - c->begin);
}

/* AT is behind the first "*". Two and more between slashes cross slashes. */
static int add_stars(struct compiler *c)
{
	const char *stars = c->at - 1;
	bool many = false;

	for (; c->at < c->end && *c->at == '*'; c->at++)
		many = true;
	if (!many || c->rule->by_name || !begins_name(c, stars))
		return add_token(c, TOKEN_STAR, 0);
	if (c->at == c->end || (c->end - c->at >= 2 && c->at[0] == '\\' && c->at[1] == '/'))
		return add_token(c, TOKEN_DEEP, 0);
	if (*c->at != '/')
		return add_token(c, TOKEN_STAR, 0);
	c->at++;
	return add_token(c, TOKEN_DIRS, 0);
}

static int add_next(struct compiler *c)
{
	char byte = *c->at++;

	switch (byte) {
	case '*':
		return add_stars(c);
	case '?':
		return add_token(c, TOKEN_ANY, 0);
	case '[':
		return add_set(c);
	case '\\':
		if (c->at == c->end)
			return refuse(c, "a \\ with nothing behind it");
		byte = *c->at++;
		return add_token(c, TOKEN_BYTE, (unsigned char)byte);
	default:
		return add_token(c, TOKEN_BYTE, (unsigned char)byte);
	}
}

static bool is_byte(const struct ignore_token *token, char byte)
{
	return token->kind == TOKEN_BYTE && token->byte == (unsigned char)byte;
}

/* No path has an empty component, "." or "..". */
static int check_components(struct compiler *c)
{
	const struct ignore_token *tokens = c->rule->tokens;
	size_t begin = 0;

	for (size_t i = 0; i <= c->rule->len; i++) {
		size_t len = i - begin;

		if (i < c->rule->len && tokens[i].kind == TOKEN_DIRS) {
			begin = i + 1;
			continue;
		}
		if (i < c->rule->len && !is_byte(&tokens[i], '/'))
			continue;
		if (len == 0)
			return refuse(c,
				      "no name where one belongs: two slashes, or nothing at all");
		if (is_byte(&tokens[begin], '.') &&
		    (len == 1 || (len == 2 && is_byte(&tokens[begin + 1], '.'))))
			return refuse(c, "a . or .. as a name: paths begin at this file's folder");
		begin = i + 1;
	}
	return 0;
}

/* Most patterns are a name, or "*.ext": these need no search. */
static int keep_bytes(struct ignore_rule *rule)
{
	size_t from = rule->by_name && rule->tokens[0].kind == TOKEN_STAR;

	for (size_t i = from; i < rule->len; i++)
		if (rule->tokens[i].kind != TOKEN_BYTE)
			return 0;
	rule->bytes_from = from;
	rule->bytes_len = rule->len - from;
	rule->bytes = malloc(rule->bytes_len + 1);
	if (!rule->bytes)
		return -ENOMEM;
	for (size_t i = from; i < rule->len; i++)
		rule->bytes[i - from] = (char)rule->tokens[i].byte;
	return 0;
}

int ignore_rule_compile(const char *text, size_t len, struct ignore_rule *ret, const char **ret_why)
{
	struct compiler c = {.at = text, .end = text + len, .rule = ret};
	int r = 0;

	ret->negated = len > 0 && *c.at == '!';
	c.at += ret->negated;
	ret->only_dirs = c.at < c.end && c.end[-1] == '/';
	c.end -= ret->only_dirs;
	ret->by_name = !memchr(c.at, '/', (size_t)(c.end - c.at));
	c.at += c.at < c.end && *c.at == '/';
	c.begin = c.at;
	ret->tokens = calloc((size_t)(c.end - c.at) + 1, sizeof(*ret->tokens));
	if (!ret->tokens)
		return -ENOMEM;
	while (c.at < c.end && r == 0)
		r = add_next(&c);
	if (r == 0)
		r = check_components(&c);
	if (r == 0)
		r = keep_bytes(ret);
	if (r == -EINVAL)
		*ret_why = c.why;
	return r;
}

void ignore_rule_release(struct ignore_rule *rule)
{
	free(rule->tokens);
	free(rule->sets);
	free(rule->bytes);
	*rule = (struct ignore_rule){0};
}

static bool accepts(const struct ignore_rule *rule, const struct ignore_token *token, char byte)
{
	if (token->kind == TOKEN_BYTE)
		return token->byte == (unsigned char)byte;
	if (token->kind == TOKEN_ANY)
		return byte != '/';
	return set_has(&rule->sets[token->index], (unsigned char)byte);
}

/* Where to go on after a run of bytes that took too few of them. */
struct retry {
	bool is_set;
	size_t token; /* of the run itself */
	size_t text;  /* where it ends so far */
};

static bool retry_star(struct retry *star, const char *text, size_t len)
{
	if (!star->is_set || star->text == len || text[star->text] == '/')
		return false;
	star->text++;
	return true;
}

static bool retry_deep(struct retry *deep, enum ignore_token_kind kind, const char *text,
		       size_t len)
{
	const char *slash;

	if (!deep->is_set || deep->text == len)
		return false;
	if (kind == TOKEN_DEEP) {
		deep->text++;
		return true;
	}
	slash = memchr(text + deep->text, '/', len - deep->text);
	if (slash)
		deep->text = (size_t)(slash - text) + 1;
	return slash;
}

static bool search(const struct ignore_rule *rule, const char *text, size_t len)
{
	struct retry star = {0}, deep = {0};
	size_t i = 0, t = 0;

	for (;;) {
		const struct ignore_token *token = &rule->tokens[i];

		if (i < rule->len && token->kind >= TOKEN_STAR) {
			bool is_star = token->kind == TOKEN_STAR;

			*(is_star ? &star : &deep) = (struct retry){true, i++, t};
			star.is_set = is_star;
		} else if (i < rule->len && t < len && accepts(rule, token, text[t])) {
			i++;
			t++;
		} else if (i == rule->len && t == len) {
			return true;
		} else if (retry_star(&star, text, len)) {
			i = star.token + 1;
			t = star.text;
		} else if (retry_deep(&deep, rule->tokens[deep.token].kind, text, len)) {
			star.is_set = false;
			i = deep.token + 1;
			t = deep.text;
		} else {
			return false;
		}
	}
}

bool ignore_rule_matches(const struct ignore_rule *rule, const char *text, size_t len)
{
	const struct ignore_token *last = &rule->tokens[rule->len - 1];

	if (len == 0 || (last->kind == TOKEN_BYTE && !accepts(rule, last, text[len - 1])))
		return false; /* most often */
	if (!rule->bytes)
		return search(rule, text, len);
	if (rule->bytes_from ? len < rule->bytes_len : len != rule->bytes_len)
		return false;
	return memcmp(text + (len - rule->bytes_len), rule->bytes, rule->bytes_len) == 0;
}
