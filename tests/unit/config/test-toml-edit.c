/* SPDX-License-Identifier: MIT */
/* toml edits: only the bytes that must change do. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "config/toml.h"
#include "tap.h"
#include "toml-suite.h"

#define NEW_TEXT      "pale test"
#define PATH_MAX_KEYS (2 * TOML_DEPTH_MAX)

struct path {
	const char *keys[PATH_MAX_KEYS];
	size_t len;
};

static bool has_text(const struct toml *doc, const char *want, size_t len)
{
	_cleanup_(str_release) struct str out = {0};

	return toml_print(doc, &out) == 0 && out.len == len &&
	       memcmp(str_text(&out), want, len) == 0;
}

static bool same_tree(const struct toml_value *a, const struct toml_value *b,
		      const struct toml_value *changed, const struct toml_value *grown);

/* B may have one more entry, the last one, where A is the table that grew. */
static bool same_table(const struct toml_value *a, const struct toml_value *b,
		       const struct toml_value *changed, const struct toml_value *grown)
{
	if (b->table.len != a->table.len + (a == grown))
		return false;
	if (a == grown && !toml_get(b, "pale_added"))
		return false;
	for (const struct toml_entry *e = a->table.first, *o = b->table.first; e;
	     e = e->next, o = o->next) {
		if (a == grown && strcmp(o->key, "pale_added") == 0)
			o = o->next;
		if (e->key_len != o->key_len || memcmp(e->key, o->key, e->key_len) != 0 ||
		    !same_tree(e->value, o->value, changed, grown))
			return false;
	}
	return true;
}

static bool same_tree(const struct toml_value *a, const struct toml_value *b,
		      const struct toml_value *changed, const struct toml_value *grown)
{
	if (a == changed)
		return b->type == TOML_STRING && strcmp(b->string.bytes, NEW_TEXT) == 0;
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case TOML_STRING:
		return a->string.len == b->string.len &&
		       memcmp(a->string.bytes, b->string.bytes, a->string.len) == 0;
	case TOML_INTEGER:
		return a->integer == b->integer;
	case TOML_FLOAT:
		return memcmp(&a->number, &b->number, sizeof(a->number)) == 0;
	case TOML_BOOL:
		return a->boolean == b->boolean;
	case TOML_DATETIME:
	case TOML_DATETIME_LOCAL:
	case TOML_DATE_LOCAL:
	case TOML_TIME_LOCAL:
		return memcmp(&a->time, &b->time, sizeof(a->time)) == 0;
	case TOML_ARRAY:
		if (a->array.len != b->array.len)
			return false;
		for (size_t i = 0; i < a->array.len; i++) {
			if (!same_tree(a->array.items[i], b->array.items[i], changed, grown))
				return false;
		}
		return true;
	case TOML_TABLE:
		return same_table(a, b, changed, grown);
	}
	return false;
}

/* One conformance file: its text, its tree, and the outcome so far. */
struct file {
	const char *name;
	struct str text;
	struct toml *doc;
	unsigned sets, adds;
	bool ok;
};

static void expect(struct file *f, bool ok, const char *what, const struct path *path)
{
	if (ok)
		return;
	f->ok = false;
	tap_note("%s: %s: %s", f->name, what, path->len ? path->keys[path->len - 1] : "(root)");
}

static void check_set(struct file *f, const struct toml_value *leaf, const struct path *path)
{
	_cleanup_(toml_freep) struct toml *doc = NULL;
	_cleanup_(str_release) struct str want = {0};
	_cleanup_(freep) char *old = strndup(f->text.data + leaf->start, leaf->end - leaf->start);

	if (!old || toml_parse(f->text.data, f->text.len, &doc, NULL, NULL) < 0)
		abort();
	expect(f, toml_set(doc, path->keys, path->len, "'" NEW_TEXT "'", NULL) == 0, "set", path);
	str_append_bytes(&want, f->text.data, leaf->start);
	str_append(&want, "'" NEW_TEXT "'");
	str_append_bytes(&want, f->text.data + leaf->end, f->text.len - leaf->end);
	expect(f, has_text(doc, want.data, want.len), "only the value's bytes change", path);
	expect(f, same_tree(toml_root(f->doc), toml_root(doc), leaf, NULL), "only it differs",
	       path);
	expect(f, toml_set(doc, path->keys, path->len, old, NULL) == 0, "set back", path);
	expect(f, has_text(doc, f->text.data, f->text.len), "the bytes are back", path);
	f->sets++;
}

