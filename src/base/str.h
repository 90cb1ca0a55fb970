/* SPDX-License-Identifier: MIT */
/*
 * str - a growing byte string; strv - a growing vector of strings.
 *
 * Both are zero-initialised: `struct str s = {0};`. Appending returns 0 or
 * -ENOMEM; a failed append leaves the value as it was.
 */
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
	char *data; /* NUL-terminated once something was appended */
	size_t len;
	size_t cap;
};

void str_release(struct str *s);
int str_append(struct str *s, const char *text);
int str_append_bytes(struct str *s, const void *bytes, size_t len);
int str_append_char(struct str *s, char c);
int str_appendf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int str_vappendf(struct str *s, const char *fmt, va_list ap);
int str_reserve(struct str *s, size_t extra); /* room for so many bytes, and the NUL */
void str_truncate(struct str *s, size_t len);
const char *str_text(const struct str *s); /* "" when empty, never NULL */

bool str_eq(const char *a, const char *b); /* NULL equals NULL only */
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
char *str_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* NULL: no memory */

/* The length of the well-formed UTF-8 character that TEXT begins with, or 0. */
size_t str_utf8_next(const char *text, size_t len, uint32_t *ret_char);

bool str_is_utf8(const char *text, size_t len);

/* Append TEXT so that a terminal shows it as it is: control bytes, invalid
 * UTF-8 and bidirectional overrides become \xNN or \u{N}. */
int str_append_escaped(struct str *s, const char *text, size_t len);
/* Append TEXT as one word of a shell, in quotes only where it needs them: '…', or
 * $'…' when a terminal could not show it. A leading ~/ is left to the shell. */
int str_append_word(struct str *s, const char *text);

/* The item of CANDIDATES nearest to WORD by edit distance, or NULL when none
 * is near enough to be what was meant. */
const char *str_nearest(const char *word, const char *const *candidates, size_t n);

/* items[len] is always NULL once something was added: usable as an argv. */
struct strv {
	char **items;
	size_t len;
	size_t cap;
};

void strv_release(struct strv *v);
int strv_add(struct strv *v, const char *text);
int strv_addn(struct strv *v, const char *text, size_t len);
int strv_addf(struct strv *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int strv_take(struct strv *v, char *text); /* owns TEXT from here on, also on failure */
int strv_copy(struct strv *dst, const struct strv *src); /* replaces DST */
bool strv_has(const struct strv *v, const char *text);
bool strv_eq(const struct strv *a, const struct strv *b);
/* NAME=VALUE in place of what NAME was, or added. */
int strv_assign(struct strv *env, const char *assignment);
void strv_sort_unique(struct strv *v);
