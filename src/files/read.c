/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/hash.h"
#include "files/reply.h"
#include "files/files.h"
#include "files/place.h"
#include "files/request.h"
#include "files/window.h"

enum { PIECE = 256 << 10 };

struct reading {
	struct window window;
	struct sha256 hash;
	uint64_t bytes; /* so far */
	uint64_t bound; /* no more is read, however it grows */
	bool whole;     /* to its end, and all of it hashed */
};

static void reading_release(struct reading *reading)
{
	window_release(&reading->window);
}

/* Nothing that is still to come would be shown or hashed. */
static bool is_enough(const struct reading *reading)
{
	return reading->window.has_nul
		       ? reading->bytes > FILE_CONTENT_MAX
		       : reading->window.next != 0 && reading->bytes > FILE_CONTENT_MAX;
}

static int read_pieces(int fd, char *piece, struct reading *reading)
{
	while (reading->bytes < reading->bound && !is_enough(reading)) {
		ssize_t n = read(fd, piece, PIECE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			reading->whole = reading->bytes <= FILE_CONTENT_MAX;
			break;
		}
		reading->bytes += (uint64_t)n;
		if (reading->bytes <= FILE_CONTENT_MAX)
			sha256_add(&reading->hash, piece, (size_t)n);
		if (window_add(&reading->window, piece, (size_t)n) < 0)
			return -ENOMEM;
	}
	return window_end(&reading->window);
}

static int read_file(const struct target *target, struct reading *reading)
{
	_cleanup_(fd_closep) int fd = place_reopen(target->fd, O_RDONLY);
	_cleanup_(freep) char *piece = NULL;
	uint64_t size = (uint64_t)target->st.st_size;

	if (fd < 0)
		return fd;
	piece = malloc(PIECE);
	if (!piece)
		return -ENOMEM;
	/* One piece more shows the end of a file that has grown a little. */
	reading->bound = (size > FILE_CONTENT_MAX ? size : FILE_CONTENT_MAX) + PIECE;
	sha256_init(&reading->hash);
	return read_pieces(fd, piece, reading);
}

static void tell_digest(struct reading *reading, struct reply *reply)
{
	char digest[SHA256_HEX];

	if (!reading->whole) {
		reply_text(reply, "no_digest", "it is larger than 64 MiB");
		return;
	}
	sha256_end_hex(&reading->hash, digest);
	reply_text(reply, "digest", digest);
}

static int tell_text(const struct reading *reading, const char *path, struct reply *reply)
{
	const struct window *w = &reading->window;

	if (reading->whole)
		reply_number(reply, "total_lines", w->lines);
	reply_number(reply, "offset", w->first);
	reply_number(reply, "lines", w->shown);
	reply_number(reply, "next", w->next);
	reply_number(reply, "cut", w->cut);
	reply_number(reply, "utf_eight", str_is_utf8(str_text(&w->text), w->text.len));
	reply_bytes(reply, "text", str_text(&w->text), w->text.len);
	if (w->first > 1 && w->shown == 0)
		return reply_fail(reply, FILE_NOT_FOUND, "%.800s has no line %llu, only %llu", path,
				  (unsigned long long)w->first, (unsigned long long)w->lines);
	return 0;
}

int file_do_read(const struct file_request *request, const struct place *place, struct reply *reply)
{
	_cleanup_(target_release) struct target target = TARGET_NONE;
	_cleanup_(reading_release) struct reading reading = {0};
	const char *path = request->paths.len == 1 ? request->paths.items[0] : "";
	int r;

	if (place_find_file(place, path, &target, reply) != 0)
		return 1;
	window_init(&reading.window, request->offset, request->limit);
	r = read_file(&target, &reading);
	if (r < 0)
		return place_fail(reply, path, r);
	reply_text(reply, "path", target_shown(&target, request));
	reply_number(reply, "size", reading.whole ? reading.bytes : (uint64_t)target.st.st_size);
	tell_digest(&reading, reply);
	if (reading.window.has_nul)
		return reply_fail(reply, FILE_BINARY, "%.800s is binary, %llu bytes", path,
				  (unsigned long long)(reading.whole
							       ? reading.bytes
							       : (uint64_t)target.st.st_size));
	return tell_text(&reading, path, reply);
}
