/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

static const char *const code_names[] = {
	[ERR_SYSTEM] = "system",       [ERR_USAGE] = "usage",
	[ERR_CONFIG] = "config",       [ERR_POLICY] = "policy",
	[ERR_TRUST] = "trust",         [ERR_UNSUPPORTED] = "unsupported",
	[ERR_NOT_FOUND] = "not_found", [ERR_NOT_EXECUTABLE] = "not_executable",
	[ERR_NO_IDMAP] = "no_idmap",   [ERR_NO_NAMESPACES] = "no_namespaces",
	[ERR_LOST] = "lost",
};

/* What was cut ends in … at a whole character: nobody takes it for all, or a name in it for another. */
static void mark_cut(char *text, size_t size, size_t needed)
{
	static const char dots[] = "…";
	size_t at = size - sizeof(dots);

	if (needed < size)
		return;
	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	memcpy(text + at, dots, sizeof(dots));
}

static void put(char *text, size_t size, const char *fmt, va_list ap)
{
	int needed = vsnprintf(text, size, fmt, ap);

	mark_cut(text, size, needed < 0 ? 0 : (size_t)needed);
}

/* ": MORE" behind what is there. */
static void put_behind(struct err *err, const char *more)
{
	size_t len = strlen(err->message);

	snprintf(err->message + len, sizeof(err->message) - len, ": %s", more);
	mark_cut(err->message, sizeof(err->message), len + 2 + strlen(more));
}

int err_set(struct err *err, enum err_code code, int r, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return r;
	err->code = code;
	err->errnum = r < 0 ? -r : 0;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	put(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	return r;
}

int err_sys(struct err *err, int r, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return r;
	err->code = ERR_SYSTEM;
	err->errnum = r < 0 ? -r : 0;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	put(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	put_behind(err, strerror(err->errnum));
	return r;
}

int err_wrap(struct err *err, int r, const char *fmt, ...)
{
	struct err old;
	va_list ap;

	if (!err)
		return r;
	old = *err;
	va_start(ap, fmt);
	put(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	put_behind(err, old.message);
	return r;
}

int err_hint(struct err *err, int r, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return r;
	va_start(ap, fmt);
	put(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return r;
}

/* Without memory there is no hint, nor where it would be cut: that would be about another name. */
int err_hint_word(struct err *err, int r, const char *before, const char *text, const char *after)
{
	_cleanup_(str_release) struct str hint = {0};

	if (!err || str_append(&hint, before) < 0 || str_append_word(&hint, text) < 0 ||
	    str_append(&hint, after) < 0 || hint.len >= sizeof(err->hint))
		return r;
	return err_hint(err, r, "%s", hint.data);
}

int err_oom(struct err *err)
{
	return err_set(err, ERR_SYSTEM, -ENOMEM, "out of memory");
}

const char *err_code_name(enum err_code code)
{
	return code_names[code];
}

_Noreturn void err_bug(const char *file, int line, const char *what)
{
	fprintf(stderr, "pale: bug at %s:%d: %s\n", file, line, what);
	abort();
}
