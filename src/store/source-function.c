/* SPDX-License-Identifier: MIT */
#include "store/source-function.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { LOOK_BACK = 2000 };

int source_lines_init(struct source_lines *lines, const char *text, size_t len)
{
	struct source_lines out = {0};
	size_t count = 1;

	for (size_t i = 0; i < len; i++)
		count += text[i] == '\n';
	out.items = reallocarray(NULL, count, sizeof(*out.items));
	out.lens = reallocarray(NULL, count, sizeof(*out.lens));
	if (!out.items || !out.lens) {
		source_lines_release(&out);
		return -ENOMEM;
	}
	for (const char *end = text + len; text < end;) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((stop ? stop : end) - text);

		out.items[out.len] = text;
		out.lens[out.len++] = n > 0 && text[n - 1] == '\r' ? n - 1 : n;
		text = stop ? stop + 1 : end;
	}
	*lines = out;
	return 0;
}

void source_lines_release(struct source_lines *lines)
{
	free(lines->items);
	free(lines->lens);
	*lines = (struct source_lines){0};
}

struct line {
	const char *text;
	size_t len, indent;
};

static struct line line_at(const struct source_lines *lines, size_t i)
{
	struct line line = {.text = lines->items[i], .len = lines->lens[i]};

	while (line.indent < line.len && strchr(" \t", line.text[line.indent]))
		line.indent++;
	return line;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static const char *take_word(const char *at, const char *end, char buf[SOURCE_FUNCTION_MAX])
{
	size_t n = 0;

	while (at + n < end && is_word(at[n]) && n < SOURCE_FUNCTION_MAX - 1)
		n++;
	memcpy(buf, at, n);
	buf[n] = '\0';
	return n > 0 ? buf : NULL;
}

/* The word behind KEYWORD, when that is a word of LINE. */
static const char *word_after(const struct line *line, const char *keyword,
			      char buf[SOURCE_FUNCTION_MAX])
{
	size_t n = strlen(keyword);
	const char *end = line->text + line->len, *at = line->text + line->indent;

	while ((at = memmem(at, (size_t)(end - at), keyword, n))) {
		bool whole = (at == line->text || !is_word(at[-1])) && at + n < end &&
			     (at[n] == ' ' || at[n] == '\t');

		at += n;
		if (!whole)
			continue;
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		/* Go: func (receiver) name */
		if (at < end && *at == '(') {
			const char *close = memchr(at, ')', (size_t)(end - at));

			at = close ? close + 1 : end;
			while (at < end && *at == ' ')
				at++;
		}
		return take_word(at, end, buf);
	}
	return NULL;
}

static const char *first_of(const struct line *line, const char *const *keywords,
			    char buf[SOURCE_FUNCTION_MAX])
{
	for (; *keywords; keywords++)
		if (word_after(line, *keywords, buf))
			return buf;
	return NULL;
}

static const char *name_python(const struct line *line, char buf[SOURCE_FUNCTION_MAX])
{
	static const char *const keywords[] = {"def", "class", NULL};

	return first_of(line, keywords, buf);
}

static const char *name_rust(const struct line *line, char buf[SOURCE_FUNCTION_MAX])
{
	static const char *const keywords[] = {"fn", NULL};

	return first_of(line, keywords, buf);
}

static const char *name_go(const struct line *line, char buf[SOURCE_FUNCTION_MAX])
{
	return line->indent == 0 ? word_after(line, "func", buf) : NULL;
}

/* The word before the first parenthesis. */
static const char *name_call(const struct line *line, char buf[SOURCE_FUNCTION_MAX])
{
	const char *open = memchr(line->text, '(', line->len), *at = open;
	static const char *const no_names[] = {"if", "for", "while", "switch", "catch", "return"};

	while (at && at > line->text && at[-1] == ' ')
		at--;
	for (open = at; at && at > line->text && is_word(at[-1]);)
		at--;
	if (!at || !take_word(at, open, buf))
		return NULL;
	for (size_t i = 0; i < array_len(no_names); i++)
		if (str_eq(buf, no_names[i]))
			return NULL;
	return buf;
}

static const char *name_script(const struct line *line, char buf[SOURCE_FUNCTION_MAX])
{
	static const char *const keywords[] = {"function", "class", NULL};
	const char *arrow = memmem(line->text, line->len, "=>", 2);

	if (first_of(line, keywords, buf))
		return buf;
	if (arrow && (word_after(line, "const", buf) || word_after(line, "let", buf)))
		return buf;
	return line->len > 0 && line->text[line->len - 1] == '{' && !arrow ? name_call(line, buf)
									   : NULL;
}

/* A definition begins in the first column, as most people write it. */
static const char *name_c(const struct line *line, char buf[SOURCE_FUNCTION_MAX])
{
	char last = line->len > 0 ? line->text[line->len - 1] : '\0';

	if (line->indent > 0 || line->len == 0 || !is_word(line->text[0]) || last == ';' ||
	    last == ':')
		return NULL;
	return name_call(line, buf);
}

static const char *name_make(const struct line *line, char buf[SOURCE_FUNCTION_MAX])
{
	const char *colon = memchr(line->text, ':', line->len);
	size_t n = colon ? (size_t)(colon - line->text) : 0;

	if (n == 0 || n >= SOURCE_FUNCTION_MAX || strchr("\t #.", line->text[0]) ||
	    (n + 1 < line->len && colon[1] == '='))
		return NULL;
	memcpy(buf, line->text, n);
	buf[n] = '\0';
	return buf;
}

typedef const char *name_fn(const struct line *line, char buf[SOURCE_FUNCTION_MAX]);

/* NESTED: what encloses is indented less than what it encloses. */
static name_fn *names_of(const char *path, bool *ret_nested)
{
	static const struct {
		const char *ending;
		name_fn *name;
		bool nested;
	} table[] = {
		{".py", name_python, true},    {".rs", name_rust, true},
		{".go", name_go, false},       {".js", name_script, true},
		{".mjs", name_script, true},   {".cjs", name_script, true},
		{".ts", name_script, true},    {".jsx", name_script, true},
		{".tsx", name_script, true},   {".c", name_c, false},
		{".h", name_c, false},         {".cc", name_c, false},
		{".cpp", name_c, false},       {".cxx", name_c, false},
		{".hpp", name_c, false},       {".mk", name_make, false},
		{"akefile", name_make, false},
	};

	for (size_t i = 0; i < array_len(table); i++)
		if (str_ends(path, table[i].ending)) {
			*ret_nested = table[i].nested;
			return table[i].name;
		}
	return NULL;
}

const char *source_function(const struct source_lines *lines, const char *path, size_t number,
			    char buf[SOURCE_FUNCTION_MAX])
{
	bool nested;
	name_fn *name = names_of(path, &nested);
	size_t stop = number > LOOK_BACK ? number - LOOK_BACK : 0, indent;
	struct line line;

	if (!name || number == 0 || number > lines->len)
		return NULL;
	line = line_at(lines, number - 1);
	if (name(&line, buf))
		return buf;
	indent = line.len > line.indent ? line.indent : (size_t)-1;
	for (size_t i = number - 1; i-- > stop;) {
		line = line_at(lines, i);
		if (line.len == line.indent || (nested && line.indent >= indent))
			continue;
		if (name(&line, buf))
			return buf;
		if (nested && line.indent < indent)
			indent = line.indent;
	}
	return NULL;
}
