/* SPDX-License-Identifier: MIT */
/*
 * heap - memory for the run path, which lives as long as one command.
 *
 * The allocator of musl asks the kernel for a page or two at a time, and gives them back at
 * once: for a short run that is dozens of calls, and two faults for every page. Here one
 * piece is had at the start, present from the beginning, and what is freed is only used
 * again for the same size.
 *
 * Before each block stands its size, with a check that nobody can forge who does not know
 * a number of this process: a block that is freed twice, or whose head was written over,
 * ends the program. There are no threads here.
 */
#include <features.h>

#include "base/lean.h"
#if !defined(__GLIBC__) || defined(HEAP_TEST)
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

enum {
	PAGE = 4096,
	PIECE = 256 * 1024,  /* what is asked for at a time */
	PRESENT = 32 * 1024, /* of the first one: what a run needs as a rule */
	SMALL_MAX = 1024,    /* classes in steps of 16 up to here, */
	CLASS_MAX = 65536,   /* doubling up to here; the rest has mappings of its own */
	CLASSES = SMALL_MAX / 16 + 6,
};

enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, which musl does not know */

enum state {
	USED = 0x55a3,
	FREE = 0xf4ee,
};

struct head {
	uint64_t size; /* of what follows */
	uint64_t check;
};
static_assert(sizeof(struct head) == 16, "blocks are aligned to 16");

struct block {
	struct head head;
	struct block *next; /* while it is free */
};

/* The beginning of what was asked for at a time. */
struct piece {
	struct piece *next;
	uint64_t unused; /* blocks are aligned */
};

static struct {
	bool is_small;
	uint64_t secret;
	char *at, *end;
	struct piece *pieces;
	struct block *free[CLASSES];
} heap;

static uint64_t check_of(const struct head *head, enum state state)
{
	return heap.secret ^ (uintptr_t)head ^ head->size << 16 ^ (uint64_t)state;
}

static size_t class_of(size_t size, size_t *ret_size)
{
	size_t class = SMALL_MAX / 16, fit = (size_t)SMALL_MAX * 2;

	if (size <= SMALL_MAX) {
		*ret_size = size ? (size + 15) / 16 * 16 : 16;
		return *ret_size / 16 - 1;
	}
	for (; fit < size; fit *= 2)
		class ++;
	*ret_size = fit;
	return class;
}

static void *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static bool add_piece(void)
{
	struct piece *piece = map(PIECE);

	if (!piece)
		return false;
	piece->next = heap.pieces;
	heap.pieces = piece;
	heap.at = (char *)(piece + 1);
	heap.end = (char *)piece + PIECE;
	return true;
}

static bool begin(void)
{
	const char *random = (const char *)getauxval(AT_RANDOM); /* 16 bytes, not aligned */

	if (!add_piece())
		return false;
	memcpy(&heap.secret, random + 8, sizeof(heap.secret));
	heap.secret |= 1;
	/* Since 5.14; without it they come one by one. */
	if (!heap.is_small)
		(void)madvise(heap.pieces, PRESENT, POPULATE_WRITE);
	return true;
}

static struct block *cut(size_t size)
{
	size_t whole = size + sizeof(struct head);
	struct block *block;

	if (!heap.secret && !begin())
		return NULL;
	if ((size_t)(heap.end - heap.at) < whole && !add_piece())
		return NULL;
	block = (struct block *)heap.at;
	heap.at += whole;
	return block;
}

static void *give(struct block *block, size_t size)
{
	block->head.size = size;
	block->head.check = check_of(&block->head, USED);
	return &block->head + 1;
}

static void *give_mapping(size_t size)
{
	struct block *block = NULL;

	if (size < SIZE_MAX / 2 && (heap.secret || begin()))
		block = map(size + sizeof(struct head));
	return block ? give(block, size) : NULL;
}

static void *allocate(size_t size, bool *ret_zero)
{
	struct block *block;
	size_t class, fit;
	void *given;

	*ret_zero = true;
	if (size > CLASS_MAX) {
		given = give_mapping(size);
	} else {
		class = class_of(size, &fit);
		block = heap.free[class];
		if (block) {
			if (block->head.check != check_of(&block->head, FREE))
				abort();
			heap.free[class] = block->next;
			*ret_zero = false;
		} else {
			block = cut(fit);
		}
		given = block ? give(block, fit) : NULL;
	}
	if (!given)
		errno = ENOMEM;
	return given;
}

static struct block *block_of(void *memory)
{
	struct block *block = (struct block *)((struct head *)memory - 1);

	if (block->head.check != check_of(&block->head, USED))
		abort();
	return block;
}

void *malloc(size_t size)
{
	bool zero;

	return allocate(size, &zero);
}

void *calloc(size_t n, size_t size)
{
	size_t whole;
	bool zero;
	void *given;

	if (__builtin_mul_overflow(n, size, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	given = allocate(whole, &zero);
	if (given && !zero)
		memset(given, 0, whole);
	return given;
}

void free(void *memory)
{
	struct block *block;
	size_t class, fit;
	int saved = errno;

	if (!memory)
		return;
	block = block_of(memory);
	if (block->head.size > CLASS_MAX) {
		munmap(block, block->head.size + sizeof(struct head));
		errno = saved;
		return;
	}
	class = class_of(block->head.size, &fit);
	block->head.check = check_of(&block->head, FREE);
	block->next = heap.free[class];
	heap.free[class] = block;
}

void *realloc(void *memory, size_t size)
{
	struct block *block;
	void *given;

	if (!memory)
		return malloc(size);
	block = block_of(memory);
	if (size <= block->head.size)
		return memory;
	given = malloc(size);
	if (!given)
		return NULL;
	memcpy(given, memory, block->head.size);
	free(memory);
	return given;
}

void lean_small_heap(void)
{
	heap.is_small = true;
}

void lean_forget_heap(void)
{
	while (heap.pieces) {
		struct piece *piece = heap.pieces;

		heap.pieces = piece->next;
		munmap(piece, PIECE);
	}
	heap.at = heap.end = NULL;
	memset(heap.free, 0, sizeof(heap.free));
}

void lean_trim_heap(void)
{
	uintptr_t begin = ((uintptr_t)heap.at + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

	if (begin < (uintptr_t)heap.end)
		(void)madvise((void *)begin, (uintptr_t)heap.end - begin, MADV_DONTNEED);
}
#else
void lean_small_heap(void)
{
}

void lean_forget_heap(void)
{
}

void lean_trim_heap(void)
{
}
#endif
