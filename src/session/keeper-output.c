/* SPDX-License-Identifier: MIT */
/* The file has two parts: the first `head_max` bytes as they came, and behind them a ring of
 * `tail_max` bytes, in which byte N stands at (N - head_max) % tail_max. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "session/keeper-impl.h"

enum { CHUNK = 16384, ROUNDS = 8 };

int job_output_open(struct job_output *out, int dir, const char *id, uint64_t max, int *ret_writer,
		    struct err *err)
{
	int pair[2];

	max = max < 4 ? 4 : max; /* neither part is empty */

	out->file = openat(dir, id, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			   S_IRUSR | S_IWUSR);
	if (out->file < 0)
		return err_sys(err, -errno, "make a file for the output");
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, -errno, "make a pipe for the output");
	(void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
	out->pipe = pair[0];
	out->head_max = max / 4;
	out->tail_max = max - max / 4;
	*ret_writer = pair[1];
	return 0;
}

/* Where byte AT stands, and how many stand there in a row. */
static off_t place_of(const struct job_output *out, uint64_t at, size_t *len)
{
	uint64_t row, in_ring;

	if (at < out->head_max) {
		row = out->head_max - at;
		*len = row < *len ? (size_t)row : *len;
		return (off_t)at;
	}
	in_ring = (at - out->head_max) % out->tail_max;
	row = out->tail_max - in_ring;
	*len = row < *len ? (size_t)row : *len;
	return (off_t)(out->head_max + in_ring);
}

/* Where there is no room for it, it is counted all the same. */
static void put(struct job_output *out, const char *data, size_t len)
{
	while (len > 0) {
		size_t n = len;
		off_t at = place_of(out, out->total, &n);

		(void)!pwrite(out->file, data, n, at);
		out->total += n;
		data += n;
		len -= n;
	}
}

void job_output_add(struct job_output *out, const char *text)
{
	put(out, text, strlen(text));
}

bool job_output_fill(struct job_output *out)
{
	static char buf[CHUNK];
	ssize_t n = 0;

	for (int i = 0; i < ROUNDS && out->pipe >= 0; i++) {
		n = read(out->pipe, buf, sizeof(buf));
		if (n <= 0)
			break;
		put(out, buf, (size_t)n);
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

size_t job_output_read(const struct job_output *out, uint64_t from, char *buf, size_t size,
		       struct session_bytes *ret)
{
	uint64_t tail = out->total > out->head_max + out->tail_max ? out->total - out->tail_max
								   : out->head_max;
	size_t got = 0;

	*ret = (struct session_bytes){.total = out->total, .dropped = tail - out->head_max};
	if (from > out->total)
		from = out->total;
	if (from >= out->head_max && from < tail)
		from = tail;
	ret->from = from;
	while (got < size && from < out->total) {
		size_t n = size - got;
		off_t at;
		ssize_t r;

		/* What was dropped lies between: the next one asks for what is behind it. */
		if (from < out->head_max && from + n > out->head_max)
			n = (size_t)(out->head_max - from);
		if (from + n > out->total)
			n = (size_t)(out->total - from);
		at = place_of(out, from, &n);
		r = pread(out->file, buf + got, n, at);
		if (r <= 0) {
			/* There was no room for it on the disk: nobody will ever read it. */
			from = got > 0 ? from : out->total;
			break;
		}
		got += (size_t)r;
		from += (uint64_t)r;
		if (from == out->head_max && tail > from)
			break;
	}
	ret->next = from == out->head_max && tail > from ? tail : from;
	return got;
}

void job_output_close(struct job_output *out)
{
	out->pipe = fd_close(out->pipe);
	out->file = fd_close(out->file);
}
