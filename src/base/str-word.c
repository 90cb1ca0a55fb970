/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/* Would a shell take C for anything but itself, in the middle of a word? */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("@%+=:,./_-", c)) || (unsigned char)c >= 0x80;
}

static bool is_shown_as_it_is(const char *text, size_t len)
{
	_cleanup_(str_release) struct str shown = {0};

	return str_append_escaped(&shown, text, len) == 0 && shown.len == len &&
	       memcmp(shown.data ? shown.data : "", text, len) == 0;
}

/* '…', in which only the quote itself is special; or $'…'. */
static int append_quoted(struct str *s, const char *text, bool ansi)
{
	int r = str_append(s, ansi ? "$'" : "'");

	for (const char *p = text; r == 0 && *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (ansi && (c < 0x20 || c >= 0x7f))
			r = str_appendf(s, "\\x%02x", c);
		else if (ansi && (c == '\'' || c == '\\'))
			r = str_appendf(s, "\\%c", c);
		else if (c == '\'')
			r = str_append(s, "'\\''");
		else
			r = str_append_char(s, (char)c);
	}
	return r < 0 ? r : str_append_char(s, '\'');
}

int str_append_word(struct str *s, const char *text)
{
	const char *p = text + (str_starts(text, "~/") ? 2 : 0);
	bool shown = is_shown_as_it_is(text, strlen(text));
	size_t before = s->len;
	int r;

	while (is_plain(*p))
		p++;
	r = *text && !*p && shown ? str_append(s, text) : append_quoted(s, text, !shown);
	if (r < 0)
		str_truncate(s, before);
	return r;
}
