/* SPDX-License-Identifier: MIT */
#include "base/opt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

/* One pass over an argv. Operands are gathered in place, in front. */
struct scan {
	const struct opt_table *table;
	int argc;
	char **argv;
	int at;
	opt_set_fn *set;
	void *data;
	struct err *err;
};

static const struct opt *find_long(const struct opt_table *table, const char *name, size_t len)
{
	for (size_t i = 0; i < table->len; i++) {
		const char *known = table->items[i].name;

		if (known && strlen(known) == len && memcmp(known, name, len) == 0)
			return &table->items[i];
	}
	return NULL;
}

static const struct opt *find_short(const struct opt_table *table, char letter)
{
	for (size_t i = 0; i < table->len; i++)
		if (letter && table->items[i].letter == letter)
			return &table->items[i];
	return NULL;
}

static int refuse_long(const struct scan *scan, const char *name, size_t len)
{
	const struct opt_table *table = scan->table;
	_cleanup_(freep) const char **names = calloc(table->len + 1, sizeof(*names));
	_cleanup_(freep) char *word = strndup(name, len);
	const char *near;
	size_t n = 0;
	int r;

	if (!names || !word)
		return err_oom(scan->err);
	for (size_t i = 0; i < table->len; i++)
		if (table->items[i].name)
			names[n++] = table->items[i].name;
	r = err_set(scan->err, ERR_USAGE, -EINVAL, "unknown option --%s", word);
	near = str_nearest(word, names, n);
	return near ? err_hint(scan->err, r, "did you mean --%s?", near)
		    : err_hint(scan->err, r, "--help lists the options");
}

/* The word that follows an option; NULL: none. Where operands are a command, `--` begins it:
 * whoever means it as a value writes --name=--. */
static const char *next_value(struct scan *scan)
{
	if (scan->at >= scan->argc ||
	    (scan->table->stop_at_operand && str_eq(scan->argv[scan->at], "--")))
		return NULL;
	return scan->argv[scan->at++];
}

static int parse_long(struct scan *scan, const char *name)
{
	size_t len = strcspn(name, "=");
	const struct opt *opt = find_long(scan->table, name, len);
	const char *value = name[len] == '=' ? name + len + 1 : NULL;

	if (!opt)
		return refuse_long(scan, name, len);
	if (!opt->metavar && value)
		return err_set(scan->err, ERR_USAGE, -EINVAL, "option --%s takes no value",
			       opt->name);
	if (opt->metavar && !value) {
		value = next_value(scan);
		if (!value)
			return err_set(scan->err, ERR_USAGE, -EINVAL, "option --%s needs a value",
				       opt->name);
	}
	return scan->set(opt, value, scan->data, scan->err);
}

static int refuse_short(const struct scan *scan, const char *letters)
{
	size_t len = strcspn(letters, "=");
	int r;

	r = err_set(scan->err, ERR_USAGE, -EINVAL, "unknown option -%.*s", (int)len, letters);
	if (find_long(scan->table, letters, len))
		return err_hint(scan->err, r, "did you mean --%.*s?", (int)len, letters);
	return err_hint(scan->err, r, "--help lists the options");
}

static int parse_short(struct scan *scan, const char *letters)
{
	for (; *letters; letters++) {
		const struct opt *opt = find_short(scan->table, *letters);
		const char *value = NULL;
		int r;

		if (!opt)
			return refuse_short(scan, letters);
		if (opt->metavar && letters[1])
			value = letters + 1;
		else if (opt->metavar)
			value = next_value(scan);
		if (opt->metavar && !value)
			return err_set(scan->err, ERR_USAGE, -EINVAL, "option -%c needs a value",
				       *letters);
		if (!opt->metavar && letters[1] == '=')
			return err_set(scan->err, ERR_USAGE, -EINVAL, "option -%c takes no value",
				       *letters);
		r = scan->set(opt, value, scan->data, scan->err);
		if (r < 0 || opt->metavar)
			return r;
	}
	return 0;
}

int opt_parse(const struct opt_table *table, int argc, char **argv, opt_set_fn *set, void *data,
	      struct opt_args *ret_args, struct err *err)
{
	struct scan scan = {table, argc, argv, 1, set, data, err};
	struct opt_args args = {.operands = argv + (argc > 0), .dashdash = -1};
	bool open = true;