static void check_add(struct file *f, const struct toml_value *table, const struct path *parent)
{
	_cleanup_(toml_freep) struct toml *doc = NULL;
	struct path path = *parent;
	struct err err = {0};

	path.keys[path.len++] = "pale_added";
	if (toml_parse(str_text(&f->text), f->text.len, &doc, NULL, NULL) < 0)
		abort();
	if (toml_set(doc, path.keys, path.len, "1", &err) < 0) {
		expect(f, false, err.message, parent);
		return;
	}
	expect(f, same_tree(toml_root(f->doc), toml_root(doc), NULL, table), "one more key",
	       parent);
	expect(f, toml_unset(doc, path.keys, path.len, NULL) == 0, "unset", parent);
	/* A table that had no header has one now; it means nothing. */
	if (table->origin == TOML_FROM_SUBTABLE)
		expect(f, same_tree(toml_root(f->doc), toml_root(doc), NULL, NULL),
		       "the tree is back", parent);
	else
		expect(f, has_text(doc, str_text(&f->text), f->text.len), "the text is back",
		       parent);
	f->adds++;
}

static void walk(struct file *f, const struct toml_value *table, struct path *path)
{
	check_add(f, table, path);
	for (const struct toml_entry *e = table->table.first; e; e = e->next) {
		if (strlen(e->key) != e->key_len) /* a path cannot name it */
			continue;
		path->keys[path->len++] = e->key;
		if (e->value->type == TOML_TABLE)
			walk(f, e->value, path);
		else if (e->value->type != TOML_ARRAY)
			check_set(f, e->value, path);
		path->len--;
	}
}

static void property_case(const char *name)
{
	struct file f = {.name = name, .ok = true};
	struct path path = {0};

	if (tap_ok(suite_read(name, &f.text) &&
			   toml_parse(str_text(&f.text), f.text.len, &f.doc, NULL, NULL) == 0,
		   "%s is there", name)) {
		walk(&f, toml_root(f.doc), &path);
		tap_ok(f.ok, "%s: %u values set and reset, %u keys added and removed", name, f.sets,
		       f.adds);
	}
	toml_free(f.doc);
	str_release(&f.text);
}

struct edit {
	const char *what;
	const char *before;
	const char *path;  /* keys separated by '/' */
	const char *value; /* NULL: unset */
	const char *after;
};

struct refusal {
	const char *what;
	const char *text;
	const char *path;
	const char *value;
	int r;
	const char *message; /* NULL: any */
};

