/* SPDX-License-Identifier: MIT */
#include "cli/review-screen.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/diff.h"
#include "cli/stage-verb.h"

#define TITLE  "\033[7m"
#define ALERT  "\033[1;31m"
#define YELLOW "\033[33m"
#define DIM    "\033[2m"

/* A low screen does without the run and the keys. */
enum { HEAD_ROWS = 3, FOOT_ROWS = 2, LOW_HEAD_ROWS = 2, LOW_FOOT_ROWS = 1, LOW = 8 };

void review_view_release(struct review_view *view)
{
	rows_release(&view->rows);
}

/* --- the body --- */

static int add_text(struct rows *rows, const char *text)
{
	return rows_add(rows, PATCH_HEADER, text, strlen(text));
}

static int add_git_files(struct rows *rows, const struct review_item *item)
{
	int r = add_text(rows, "git's own files: objects, refs, index, logs. All of them or none: "
			       "a part would be");

	if (r == 0)
		r = add_text(rows, "a broken repository. Hooks and configuration are asked for one "
				   "by one.");
	for (size_t i = 0; i < item->n_entries && r == 0; i++) {
		_cleanup_(str_release) struct str line = {0};

		r = str_appendf(&line, "  %c %s", entry_letter(&item->entry[i]),
				item->entry[i].name);
		if (r == 0)
			r = rows_add(rows, PATCH_CONTEXT, str_text(&line), line.len);
	}
	return r;
}

/* The names are in the title, and nobody reads the ids. */
static int add_useful(void *data, enum patch_line kind, const char *text, size_t len)
{
	if (kind == PATCH_HEADER && (str_starts(text, "diff --git ") || str_starts(text, "index ")))
		return 0;
	return rows_add(data, kind, text, len);
}

static int add_whole(struct rows *rows, const struct review *review, const struct entry *entry)
{
	struct patch_options options = {
		.context = DIFF_CONTEXT, .similarity = entry->percent, .utf8_names = true};
	_cleanup_(str_release) struct str text = {0};
	int r;

	if (entry->in_patch && !review->sides.is_too_big) {
		r = patch_walk(&review->sides.old, &review->sides.new, &options, add_useful, rows);
		if (r < 0 || rows->n > 0)
			return r;
	}
	r = put_change_text(&text, entry);
	if (r == 0 && review->sides.is_too_big)
		r = str_append(&text, "; too big to be shown");
	return r < 0 ? r : add_text(rows, str_text(&text));
}

static int make_rows(const struct review *review, struct review_view *view, unsigned width)
{
	const struct review_item *item = &review->items[review->at];
	int r;

	rows_release(&view->rows);
	view->rows.width = width;
	if (item->is_git_data)
		r = add_git_files(&view->rows, item);
	else if (review->parts)
		r = patch_walk_hunk(&review->hunks.diff, &review->parts[review->part], rows_add,
				    &view->rows);
	else
		r = add_whole(&view->rows, review, item->entry);
	view->at = review->at;
	view->part = review->part;
	view->n_parts = review->n_parts;
	view->width = width;
	view->top = 0;
	view->is_made = r == 0;
	return r;
}

static const char *row_colour(enum patch_line kind)
{
	static const char *const colours[] = {
		[PATCH_HEADER] = "\033[1m", [PATCH_HUNK] = "\033[36m",    [PATCH_CONTEXT] = "",
		[PATCH_ADDED] = "\033[32m", [PATCH_REMOVED] = "\033[31m",
	};

	return colours[kind];
}

void review_scroll(struct review_view *view, long rows)
{
	size_t last = view->rows.n > view->page ? view->rows.n - view->page : 0;

	if (rows < 0)
		view->top = view->top > (size_t)-rows ? view->top - (size_t)-rows : 0;
	else
		view->top = view->top + (size_t)rows < last ? view->top + (size_t)rows : last;
}

/* --- the head --- */

static const char *verdict_text(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_YES:
		return "ACCEPTED";
	case VERDICT_NO:
		return "REJECTED";
	case VERDICT_MIXED:
		return "in part";
	case VERDICT_OPEN:
		break;
	}
	return "open";
}

static int put_title(const struct review *review, struct str *out)
{
	const struct review_item *item = &review->items[review->at];
	const struct entry *entry = item->entry;
	int r = str_appendf(out, " %zu/%zu  [%s]  ", review->at + 1, review->n,
			    verdict_text(review_verdict(review)));

	if (r == 0 && review->parts)
		r = str_appendf(out, "hunk %zu/%zu  ", review->part + 1, review->n_parts);
	if (r < 0)
		return r;
	if (item->is_git_data)
		return str_appendf(out, ".git (%zu file%s)", item->n_entries,
				   item->n_entries == 1 ? "" : "s");
	if (entry->kind == ENTRY_RENAMED)
		return str_appendf(out, "%s -> %s", entry->from_name, entry->name);
	r = str_append(out, entry->name);
	return r < 0 || entry->kind == ENTRY_CHANGED
		       ? r
		       : str_appendf(out, " (%s)", entry_kind_name(entry->kind));
}

static int put_marks_row(const struct review *review, struct str *out)
{
	const struct review_item *item = &review->items[review->at];
	const struct change *change = item->entry->change;
	int r = str_append_char(out, ' ');

	if (item->is_git_data)
		return r;
	if (r == 0)
		r = put_flags(out, change->flags, change->why);
	if (r == 0 && review->sides.is_binary)
		r = str_append(out, out->len > 1 ? ", BINARY" : "BINARY");
	return r < 0 ? r : put_mode(out, item->entry, out->len > 1);
}

