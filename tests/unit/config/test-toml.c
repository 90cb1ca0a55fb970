/* SPDX-License-Identifier: MIT */
/* toml: the conformance suite, the errors, and the bounds of the parser. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/str.h"
#include "config/toml.h"
#include "tap.h"
#include "toml-suite.h"

/* jansson takes no NUL in keys. A private character stands in for it, in the
 * JSON text and in what is compared with it. */
#define NUL_ESCAPE   "\\u0000"
#define NUL_STAND_IN "\xee\x83\xbf" /* U+E0FF */

static json_t *load_json(const struct str *text)
{
	_cleanup_(str_release) struct str mapped = {0};
	const char *at = str_text(text);
	const char *next;

	/* Skip the other escapes, the backslash's above all. */
	for (; (next = strchr(at, '\\')); at = next) {
		bool nul = str_starts(next, NUL_ESCAPE);

		str_append_bytes(&mapped, at, (size_t)(next - at));
		if (nul)
			str_append(&mapped, NUL_STAND_IN);
		else
			str_append_bytes(&mapped, next, 2);
		next += nul ? strlen(NUL_ESCAPE) : 2;
	}
	str_append(&mapped, at);
	return json_loadb(mapped.data, mapped.len, 0, NULL);
}

static void map_nul(struct str *out, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i])
			str_append_char(out, bytes[i]);
		else
			str_append(out, NUL_STAND_IN);
	}
}

static bool same_value(const struct toml_value *value, const json_t *json);

static bool same_table(const struct toml_value *table, const json_t *json)
{
	if (table->table.len != json_object_size(json))
		return false;
	for (const struct toml_entry *e = table->table.first; e; e = e->next) {
		_cleanup_(str_release) struct str key = {0};
		const json_t *other;

		map_nul(&key, e->key, e->key_len);
		other = json_object_get(json, str_text(&key));
		if (!other || !same_value(e->value, other)) {
			tap_note("differs at key %s, line %u", e->key, e->pos.line);
			return false;
		}
	}
	return true;
}

static bool same_array(const struct toml_value *array, const json_t *json)
{
	if (array->array.len != json_array_size(json))
		return false;
	for (size_t i = 0; i < array->array.len; i++) {
		if (!same_value(array->array.items[i], json_array_get(json, i)))
			return false;
	}
	return true;
}

/* Date-times may be written with another number of digits, or Z for +00:00:
 * read the expected text as TOML and compare the fields. */
static bool same_time(const struct toml_value *value, const char *want)
{
	_cleanup_(freep) char *text = str_printf("t = %s", want);
	_cleanup_(toml_freep) struct toml *doc = NULL;
	const struct toml_value *other;
	const struct toml_time *a = &value->time;
	const struct toml_time *b;

	if (!text || toml_parse(text, strlen(text), &doc, NULL, NULL) < 0)
		return false;
	other = toml_get(toml_root(doc), "t");
	b = &other->time;
	return value->type == other->type && a->year == b->year && a->month == b->month &&
	       a->day == b->day && a->hour == b->hour && a->minute == b->minute &&
	       a->second == b->second && a->nanosecond == b->nanosecond && a->offset == b->offset;
}

static bool same_float(double number, const char *want)
{
	double other = strtod(want, NULL);

	return isnan(other) ? isnan(number) : number == other;
}

static bool same_string(const struct toml_value *value, const char *want)
{
	_cleanup_(str_release) struct str got = {0};

	map_nul(&got, value->string.bytes, value->string.len);
	return str_eq(str_text(&got), want);
}

