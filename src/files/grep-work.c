/* SPDX-License-Identifier: MIT */
/* One process of a search: takes files, reads them, keeps what it found. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "files/grep-impl.h"
#include "files/request.h"

enum { NULS_WITHIN = 64 << 10 };

#define PIECE     ((size_t)256 << 10)
#define PIECE_MAX ((size_t)16 << 20) /* of a file that is looked at as one */

struct work {
	struct grep *g;
	unsigned worker;
	uint32_t dir; /* that `fd` is of */
	int fd;
	char *piece;
	size_t size;
	struct str out;
};

/* The folder of a file; it is the same for many. */
static int open_dir(struct work *w, uint32_t dir)
{
	const struct board *b = &w->g->board;
	const struct board_dir *at = &b->dirs[dir];

	if (w->fd >= 0 && w->dir == dir)
		return w->fd;
	fd_close(w->fd);
	w->fd = path_open_nolink(w->g->starts[at->start].fd,
				 b->text[at->path] ? b->text + at->path : ".", O_PATH | O_DIRECTORY,
				 0);
	w->dir = dir;
	return w->fd;
}

static int open_file(struct work *w, uint32_t number)
{
	const struct board *b = &w->g->board;
	const struct board_file *file = &b->files[number];
	int dir;

	if (b->dirs[file->dir].path == BOARD_NO_DIR)
		return place_reopen(w->g->starts[b->dirs[file->dir].start].fd, O_RDONLY);
	dir = open_dir(w, file->dir);
	if (dir < 0)
		return dir;
	/* not openat(): the C library's makes two calls */
	return sys_result(syscall(SYS_openat, dir, b->text + file->name,
				  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0));
}

/* As much as fits behind the HAVE bytes that are there. */
static ssize_t fill(struct work *w, int fd, size_t have, size_t size)
{
	size_t len = have;

	for (;;) {
		ssize_t n = read(fd, w->piece + len, w->size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		len += (size_t)n;
		/* The size was asked for: no second call to see the end. */
		if (n == 0 || len == w->size || len == size)
			return (ssize_t)len;
	}
}

static int reserve(struct work *w, uint64_t size)
{
	size_t want = PIECE;
	char *grown;

	while (want <= size && want < PIECE_MAX)
		want *= 2;
	if (want <= w->size)
		return 0;
	grown = realloc(w->piece, want);
	if (!grown)
		return -ENOMEM;
	w->piece = grown;
	w->size = want;
	return 0;
}

static uint64_t count_lines(const char *text, size_t len)
{
	const char *end = text + len;
	uint64_t n = 0;

	while ((text = memchr(text, '\n', (size_t)(end - text)))) {
		text++;
		n++;
	}
	return n;
}

/* Whole lines, as far as they go; what is left of the piece is the begin of the next. */
static long scan_pieces(struct work *w, int fd, size_t len)
{
	const struct grep *g = w->g;
	uint64_t line = 1;
	long matches = 0;

	for (;;) {
		bool more = len == w->size;
		char *newline = more ? memrchr(w->piece, '\n', len) : NULL;
		size_t whole = newline ? (size_t)(newline + 1 - w->piece) : len;
		long n = scan_lines(&w->g->scan, w->piece, whole, line, g->request->context,
				    g->max - (uint64_t)matches, &w->out);
		ssize_t next;

		if (n < 0)
			return n;
		matches += n;
		if (!more || (uint64_t)matches > g->max)
			return matches;
		line += count_lines(w->piece, whole);
		memmove(w->piece, w->piece + whole, len - whole);
		next = fill(w, fd, len - whole, SIZE_MAX);
		if (next < 0 || (size_t)next == len - whole)
			return matches;
		len = (size_t)next;
	}
}

/* How many lines match; -errno: it could not be read. */
static long search_file(struct work *w, uint32_t number)
{
	_cleanup_(fd_closep) int fd = open_file(w, number);
	struct stat st;
	ssize_t len;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (reserve(w, (uint64_t)st.st_size) < 0)
		return -ENOMEM;
	len = fill(w, fd, 0, st.st_size > 0 ? (size_t)st.st_size : SIZE_MAX);
	if (len < 0)
		return len;
	if (memchr(w->piece, '\0', (size_t)len < NULS_WITHIN ? (size_t)len : NULS_WITHIN)) {
		atomic_fetch_add_explicit(&w->g->board.head->binary, 1, memory_order_relaxed);
		return 0;
	}
	/* most often nothing is there */
	if ((size_t)len < w->size && !scan_find(&w->g->scan, w->piece, (size_t)len))
		return 0;
	return scan_pieces(w, fd, (size_t)len);
}

static int search_chunk(struct work *w, uint32_t first, uint32_t count)
{
	struct board *b = &w->g->board;
	uint32_t matches = 0, bytes = 0;

	for (uint32_t i = first; i < first + count; i++) {
		long n;

		str_truncate(&w->out, 0);
		n = search_file(w, i);
		if (n == -ENOMEM)
			return -ENOMEM;
		if (n < 0)
			atomic_fetch_add_explicit(&b->head->unread, 1, memory_order_relaxed);
		if (n <= 0)
			continue;
		board_put(b, w->worker, i, (uint32_t)n, str_text(&w->out), w->out.len);
		matches += (uint32_t)n;
		bytes += (uint32_t)w->out.len;
	}
	atomic_fetch_add_explicit(&b->head->searched, count, memory_order_relaxed);
	board_done(b, first, matches, bytes);
	return 0;
}

int grep_work(struct grep *g, unsigned worker)
{
	struct work w = {.g = g, .worker = worker, .fd = -1};
	uint32_t first, count;
	int r = reserve(&w, 0);

	if (r == 0)
		r = str_append(&w.out, "");
	while (r == 0 && (count = board_take(&g->board, &first)) > 0)
		r = search_chunk(&w, first, count);
	fd_close(w.fd);
	free(w.piece);
	str_release(&w.out);
	return r;
}
