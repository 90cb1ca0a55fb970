/* SPDX-License-Identifier: MIT */
#include "stage/merge.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/* One side's edits, walked along the base. */
struct walk {
	const struct diff *d;
	size_t next; /* edit */
};

static const struct diff_edit *walk_edit(const struct walk *w)
{
	return w->next < w->d->len ? &w->d->edits[w->next] : NULL;
}

/* The line of this side that stands for line BASE, which none of its edits covers. */
static size_t walk_line(const struct walk *w, size_t base)
{
	const struct diff_edit *last = w->next ? &w->d->edits[w->next - 1] : NULL;

	if (!last)
		return base;
	return last->new_line + last->new_count + (base - (last->old_line + last->old_count));
}

/* Go over the next edit when it begins at or before *END; *END becomes its end. */
static bool walk_over(struct walk *w, size_t *end)
{
	const struct diff_edit *edit = walk_edit(w);

	if (!edit || edit->old_line > *end)
		return false;
	if (edit->old_line + edit->old_count > *end)
		*end = edit->old_line + edit->old_count;
	w->next++;
	return true;
}

static bool same_text(const struct merge *m, const struct merge_region *r)
{
	const struct diff_lines *a = &m->ours.new, *b = &m->theirs.new;
	size_t len = diff_span(a, r->ours_line, r->ours_count);

	return len == diff_span(b, r->theirs_line, r->theirs_count) &&
	       (len == 0 ||
		memcmp(diff_line(a, r->ours_line), diff_line(b, r->theirs_line), len) == 0);
}

/* All edits that overlap or touch, from the first one on. */
static struct merge_region next_region(const struct merge *m, struct walk *ours,
				       struct walk *theirs)
{
	const struct diff_edit *a = walk_edit(ours), *b = walk_edit(theirs);
	size_t start = !b || (a && a->old_line <= b->old_line) ? a->old_line : b->old_line;
	struct merge_region r = {
		.base_line = start,
		.ours_line = walk_line(ours, start),
		.theirs_line = walk_line(theirs, start),
	};
	size_t end = start, ours_edits = ours->next, theirs_edits = theirs->next;

	while (walk_over(ours, &end) || walk_over(theirs, &end))
		;
	r.base_count = end - start;
	r.ours_count = walk_line(ours, end) - r.ours_line;
	r.theirs_count = walk_line(theirs, end) - r.theirs_line;
	if (theirs_edits == theirs->next)
		r.kind = MERGE_OURS;
	else if (ours_edits == ours->next)
		r.kind = MERGE_THEIRS;
	else
		r.kind = same_text(m, &r) ? MERGE_SAME : MERGE_CONFLICT;
	return r;
}

static int find_regions(struct merge *m)
{
	struct walk ours = {.d = &m->ours}, theirs = {.d = &m->theirs};
	size_t max = m->ours.len + m->theirs.len;

	if (max == 0)
		return 0;
	m->regions = calloc(max, sizeof(*m->regions));
	if (!m->regions)
		return -ENOMEM;
	while (walk_edit(&ours) || walk_edit(&theirs)) {
		m->regions[m->len] = next_region(m, &ours, &theirs);
		m->conflicts += m->regions[m->len++].kind == MERGE_CONFLICT;
	}
	return 0;
}

int merge_compute(struct merge_text base, struct merge_text ours, struct merge_text theirs,
		  struct merge *ret_merge)
{
	_cleanup_(merge_release) struct merge m = {0};
	int r = diff_compute(base.data, base.len, ours.data, ours.len, DIFF_PLAIN, &m.ours);

	if (r == 0)
		r = diff_compute(base.data, base.len, theirs.data, theirs.len, DIFF_PLAIN,
				 &m.theirs);
	if (r == 0)
		r = find_regions(&m);
	if (r < 0)
		return r;
	*ret_merge = m;
	m = (struct merge){0};
	return 0;
}

void merge_release(struct merge *m)
{
	diff_release(&m->ours);
	diff_release(&m->theirs);
	free(m->regions);
	*m = (struct merge){0};
}

static int write_lines(const struct diff_lines *lines, size_t from, size_t count, struct str *out)
{
	return str_append_bytes(out, diff_line(lines, from), diff_span(lines, from, count));
}

/* Markers end as the first line of all does. */
static const char *line_end(const struct merge *m)
{
	const struct diff_lines *const texts[] = {&m->ours.new, &m->ours.old, &m->theirs.new};

	for (size_t i = 0; i < array_len(texts); i++) {
		size_t len = texts[i]->count ? diff_span(texts[i], 0, 1) : 0;
		const char *end = len ? texts[i]->data + len : NULL;

		if (len >= 1 && end[-1] == '\n')
			return len >= 2 && end[-2] == '\r' ? "\r\n" : "\n";
	}
	return "\n";
}

/* MARK seven times, on a line of its own. */
static int write_marker(char mark, const char *name, const char *end, struct str *out)
{
	int r = 0;

	if (out->len > 0 && out->data[out->len - 1] != '\n')
		r = str_append(out, end);
	for (int i = 0; r == 0 && i < 7; i++)
		r = str_append_char(out, mark);
	if (r == 0 && name)
		r = str_appendf(out, " %s", name);
	return r < 0 ? r : str_append(out, end);
}

static int write_conflict(const struct merge *m, const struct merge_region *c,
			  const struct merge_names *names, struct str *out)
{
	const struct diff_lines *base = &m->ours.old;
	const char *end = line_end(m);
	int r = write_marker('<', names->ours, end, out);

	if (r == 0)
		r = write_lines(&m->ours.new, c->ours_line, c->ours_count, out);
	if (r == 0)
		r = write_marker('|', names->base, end, out);
	if (r == 0)
		r = write_lines(base, c->base_line, c->base_count, out);
	if (r == 0)
		r = write_marker('=', NULL, end, out);
	if (r == 0)
		r = write_lines(&m->theirs.new, c->theirs_line, c->theirs_count, out);
	return r < 0 ? r : write_marker('>', names->theirs, end, out);
}

static int write_merged(const struct merge *m, const struct merge_names *names, struct str *out)
{
	const struct diff_lines *base = &m->ours.old;
	size_t at = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->len; i++) {
		const struct merge_region *region = &m->regions[i];

		r = write_lines(base, at, region->base_line - at, out);
		at = region->base_line + region->base_count;
		if (r < 0)
			break;
		if (region->kind == MERGE_CONFLICT)
			r = write_conflict(m, region, names, out);
		else if (region->kind == MERGE_THEIRS)
			r = write_lines(&m->theirs.new, region->theirs_line, region->theirs_count,
					out);
		else
			r = write_lines(&m->ours.new, region->ours_line, region->ours_count, out);
	}
	return r < 0 ? r : write_lines(base, at, base->count - at, out);
}

int merge_write(const struct merge *m, const struct merge_names *names, struct str *out)
{
	size_t before = out->len;
	int r;

	if (m->conflicts > 0 && !names)
		return -EBUSY;
	r = write_merged(m, names, out);
	if (r < 0)
		str_truncate(out, before);
	return r;
}