static bool same_scalar(const struct toml_value *value, const char *type, const json_t *json)
{
	static const char *const types[] = {
		[TOML_STRING] = "string",         [TOML_INTEGER] = "integer",
		[TOML_FLOAT] = "float",           [TOML_BOOL] = "bool",
		[TOML_DATETIME] = "datetime",     [TOML_DATETIME_LOCAL] = "datetime-local",
		[TOML_DATE_LOCAL] = "date-local", [TOML_TIME_LOCAL] = "time-local",
	};
	const char *want = json_string_value(json);

	if (value->type >= array_len(types) || !str_eq(types[value->type], type))
		return false;
	if (value->type == TOML_STRING)
		return same_string(value, want);
	if (value->type == TOML_INTEGER)
		return value->integer == strtoll(want, NULL, 10);
	if (value->type == TOML_FLOAT)
		return same_float(value->number, want);
	if (value->type == TOML_BOOL)
		return str_eq(value->boolean ? "true" : "false", want);
	return same_time(value, want);
}

static bool same_value(const struct toml_value *value, const json_t *json)
{
	const json_t *type = json_object_get(json, "type");
	const json_t *tagged = json_object_get(json, "value");

	if (json_is_string(type) && json_is_string(tagged))
		return same_scalar(value, json_string_value(type), tagged);
	if (value->type == TOML_ARRAY && json_is_array(json))
		return same_array(value, json);
	return value->type == TOML_TABLE && json_is_object(json) && same_table(value, json);
}

static bool prints_itself(const struct toml *doc, const struct str *text)
{
	_cleanup_(str_release) struct str out = {0};

	return toml_print(doc, &out) == 0 && out.len == text->len &&
	       (out.len == 0 || memcmp(out.data, text->data, out.len) == 0);
}

static void valid_case(const char *name)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(str_release) struct str want = {0};
	_cleanup_(toml_freep) struct toml *doc = NULL;
	_cleanup_(freep) char *json_name = str_printf("%.*s.json",
						      (int)(strlen(name) - strlen(".toml")), name);
	struct toml_pos pos = {0};
	struct err err = {0};
	json_t *json;

	if (!tap_ok(suite_read(name, &text) && suite_read(json_name, &want), "%s is there", name))
		return;
	if (!tap_ok(toml_parse(str_text(&text), text.len, &doc, &pos, &err) == 0, "%s parses",
		    name)) {
		tap_note("%u:%u: %s", pos.line, pos.column, err.message);
		return;
	}
	tap_ok(prints_itself(doc, &text), "%s prints byte for byte", name);
	json = load_json(&want);
	tap_ok(json && same_value(toml_root(doc), json), "%s has the expected values", name);
	json_decref(json);
}

static void invalid_case(const char *name)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(toml_freep) struct toml *doc = NULL;
	struct toml_pos pos = {0};
	struct err err = {0};
	int r;

	if (!tap_ok(suite_read(name, &text), "%s is there", name))
		return;
	r = toml_parse(str_text(&text), text.len, &doc, &pos, &err);
	tap_ok(r == -EINVAL && pos.line > 0 && pos.column > 0 && err.code == ERR_CONFIG &&
		       err.message[0],
	       "%s is refused: %u:%u: %s", name, pos.line, pos.column, err.message);
}

struct refusal {
	const char *text;
	unsigned line, column;
	const char *message;
	const char *hint; /* NULL: none expected */
};