	while (scan.at < argc) {
		char *arg = argv[scan.at++];
		int r = 0;

		if (!open || arg[0] != '-' || !arg[1]) {
			args.operands[args.len++] = arg;
			if (table->stop_at_operand)
				open = false;
		} else if (str_eq(arg, "--")) {
			args.dashdash = args.len;
			open = false;
		} else if (arg[1] == '-') {
			r = parse_long(&scan, arg + 2);
		} else {
			r = parse_short(&scan, arg + 1);
		}
		if (r < 0)
			return r;
	}
	if (args.len + 1 < argc)
		args.operands[args.len] = NULL;
	*ret_args = args;
	return 0;
}

#define HELP_WIDTH  80
#define HELP_COLUMN 28 /* where the text begins, unless all names are shorter */

/* "  -n, --name VALUE" */
static int head_text(const struct opt *opt, struct str *out)
{
	int r;

	if (opt->letter && opt->name)
		r = str_appendf(out, "  -%c, --%s", opt->letter, opt->name);
	else if (opt->letter)
		r = str_appendf(out, "  -%c", opt->letter);
	else
		r = str_appendf(out, "      --%s", opt->name);
	return r < 0 || !opt->metavar ? r : str_appendf(out, " %s", opt->metavar);
}

static size_t display_width(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

/* Append TEXT word by word; AT is the column where the line stands now. */
static int put_wrapped(struct str *out, const char *text, size_t at, size_t indent)
{
	int r = 0;

	while (r == 0 && *text) {
		size_t len = strcspn(text, " ");
		size_t width = display_width(text, len);
		bool first = at <= indent;

		if (!first && at + 1 + width > HELP_WIDTH) {
			r = str_appendf(out, "\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		if (r == 0 && !first)
			r = str_append_char(out, ' ');
		if (r == 0)
			r = str_append_bytes(out, text, len);
		at += width + !first;
		text += len + strspn(text + len, " ");
	}
	return r < 0 ? r : str_append_char(out, '\n');
}

/* The help of one option, its choices included. */
static int full_help(const struct opt *opt, struct str *out)
{
	int r = str_append(out, opt->help ? opt->help : "");

	for (size_t i = 0; opt->choices && opt->choices[i] && r == 0; i++)
		r = str_appendf(out, "%s %s", i ? "," : ":", opt->choices[i]);
	return r;
}

static int put_option(const struct opt *opt, size_t column, struct str *out)
{
	_cleanup_(str_release) struct str head = {0};
	_cleanup_(str_release) struct str text = {0};
	size_t width;
	int r = head_text(opt, &head);

	if (r == 0)
		r = str_append(out, str_text(&head));
	if (r < 0)
		return r;
	width = display_width(str_text(&head), head.len);
	if (width + 2 > column)
		r = str_appendf(out, "\n%*s", (int)column, "");
	else
		r = str_appendf(out, "%*s", (int)(column - width), "");
	if (r == 0)
		r = full_help(opt, &text);
	return r < 0 ? r : put_wrapped(out, str_text(&text), column, column);
}

static const char *group_of(const struct opt *opt)
{
	return opt->group ? opt->group : "Options";
}

/* Groups keep the order in which the table first names them. */
static bool is_first_of_group(const struct opt_table *table, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (str_eq(group_of(&table->items[i]), group_of(&table->items[index])))
			return false;
	return true;
}

static int put_group(const struct opt_table *table, size_t first, size_t column, struct str *out)
{
	const char *group = group_of(&table->items[first]);
	int r = str_appendf(out, "%s%s:\n", first > 0 ? "\n" : "", group);

	for (size_t i = first; r == 0 && i < table->len; i++)
		if (str_eq(group_of(&table->items[i]), group))
			r = put_option(&table->items[i], column, out);
	return r;
}

int opt_help(const struct opt_table *table, struct str *out)
{
	size_t column = 0;
	int r = 0;

	for (size_t i = 0; i < table->len; i++) {
		_cleanup_(str_release) struct str head = {0};
		size_t width;

		r = head_text(&table->items[i], &head);
		if (r < 0)
			return r;
		width = display_width(str_text(&head), head.len) + 2;
		if (width > column && width <= HELP_COLUMN)
			column = width;
	}
	if (column == 0)
		column = HELP_COLUMN;
	for (size_t i = 0; r == 0 && i < table->len; i++)
		if (is_first_of_group(table, i))
			r = put_group(table, i, column, out);
	return r;
}