static const struct edit edits[] = {
	/* set: existing values */
	{"a comment behind the value stays", "a = 1 # one\nb = 2\n", "a", "10",
	 "a = 10 # one\nb = 2\n"},
	{"blanks around the new text go", "a = 1\n", "a", " \t2  ", "a = 2\n"},
	{"odd spacing stays", " a\t=  1  \n", "a", "2", " a\t=  2  \n"},
	{"a value of several lines", "a = [\n 1, # x\n]\nb = 1\n", "a", "[]", "a = []\nb = 1\n"},
	{"in an inline table", "a = { b = 1, c = 2 }\n", "a/b", "3", "a = { b = 3, c = 2 }\n"},
	{"a whole inline table", "a = { b = 1 } # x\n", "a", "{ c = 2 }", "a = { c = 2 } # x\n"},
	{"a dotted key", "a.b.c = 1\n", "a/b/c", "2", "a.b.c = 2\n"},
	{"a quoted key", "[\"x y\"]\n'k.k' = 1\n", "x y/k.k", "2", "[\"x y\"]\n'k.k' = 2\n"},
	/* set: new keys */
	{"into an empty file", "", "a", "1", "a = 1\n"},
	{"behind a comment", "# c\n", "a", "1", "# c\na = 1\n"},
	{"behind a byte order mark", "\xef\xbb\xbf", "a", "1",
	 "\xef\xbb\xbf"
	 "a = 1\n"},
	{"behind the last key of the root", "a = 1\n\n# about t\n[t]\n", "b", "2",
	 "a = 1\nb = 2\n\n# about t\n[t]\n"},
	{"the root's first key, no comment", "[t]\na = 1\n", "b", "2", "b = 2\n[t]\na = 1\n"},
	{"the root's first key, file comment", "# file\n\n# t\n[t]\n", "b", "2",
	 "# file\n\nb = 2\n# t\n[t]\n"},
	{"the root's first key, header comment", "# t\n[t]\n", "b", "2", "b = 2\n# t\n[t]\n"},
	{"behind the last key of a table", "[s]\na = 1\n# end\n\n[t]\n", "s/b", "2",
	 "[s]\na = 1\nb = 2\n# end\n\n[t]\n"},
	{"into a table without keys", "[s]\n\n[t]\n", "s/b", "2", "[s]\nb = 2\n\n[t]\n"},
	{"with the table's indentation", "[s]\n\ta = [\n\t]\n[t]\n", "s/b", "2",
	 "[s]\n\ta = [\n\t]\n\tb = 2\n[t]\n"},
	{"with the file's line ends", "[s]\r\na = 1\r\n", "s/b", "2", "[s]\r\na = 1\r\nb = 2\r\n"},
	{"without a final newline", "[s]\na = 1", "s/b", "2", "[s]\na = 1\nb = 2"},
	{"without one, behind the header", "[s]", "s/b", "2", "[s]\nb = 2"},
	{"a key that needs quotes", "[s]\n", "s/x y.\"z\"", "2", "[s]\n\"x y.\\\"z\\\"\" = 2\n"},
	{"an empty key", "", "", "2", "\"\" = 2\n"},
	{"into an inline table", "a = { b = 1 } # x\n", "a/c", "2", "a = { b = 1, c = 2 } # x\n"},
	{"into an empty inline table", "a = {}\n", "a/c", "2", "a = {c = 2}\n"},
	{"into a blank inline table", "a = { }\n", "a/c", "2", "a = { c = 2 }\n"},
	{"a path into an inline table", "a = { b = 1 }\n", "a/c/d", "2",
	 "a = { b = 1, c.d = 2 }\n"},
	{"a dotted table inside braces", "a = { b.c = 1, d = 2 }\n", "a/b/e", "3",
	 "a = { b.c = 1, d = 2, b.e = 3 }\n"},
	{"a dotted table", "a.b = 1\nc = 2\n", "a/d", "3", "a.b = 1\na.d = 3\nc = 2\n"},
	{"below a dotted table", "[t]\na.b = 1\nc = 2\n", "t/a/d/e", "3",
	 "[t]\na.b = 1\na.d.e = 3\nc = 2\n"},
	{"a dotted table with a section", "[t]\na.b = 1\n[t.a.s]\nx = 1\n", "t/a/c", "3",
	 "[t]\na.b = 1\na.c = 3\n[t.a.s]\nx = 1\n"},
	/* set: new tables */
	{"a table in an empty file", "", "a/b", "1", "[a]\nb = 1\n"},
	{"a table at the end", "x = 1\n", "a/b/c", "1", "x = 1\n\n[a.b]\nc = 1\n"},
	{"a table behind a blank line", "x = 1\n\n", "a/b", "1", "x = 1\n\n[a]\nb = 1\n"},
	{"a table, no final newline", "x = 1", "a/b", "1", "x = 1\n\n[a]\nb = 1"},
	{"a table with CRLF", "x = 1\r\n", "a/b", "1", "x = 1\r\n\r\n[a]\r\nb = 1\r\n"},
	{"a super-table without a header", "[a.b]\nx = 1\n", "a/y", "2",
	 "[a.b]\nx = 1\n\n[a]\ny = 2\n"},
	{"a sub-table of an existing one", "[a]\nx = 1\n", "a/s/y", "2",
	 "[a]\nx = 1\n\n[a.s]\ny = 2\n"},
	{"a table that needs quotes", "", "a b/c.d/e", "1", "[\"a b\".\"c.d\"]\ne = 1\n"},
	/* unset */
	{"a line with its comment", "a = 1 # x\n# y\nb = 2\n", "a", NULL, "# y\nb = 2\n"},
	{"the only line", "a = 1\n", "a", NULL, ""},
	{"the last line, no final newline", "a = 1\nb = 2", "b", NULL, "a = 1"},
	{"the last line with CRLF, likewise", "a = 1\r\nb = 2", "b", NULL, "a = 1"},
	{"a value of several lines", "a = '''\n\n'''\nb = 2\n", "a", NULL, "b = 2\n"},
	{"the first of an inline table", "a = { b = 1, c = 2 }\n", "a/b", NULL, "a = { c = 2 }\n"},
	{"the last of an inline table", "a = { b = 1, c = 2 }\n", "a/c", NULL, "a = { b = 1 }\n"},
	{"the only one of an inline table", "a = { b = 1 }\n", "a/b", NULL, "a = { }\n"},
	{"a dotted table in an inline one", "a = { b.c = 1, d = 2, b.e = 3 }\n", "a/b", NULL,
	 "a = { d = 2 }\n"},
	{"a dotted table", "a.b = 1\nc = 1\na.d = 2\n", "a", NULL, "c = 1\n"},
	{"a section in the middle", "[a]\nx = 1\n\n[b]\nx = 1\n\n[c]\nx = 1\n", "b", NULL,
	 "[a]\nx = 1\n\n[c]\nx = 1\n"},
	{"the last section", "[a]\nx = 1\n\n[b]\nx = 1\n", "b", NULL, "[a]\nx = 1\n"},
	{"the last section, no final newline", "[a]\nx = 1\n\n[b]\nx = 1", "b", NULL, "[a]\nx = 1"},
	{"the only section", "[b]\nx = 1\n", "b", NULL, ""},
	{"a section and those of its sub-tables",
	 "[c.a]\nx = 1\n\n[c.b]\ny = 1\n[c.b.s]\nz = 1\n[[c.b.l]]\n\n[c.d]\n[c.b.t]\n", "c/b", NULL,
	 "[c.a]\nx = 1\n\n[c.d]\n"},
	{"a section with the comment above it", "[a]\n\n# about b\n[b]\nx = 1\n\n# about c\n[c]\n",
	 "b", NULL, "[a]\n\n# about c\n[c]\n"},
	{"but not one that may be another's", "[a]\n# y = 1\n[b]\nx = 1\n# about c\n[c]\n", "b",
	 NULL, "[a]\n# y = 1\n# about c\n[c]\n"},
	{"nor one that stands alone", "[b]\nx = 1\n\n# --- more ---\n\n[c]\n", "b", NULL,
	 "# --- more ---\n\n[c]\n"},
	{"a section with comments inside and below", "[b]\n# 1\n\nx = 1\n# 2\n\n[c]\n", "b", NULL,
	 "[c]\n"},
	{"an array of tables", "[[a]]\nx = 1\n\n[[a]]\n[b]\n", "a", NULL, "[b]\n"},
};

