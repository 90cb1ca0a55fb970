/* SPDX-License-Identifier: MIT */
/*
 * The states of the table are sets of places in the program. What holds at a border (the
 * beginning of a line, the end of a word) is found out when the byte behind it is seen, and
 * so is a match: each state answers for the byte before. A line's end is a byte like any
 * other, and leads back to the first state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "files/regex.h"

enum {
	STATES_MAX = 2000,
	PLACES_MAX = 1 << 20, /* of all states together */
	HASH_SIZE = 4096,
};

/* What a transition can be besides a state's row. */
enum { UNKNOWN = 0, MATCHED = 1, ROWS = 2 };

enum { AT_BEGIN = 1, AFTER_WORD = 2 };

struct state {
	uint32_t first, count; /* in places[] */
	uint32_t next;         /* with the same hash; 0: none */
	uint8_t about;
};

struct matcher {
	const struct regex *regex;
	uint8_t kinds[256]; /* bytes that the program does not tell apart share one */
	uint8_t samples[256];
	unsigned kinds_len;
	uint32_t *rows; /* kinds_len for each state */
	struct state *states;
	uint32_t states_len;
	uint32_t *places;
	uint32_t places_len;
	uint32_t hash[HASH_SIZE]; /* a state's number + 1 */
	uint32_t first;           /* the row of the first state; 0: not made yet */
	/* While a transition is made: */
	uint32_t *list, *stack;
	uint32_t list_len;
	uint32_t *marks, mark;
	uint32_t *from; /* a copy, since states may be forgotten */
};

static bool is_word(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (c >= 'a' && c <= 'z');
}

static void find_kinds(struct matcher *m)
{
	bool begins[257] = {[0] = true, ['\n'] = true, ['\n' + 1] = true};

	for (size_t i = 0; i < m->regex->len; i++)
		if (m->regex->code[i].op == REGEX_BYTE) {
			begins[m->regex->code[i].low] = true;
			begins[m->regex->code[i].high + 1] = true;
		}
	for (unsigned c = 1; c < 256 && m->regex->has_words; c++)
		begins[c] |= is_word((unsigned char)c) != is_word((unsigned char)(c - 1));
	for (unsigned c = 0; c < 256; c++) {
		if (begins[c])
			m->samples[m->kinds_len++] = (uint8_t)c;
		m->kinds[c] = (uint8_t)(m->kinds_len - 1);
	}
}

/* What is about a place between two bytes. */
struct border {
	bool begin, end, before, after; /* word characters before and after */
};

static bool holds(enum regex_op op, const struct border *b)
{
	switch (op) {
	case REGEX_BEGIN:
		return b->begin;
	case REGEX_END:
		return b->end;
	case REGEX_WORD:
		return b->before != b->after;
	case REGEX_NOT_WORD:
		return b->before == b->after;
	case REGEX_WORD_BEGIN:
		return !b->before && b->after;
	case REGEX_WORD_END:
		return b->before && !b->after;
	case REGEX_BYTE:
	case REGEX_SPLIT:
	case REGEX_JUMP:
	case REGEX_MATCH:
		break;
	}
	return false;
}

static void push(struct matcher *m, uint32_t *depth, uint32_t place)
{
	if (m->marks[place] == m->mark)
		return;
	m->marks[place] = m->mark;
	m->stack[(*depth)++] = place;
}

/* Add PLACE to the list, and where it leads without a byte. BORDER NULL: what needs one stays
 * in the list, to be asked later. */
static void add(struct matcher *m, uint32_t place, const struct border *border)
{
	uint32_t depth = 0;

	push(m, &depth, place);
	while (depth > 0) {
		uint32_t at = m->stack[--depth];
		const struct regex_code *code = &m->regex->code[at];

		if (code->op == REGEX_SPLIT)
			push(m, &depth, code->or);
		if (code->op == REGEX_SPLIT || code->op == REGEX_JUMP)
			push(m, &depth, code->to);
		else if (code->op == REGEX_BYTE || code->op == REGEX_MATCH || !border)
			m->list[m->list_len++] = at;
		else if (holds((enum regex_op)code->op, border))
			push(m, &depth, at + 1);
	}
}

static void begin_list(struct matcher *m)
{
	m->list_len = 0;
	if (++m->mark == 0) {
		memset(m->marks, 0, m->regex->len * sizeof(*m->marks));
		m->mark = 1;
	}
}

static uint32_t hash_list(const struct matcher *m, uint8_t about)
{
	uint32_t hash = 2166136261u ^ about;

	for (uint32_t i = 0; i < m->list_len; i++)
		hash = (hash ^ m->list[i]) * 16777619u;
	return (hash ^ hash >> 15) % HASH_SIZE;
}