static const struct refusal refusals[] = {
	{"network = none\n", 1, 11, "none: not a value", "if it is text, quote it: \"none\""},
	{"cmd = ruff check src # all\n", 1, 7, "ruff: not a value",
	 "if it is text, quote it: \"ruff check src\""},
	{"memory = 512m", 1, 10, "512m: not a value", "if it is text, quote it: \"512m\""},
	{"a = [~/x, 1]", 1, 6, "~/x: not a value", "if it is text, quote it: \"~/x\""},
	{"a = True", 1, 5, "True: not a value", "booleans are lower case: true"},
	{"\na =\n", 2, 4, "expected a value", NULL},
	{"a\n", 1, 2, "expected '=' after the key 'a'", NULL},
	{"x = 1\n\n\"x\" = 2\n", 3, 1, "key '\"x\"' is already defined on line 1", NULL},
	{"[a]\n[b]\n [a]\n", 3, 3, "'a' is already defined on line 1", NULL},
	{"a = 1\n[a.b]\n", 2, 2, "'a' is already defined on line 1 and is not a table", NULL},
	{"a = {}\n[a.b]\n", 2, 2,
	 "'a' is already defined on line 1 as an inline table, which cannot be added to", NULL},
	{"a = []\n[[a]]\n", 2, 3, "'a' is already defined on line 1 and is not an array of tables",
	 NULL},
	{"[a.b]\n[a]\nb.c = 1\n", 3, 1,
	 "table 'b' is already defined on line 1 and cannot be added to here", NULL},
	{"a = 1\na.b.c = 1\n", 2, 1, "key 'a' is already defined on line 1 and is not a table",
	 NULL},
	{"a = 1\n\nb = \"x\n", 3, 5, "the string is not closed on its line", NULL},
	{"b = '''\n\n", 1, 5, "the string is not closed", NULL},
	{"a = [\n1,\n", 1, 5, "the array is not closed", NULL},
	{"a = [1 2]", 1, 8, "expected ',' or ']' in the array", NULL},
	{"a = { b = 1,\n}", 1, 5, "the inline table is not closed on its line", NULL},
	{"a = { b = 1, }", 1, 14, "an inline table has no comma before its '}'", NULL},
	{"a = \"\\q\"", 1, 6, "unknown escape in a string",
	 "write \\\\ for a backslash, or use a literal string: '…'"},
	{"a = \"\\ud800\"", 1, 6, "U+D800 is not a Unicode character", NULL},
	{"a = 9223372036854775808", 1, 5, "9223372036854775808: the number does not fit 64 bits",
	 "?"},
	{"a = 007", 1, 5, "007: a number cannot begin with 0", "?"},
	{"a = 1e999", 1, 5, "1e999: the number is too large", "?"},
	{"a = 2023-02-29", 1, 5, "2023-02-29: there is no such day in this month", "?"},
	{"a = 24:00:00", 1, 5, "24:00:00: there is no such time of day", "?"},
	{"a = 1 b = 2", 1, 7, "unexpected text after the value", NULL},
	{"[a] b = 2", 1, 5, "unexpected text after the header", NULL},
	{"[a", 1, 3, "expected ']' after the table's name", NULL},
	{"\xef\xbb\xbf= 1", 1, 1, "expected a key", NULL},
	{"a = 1\n# \xc0\xaf\n", 2, 3, "byte 0xc0 is not valid UTF-8", NULL},
	{"a = 1\r", 1, 6, "carriage return without a newline", NULL},
};

static void test_refusals(void)
{
	for (size_t i = 0; i < array_len(refusals); i++) {
		const struct refusal *c = &refusals[i];
		_cleanup_(toml_freep) struct toml *doc = NULL;
		struct toml_pos pos = {0};
		struct err err = {0};
		int r = toml_parse(c->text, strlen(c->text), &doc, &pos, &err);

		tap_ok(r == -EINVAL && !doc, "case %zu is refused", i);
		tap_eq_str(err.message, c->message, "case %zu says what is wrong", i);
		tap_ok(pos.line == c->line && pos.column == c->column,
		       "case %zu is at %u:%u (got %u:%u)", i, c->line, c->column, pos.line,
		       pos.column);
		if (!str_eq(c->hint, "?"))
			tap_eq_str(err.hint, c->hint ? c->hint : "", "case %zu has the hint", i);
	}
}

static const char tree_text[] = "b = 1\na = \"x\\u0000y\"\n\n[t.u]\nv.e = [1,\n 2]\n"
				"[[l]]\n[[l]]\nz = {k = true}\n[t]\n"
				"w = 1979-05-27 07:32:00.5-01:30";

