/* SPDX-License-Identifier: MIT */
#include "stage/patch.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/diff.h"
#include "base/sha1.h"
#include "base/str.h"
#include "stage/similar.h"

struct writer {
	const struct patch_options *options;
	patch_line_fn *line;
	void *data;
	struct str text;
};

static void writer_release(struct writer *w)
{
	str_release(&w->text);
}

mode_t patch_mode(mode_t st_mode)
{
	if (S_ISLNK(st_mode))
		return PATCH_MODE_LINK;
	return st_mode & S_IXUSR ? PATCH_MODE_PROGRAM : PATCH_MODE_FILE;
}

static bool is_special(unsigned char c, bool utf8)
{
	return c < 0x20 || c == '"' || c == '\\' || c == 0x7f || (c >= 0x80 && !utf8);
}

static int append_escape(struct str *out, unsigned char c)
{
	static const char named[] = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\";

	for (size_t i = 0; i + 1 < sizeof(named); i += 2)
		if ((unsigned char)named[i] == c)
			return str_appendf(out, "\\%c", named[i + 1]);
	return str_appendf(out, "\\%03o", c);
}

static int quote(struct str *out, const char *prefix, const char *path, bool utf8, bool quoted)
{
	size_t before = out->len;
	int r = 0;

	for (const char *p = path; *p; p++)
		quoted = quoted || is_special((unsigned char)*p, utf8);
	if (quoted)
		r = str_append_char(out, '"');
	if (r == 0)
		r = str_append(out, prefix);
	for (const char *p = path; r == 0 && *p; p++) {
		if (is_special((unsigned char)*p, utf8))
			r = append_escape(out, (unsigned char)*p);
		else
			r = str_append_char(out, *p);
	}
	if (r == 0 && quoted)
		r = str_append_char(out, '"');
	if (r < 0)
		str_truncate(out, before);
	return r;
}

int patch_quote(struct str *out, const char *prefix, const char *path, bool utf8)
{
	return quote(out, prefix, path, utf8, false);
}

/* End the line that was begun in w->text. */
static int end_line(struct writer *w)
{
	int r = str_append_char(&w->text, '\n');

	if (r == 0)
		r = w->line(w->data, PATCH_HEADER, w->text.data, w->text.len);
	str_truncate(&w->text, 0);
	return r;
}

__attribute__((format(printf, 2, 3))) static int put(struct writer *w, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = str_vappendf(&w->text, fmt, ap);
	va_end(ap);
	return r < 0 ? r : end_line(w);
}

static int append_name(struct writer *w, const char *prefix, const char *path)
{
	return patch_quote(&w->text, prefix, path, w->options->utf8_names);
}

/* In the line that has both. Some versions of git lose their way where a folder ends with a
 * space, and where no content follows they have the names from nowhere else. */
static int append_paired(struct writer *w, const char *prefix, const char *path)
{
	return quote(&w->text, prefix, path, w->options->utf8_names, strstr(path, " /"));
}

static int put_name(struct writer *w, const char *word, const char *prefix, const char *path,
		    const char *behind)
{
	int r = str_append(&w->text, word);

	if (r == 0)
		r = append_name(w, prefix, path);
	if (r == 0)
		r = str_append(&w->text, behind);
	return r < 0 ? r : end_line(w);
}

/* "diff --git a/OLD b/NEW", also "Binary files …": a missing side is /dev/null only
 * in the latter. */
static int put_pair(struct writer *w, const char *word, const struct patch_side *old,
		    const struct patch_side *new, const char *between, const char *behind)
{
	bool names_both = !*behind;
	int r = str_append(&w->text, word);

	if (r == 0)
		r = old->path || names_both
			    ? append_paired(w, "a/", old->path ? old->path : new->path)
			    : str_append(&w->text, "/dev/null");
	if (r == 0)
		r = str_append(&w->text, between);
	if (r == 0)
		r = new->path || names_both
			    ? append_paired(w, "b/", new->path ? new->path : old->path)
			    : str_append(&w->text, "/dev/null");
	if (r == 0)
		r = str_append(&w->text, behind);
	return r < 0 ? r : end_line(w);
}

static bool same_bytes(const struct patch_side *old, const struct patch_side *new)
{
	return old->len == new->len && (old->len == 0 || !memcmp(old->data, new->data, old->len));
}

static bool is_binary(const struct patch_side *side)
{
	return !S_ISLNK(side->mode) && diff_is_binary(side->data, side->len);
}

static int put_rename(struct writer *w, const struct patch_side *old, const struct patch_side *new)
{
	bool same = same_bytes(old, new);
	int percent = same ? 100 : (int)w->options->similarity, r;

	if (percent == 0)
		percent = similar_percent(old->data, old->len, new->data, new->len);
	if (percent < 0)
		return percent;
	if (percent > 99 && !same)
		percent = 99;
	r = put(w, "similarity index %d%%", percent);
	if (r == 0)
		r = put_name(w, "rename from ", "", old->path, "");
	return r < 0 ? r : put_name(w, "rename to ", "", new->path, "");
}

static int put_modes(struct writer *w, const struct patch_side *old, const struct patch_side *new)
{
	int r = 0;

	if (!old->path)
		return put(w, "new file mode %06o", new->mode);
	if (!new->path)
		return put(w, "deleted file mode %06o", old->mode);
	if (old->mode != new->mode) {
		r = put(w, "old mode %06o", old->mode);
		if (r == 0)
			r = put(w, "new mode %06o", new->mode);
	}
	return r == 0 && strcmp(old->path, new->path) != 0 ? put_rename(w, old, new) : r;
}

