/* SPDX-License-Identifier: MIT */
/* patch-hunks - the lines of hunks: written, shown, chosen. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/diff.h"
#include "base/str.h"
#include "stage/patch.h"

#define HEADING_LOOK 1000 /* lines back */
#define HEADING_MAX  80   /* bytes */

struct sink {
	patch_line_fn *line;
	void *data;
	struct str text;
};

static void sink_release(struct sink *s)
{
	str_release(&s->text);
}

static int walk_lines(struct sink *s, enum patch_line kind, char mark,
		      const struct diff_lines *lines, size_t from, size_t count)
{
	static const char no_newline[] = "\\ No newline at end of file\n";
	int r = 0;

	for (size_t i = from; r == 0 && i < from + count; i++) {
		const char *text = diff_line(lines, i);
		size_t len = diff_span(lines, i, 1);
		bool is_cut = text[len - 1] != '\n';

		str_truncate(&s->text, 0);
		r = str_append_char(&s->text, mark);
		if (r == 0)
			r = str_append_bytes(&s->text, text, len);
		if (r == 0 && is_cut)
			r = str_append_char(&s->text, '\n');
		if (r == 0)
			r = s->line(s->data, kind, s->text.data, s->text.len);
		if (r == 0 && is_cut)
			r = s->line(s->data, PATCH_CONTEXT, no_newline, sizeof(no_newline) - 1);
	}
	return r;
}

/* What the hunk is in: the nearest line above that begins with a letter. */
static int append_heading(const struct diff_lines *lines, size_t start, struct str *out)
{
	for (size_t i = start, look = HEADING_LOOK; i > 0 && look > 0; i--, look--) {
		const char *text = diff_line(lines, i - 1);
		size_t len = diff_span(lines, i - 1, 1);
		unsigned char first = (unsigned char)text[0];

		if (!isalpha(first) && first != '_' && first != '$')
			continue;
		if (len > HEADING_MAX) {
			len = HEADING_MAX;
			while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
				len--;
		}
		while (len > 0 && isspace((unsigned char)text[len - 1]))
			len--;
		return str_append_char(out, ' ') < 0 ? -ENOMEM : str_append_bytes(out, text, len);
	}
	return 0;
}

/* Lines count from 1 in patches; nothing stands behind the line it follows. */
static int append_range(char mark, size_t start, size_t count, struct str *out)
{
	int r = str_appendf(out, "%c%zu", mark, count ? start + 1 : start);

	return r < 0 || count == 1 ? r : str_appendf(out, ",%zu", count);
}

static int walk_hunk_head(struct sink *s, const struct diff *d, const struct diff_hunk *hunk)
{
	int r = str_append(&s->text, "@@ ");

	if (r == 0)
		r = append_range('-', hunk->old_start, hunk->old_count, &s->text);
	if (r == 0)
		r = str_append_char(&s->text, ' ');
	if (r == 0)
		r = append_range('+', hunk->new_start, hunk->new_count, &s->text);
	if (r == 0)
		r = str_append(&s->text, " @@");
	if (r == 0)
		r = append_heading(&d->old, hunk->old_start, &s->text);
	if (r == 0)
		r = str_append_char(&s->text, '\n');
	return r < 0 ? r : s->line(s->data, PATCH_HUNK, s->text.data, s->text.len);
}

int patch_walk_hunk(const struct diff *d, const struct diff_hunk *hunk, patch_line_fn *line,
		    void *data)
{
	_cleanup_(sink_release) struct sink s = {.line = line, .data = data};
	size_t at = hunk->old_start;
	int r = walk_hunk_head(&s, d, hunk);

	for (size_t i = 0; r == 0 && i < hunk->edits; i++) {
		const struct diff_edit *e = &d->edits[hunk->first_edit + i];

		r = walk_lines(&s, PATCH_CONTEXT, ' ', &d->old, at, e->old_line - at);
		if (r == 0)
			r = walk_lines(&s, PATCH_REMOVED, '-', &d->old, e->old_line, e->old_count);
		if (r == 0)
			r = walk_lines(&s, PATCH_ADDED, '+', &d->new, e->new_line, e->new_count);
		at = e->old_line + e->old_count;
	}
	if (r < 0)
		return r;
	return walk_lines(&s, PATCH_CONTEXT, ' ', &d->old, at,
			  hunk->old_start + hunk->old_count - at);
}

int patch_apply_hunks(const struct diff *d, const struct diff_hunk *hunks, size_t n,
		      const bool *chosen, struct str *out)
{
	size_t before = out->len, at = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		for (size_t k = 0; r == 0 && chosen[i] && k < hunks[i].edits; k++) {
			const struct diff_edit *e = &d->edits[hunks[i].first_edit + k];

			r = str_append_bytes(out, diff_line(&d->old, at),
					     diff_span(&d->old, at, e->old_line - at));
			if (r == 0)
				r = str_append_bytes(out, diff_line(&d->new, e->new_line),
						     diff_span(&d->new, e->new_line, e->new_count));
			at = e->old_line + e->old_count;
		}
	}
	if (r == 0)
		r = str_append_bytes(out, diff_line(&d->old, at),
				     diff_span(&d->old, at, d->old.count - at));
	if (r < 0)
		str_truncate(out, before);
	return r;
}

/* Tabs are what they are; anything else that moves the cursor is escaped. */
static int append_shown(struct str *out, const char *text, size_t len)
{
	int r = 0;

	while (r == 0 && len > 0) {
		const char *tab = memchr(text, '\t', len);
		size_t n = tab ? (size_t)(tab - text) : len;

		r = str_append_escaped(out, text, n);
		if (r == 0 && tab)
			r = str_append_char(out, '\t');
		n += tab != NULL;
		text += n;
		len -= n;
	}
	return r;
}

int patch_show_line(void *data, enum patch_line kind, const char *text, size_t len)
{
	static const char *const colours[] = {
		[PATCH_HEADER] = "\033[1m", [PATCH_HUNK] = "\033[36m",    [PATCH_CONTEXT] = "",
		[PATCH_ADDED] = "\033[32m", [PATCH_REMOVED] = "\033[31m",
	};
	const struct patch_shown *shown = data;
	const char *colour = shown->colour ? colours[kind] : "";
	size_t before = shown->out->len;
	int r = str_append(shown->out, colour);

	if (r == 0)
		r = append_shown(shown->out, text, len - (len > 0 && text[len - 1] == '\n'));
	if (r == 0)
		r = str_append(shown->out, *colour ? "\033[m\n" : "\n");
	if (r < 0)
		str_truncate(shown->out, before);
	return r;
}
