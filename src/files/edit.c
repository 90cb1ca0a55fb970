/* SPDX-License-Identifier: MIT */
/*
 * Input: "OLD_LENGTH NEW_LENGTH\n", then the two texts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/diff.h"
#include "base/fd.h"
#include "base/str.h"
#include "files/reply.h"
#include "files/whole.h"
#include "files/files.h"
#include "files/place.h"
#include "files/replace.h"
#include "files/request.h"
#include "stage/patch.h"

#define DIFF_MAX ((size_t)16 << 10)

struct editing {
	const char *path;
	struct target target;
	struct str input, old, new; /* the two are parts of the input */
	struct str before, after;
	struct whole_mark mark;
};

static void editing_release(struct editing *e)
{
	target_release(&e->target);
	str_release(&e->input);
	str_release(&e->before);
	str_release(&e->after);
}

static bool take_length(char **at, char ending, size_t *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 10);
	*at = end + 1;
	return errno == 0 && *end == ending;
}

static bool take_input(struct editing *e)
{
	char *at = e->input.data;
	size_t old, new, left;

	if (!at || !take_length(&at, ' ', &old) || !take_length(&at, '\n', &new))
		return false;
	left = e->input.len - (size_t)(at - e->input.data);
	if (old > left || new != left - old)
		return false;
	e->old = (struct str){.data = at, .len = old};
	e->new = (struct str){.data = at + old, .len = new};
	return true;
}

static int read_input(struct editing *e, int input, struct reply *reply)
{
	int r = fd_read_all(input, 2 * FILE_CONTENT_MAX, &e->input);

	if (r == -EFBIG)
		return reply_fail(reply, FILE_TOO_LARGE, "more than 64 MiB to replace");
	if (r < 0 || !take_input(e))
		return reply_fail(reply, FILE_FAILED, "nothing came to be replaced");
	if (e->old.len == 0)
		return reply_fail(reply, FILE_BAD_TEXT, "the text to replace is empty");
	if (e->old.len == e->new.len && memcmp(e->old.data, e->new.data, e->old.len) == 0)
		return reply_fail(reply, FILE_BAD_TEXT, "the old text and the new are the same");
	return 0;
}

static int fail_absent(const struct editing *e, struct reply *reply)
{
	const char *ends = replace_line_ends(str_text(&e->before), e->before.len, &e->old);

	reply_number(reply, "count", 0);
	reply_fail(reply, FILE_NO_MATCH, "%.800s does not contain the text to replace", e->path);
	if (ends)
		reply_hint(reply, "it does with other line ends: the file has %s", ends);
	else
		reply_hint(reply, "it must be the same to the byte, blanks and line ends "
				  "included");
	return 1;
}

static int fail_ambiguous(const struct editing *e, const struct replace_found *found,
			  struct reply *reply)
{
	_cleanup_(str_release) struct str list = {0};
	size_t shown = found->count < REPLACE_LINES_MAX ? found->count : REPLACE_LINES_MAX;

	for (size_t i = 0; i < shown; i++)
		if (str_appendf(&list, "%s%zu", i ? ", " : "", found->lines[i]) < 0)
			return place_fail(reply, e->path, -ENOMEM);
	reply_number(reply, "count", found->count);
	reply_text(reply, "match_lines", str_text(&list));
	reply_fail(reply, FILE_AMBIGUOUS, "%.600s contains the text %zu times, in lines %s%s",
		   e->path, found->count, str_text(&list), found->count > shown ? ", …" : "");
	reply_hint(reply, "give more of the text around it, or --all");
	return 1;
}

/* The file as it is, and as it is to be. */
static int compute(struct editing *e, const struct file_request *request, long *ret_count,
		   struct reply *reply)
{
	struct replace_found found;
	int r = whole_read(e->target.fd, &e->before, &e->mark);

	if (r == -EFBIG)
		return reply_fail(reply, FILE_TOO_LARGE, "%.800s is larger than 64 MiB", e->path);
	if (r < 0)
		return place_fail(reply, e->path, r);
	if (request->digest && !str_eq(request->digest, e->mark.digest)) {
		reply_text(reply, "digest", e->mark.digest);
		reply_hint(reply, "read it again: its digest is now %s", e->mark.digest);
		return reply_fail(reply, FILE_CHANGED, "%.800s has changed since it was read",
				  e->path);
	}
	if (memchr(str_text(&e->before), '\0', e->before.len))
		return reply_fail(reply, FILE_BINARY, "%.800s is binary", e->path);
	replace_find(str_text(&e->before), e->before.len, e->old.data, e->old.len, &found);
	if (found.count == 0)
		return fail_absent(e, reply);
	if (found.count > 1 && !request->all)
		return fail_ambiguous(e, &found, reply);
	*ret_count = replace_all(e->before.data, e->before.len, &e->old, &e->new, FILE_CONTENT_MAX,
				 &e->after);
	if (*ret_count == -EFBIG)
		return reply_fail(reply, FILE_TOO_LARGE, "%.800s would exceed 64 MiB", e->path);
	return *ret_count < 0 ? place_fail(reply, e->path, -ENOMEM) : 0;
}

static int add_line(void *data, enum patch_line kind, const char *text, size_t len)
{
	struct str *out = data;

	(void)kind;
	if (out->len + len > DIFF_MAX)
		return -EFBIG;
	return str_append_bytes(out, text, len);
}

static void tell_diff(const struct editing *e, struct reply *reply)
{
	_cleanup_(str_release) struct str out = {0};
	struct diff_hunk *hunks = NULL;
	size_t len = 0;
	struct diff d;
	int r = diff_compute(str_text(&e->before), e->before.len, str_text(&e->after), e->after.len,
			     DIFF_NATURAL, &d);

	if (r < 0)
		return; /* the edit is done: a picture of it is not worth a failure */
	r = diff_hunks(&d, DIFF_CONTEXT, &hunks, &len);
	for (size_t i = 0; i < len && r == 0; i++)
		r = patch_walk_hunk(&d, &hunks[i], add_line, &out);
	free(hunks);
	diff_release(&d);
	reply_bytes(reply, "diff", str_text(&out), out.len);
	if (r < 0)
		reply_number(reply, "diff_cut", 1);
}

int file_do_edit(const struct file_request *request, const struct place *place, int input,
		 struct reply *reply)
{
	_cleanup_(editing_release) struct editing e = {.target = TARGET_NONE};
	char digest[SHA256_HEX];
	long count = 0;
	int r;

	e.path = request->paths.len == 1 ? request->paths.items[0] : "";
	if (read_input(&e, input, reply) != 0)
		return 1;
	if (place_find_existing(place, e.path, &e.target, reply) != 0)
		return 1;
	if (compute(&e, request, &count, reply) != 0)
		return 1;
	r = whole_replace(&e.target, &e.mark, str_text(&e.after), e.after.len);
	if (r == -ESTALE)
		return reply_fail(reply, FILE_CHANGED, "%.800s has just changed", e.path);
	if (r < 0)
		return place_fail_written(reply, e.path, r);
	sha256_hex(str_text(&e.after), e.after.len, digest);
	reply_text(reply, "path", target_shown(&e.target, request));
	reply_number(reply, "count", (uint64_t)count);
	reply_number(reply, "bytes", e.after.len);
	reply_text(reply, "digest", digest);
	tell_diff(&e, reply);
	return 0;
}
