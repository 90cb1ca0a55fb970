/* SPDX-License-Identifier: MIT */
#include "view/xml.h"

#include "base/str.h"

static int put(struct str *out, const char *text, size_t len, uint32_t c)
{
	switch (c) {
	case '&':
		return str_append(out, "&amp;");
	case '<':
		return str_append(out, "&lt;");
	case '>':
		return str_append(out, "&gt;");
	case '"':
		return str_append(out, "&quot;");
	case '\'':
		return str_append(out, "&#39;");
	case '\r':
		/* As it is, a parser would make it a newline. */
		return str_append(out, "&#13;");
	case '\t':
	case '\n':
		return str_append_bytes(out, text, len);
	case 0xfffe:
	case 0xffff:
		return str_appendf(out, "\\u{%x}", c);
	default:
		return str_append_escaped(out, text, len);
	}
}

int xml_append(struct str *out, const char *text, size_t len)
{
	int r = 0;

	while (len > 0 && r == 0) {
		uint32_t c = 0;
		size_t n = str_utf8_next(text, len, &c);

		r = n ? put(out, text, n, c) : str_append_escaped(out, text, 1);
		n = n ? n : 1;
		text += n;
		len -= n;
	}
	return r;
}