/* Full ids: binary patches need them. */
static int put_index(struct writer *w, const struct patch_side *old, const struct patch_side *new)
{
	char ids[2][SHA1_HEX];
	const struct patch_side *sides[] = {old, new};

	for (int i = 0; i < 2; i++) {
		memset(ids[i], '0', SHA1_HEX - 1);
		ids[i][SHA1_HEX - 1] = '\0';
		if (sides[i]->path)
			git_blob_id(sides[i]->data, sides[i]->len, ids[i]);
	}
	if (old->path && new->path && old->mode == new->mode)
		return put(w, "index %s..%s %06o", ids[0], ids[1], old->mode);
	return put(w, "index %s..%s", ids[0], ids[1]);
}

/* Up to 52 bytes a line, a letter for their number in front; four bytes are five
 * digits of base 85. */
static int put_base85(struct writer *w, const unsigned char *data, size_t len)
{
	static const char digits[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"!#$%&()*+-;<=>?@^_`{|}~";
	int r = 0;

	for (size_t at = 0, n; r == 0 && at < len; at += n) {
		n = len - at < 52 ? len - at : 52;
		r = str_append_char(&w->text, (char)(n <= 26 ? 'A' + n - 1 : 'a' + n - 27));
		for (size_t i = 0; r == 0 && i < n; i += 4) {
			uint32_t word = 0;
			char five[5];

			for (size_t k = 0; k < 4; k++)
				word = word << 8 | (i + k < n ? data[at + i + k] : 0);
			for (size_t k = 5; k-- > 0; word /= 85)
				five[k] = digits[word % 85];
			r = str_append_bytes(&w->text, five, sizeof(five));
		}
		if (r == 0)
			r = end_line(w);
	}
	return r;
}

static int put_literal(struct writer *w, const struct patch_side *side)
{
	_cleanup_(str_release) struct str packed = {0};
	size_t len = side->path ? side->len : 0;
	int r = w->options->deflate(len ? side->data : "", len, &packed);

	if (r == 0)
		r = put(w, "literal %zu", len);
	if (r == 0)
		r = put_base85(w, (const unsigned char *)packed.data, packed.len);
	return r < 0 ? r : end_line(w);
}

static int put_binary(struct writer *w, const struct patch_side *old, const struct patch_side *new)
{
	int r;

	if (!w->options->deflate)
		return put_pair(w, "Binary files ", old, new, " and ", " differ");
	r = put(w, "GIT binary patch");
	if (r == 0)
		r = put_literal(w, new);
	return r < 0 ? r : put_literal(w, old);
}

/* A name with a space ends with a tab: GNU patch takes a time from there on. */
static int put_file_name(struct writer *w, const char *word, const char *prefix, const char *path)
{
	if (!path)
		return put(w, "%s/dev/null", word);
	return put_name(w, word, prefix, path, strchr(path, ' ') ? "\t" : "");
}

static int put_text(struct writer *w, const struct patch_side *old, const struct patch_side *new)
{
	_cleanup_(diff_release) struct diff d = {0};
	_cleanup_(freep) struct diff_hunk *hunks = NULL;
	size_t n = 0;
	int r = diff_compute(old->data, old->path ? old->len : 0, new->data,
			     new->path ? new->len : 0, DIFF_NATURAL, &d);

	if (r == 0)
		r = diff_hunks(&d, w->options->context, &hunks, &n);
	if (r < 0 || n == 0) /* an empty file appears or goes */
		return r;
	r = put_file_name(w, "--- ", "a/", old->path);
	if (r == 0)
		r = put_file_name(w, "+++ ", "b/", new->path);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = patch_walk_hunk(&d, &hunks[i], w->line, w->data);
	return r;
}

static int put_change(struct writer *w, const struct patch_side *old, const struct patch_side *new)
{
	bool is_change = !old->path || !new->path || !same_bytes(old, new);
	int r = put_pair(w, "diff --git ", old, new, " ", "");

	if (r == 0)
		r = put_modes(w, old, new);
	if (r < 0 || !is_change)
		return r;
	r = put_index(w, old, new);
	if (r < 0)
		return r;
	if ((old->path && is_binary(old)) || (new->path &&is_binary(new)))
		return put_binary(w, old, new);
	return put_text(w, old, new);
}

int patch_walk(const struct patch_side *old, const struct patch_side *new,
	       const struct patch_options *options, patch_line_fn *line, void *data)
{
	_cleanup_(writer_release) struct writer w = {
		.options = options,
		.line = line,
		.data = data,
	};
	static const struct patch_side nothing = {0};
	int r;

	if (!old->path && !new->path)
		return -EINVAL;
	if (!old->path || !new->path)
		return put_change(&w, old, new);
	if ((old->mode & S_IFMT) != (new->mode &S_IFMT)) {
		r = put_change(&w, old, &nothing);
		return r < 0 ? r : put_change(&w, &nothing, new);
	}
	if (old->mode == new->mode && strcmp(old->path, new->path) == 0 && same_bytes(old, new))
		return 0;
	return put_change(&w, old, new);
}

static int append_line(void *data, enum patch_line kind, const char *text, size_t len)
{
	(void)kind;
	return str_append_bytes(data, text, len);
}

int patch_write(struct str *out, const struct patch_side *old, const struct patch_side *new,
		const struct patch_options *options)
{
	size_t before = out->len;
	int r = patch_walk(old, new, options, append_line, out);

	if (r < 0)
		str_truncate(out, before);
	return r;
}

int patch_write_shown(struct str *out, const struct patch_side *old, const struct patch_side *new,
		      const struct patch_options *options, bool colour)
{
	struct patch_options o = *options;
	struct patch_shown shown = {.out = out, .colour = colour};
	size_t before = out->len;
	int r;

	o.deflate = NULL;
	o.utf8_names = true;
	r = patch_walk(old, new, &o, patch_show_line, &shown);
	if (r < 0)
		str_truncate(out, before);
	return r;
}
