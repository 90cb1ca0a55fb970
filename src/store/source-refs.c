/* SPDX-License-Identifier: MIT */
#include "store/source-refs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { LINE_MAX_BYTES = 4096, NUMBER_MAX = 10000000, FOLDERS_MAX = 16 };

struct scan {
	struct source_refs *refs;
	char line[LINE_MAX_BYTES + 1]; /* without colours */
	size_t len;
	char *folders[FOLDERS_MAX]; /* that make has entered */
	size_t folders_len;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The number at TEXT, 0 when there is none that can be one; *ret_end behind its digits. */
static unsigned read_number(const char *text, const char **ret_end)
{
	unsigned n = 0;

	while (is_digit(*text)) {
		n = n > NUMBER_MAX ? n : n * 10 + (unsigned)(*text - '0');
		text++;
	}
	*ret_end = text;
	return n > NUMBER_MAX ? 0 : n;
}

/* Copy without colours, and what else a terminal would obey. */
static void take_line(struct scan *scan, const char *text, size_t len)
{
	scan->len = 0;
	for (size_t i = 0; i < len && scan->len < LINE_MAX_BYTES; i++) {
		if (text[i] == '\033' && i + 1 < len && text[i + 1] == '[') {
			for (i += 2; i < len && (text[i] < '@' || text[i] > '~'); i++)
				;
			continue;
		}
		if (text[i] != '\r' && text[i] != '\0')
			scan->line[scan->len++] = text[i];
	}
	scan->line[scan->len] = '\0';
}

/* A name with an extension of letters, or one that needs none. */
static bool is_source_name(const char *name, size_t len)
{
	static const char *const plain[] = {"Makefile", "makefile", "GNUmakefile", "Dockerfile",
					    "Justfile", "Rakefile", "Snakefile"};
	size_t dot = len;

	for (size_t i = 0; i < array_len(plain); i++)
		if (strlen(plain[i]) == len && memcmp(plain[i], name, len) == 0)
			return true;
	while (dot > 0 && name[dot - 1] != '.')
		dot--;
	return dot > 1 && dot < len && len - dot <= 10 && is_letter(name[dot]);
}

static bool is_path(const char *path, size_t len)
{
	size_t name = len;

	if (len == 0 || len >= SOURCE_PATH_MAX || memmem(path, len, "://", 3))
		return false;
	while (name > 0 && path[name - 1] != '/')
		name--;
	return is_source_name(path + name, len - name);
}

static const char *tool_of(const struct scan *scan, const char *path)
{
	static const struct {
		const char *ending, *tool;
	} endings[] = {
		{".py", "python"}, {".go", "go"},    {".rs", "rust"},
		{".js", "node"},   {".mjs", "node"}, {".cjs", "node"},
		{".ts", "node"},   {".jsx", "node"}, {".tsx", "node"},
	};

	if (strstr(scan->line, "***"))
		return "make";
	for (size_t i = 0; i < array_len(endings); i++)
		if (str_ends(path, endings[i].ending))
			return endings[i].tool;
	return "compiler";
}

static bool is_known(const struct source_refs *refs, const char *path, unsigned line)
{
	for (size_t i = 0; i < refs->len; i++)
		if (refs->items[i].line == line && str_eq(refs->items[i].path, path))
			return true;
	return false;
}

static int add(struct scan *scan, const char *path, size_t len, unsigned line, unsigned column)
{
	struct source_refs *refs = scan->refs;
	const char *folder = scan->folders_len ? scan->folders[scan->folders_len - 1] : NULL;
	char *full = folder && path[0] != '/' ? str_printf("%s/%.*s", folder, (int)len, path)
					      : strndup(path, len);

	if (!full)
		return -ENOMEM;
	if (is_known(refs, full, line) || refs->len == SOURCE_REFS_MAX) {
		refs->dropped += !is_known(refs, full, line);
		free(full);
		return 0;
	}
	refs->items[refs->len++] = (struct source_ref){
		.path = full, .line = line, .column = column, .tool = tool_of(scan, full)};
	return 0;
}

/* File "PATH", line N */
static int find_python(struct scan *scan, bool *ret_found)
{
	static const char before[] = "File \"", between[] = "\", line ";
	const char *path = strstr(scan->line, before), *end, *after;
	unsigned line;

	*ret_found = false;
	if (!path)
		return 0;
	path += sizeof(before) - 1;
	end = strstr(path, between);
	if (!end || end == path || end - path >= SOURCE_PATH_MAX)
		return 0;
	line = read_number(end + sizeof(between) - 1, &after);
	*ret_found = line > 0 && *path != '<';
	return *ret_found ? add(scan, path, (size_t)(end - path), line, 0) : 0;
}

/* What stands around a path, never in it as tools write it. */
static bool ends_path(char c)
{
	return (unsigned char)c <= ' ' || strchr("\"'`()[]{}<>|,;=*?", c);
}

/* The path that ends at COLON. */
static const char *path_before(const struct scan *scan, const char *colon)
{
	const char *at = colon;

	while (at > scan->line && !ends_path(at[-1]) && at[-1] != ':')
		at--;
	/* file:///path, and not host://path */
	if (at - scan->line >= 5 && at[-1] == ':' && memcmp(at - 5, "file:", 5) == 0 &&
	    strncmp(at, "///", 3) == 0)
		return at + 2;
	return at > scan->line && at[-1] == ':' && strncmp(at, "//", 2) == 0 ? colon : at;
}

/* Is what follows a number not part of a longer word? */
static bool ends_number(const char *at)
{
	return !is_letter(*at) && *at != '_' && !(*at == '.' && is_digit(at[1]));
}

static int find_colons(struct scan *scan)
{
	const char *colon = scan->line;
	int r = 0;

	while (r == 0 && (colon = strchr(colon, ':'))) {
		const char *path = path_before(scan, colon), *end = colon + 1;
		unsigned line = 0, column = 0;

		if (is_path(path, (size_t)(colon - path)))
			line = read_number(colon + 1, &end);
		if (line > 0 && end[0] == ':' && is_digit(end[1]))
			column = read_number(end + 1, &end);
		if (line > 0 && ends_number(end))
			r = add(scan, path, (size_t)(colon - path), line, column);
		colon = end;
	}
	return r;
}

/* make[1]: Entering directory '/path', and Leaving. */
static int follow_make(struct scan *scan)
{
	const char *enter = strstr(scan->line, ": Entering directory '");
	const char *path, *end;

	if (!str_starts(scan->line, "make") && !str_starts(scan->line, "gmake"))
		return 0;
	if (strstr(scan->line, ": Leaving directory '")) {
		if (scan->folders_len > 0)
			free(scan->folders[--scan->folders_len]);
		return 0;
	}
	if (!enter || scan->folders_len == FOLDERS_MAX)
		return 0;
	path = enter + strlen(": Entering directory '");
	end = strrchr(path, '\'');
	if (!end || *path != '/' || end - path >= SOURCE_PATH_MAX)
		return 0;
	scan->folders[scan->folders_len] = strndup(path, (size_t)(end - path));
	if (!scan->folders[scan->folders_len])
		return -ENOMEM;
	scan->folders_len++;
	return 0;
}

static int look_at(struct scan *scan)
{
	bool found = false;
	int r = follow_make(scan);

	if (r == 0)
		r = find_python(scan, &found);
	return r < 0 || found ? r : find_colons(scan);
}

int source_refs_find(const char *text, size_t len, struct source_refs *ret)
{
	_cleanup_(source_refs_release) struct source_refs refs = {0};
	struct scan scan = {.refs = &refs};
	const char *end = text + len;
	int r = 0;

	while (text < end && r == 0) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		take_line(&scan, text, (size_t)((stop ? stop : end) - text));
		r = look_at(&scan);
		text = stop ? stop + 1 : end;
	}
	while (scan.folders_len > 0)
		free(scan.folders[--scan.folders_len]);
	if (r < 0)
		return r;
	*ret = refs;
	refs.len = 0;
	return 0;
}

void source_refs_release(struct source_refs *refs)
{
	for (size_t i = 0; i < refs->len; i++)
		free(refs->items[i].path);
	refs->len = 0;
}
