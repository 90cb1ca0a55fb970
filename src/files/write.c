/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "files/reply.h"
#include "files/whole.h"
#include "files/files.h"
#include "files/place.h"
#include "files/request.h"

/* Is it what DIGEST was taken of? */
static int check_digest(const struct target *target, const char *path, const char *digest,
			struct whole_mark *ret_mark, struct reply *reply)
{
	_cleanup_(str_release) struct str old = {0};
	int r;

	if (target->fd < 0)
		return reply_fail(reply, FILE_CHANGED, "%.800s does not exist any more", path);
	r = whole_read(target->fd, &old, ret_mark);
	if (r < 0)
		return place_fail(reply, path, r);
	if (str_eq(ret_mark->digest, digest))
		return 0;
	reply_text(reply, "digest", ret_mark->digest);
	reply_fail(reply, FILE_CHANGED, "%.800s has changed since it was read", path);
	reply_hint(reply, "read it again: its digest is now %s", ret_mark->digest);
	return 1;
}

static int replace(const struct target *target, const char *path, const struct whole_mark *before,
		   const struct str *text, struct reply *reply)
{
	int r = whole_replace(target, before, str_text(text), text->len);

	if (r == -ESTALE)
		return reply_fail(reply, FILE_CHANGED, "%.800s has just changed", path);
	return r < 0 ? place_fail_written(reply, path, r) : 0;
}

int file_do_write(const struct file_request *request, const struct place *place, int input,
		  struct reply *reply)
{
	_cleanup_(target_release) struct target target = TARGET_NONE;
	_cleanup_(str_release) struct str text = {0};
	const char *path = request->paths.len == 1 ? request->paths.items[0] : "";
	struct whole_mark before;
	char digest[SHA256_HEX];
	int r = fd_read_all(input, FILE_CONTENT_MAX, &text);

	if (r == -EFBIG)
		return reply_fail(reply, FILE_TOO_LARGE, "more than 64 MiB to write");
	if (r < 0)
		return place_fail(reply, "the content", r);
	if (place_find_written(place, path, &target, reply) != 0)
		return 1;
	if (request->digest && check_digest(&target, path, request->digest, &before, reply) != 0)
		return 1;
	if (replace(&target, path, request->digest ? &before : NULL, &text, reply) != 0)
		return 1;
	sha256_hex(str_text(&text), text.len, digest);
	reply_text(reply, "path", target_shown(&target, request));
	reply_number(reply, "bytes", text.len);
	reply_text(reply, "digest", digest);
	reply_number(reply, "created", target.fd < 0);
	return 0;
}
