/* SPDX-License-Identifier: MIT */
/*
 * The explicit targets of a makefile, by looking at its lines. Only names that
 * are customary are taken: a makefile has many targets that are files.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/detect.h"

static const char *const targets[] = {
	"all",   "build", "test", "check", "lint",     "format",    "fmt",
	"clean", "dist",  "docs", "bench", "coverage", "typecheck", "install",
};

/* One logical line, continuations joined; advances *TEXT. False: the end. */
static bool next_line(const char **text, struct str *line, int *r)
{
	bool more = true;

	if (!**text)
		return false;
	str_truncate(line, 0);
	while (*r == 0 && more && **text) {
		size_t len = strcspn(*text, "\n"), keep = len;

		if (keep > 0 && (*text)[keep - 1] == '\r')
			keep--;
		more = keep > 0 && (*text)[keep - 1] == '\\';
		*r = str_append_bytes(line, *text, keep - more);
		if (*r == 0 && more)
			*r = str_append_char(line, ' ');
		*text += len + ((*text)[len] == '\n');
	}
	return true;
}

static bool starts_word(const char *line, const char *word)
{
	size_t len = strlen(word);

	line += strspn(line, " ");
	return strncmp(line, word, len) == 0 && strchr(" \t", line[len]);
}

/* Where the rule's colon is, or NULL: no rule, but an assignment, a directive or a
 * variable of one target. */
static const char *rule_colon(const char *line)
{
	const char *at = line + strcspn(line, ":=#");
	const char *rest;

	if (*at != ':')
		return NULL;
	rest = at + 1 + (at[1] == ':');
	if (*rest == '=' || at[1] == '=')
		return NULL;
	rest += strcspn(rest, "=#;");
	return *rest == '=' ? NULL : at;
}

static int take_targets(const char *line, const char *colon, const char *source,
			struct found *found)
{
	int r = 0;

	while (r == 0 && line < colon) {
		size_t len = strcspn(line, " \t:");

		for (size_t i = 0; r == 0 && i < array_len(targets); i++) {
			const char *argv[] = {"make", targets[i], NULL};

			if (strlen(targets[i]) == len && memcmp(targets[i], line, len) == 0)
				r = found_add(found, source, targets[i], argv);
		}
		line += len;
		line += strspn(line, " \t");
	}
	return r;
}

static int scan(const char *text, const char *source, struct found *found)
{
	_cleanup_(str_release) struct str line = {0};
	bool in_define = false;
	int r = 0;

	while (r == 0 && next_line(&text, &line, &r)) {
		const char *s = str_text(&line), *colon;

		if (in_define || starts_word(s, "define")) {
			in_define = !starts_word(s, "endef");
			continue;
		}
		if (*s == '\t')
			continue;
		colon = rule_colon(s);
		if (r == 0 && colon)
			r = take_targets(s + strspn(s, " "), colon, source, found);
	}
	return r;
}

int detect_make(int dirfd, struct found *found)
{
	static const char *const names[] = {"GNUmakefile", "makefile", "Makefile"};
	_cleanup_(str_release) struct str text = {0};

	/* The first that exists is the one that make takes. */
	for (size_t i = 0; i < array_len(names); i++) {
		int r = detect_read(dirfd, names[i], &text);

		if (r != 0)
			return r < 0 ? r : scan(str_text(&text), names[i], found);
	}
	return 0;
}
