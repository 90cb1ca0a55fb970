/* SPDX-License-Identifier: MIT */
#include "stage/text.h"

#include <string.h>

#include "base/str.h"

int stage_text_put(struct str *out, const char *text)
{
	int r = 0;

	for (; *text && r == 0; text++) {
		unsigned char c = (unsigned char)*text;

		r = c <= ' ' || c == 0x7f || c == '\\' ? str_appendf(out, "\\x%02x", c)
						       : str_append_char(out, *text);
	}
	return r;
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

bool stage_text_take(char *text)
{
	char *to = text;

	while (*text) {
		int high, low;

		if (*text != '\\') {
			*to++ = *text++;
			continue;
		}
		if (text[1] != 'x')
			return false;
		high = digit(text[2]);
		low = high < 0 ? -1 : digit(text[3]);
		if (low < 0 || high * 16 + low == 0)
			return false;
		*to++ = (char)(high * 16 + low);
		text += 4;
	}
	*to = '\0';
	return true;
}
