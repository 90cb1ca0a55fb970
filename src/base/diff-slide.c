/* SPDX-License-Identifier: MIT */
/*
 * A run of changed lines whose first line equals the line behind it may as well be
 * one line further down, and so on. Runs that meet on the way become one. Of the
 * places that are left, one beside a change of the other side is the best (the two
 * become one edit); then what reads well.
 */
#include "base/diff-impl.h"

/* Line START to END - 1 are changed, the lines before and after are not. It may be
 * empty: the Nth run of a side is the one before its Nth unchanged line, and stands
 * opposite to the Nth of the other side. */
struct run {
	size_t start, end;
};

struct slider {
	struct diff_side *side;
	const struct diff_side *other;
	struct run run;      /* of side */
	struct run opposite; /* of other */
	size_t moves_left;   /* against texts made to cost much */
};

#define MOVES_PER_LINE 32
#define MOVES_SCORED   100 /* places to choose from */

static bool run_next(const struct diff_side *side, struct run *run)
{
	if (run->end >= side->lines->count)
		return false;
	run->start = run->end + 1;
	for (run->end = run->start; side->changed[run->end];)
		run->end++;
	return true;
}

static void run_previous(const struct diff_side *side, struct run *run)
{
	run->end = run->start - 1;
	for (run->start = run->end; run->start > 0 && side->changed[run->start - 1];)
		run->start--;
}

static bool move_up(struct slider *s)
{
	struct run *run = &s->run;

	if (run->start == 0 || s->side->classes[run->start - 1] != s->side->classes[run->end - 1])
		return false;
	s->side->changed[--run->start] = true;
	s->side->changed[--run->end] = false;
	while (run->start > 0 && s->side->changed[run->start - 1])
		run->start--;
	run_previous(s->other, &s->opposite);
	s->moves_left -= s->moves_left > 0;
	return true;
}

static bool move_down(struct slider *s)
{
	struct run *run = &s->run;

	if (run->end == s->side->lines->count ||
	    s->side->classes[run->start] != s->side->classes[run->end])
		return false;
	s->side->changed[run->start++] = false;
	s->side->changed[run->end++] = true;
	while (s->side->changed[run->end])
		run->end++;
	run_next(s->other, &s->opposite);
	s->moves_left -= s->moves_left > 0;
	return true;
}

static bool has_opposite(const struct slider *s)
{
	return s->opposite.end > s->opposite.start;
}

#define BLANK SIZE_MAX

/* Columns of white space before the first letter of a line, or BLANK. */
static size_t indent_of(const struct diff_lines *lines, size_t i)
{
	const char *text = diff_line(lines, i);
	size_t len = diff_span(lines, i, 1), indent = 0;

	for (size_t n = 0; n < len && indent < 200; n++) {
		if (text[n] == ' ')
			indent++;
		else if (text[n] == '\t')
			indent += 8 - indent % 8;
		else if (text[n] != '\r' && text[n] != '\n')
			return indent;
	}
	return indent < 200 ? BLANK : 200;
}

/* How bad it is to begin or end a run before line I: deep in a block is bad, at
 * the end of one a little, so is before a blank line rather than behind it. */
static size_t badness(const struct diff_lines *lines, size_t i)
{
	size_t indent = BLANK, blank = 0, above = i > 0 ? indent_of(lines, i - 1) : BLANK;

	for (; i + blank < lines->count && blank < 20; blank++) {
		indent = indent_of(lines, i + blank);
		if (indent != BLANK)
			break;
	}
	if (indent == BLANK)
		indent = 0;
	if (blank > 0)
		return 4 * indent + 2;
	return 4 * indent + (i < lines->count && above != BLANK && above > indent ? 3 : 0);
}

/* Where the run, now as far down as it goes, should end; not above HIGHEST. */
static size_t best_end(const struct slider *s, size_t highest)
{
	size_t len = s->run.end - s->run.start, best = s->run.end, best_score = SIZE_MAX;
	size_t end = s->run.end;

	for (size_t moves = 0; end >= highest && end >= len && moves <= MOVES_SCORED; moves++) {
		size_t score = badness(s->side->lines, end) + badness(s->side->lines, end - len);

		if (score < best_score) {
			best = end;
			best_score = score;
		}
		/* Further up than its own length it is among what it repeats. */
		if (end-- == 0 || moves > len)
			break;
	}
	return best;
}

static void place(struct slider *s, enum diff_style style)
{
	size_t len, highest, end;
	bool meets;

	do {
		len = s->run.end - s->run.start;
		while (s->moves_left > 0 && move_up(s))
			;
		highest = s->run.end;
		meets = has_opposite(s);
		while (s->moves_left > 0 && move_down(s))
			meets = meets || has_opposite(s);
	} while (s->moves_left > 0 && len != s->run.end - s->run.start);

	if (s->run.end == highest || s->moves_left == 0)
		return;
	if (meets) {
		while (!has_opposite(s) && move_up(s))
			;
	} else if (style == DIFF_NATURAL) {
		end = best_end(s, highest);
		while (s->run.end > end && move_up(s))
			;
	}
}

void diff_slide(struct diff_side *side, const struct diff_side *other, enum diff_style style)
{
	struct slider s = {.side = side, .other = other};

	s.moves_left = (side->lines->count + other->lines->count + 1) * MOVES_PER_LINE;
	while (side->changed[s.run.end])
		s.run.end++;
	while (other->changed[s.opposite.end])
		s.opposite.end++;
	do {
		if (s.run.end > s.run.start)
			place(&s, style);
	} while (s.moves_left > 0 && run_next(side, &s.run) && run_next(other, &s.opposite));
}