static void forget(struct matcher *m)
{
	m->states_len = m->places_len = m->first = 0;
	memset(m->hash, 0, sizeof(m->hash));
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The row of the state that the list is. */
static uint32_t intern(struct matcher *m, uint8_t about)
{
	uint32_t hash, *rows;
	struct state *state;

	qsort(m->list, m->list_len, sizeof(*m->list), compare);
	hash = hash_list(m, about);
	for (uint32_t i = m->hash[hash]; i; i = m->states[i - 1].next) {
		state = &m->states[i - 1];
		if (state->about == about && state->count == m->list_len &&
		    memcmp(m->places + state->first, m->list, m->list_len * sizeof(*m->list)) == 0)
			return ROWS + (i - 1) * m->kinds_len;
	}
	if (m->states_len == STATES_MAX || m->places_len + m->list_len > PLACES_MAX)
		forget(m);
	state = &m->states[m->states_len++];
	*state = (struct state){m->places_len, m->list_len, m->hash[hash], about};
	memcpy(m->places + m->places_len, m->list, m->list_len * sizeof(*m->list));
	m->places_len += m->list_len;
	m->hash[hash] = m->states_len;
	rows = m->rows + (size_t)(m->states_len - 1) * m->kinds_len;
	memset(rows, 0, m->kinds_len * sizeof(*rows));
	return ROWS + (m->states_len - 1) * m->kinds_len;
}

/* At the beginning of a line. */
static uint32_t first_row(struct matcher *m)
{
	uint32_t row = m->first;

	if (row)
		return row;
	begin_list(m);
	add(m, 0, NULL);
	row = intern(m, AT_BEGIN);
	m->first = row;
	return row;
}

/* The list with what holds before the byte C: true when that is a match. */
static bool close_list(struct matcher *m, const struct state *state, unsigned char c, bool is_end)
{
	struct border border = {.begin = state->about & AT_BEGIN,
				.end = is_end,
				.before = state->about & AFTER_WORD,
				.after = !is_end && is_word(c)};
	uint32_t count = state->count;

	memcpy(m->from, m->places + state->first, count * sizeof(*m->from));
	begin_list(m);
	for (uint32_t i = 0; i < count; i++)
		add(m, m->from[i], &border);
	for (uint32_t i = 0; i < m->list_len; i++)
		if (m->regex->code[m->list[i]].op == REGEX_MATCH)
			return true;
	return false;
}

/* What follows ROW when a byte of KIND does. *FORGOT: rows from before mean nothing now. */
static uint32_t make(struct matcher *m, uint32_t row, unsigned kind, bool is_end)
{
	uint32_t number = (row - ROWS) / m->kinds_len, states = m->states_len, next, count;
	unsigned char c = m->samples[kind];
	uint8_t about;

	if (close_list(m, &m->states[number], c, is_end || c == '\n')) {
		next = MATCHED;
	} else if (is_end || c == '\n') {
		next = first_row(m);
	} else {
		count = m->list_len;
		memcpy(m->from, m->list, count * sizeof(*m->from));
		about = m->regex->has_words && is_word(c) ? AFTER_WORD : 0;
		begin_list(m);
		for (uint32_t i = 0; i < count; i++) {
			const struct regex_code *code = &m->regex->code[m->from[i]];

			if (c >= code->low && c <= code->high)
				add(m, m->from[i] + 1, NULL);
		}
		add(m, 0, NULL);
		next = intern(m, about);
	}
	/* Everything was forgotten, the row that we come from included? */
	if (m->states_len >= states && !is_end)
		m->rows[row - ROWS + kind] = next;
	return next;
}

const char *matcher_find(struct matcher *m, const char *text, size_t len)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + len;
	uint32_t row = first_row(m);

	for (; at < end; at++) {
		uint32_t next = m->rows[row - ROWS + m->kinds[*at]];

		if (next < ROWS) {
			if (next == UNKNOWN)
				next = make(m, row, m->kinds[*at], false);
			if (next == MATCHED)
				return (const char *)at;
		}
		row = next;
	}
	if (len > 0 && end[-1] == '\n')
		return NULL;
	return make(m, row, m->kinds['\n'], true) == MATCHED ? (const char *)end : NULL;
}

struct matcher *matcher_new(const struct regex *regex)
{
	struct matcher *m = calloc(1, sizeof(*m));
	size_t len = regex->len;

	if (!m)
		return NULL;
	m->regex = regex;
	find_kinds(m);
	m->rows = calloc((size_t)STATES_MAX * m->kinds_len, sizeof(*m->rows));
	m->states = calloc(STATES_MAX, sizeof(*m->states));
	m->places = calloc(PLACES_MAX + len, sizeof(*m->places));
	m->list = calloc(len + 1, sizeof(*m->list));
	m->stack = calloc(2 * len + 2, sizeof(*m->stack));
	m->marks = calloc(len + 1, sizeof(*m->marks));
	m->from = calloc(len + 1, sizeof(*m->from));
	if (!m->rows || !m->states || !m->places || !m->list || !m->stack || !m->marks || !m->from)
		return matcher_free(m);
	return m;
}

struct matcher *matcher_free(struct matcher *m)
{
	if (!m)
		return NULL;
	free(m->rows);
	free(m->states);
	free(m->places);
	free(m->list);
	free(m->stack);
	free(m->marks);
	free(m->from);
	free(m);
	return NULL;
}