static void test_tree(const struct toml_value *root)
{
	const struct toml_value *v;

	tap_ok(strcmp(root->table.first->key, "b") == 0 && root->table.len == 4 &&
		       strcmp(root->table.last->key, "l") == 0,
	       "entries are in source order");
	v = toml_get(root, "a");
	tap_ok(v && v->string.len == 3 && memcmp(v->string.bytes, "x\0y", 4) == 0,
	       "a string may hold NUL, and ends in one");
	v = toml_get(toml_get(root, "t"), "w");
	tap_ok(v && v->type == TOML_DATETIME && v->time.nanosecond == 500000000 &&
		       v->time.offset == -90,
	       "a date-time has its fields");
	v = toml_get(root, "l");
	tap_ok(v && v->array.len == 2 && toml_get(toml_get(v->array.items[1], "z"), "k"),
	       "an array of tables has its elements");
	tap_ok(!toml_get(v, "z") && !toml_get(NULL, "z") && !toml_get(root, "nope"),
	       "what is not there is NULL");
}

static bool is_at(const struct toml_value *value, unsigned line, unsigned column)
{
	return value && value->pos.line == line && value->pos.column == column;
}

static void test_places(const struct toml_value *root)
{
	const struct toml_value *t = toml_get(root, "t");
	const struct toml_value *e = toml_get(toml_get(toml_get(t, "u"), "v"), "e");

	tap_ok(is_at(toml_get(root, "a"), 2, 5), "a value knows its place");
	tap_ok(is_at(t, 10, 1) && t->origin == TOML_FROM_HEADER,
	       "a late header gives the table its place");
	tap_ok(e && e->array.len == 2 && is_at(e->array.items[1], 6, 2),
	       "lines are counted inside an array");
}

static void test_good(void)
{
	_cleanup_(toml_freep) struct toml *doc = NULL;

	tap_ok(toml_parse("d = -0x1", 8, &doc, NULL, NULL) == -EINVAL && !doc,
	       "a refusal needs neither pos nor err");
	if (!tap_ok(toml_parse(tree_text, strlen(tree_text), &doc, NULL, NULL) == 0,
		    "the tree parses"))
		return;
	test_tree(toml_root(doc));
	test_places(toml_root(doc));
}

/* OPEN, repeated DEPTH times, in front of MIDDLE, then CLOSE as often. */
static int parse_nested(const char *start, const char *open, const char *middle, const char *close,
			unsigned depth)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(toml_freep) struct toml *doc = NULL;
	struct err err = {0};
	int r;

	str_append(&text, start);
	for (unsigned i = 0; i < depth; i++)
		str_append(&text, open);
	str_append(&text, middle);
	for (unsigned i = 0; i < depth; i++)
		str_append(&text, close);
	r = toml_parse(text.data, text.len, &doc, NULL, &err);
	if (r < 0 && !strstr(err.message, "nested more than"))
		tap_note("%s", err.message);
	return r;
}

static void test_depth(void)
{
	tap_ok(parse_nested("a = ", "[", "", "]", TOML_DEPTH_MAX) == 0, "arrays nest to the limit");
	tap_ok(parse_nested("a = ", "[", "", "]", TOML_DEPTH_MAX + 1) == -EINVAL,
	       "and not beyond it");
	tap_ok(parse_nested("a = ", "{a=", "1", "}", TOML_DEPTH_MAX) == 0,
	       "inline tables nest to the limit");
	tap_ok(parse_nested("a = ", "{a=", "1", "}", TOML_DEPTH_MAX + 1) == -EINVAL,
	       "and not beyond it");
	tap_ok(parse_nested("", "a.", "a = 1", "", TOML_DEPTH_MAX - 1) == 0,
	       "dotted keys nest to the limit");
	tap_ok(parse_nested("", "a.", "a = 1", "", TOML_DEPTH_MAX) == -EINVAL, "and not beyond it");
	tap_ok(parse_nested("[", "a.", "a]\na.a.a = 1", "", TOML_DEPTH_MAX - 1) == -EINVAL,
	       "header and dotted key count together");
	tap_ok(parse_nested("a = ", "[", "", "", 1000000) == -EINVAL,
	       "a million brackets do not overflow the stack");
}