static const struct refusal refusals[] = {
	{"text that is no value", "a = 1\n", "a", "none", -EINVAL, "none: not a value"},
	{"two values", "a = 1\n", "a", "1 2", -EINVAL, "unexpected text after the value"},
	{"a value and a line", "a = 1\n", "a", "1\nb = 2", -EINVAL, NULL},
	{"a comment behind the value", "a = 1\n", "a", "1 # x", -EINVAL, NULL},
	{"a value that closes the braces", "a = { b = 1 }\n", "a/b", "1 }\nc = { d = 2", -EINVAL,
	 NULL},
	{"no value at all", "a = 1\n", "a", "", -EINVAL, "expected a value"},
	{"a table with lines", "[a]\nb = 1\n", "a", "1", -EEXIST,
	 "'a' is a table (line 1), not a single value"},
	{"a path through a string", "a = 'x'\n", "a/b", "1", -ENOTDIR,
	 "'a' on line 1 is not a table but of type string"},
	{"an array of tables", "[[a]]\nb = 1\n", "a", "1", -EEXIST, NULL},
	{"a path through an array of tables", "[[a]]\nb = 1\n", "a/b", "2", -ENOTDIR,
	 "'a' is an array of tables, which cannot be edited by key"},
	{"a path through an array", "a = [{b = 1}]\n", "a/b", "2", -ENOTDIR, NULL},
	{"a key that is not UTF-8", "", "\xff", "2", -EILSEQ, NULL},
	{"a table that is not there", "[a]\n", "b", NULL, -ENOENT, "'b' is not set"},
	{"a key that is not there", "[a]\n", "a/b c", NULL, -ENOENT, "'a.\"b c\"' is not set"},
	{"one through an array of tables", "[[a]]\nx = 1\n", "a/x", NULL, -ENOTDIR, NULL},
};