static int draw_head(struct screen *screen, const struct review *review)
{
	const struct review_item *item = &review->items[review->at];
	const unsigned alerts = CHANGE_IS_PROTECTED | CHANGE_IS_CONFLICT;
	_cleanup_(str_release) struct str title = {0};
	_cleanup_(str_release) struct str marks = {0};
	_cleanup_(str_release) struct str run = {0};
	int r = put_title(review, &title);

	if (r == 0)
		r = put_marks_row(review, &marks);
	if (r == 0)
		r = str_append_char(&run, ' ');
	if (r == 0)
		r = put_run(&run, review->staged, item->entry->change->run);
	if (r < 0)
		return r;
	screen_row(screen, TITLE, str_text(&title));
	screen_row(screen, item->entry->change->flags & alerts ? ALERT : YELLOW, str_text(&marks));
	if (screen->rows >= LOW)
		screen_row(screen, DIM, str_text(&run));
	return 0;
}

/* --- all of it --- */

static void draw_foot(struct screen *screen, const struct review_view *view)
{
	_cleanup_(str_release) struct str text = {0};
	size_t shown = view->top + view->page;

	if (view->message)
		str_appendf(&text, " %s", view->message);
	else if (shown < view->rows.n)
		str_appendf(&text, " %zu more rows below: space", view->rows.n - shown);
	else if (view->top > 0)
		str_append(&text, " (end)");
	screen_row(screen, view->message ? ALERT : DIM, str_text(&text));
	if (screen->rows < LOW)
		return;
	screen_row(screen, TITLE,
		   screen->columns < 74
			   ? " y n s a d f j k  e end  q quit  ? help"
			   : " y accept  n reject  s split  a/d file  j/k move  e end  q quit  "
			     "? help");
}

int review_draw(struct screen *screen, const struct review *review, struct review_view *view)
{
	unsigned around;
	int r = 0;

	if (!view->is_made || view->at != review->at || view->part != review->part ||
	    view->n_parts != review->n_parts || view->width != screen->columns)
		r = make_rows(review, view, screen->columns);
	if (r < 0)
		return r;
	around = screen->rows < LOW ? LOW_HEAD_ROWS + LOW_FOOT_ROWS : HEAD_ROWS + FOOT_ROWS;
	view->page = screen->rows > around ? screen->rows - around : 1;
	review_scroll(view, 0);
	screen_begin(screen);
	r = draw_head(screen, review);
	for (size_t i = 0; i < view->page && r == 0; i++) {
		size_t at = view->top + i;

		if (at < view->rows.n)
			screen_row(screen, row_colour(view->rows.items[at].kind),
				   view->rows.items[at].text);
		else
			screen_row(screen, DIM, "~");
	}
	draw_foot(screen, view);
	screen_end(screen);
	return r;
}

static void draw_lines(struct screen *screen, const char *const *lines)
{
	screen_begin(screen);
	for (unsigned i = 0; i < screen->rows; i++) {
		screen_row(screen, i == 0 ? TITLE : "", *lines ? *lines : "");
		lines += *lines != NULL;
	}
	screen_end(screen);
}

void review_draw_help(struct screen *screen)
{
	static const char *const lines[] = {
		" pale review: help",
		" y        accept this change",
		" n        reject it",
		" u        neither: leave it open, and staged",
		" s        split this hunk into smaller ones",
		" a / d    accept / reject all of this file",
		" f        on to the next file",
		" t        a conflict: accept the staged side, and overwrite the workspace's",
		" j / k    next / previous change; J / K next / previous file",
		" space b  scroll down / up; also arrow keys, page up and down, g, G",
		" e        end: a question, then what is accepted is applied in one step",
		" q        quit; nothing is applied, decisions are kept for the next time",
		"",
		" PROTECTED   left out by `pale apply` unless it is named; y names it",
		" RUNS LATER  something on your machine executes it",
		" CONFLICT    you changed it as well; MERGES: both changes fit together",
		" > at the beginning of a row: the line above goes on",
		"",
		" any key: back",
		NULL,
	};

	draw_lines(screen, lines);
}

void review_draw_end(struct screen *screen, const struct review *review)
{
	struct review_tally tally;
	_cleanup_(freep) char *yes = NULL;
	_cleanup_(freep) char *no = NULL;
	_cleanup_(freep) char *open = NULL;
	const char *lines[12] = {" pale review: the end"};
	size_t n = 1;

	review_count(review, &tally);
	yes = str_printf(" accepted: %zu file%s", tally.yes, tally.yes == 1 ? "" : "s");
	no = str_printf(" rejected: %zu file%s", tally.no, tally.no == 1 ? "" : "s");
	open = str_printf(" open:     %zu file%s; stay staged", tally.open,
			  tally.open == 1 ? "" : "s");
	lines[n++] = "";
	lines[n++] = yes ? yes : "";
	lines[n++] = no ? no : "";
	lines[n++] = open ? open : "";
	lines[n++] = "";
	if (tally.yes + tally.no == 0) {
		lines[n++] = " Nothing is decided.";
	} else if (tally.no == 0) {
		lines[n++] = " y  apply what is accepted";
	} else {
		lines[n++] = tally.yes > 0
				     ? " y  apply what is accepted, throw away what is rejected"
				     : " y  throw away what is rejected";
		lines[n++] = tally.yes > 0 ? " k  apply what is accepted, keep the rest staged"
					   : " k  keep it staged";
	}
	lines[n++] = " q  quit; nothing happens, decisions are kept";
	lines[n++] = " any other key: back";
	lines[n] = NULL;
	draw_lines(screen, lines);
}
