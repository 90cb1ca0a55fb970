/* SPDX-License-Identifier: MIT */
/* diff-stat - `--stat` and `--name-status`, laid out as git does. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/diff.h"

struct row {
	char *name;
	size_t added, removed;
	uint64_t old_size, new_size;
	bool is_binary, is_other;
};

struct rows {
	struct row *items;
	size_t n;
};

static void rows_release(struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->items[i].name);
	free(rows->items);
}

/* Names go to terminals and to programs: in quotes when something is odd. */
static int put_name(struct str *out, const struct diff_job *job, const char *name, bool is_folder)
{
	_cleanup_(str_release) struct str quoted = {0};
	int r = patch_quote(&quoted, "", name, job->out.on_terminal);

	if (r == 0 && is_folder)
		r = str_append_char(&quoted, '/');
	if (r == 0)
		r = job->out.on_terminal ? str_append_escaped(out, str_text(&quoted), quoted.len)
					 : str_append(out, str_text(&quoted));
	return r;
}

static bool is_folder(const struct entry *entry)
{
	return entry->change->new.type == NODE_DIR ||
	       (entry->change->new.type != NODE_FILE && entry->change->old.type == NODE_DIR);
}

/* "dir/{old => new}/file": what both have in common is written once. */
static int put_renamed(struct str *out, const char *from, const char *to)
{
	size_t a = strlen(from), b = strlen(to), head = 0, tail = 0;

	for (size_t i = 0; i < a && i < b && from[i] == to[i]; i++)
		if (from[i] == '/')
			head = i + 1;
	for (size_t i = 1; i <= a - head && i <= b - head && from[a - i] == to[b - i]; i++)
		if (from[a - i] == '/')
			tail = i;
	if (head + tail == 0)
		return str_appendf(out, "%s => %s", from, to);
	return str_appendf(out, "%.*s{%.*s => %.*s}%s", (int)head, from, (int)(a - head - tail),
			   from + head, (int)(b - head - tail), to + head, to + b - tail);
}

static int row_name(struct row *row, const struct diff_job *job, const struct entry *entry)
{
	_cleanup_(str_release) struct str plain = {0};
	struct str name = {0};
	int r;

	if (entry->kind != ENTRY_RENAMED)
		r = put_name(&name, job, entry->name, is_folder(entry));
	else {
		r = put_renamed(&plain, entry->from_name, entry->name);
		if (r == 0)
			r = put_name(&name, job, str_text(&plain), false);
	}
	row->name = name.data;
	return r;
}

static int measure(struct row *row, struct diff_job *job, const struct entry *entry,
		   struct err *err)
{
	_cleanup_(sides_release) struct sides sides = {0};
	_cleanup_(hunks_release) struct hunks hunks = {0};
	int r;

	row->is_other = !entry->in_patch;
	row->old_size = (entry->from ? entry->from : entry->change)->old.size;
	row->new_size = entry->size;
	if (row->is_other)
		return 0;
	r = diff_load(job, entry, &sides, err);
	row->is_binary = sides.is_binary;
	if (r == 0)
		r = hunks_make(&sides, &hunks, err);
	if (r == 0)
		diff_count(&hunks.diff, &row->removed, &row->added);
	return r;
}

static size_t digits(size_t n)
{
	size_t count = 1;

	while (n >= 10) {
		n /= 10;
		count++;
	}
	return count;
}

/* Columns, not bytes. */
static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static int put_graph(struct str *out, char mark, size_t n, const char *colour)
{
	int r = n > 0 ? str_append(out, colour) : 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = str_append_char(out, mark);
	return r < 0 || n == 0 || !*colour ? r : str_append(out, "\033[m");
}

/* Long names lose their beginning. */
static int put_padded(struct str *out, const char *name, size_t width)
{
	size_t len = width_of(name);
	int r = str_append_char(out, ' ');

	if (len > width && width > 3) {
		for (size_t skip = len - width + 3; skip > 0; skip--)
			do
				name++;
			while (((unsigned char)*name & 0xc0) == 0x80);
		r = str_append(out, "...");
		len = width;
	}
	if (r == 0)
		r = str_append(out, name);
	for (; len < width && r == 0; len++)
		r = str_append_char(out, ' ');
	return r < 0 ? r : str_append(out, " | ");
}

static int put_row(struct diff_job *job, const struct row *row, size_t names, size_t numbers,
		   size_t most, size_t graph)
{
	struct str *out = &job->out.text;
	size_t plus = row->added, minus = row->removed;
	int r = put_padded(out, row->name, names);

	if (r < 0)
		return r;
	if (row->is_other)
		return str_append(out, "-\n");
	if (row->is_binary)
		return str_appendf(out, "Bin %llu -> %llu bytes\n",
				   (unsigned long long)row->old_size,
				   (unsigned long long)row->new_size);
	if (most > graph) {
		plus = plus ? 1 + plus * (graph - 1) / most : 0;
		minus = minus ? 1 + minus * (graph - 1) / most : 0;
	}
	r = str_appendf(out, "%*zu%s", (int)numbers, row->added + row->removed,
			plus + minus ? " " : "");
	if (r == 0)
		r = put_graph(out, '+', plus, job->out.colour ? "\033[32m" : "");
	if (r == 0)
		r = put_graph(out, '-', minus, job->out.colour ? "\033[31m" : "");
	return r < 0 ? r : str_append_char(out, '\n');
}