/* Apply one edit to TEXT and print what comes out. */
static int edit(const char *text, const char *keys, const char *value, struct str *out,
		struct err *err)
{
	_cleanup_(toml_freep) struct toml *doc = NULL;
	_cleanup_(freep) char *copy = strdup(keys);
	struct path path = {0};
	char *rest = copy;
	int r;

	while (rest)
		path.keys[path.len++] = strsep(&rest, "/");
	if (toml_parse(text, strlen(text), &doc, NULL, err) < 0)
		return -EBADMSG;
	r = value ? toml_set(doc, path.keys, path.len, value, err)
		  : toml_unset(doc, path.keys, path.len, err);
	toml_print(doc, out);
	return r;
}

static void test_edits(void)
{
	for (size_t i = 0; i < array_len(edits); i++) {
		const struct edit *c = &edits[i];
		_cleanup_(str_release) struct str out = {0};
		const char *verb = c->value ? "set" : "unset";
		struct err err = {0};

		if (!tap_ok(edit(c->before, c->path, c->value, &out, &err) == 0, "%s: %s succeeds",
			    verb, c->what))
			tap_note("%s", err.message);
		tap_eq_str(str_text(&out), c->after, "%s: %s", verb, c->what);
	}
}

static void test_refusals(void)
{
	for (size_t i = 0; i < array_len(refusals); i++) {
		const struct refusal *c = &refusals[i];
		_cleanup_(str_release) struct str out = {0};
		const char *verb = c->value ? "set" : "unset";
		struct err err = {0};

		tap_eq_int(edit(c->text, c->path, c->value, &out, &err), c->r, "%s: %s is refused",
			   verb, c->what);
		tap_eq_str(str_text(&out), c->text, "%s: %s changes nothing", verb, c->what);
		if (c->message)
			tap_eq_str(err.message, c->message, "%s: %s says why", verb, c->what);
	}
}

static void test_quote(void)
{
	_cleanup_(str_release) struct str out = {0};

	tap_ok(toml_quote(&out, "a\"\\\n\t\x01\x7f\0é", 10) == 0, "a string can be quoted");
	tap_eq_str(str_text(&out), "\"a\\\"\\\\\\n\\t\\u0001\\u007F\\u0000é\"", "with escapes");
	tap_ok(toml_quote(&out, "\xff", 1) == -EILSEQ && out.data[out.len - 1] == '"',
	       "what is not UTF-8 cannot");
	str_truncate(&out, 0);
	toml_key_quote(&out, "a-B_1", 5);
	toml_key_quote(&out, "", 0);
	toml_key_quote(&out, "a.b", 3);
	tap_eq_str(str_text(&out), "a-B_1\"\"\"a.b\"", "keys are bare where they can be");
}

static void test_depth(void)
{
	_cleanup_(toml_freep) struct toml *doc = NULL;
	struct path path = {0};
	struct err err = {0};

	while (path.len < TOML_DEPTH_MAX + 2)
		path.keys[path.len++] = "a";
	toml_parse("", 0, &doc, NULL, NULL);
	tap_ok(toml_set(doc, path.keys, path.len, "1", &err) == -EINVAL && has_text(doc, "", 0),
	       "a path that is too long is refused: %s", err.message);
	tap_ok(toml_set(doc, path.keys, 0, "1", NULL) == -EINVAL, "and so is an empty one");
	tap_ok(toml_unset(doc, path.keys, 0, NULL) == -EINVAL, "also for unset");
}

int main(void)
{
	test_edits();
	test_refusals();
	test_quote();
	test_depth();
	if (suite_each("valid/", property_case) == 0)
		tap_skip("no toml-test suite at %s (PALE_TOML_TEST)", suite_dir());
	return tap_done();
}