static double seconds_of(const struct str *text, size_t want_len)
{
	_cleanup_(toml_freep) struct toml *doc = NULL;
	struct timespec a, b;
	struct err err = {0};
	int r;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	r = toml_parse(text->data, text->len, &doc, NULL, &err);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	if (!tap_ok(r == 0 && toml_root(doc)->table.len == want_len, "%zu keys parse", want_len))
		tap_note("%s", err.message);
	return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

static void test_large(void)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(str_release) struct str hard = {0};
	_cleanup_(str_release) struct str line = {0};
	double t;

	for (int i = 0; i < 100000; i++)
		str_appendf(&text, "key%d = %d\n", i, i);
	t = seconds_of(&text, 100000);
	/* Quadratic work would take minutes, whatever the machine is doing. */
	tap_ok(t < 10, "100000 keys take no quadratic time (%.3f s)", t);
	/* Keys that are prefixes of each other make the index as deep as it gets. */
	for (int i = 1; i <= 1000; i++)
		str_appendf(&hard, "%0*d = 1\n", i, 0);
	for (int i = 0; i < 50000; i++)
		str_appendf(&hard, "a%d = 1\n", i);
	t = seconds_of(&hard, 51000);
	tap_ok(t < 10, "keys chosen to be slow are not (%.3f s)", t);
	str_append(&line, "a = [");
	for (int i = 0; i < 200000; i++)
		str_append(&line, "1,");
	str_append(&line, "]\n");
	t = seconds_of(&line, 1);
	tap_ok(t < 10, "nor is one long line (%.3f s)", t);
}

static void test_index(void)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(toml_freep) struct toml *doc = NULL;
	const struct toml_value *root;
	unsigned found = 0, absent = 0;
	char key[32];

	for (unsigned i = 0; i < 4096; i += 2)
		str_appendf(&text, "k%o = %u\nx-%x = 1\n", i, i, i * 2654435761u);
	if (!tap_ok(toml_parse(text.data, text.len, &doc, NULL, NULL) == 0, "many keys parse"))
		return;
	root = toml_root(doc);
	for (unsigned i = 0; i < 4096; i++) {
		const struct toml_value *v;

		snprintf(key, sizeof(key), "k%o", i);
		v = toml_get(root, key);
		if (i % 2 == 0)
			found += v && v->type == TOML_INTEGER && v->integer == i;
		else
			absent += v == NULL;
	}
	tap_ok(found == 2048, "every key is found");
	tap_ok(absent == 2048, "no other is");
}

static void test_every_prefix(void)
{
	static const char text[] =
		"\xef\xbb\xbfv = \"a\\u00e9\\\"\" # c\r\n[t.'q']\nx.y = [1, {a = "
		"'''\nz'''}, 1979-05-27 07:32:00Z,\n]\n[[l]]\n\"k\" = -1.5e3\n";
	unsigned refused = 0;

	/* Exact heap copies, so that a sanitizer sees one byte too many. */
	for (size_t len = 0; len < strlen(text); len++) {
		_cleanup_(toml_freep) struct toml *doc = NULL;
		_cleanup_(freep) char *copy = malloc(len ? len : 1);
		struct toml_pos pos = {0};

		memcpy(copy, text, len);
		if (toml_parse(copy, len, &doc, &pos, NULL) < 0)
			refused += pos.line > 0 && pos.column > 0;
	}
	tap_ok(refused > 60, "truncation anywhere is handled (%u places refused)", refused);
}

static void test_suite(void)
{
	unsigned n = suite_each("valid/", valid_case);

	if (n == 0) {
		tap_skip("no toml-test suite at %s (PALE_TOML_TEST)", suite_dir());
		return;
	}
	n += suite_each("invalid/", invalid_case);
	tap_note("%u conformance files", n);
}

int main(void)
{
	test_good();
	test_refusals();
	test_depth();
	test_index();
	test_large();
	test_every_prefix();
	test_suite();
	return tap_done();
}