static int put_total(struct str *out, const struct rows *rows)
{
	size_t added = 0, removed = 0;
	int r;

	for (size_t i = 0; i < rows->n; i++) {
		added += rows->items[i].added;
		removed += rows->items[i].removed;
	}
	r = str_appendf(out, " %zu file%s changed", rows->n, rows->n == 1 ? "" : "s");
	if (r == 0 && (added || !removed))
		r = str_appendf(out, ", %zu insertion%s(+)", added, added == 1 ? "" : "s");
	if (r == 0 && (removed || !added))
		r = str_appendf(out, ", %zu deletion%s(-)", removed, removed == 1 ? "" : "s");
	return r < 0 ? r : str_append_char(out, '\n');
}

static int print_rows(struct diff_job *job, const struct rows *rows)
{
	size_t columns = terminal_columns(STDOUT_FILENO), names = 0, most = 0, bin = 0;
	size_t numbers, graph;
	int r = 0;

	if (rows->n == 0)
		return 0;
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->items[i];

		if (width_of(row->name) > names)
			names = width_of(row->name);
		if (row->added + row->removed > most)
			most = row->added + row->removed;
		if (row->is_binary)
			bin = strlen("Bin");
	}
	columns = columns < 30 ? 30 : columns;
	numbers = digits(most) > bin ? digits(most) : bin;
	if (names > columns * 5 / 8)
		names = columns * 5 / 8;
	graph = columns > names + numbers + 12 ? columns - names - numbers - 6 : 6;
	for (size_t i = 0; i < rows->n && r == 0; i++)
		r = put_row(job, &rows->items[i], names, numbers, most, graph);
	return r < 0 ? r : put_total(&job->out.text, rows);
}

static int add_git_data(const struct diff_job *job, struct rows *rows)
{
	struct row *row = &rows->items[rows->n];
	size_t n = 0;

	for (size_t i = 0; i < job->entries->n; i++)
		n += diff_sums_up(job, &job->entries->items[i]);
	if (n == 0)
		return 0;
	*row = (struct row){.is_other = true};
	row->name = str_printf(".git/ (%zu of git's own)", n);
	rows->n++;
	return row->name ? 0 : -ENOMEM;
}

static int fill_rows(struct diff_job *job, struct rows *rows, struct err *err)
{
	const struct entries *entries = job->entries;
	int r = 0;

	for (size_t i = 0; i < entries->n && r == 0; i++) {
		const struct entry *entry = &entries->items[i];

		if (diff_sums_up(job, entry))
			continue;
		r = progress_step(&job->progress, i, entries->n, entry->name);
		if (r == 0)
			r = measure(&rows->items[rows->n], job, entry, err);
		if (r == 0 && row_name(&rows->items[rows->n++], job, entry) < 0)
			r = err_oom(err);
		r = r > 0 ? 0 : r; /* it has changed meanwhile; that was said */
	}
	return r;
}

int diff_stat(struct diff_job *job, struct err *err)
{
	_cleanup_(rows_release) struct rows rows = {0};
	int r;

	rows.items = calloc(job->entries->n + 1, sizeof(*rows.items));
	if (!rows.items)
		return err_oom(err);
	r = fill_rows(job, &rows, err);
	if (r == 0 && (add_git_data(job, &rows) < 0 || print_rows(job, &rows) < 0))
		r = err_oom(err);
	return r;
}

static int put_status(struct diff_job *job, const struct entry *entry)
{
	struct str *out = &job->out.text;
	int r = str_append_char(out, entry_letter(entry));

	if (r == 0 && entry->kind == ENTRY_RENAMED) {
		r = str_appendf(out, "%03u\t", entry->percent);
		if (r == 0)
			r = put_name(out, job, entry->from_name, false);
	}
	if (r == 0)
		r = str_append_char(out, '\t');
	if (r == 0)
		r = put_name(out, job, entry->name, is_folder(entry));
	if (r == 0 && job->out.on_terminal && entry->change->flags) {
		r = str_append_char(out, '\t');
		if (r == 0)
			r = put_flags(out, entry->change->flags, entry->change->why);
	}
	return r < 0 ? r : str_append_char(out, '\n');
}

int diff_name_status(struct diff_job *job, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < job->entries->n && r == 0; i++) {
		r = put_status(job, &job->entries->items[i]) < 0 ? err_oom(err) : 0;
		if (r == 0)
			r = output_step(&job->out);
	}
	return r;
}
