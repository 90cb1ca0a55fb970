/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "config/toml-impl.h"

/* How much of it stands for itself. */
static size_t plain_len(const char *bytes, size_t len)
{
	size_t n = 0;

	while (n < len && (unsigned char)bytes[n] >= 0x20 && bytes[n] != 0x7f && bytes[n] != '"' &&
	       bytes[n] != '\\')
		n++;
	return n;
}

static int append_escaped(struct str *out, char c)
{
	static const char escaped[] = "\b\t\n\f\r\"\\";
	static const char letters[] = "btnfr\"\\";
	const char *found = c ? strchr(escaped, c) : NULL;

	if (found)
		return str_appendf(out, "\\%c", letters[found - escaped]);
	if ((unsigned char)c < 0x20 || c == 0x7f)
		return str_appendf(out, "\\u%04X", (unsigned)(unsigned char)c);
	return str_append_char(out, c);
}

int toml_quote(struct str *out, const char *bytes, size_t len)
{
	size_t old = out->len;
	int r;

	if (!str_is_utf8(bytes, len))
		return -EILSEQ;
	r = str_append_char(out, '"');
	for (size_t i = 0; r == 0 && i < len; i++) {
		size_t plain = plain_len(bytes + i, len - i);

		r = str_append_bytes(out, bytes + i, plain);
		i += plain;
		if (r == 0 && i < len)
			r = append_escaped(out, bytes[i]);
	}
	if (r == 0)
		r = str_append_char(out, '"');
	if (r < 0)
		str_truncate(out, old);
	return r;
}

int toml_key_quote(struct str *out, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!toml_is_bare(bytes[i]))
			return toml_quote(out, bytes, len);
	}
	return len ? str_append_bytes(out, bytes, len) : toml_quote(out, bytes, len);
}

int toml_path_quote(struct str *out, const char *const *path, size_t n)
{
	size_t old = out->len;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (i > 0)
			r = str_append_char(out, '.');
		if (r == 0)
			r = toml_key_quote(out, path[i], strlen(path[i]));
	}
	if (r < 0)
		str_truncate(out, old);
	return r;
}
