/* SPDX-License-Identifier: MIT */
/* The heap of the run path, beside that of the C library. */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define HEAP_TEST
void *heap_malloc(size_t size);
void *heap_calloc(size_t n, size_t size);
void heap_free(void *memory);
void *heap_realloc(void *memory, size_t size);
#include <stdlib.h>
#define malloc  heap_malloc
#define calloc  heap_calloc
#define free    heap_free
#define realloc heap_realloc
#include "base/heap.c"

enum { SLOTS = 200 };

static struct slot {
	unsigned char *at;
	size_t size;
	unsigned char fill;
} slots[SLOTS];

static uint64_t seed = 88172645463325252ull;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static size_t any_size(void)
{
	static const size_t max[] = {16, 64, 300, 2000, 70000, 200000};

	return next() % max[next() % 8 % (sizeof(max) / sizeof(*max))];
}

static bool is_filled(const struct slot *slot, size_t size, unsigned char with)
{
	for (size_t i = 0; i < size; i++)
		if (slot->at[i] != with)
			return false;
	return true;
}

/* One step on a random slot. */
static bool step(void)
{
	struct slot *slot = &slots[next() % SLOTS];
	size_t size = any_size(), kept = slot->size < size ? slot->size : size;
	unsigned way = next() % 4;
	bool good = !slot->at || is_filled(slot, slot->size, slot->fill);

	if (way == 0 && slot->at) {
		slot->at = realloc(slot->at, size);
		good = good && is_filled(slot, kept, slot->fill);
	} else {
		free(slot->at);
		slot->at = way == 1 ? calloc(size / 8 + 1, 8) : malloc(size);
		good = good && (way != 1 || is_filled(slot, size, 0));
	}
	slot->size = size;
	slot->fill = (unsigned char)next();
	memset(slot->at, slot->fill, size);
	return good && (uintptr_t)slot->at % 16 == 0;
}

static void check_blocks(void)
{
	const int rounds = getenv("PALE_QUICK") ? 20000 : 200000;
	bool good = true;

	for (int i = 0; i < rounds && good; i++)
		good = step();
	tap_ok(good, "%d steps: blocks are aligned, apart, and keep what is in them", rounds);
	for (int i = 0; i < SLOTS; i++)
		free(slots[i].at);
}

static void check_reuse(void)
{
	char *before = heap.at;

	for (int i = 0; i < 100000; i++)
		free(malloc(100));
	tap_ok(heap.at - before < 4096, "what is freed is used again");
	tap_ok(!calloc(SIZE_MAX / 2, 3) && errno == ENOMEM, "a product that is too large");
	errno = 0;
	tap_ok(!malloc(SIZE_MAX - 8) && errno == ENOMEM, "a size that is too large");
	free(NULL);
}

static void free_twice(void)
{
	char *block = malloc(40);

	free(block);
	free(block);
}

static void write_over(void)
{
	char *block = malloc(40);

	block[-16]++; /* as by one byte too many before it */
	free(block);
}

static void free_middle(void)
{
	char *block = calloc(1, 400);

	free(block + 32);
}

static void write_after(void)
{
	char *block = malloc(48);

	free(block);
	memset(block - 16, 0, 64);
	malloc(48);
}

static void check_end(void (*wrong)(void), const char *what)
{
	pid_t pid;
	int status = 0;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		wrong();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s ends the program", what);
}

int main(void)
{
	check_blocks();
	check_reuse();
	check_end(free_twice, "a block that is freed twice");
	check_end(write_over, "a head that was written over");
	check_end(free_middle, "what is no block");
	check_end(write_after, "a free block that was written to");
	return tap_done();
}
