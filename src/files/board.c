/* SPDX-License-Identifier: MIT */
#include "files/board.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"

enum { CHUNKS_MAX = BOARD_FILES_MAX / BOARD_CHUNK, WAKE_EVERY = 8 * BOARD_CHUNK };

#define TEXT_MAX   ((size_t)256 << 20)
#define RESULT_MAX ((size_t)64 << 20)
#define PAGE       4096

static void *carve(char **at, size_t size)
{
	void *part = *at;

	*at += (size + PAGE - 1) / PAGE * PAGE;
	return part;
}

static size_t whole_size(unsigned workers, size_t text, size_t result)
{
	return sizeof(struct board_head) + CHUNKS_MAX * sizeof(struct board_chunk) +
	       BOARD_FILES_MAX * sizeof(struct board_file) +
	       BOARD_DIRS_MAX * sizeof(struct board_dir) + text + workers * result +
	       (size_t)(5 + workers) * PAGE;
}

/* Nothing of it exists before it is touched; where even the promise is too much, less. */
int board_open(struct board *b, unsigned workers)
{
	*b = (struct board){.workers = workers};
	for (unsigned shift = 0; shift <= 4; shift += 2) {
		char *at;

		b->text_max = TEXT_MAX >> shift;
		b->result_max = RESULT_MAX >> shift;
		b->size = whole_size(workers, b->text_max, b->result_max);
		b->map = mmap(NULL, b->size, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (b->map == MAP_FAILED) {
			b->map = NULL;
			continue;
		}
		at = b->map;
		b->head = carve(&at, sizeof(*b->head));
		b->chunks = carve(&at, CHUNKS_MAX * sizeof(*b->chunks));
		b->files = carve(&at, BOARD_FILES_MAX * sizeof(*b->files));
		b->dirs = carve(&at, BOARD_DIRS_MAX * sizeof(*b->dirs));
		b->text = carve(&at, b->text_max);
		for (unsigned i = 0; i < workers; i++)
			b->results[i] = carve(&at, b->result_max);
		return 0;
	}
	return -ENOMEM;
}

void board_close(struct board *b)
{
	if (b->map)
		munmap(b->map, b->size);
	*b = (struct board){0};
}

static int add_text(struct board *b, const char *text, uint32_t *ret)
{
	size_t len = strlen(text) + 1;

	if (len > b->text_max - b->text_len)
		return -E2BIG;
	memcpy(b->text + b->text_len, text, len);
	*ret = (uint32_t)b->text_len;
	b->text_len += len;
	return 0;
}

int board_add_dir(struct board *b, uint32_t start, const char *path, uint32_t *ret)
{
	struct board_dir *dir = &b->dirs[b->dirs_len];
	int r;

	if (b->dirs_len == BOARD_DIRS_MAX)
		return -E2BIG;
	dir->start = start;
	dir->path = BOARD_NO_DIR;
	r = path ? add_text(b, path, &dir->path) : 0;
	if (r == 0)
		*ret = b->dirs_len++;
	return r;
}

static void wake(struct board *b)
{
	(void)syscall(SYS_futex, &b->head->files, FUTEX_WAKE, BOARD_WORKERS_MAX, NULL, NULL, 0);
}

int board_add_file(struct board *b, uint32_t dir, const char *name)
{
	uint32_t n = atomic_load_explicit(&b->head->files, memory_order_relaxed);
	struct board_file *file = &b->files[n];
	int r;

	if (n == BOARD_FILES_MAX)
		return -E2BIG;
	file->dir = dir;
	r = add_text(b, name, &file->name);
	if (r < 0)
		return r;
	atomic_store_explicit(&b->head->files, n + 1, memory_order_release);
	if ((n + 1) % WAKE_EVERY == 0)
		wake(b);
	return 0;
}

void board_end_list(struct board *b)
{
	/* A change of the number that others wait on: nobody misses the end. */
	atomic_store(&b->head->listed, 1);
	wake(b);
}

uint32_t board_take(struct board *b, uint32_t *ret_first)
{
	struct board_head *head = b->head;

	for (;;) {
		uint32_t chunk = atomic_load(&head->chunk), listed = atomic_load(&head->listed);
		uint32_t files = atomic_load(&head->files), first = chunk * BOARD_CHUNK;
		const struct timespec moment = {.tv_nsec = 2000000};

		if (atomic_load(&head->stop) || (listed && first >= files))
			return 0;
		if (!listed && first + BOARD_CHUNK > files) {
			/* the end of the list wakes nobody who comes too late for it */
			(void)syscall(SYS_futex, &head->files, FUTEX_WAIT, files, &moment, NULL, 0);
			continue;
		}
		if (!atomic_compare_exchange_strong(&head->chunk, &chunk, chunk + 1))
			continue;
		*ret_first = first;
		return files - first < BOARD_CHUNK ? files - first : BOARD_CHUNK;
	}
}

void board_put(struct board *b, unsigned worker, uint32_t file, uint32_t matches,
	       const char *fields, size_t len)
{
	struct board_record record = {.file = file, .matches = matches, .len = (uint32_t)len};
	_Atomic uint32_t *used = &b->head->results[worker].len;
	_Atomic uint32_t *full = &b->head->results[worker].full_at;
	size_t at = atomic_load(used), whole = (sizeof(record) + len + 7) / 8 * 8;

	if (atomic_load(full))
		return;
	if (len > b->result_max || whole > b->result_max - at) {
		atomic_store(full, file + 1);
		return;
	}
	memcpy(b->results[worker] + at, &record, sizeof(record));
	memcpy(b->results[worker] + at + sizeof(record), fields, len);
	atomic_store(used, (uint32_t)(at + whole));
}

/* Only one at a time; who finds another one at it leaves it to that one, or to the next. */
static void count(struct board *b)
{
	struct board_head *head = b->head;
	uint32_t matches;

	if (atomic_exchange(&head->counting, 1))
		return;
	while (head->counted < CHUNKS_MAX &&
	       (matches = atomic_load(&b->chunks[head->counted].matches))) {
		head->matches += matches - 1;
		head->bytes += b->chunks[head->counted].bytes;
		head->counted++;
	}
	if (head->matches > b->enough_matches || head->bytes > b->enough_bytes)
		atomic_store(&head->stop, 1);
	atomic_store(&head->counting, 0);
}

void board_done(struct board *b, uint32_t first, uint32_t matches, uint32_t bytes)
{
	struct board_chunk *chunk = &b->chunks[first / BOARD_CHUNK];

	chunk->bytes = bytes;
	atomic_store(&chunk->matches, matches + 1);
	count(b);
}

const struct board_record *board_next(const struct board *b, struct board_cursor *cursor,
				      const char **ret_fields)
{
	const struct board_record *best = NULL;
	unsigned who = 0;

	for (unsigned i = 0; i < b->workers; i++) {
		const struct board_record *record = (const void *)(b->results[i] + cursor->at[i]);

		if (cursor->at[i] < atomic_load(&b->head->results[i].len) &&
		    (!best || record->file < best->file)) {
			best = record;
			who = i;
		}
	}
	if (!best)
		return NULL;
	cursor->at[who] += (sizeof(*best) + best->len + 7) / 8 * 8;
	*ret_fields = (const char *)(best + 1);
	return best;
}

uint32_t board_full_at(const struct board *b)
{
	uint32_t least = UINT32_MAX;

	for (unsigned i = 0; i < b->workers; i++) {
		uint32_t at = atomic_load(&b->head->results[i].full_at);

		if (at && at - 1 < least)
			least = at - 1;
	}
	return least;
}
