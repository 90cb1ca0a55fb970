/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "files/regex-impl.h"

enum { DEPTH_MAX = 200, LAST_CHAR = 0x10ffff };

struct parser {
	const char *at, *end;
	bool ignore_case;
	unsigned depth;
	struct regex_tree *tree;
	const char *why;
};

/* The characters of one set while it is being read. */
struct set {
	struct regex_range ranges[REGEX_RANGES_MAX];
	size_t len;
};

static int refuse(struct parser *p, const char *why)
{
	p->why = why;
	return -EINVAL;
}

static int add_node(struct parser *p, struct regex_node node)
{
	if (p->tree->len == REGEX_NODES_MAX)
		return refuse(p, "it is too large");
	p->tree->nodes[p->tree->len] = node;
	return (int)p->tree->len++;
}

static bool add_range(struct set *set, uint32_t first, uint32_t last)
{
	if (set->len == REGEX_RANGES_MAX)
		return false;
	set->ranges[set->len++] = (struct regex_range){first, last};
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct regex_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* In order, no two touching. */
static void fold(struct set *set)
{
	size_t kept = 0;

	qsort(set->ranges, set->len, sizeof(*set->ranges), compare);
	for (size_t i = 1; i < set->len; i++) {
		struct regex_range *last = &set->ranges[kept], *next = &set->ranges[i];

		if (next->first > last->last + 1)
			set->ranges[++kept] = *next;
		else if (next->last > last->last)
			last->last = next->last;
	}
	if (set->len > 0)
		set->len = kept + 1;
}

static void negate(struct set *set)
{
	struct set other = {.len = 0};
	uint32_t from = 0;

	fold(set);
	for (size_t i = 0; i < set->len; i++) {
		if (set->ranges[i].first > from)
			(void)add_range(&other, from, set->ranges[i].first - 1);
		from = set->ranges[i].last + 1;
	}
	if (from <= LAST_CHAR && other.len < REGEX_RANGES_MAX)
		(void)add_range(&other, from, LAST_CHAR);
	*set = other;
}

/* The part of [FIRST, LAST] in ['A' + SHIFT, …], in the other case. */
static bool add_case(struct set *set, struct regex_range range, uint32_t low, int shift)
{
	uint32_t first = range.first > low ? range.first : low;
	uint32_t last = range.last < low + 25 ? range.last : low + 25;

	return first > last || add_range(set, first + (uint32_t)shift, last + (uint32_t)shift);
}

static int set_node(struct parser *p, struct set *set, bool negated)
{
	struct regex_tree *tree = p->tree;
	size_t len = set->len;

	for (size_t i = 0; p->ignore_case && i < len; i++)
		if (!add_case(set, set->ranges[i], 'A', 'a' - 'A') ||
		    !add_case(set, set->ranges[i], 'a', 'A' - 'a'))
			return refuse(p, "too many characters in a []");
	if (negated) {
		if (!add_range(set, '\n', '\n'))
			return refuse(p, "too many characters in a []");
		negate(set);
	}
	fold(set);
	if (tree->ranges_len + set->len > tree->ranges_cap) {
		size_t cap = (tree->ranges_len + set->len) * 2;
		struct regex_range *grown = reallocarray(tree->ranges, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		tree->ranges = grown;
		tree->ranges_cap = cap;
	}
	memcpy(tree->ranges + tree->ranges_len, set->ranges, set->len * sizeof(*set->ranges));
	tree->ranges_len += set->len;
	return add_node(p, (struct regex_node){.kind = NODE_SET,
					       .first = tree->ranges_len - set->len,
					       .count = set->len});
}

/* The classes of the C locale, as pairs of bounds. */
static const struct {
	const char *name, *bounds;
} classes[] = {
	{"alnum", "09AZaz"},   {"alpha", "AZaz"},
	{"blank", "\t\t  "},   {"cntrl", "\x01\x1f\x7f\x7f"},
	{"digit", "09"},       {"graph", "!~"},
	{"lower", "az"},       {"print", " ~"},
	{"punct", "!/:@[`{~"}, {"space", "\t\r  "},
	{"upper", "AZ"},       {"xdigit", "09AFaf"},
	{"w", "09AZ__az"},     {"s", "\t\r  "},
	{"d", "09"},
};

static bool add_class(struct set *set, const char *name, size_t len)
{
	for (size_t i = 0; i < array_len(classes); i++) {
		if (strlen(classes[i].name) != len || memcmp(classes[i].name, name, len) != 0)
			continue;
		for (const char *b = classes[i].bounds; *b; b += 2)
			if (!add_range(set, (unsigned char)b[0], (unsigned char)b[1]))
				return false;
		return true;
	}
	return false;
}

static int take_char(struct parser *p, uint32_t *ret)
{
	size_t n = str_utf8_next(p->at, (size_t)(p->end - p->at), ret);

	if (n == 0)
		return refuse(p, "it is not UTF-8");
	p->at += n;
	return 0;
}

/* "[:class:]", "[=c=]" and "[.c.]" inside of brackets: 1, or 0 when it is none. */
static int take_named(struct parser *p, struct set *set)
{
	char mark = p->end - p->at >= 2 && p->at[0] == '[' ? p->at[1] : 0;
	const char *name = p->at + 2, *close;

	if (mark != ':' && mark != '=' && mark != '.')
		return 0;
	for (close = name; close + 1 < p->end && !(close[0] == mark && close[1] == ']'); close++)
		;
	if (close + 1 >= p->end)
		return refuse(p, "a [ without its ]");
	p->at = close + 2;
	if (mark == ':')
		return add_class(set, name, (size_t)(close - name)) && close - name > 1
			       ? 1
			       : refuse(p, "an unknown class in [[:...:]]");
	return refuse(p, "[=...=] and [.….] are not known here");
}

static int take_item(struct parser *p, struct set *set)
{
	uint32_t first, last;
	int r = take_named(p, set);

	if (r != 0)
		return r < 0 ? r : 0;
	/* what everybody writes and POSIX takes for two characters */
	if (p->end - p->at >= 2 && p->at[0] == '\\' && strchr("wsd", p->at[1]) && p->at[1]) {
		p->at += 2;
		return add_class(set, p->at - 1, 1) ? 0 : refuse(p, "too much in a []");
	}
	r = take_char(p, &first);
	last = first;
	if (r == 0 && p->end - p->at >= 2 && p->at[0] == '-' && p->at[1] != ']') {
		p->at++;
		r = take_char(p, &last);
	}
	if (r < 0)
		return r;
	if (last < first)
		return refuse(p, "a range in [] that runs backwards");
	return add_range(set, first, last) ? 0 : refuse(p, "too many characters in a []");
}

/* AT is behind the "[". */
static int parse_set(struct parser *p)
{
	struct set set;
	bool negated = p->at < p->end && *p->at == '^';

	set.len = 0;
	p->at += negated;
	do {
		int r = p->at < p->end ? take_item(p, &set) : refuse(p, "a [ without its ]");

		if (r < 0)
			return r;
	} while (p->at < p->end && *p->at != ']');
	if (p->at == p->end)
		return refuse(p, "a [ without its ]");
	p->at++;
	return set_node(p, &set, negated);
}

static int parse_char(struct parser *p)
{
	struct set set;
	uint32_t c;
	int r = take_char(p, &c);

	set.len = 0;
	if (r < 0)
		return r;
	(void)add_range(&set, c, c);
	return set_node(p, &set, false);
}

static int parse_any(struct parser *p)
{
	struct set set;

	set.len = 0;
	return set_node(p, &set, true);
}

static int assert_node(struct parser *p, enum regex_op op)
{
	return add_node(p, (struct regex_node){.kind = NODE_ASSERT, .op = op});
}

/* AT is behind the "\". */
static int parse_escape(struct parser *p)
{
	char c = p->at < p->end ? *p->at : 0, low = (char)(c | 0x20);
	struct set set;

	set.len = 0;
	if (!c)
		return refuse(p, "a \\ with nothing behind it");
	if (low == 'w' || low == 's' || low == 'd') {
		p->at++;
		(void)add_class(&set, &low, 1);
		return set_node(p, &set, c != low);
	}
	if (strchr("bB<>", c)) {
		p->at++;
		return assert_node(p, c == 'b'   ? REGEX_WORD
				      : c == 'B' ? REGEX_NOT_WORD
				      : c == '<' ? REGEX_WORD_BEGIN
						 : REGEX_WORD_END);
	}
	if (c == 't' || c == 'n') {
		p->at++;
		(void)add_range(&set, c == 't' ? '\t' : '\n', c == 't' ? '\t' : '\n');
		return set_node(p, &set, false);
	}
	if ((low >= 'a' && low <= 'z') || (c >= '0' && c <= '9'))
		return refuse(p, "a \\ before a letter or digit that means nothing here");
	return parse_char(p);
}

static int parse_alternatives(struct parser *p);

static int parse_group(struct parser *p)
{
	int node;

	if (++p->depth > DEPTH_MAX)
		return refuse(p, "too many ( inside of each other");
	/* as others write a group that is not remembered; none is here */
	if (p->end - p->at >= 2 && p->at[0] == '?' && p->at[1] == ':')
		p->at += 2;
	node = parse_alternatives(p);
	if (node < 0)
		return node;
	if (p->at == p->end)
		return refuse(p, "a ( without its )");
	p->at++;
	p->depth--;
	return node;
}

static int parse_atom(struct parser *p)
{
	switch (*p->at++) {
	case '(':
		return parse_group(p);
	case '[':
		return parse_set(p);
	case '.':
		return parse_any(p);
	case '^':
		return assert_node(p, REGEX_BEGIN);
	case '$':
		return assert_node(p, REGEX_END);
	case '\\':
		return parse_escape(p);
	case '*':
	case '+':
	case '?':
		return refuse(p, "nothing before a *, + or ?");
	default:
		p->at--;
		return parse_char(p);
	}
}

static bool take_count(struct parser *p, int *ret)
{
	int n = 0;
	const char *begin = p->at;

	for (; p->at < p->end && *p->at >= '0' && *p->at <= '9' && n <= REGEX_REPEAT_MAX; p->at++)
		n = n * 10 + (*p->at - '0');
	*ret = n;
	return p->at > begin;
}

/* "{2}", "{2,}", "{,3}" or "{2,3}" at AT: 1. Else it is text: 0. */
static int take_bounds(struct parser *p, int *ret_min, int *ret_max)
{
	const char *begin = p->at++;
	bool has_min = take_count(p, ret_min), has_max = false;

	*ret_max = *ret_min;
	if (p->at < p->end && *p->at == ',') {
		p->at++;
		has_max = take_count(p, ret_max);
		if (!has_max)
			*ret_max = -1;
	}
	if (p->at == p->end || *p->at != '}' || (!has_min && !has_max)) {
		p->at = begin;
		return 0;
	}
	p->at++;
	if (*ret_min > REGEX_REPEAT_MAX || *ret_max > REGEX_REPEAT_MAX)
		return refuse(p, "a {} with more than 1000");
	return *ret_max >= 0 && *ret_max < *ret_min ? refuse(p, "a {} that runs backwards") : 1;
}

static int parse_repeated(struct parser *p)
{
	int node = parse_atom(p);

	while (node >= 0 && p->at < p->end) {
		int min = 0, max = -1, r = 1;

		if (*p->at == '{')
			r = take_bounds(p, &min, &max);
		else if (*p->at == '*' || *p->at == '+' || *p->at == '?') {
			min = *p->at == '+';
			max = *p->at == '?' ? 1 : -1;
			p->at++;
		} else {
			break;
		}
		if (r <= 0)
			return r < 0 ? r : node;
		node = add_node(p, (struct regex_node){
					   .kind = NODE_REPEAT, .a = node, .min = min, .max = max});
	}
	return node;
}

static int parse_sequence(struct parser *p)
{
	int node = REGEX_NONE;

	while (p->at < p->end && *p->at != '|' && *p->at != ')') {
		/* a { that bounds nothing is a character */
		int next = parse_repeated(p);

		if (next < 0)
			return next;
		node = node < 0 ? next
				: add_node(p, (struct regex_node){
						      .kind = NODE_CAT, .a = node, .b = next});
		if (node < 0)
			return node;
	}
	return node < 0 ? add_node(p, (struct regex_node){.kind = NODE_EMPTY}) : node;
}

static int parse_alternatives(struct parser *p)
{
	int node = parse_sequence(p);

	while (node >= 0 && p->at < p->end && *p->at == '|') {
		int next;

		p->at++;
		next = parse_sequence(p);
		node = next < 0 ? next
				: add_node(p, (struct regex_node){
						      .kind = NODE_ALT, .a = node, .b = next});
	}
	return node;
}

int regex_parse(const char *text, bool ignore_case, struct regex_tree *ret, const char **ret_why)
{
	struct parser p = {
		.at = text, .end = text + strlen(text), .ignore_case = ignore_case, .tree = ret};

	*ret = (struct regex_tree){.nodes = calloc(REGEX_NODES_MAX, sizeof(*ret->nodes))};
	if (!ret->nodes)
		return -ENOMEM;
	ret->top = parse_alternatives(&p);
	if (ret->top >= 0 && p.at < p.end)
		ret->top = refuse(&p, "a ) without its (");
	*ret_why = p.why;
	return ret->top < 0 ? ret->top : 0;
}

void regex_tree_release(struct regex_tree *tree)
{
	free(tree->nodes);
	free(tree->ranges);
	*tree = (struct regex_tree){0};
}
