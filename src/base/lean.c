/* SPDX-License-Identifier: MIT */
/*
 * Each page of the program that is needed while we wait brings its neighbours along: as many
 * as the kernel keeps in one piece. So the wait itself, and the letting go before it, are one
 * small function that calls nothing, on a page that is a copy of our own.
 */
#include "base/lean.h"

#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/raw.h"

enum { PAGE = 4096, STACK_BELOW = 256 * 1024, SEGMENTS_MAX = 6 };

struct order {
	struct {
		uintptr_t begin;
		size_t size;
	} segments[SEGMENTS_MAX + 1]; /* to let go of; ends with zeroes */
	struct pollfd *fds;
	nfds_t n;
	const struct timespec *time;
};

/* What ppoll(2) returned, or -errno. */
__attribute__((noinline, aligned(256))) static long let_go_and_wait(const struct order *order)
{
	for (size_t i = 0; order->segments[i].begin; i++)
		(void)raw_call(SYS_madvise, (long)order->segments[i].begin,
			       (long)order->segments[i].size, MADV_DONTNEED);
	return raw_call(SYS_ppoll, (long)order->fds, (long)order->n, (long)order->time);
}

/* Its page; 0 where the kernel lets nobody have a copy. */
static uintptr_t own_page(void)
{
	uintptr_t page = (uintptr_t)let_go_and_wait & ~(uintptr_t)(PAGE - 1);
	volatile char *first = (volatile char *)page;
	char byte = *first;

	/* Executable all the while: we may be on it ourselves. */
	if (mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
		return 0;
	*first = byte; /* the same: but now it is ours */
	return mprotect((void *)page, PAGE, PROT_READ | PROT_EXEC) < 0 ? 0 : page;
}

static void add(struct order *order, size_t *len, uintptr_t begin, uintptr_t end)
{
	if (begin >= end || *len == SEGMENTS_MAX)
		return;
	order->segments[*len].begin = begin;
	order->segments[(*len)++].size = end - begin;
}

static int find_segments(struct dl_phdr_info *info, size_t size, void *data)
{
	struct order *order = data;
	uintptr_t own = own_page();
	size_t len = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr,
			  end = begin + segment->p_memsz;

		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
			continue;
		begin &= ~(uintptr_t)(PAGE - 1);
		if (own < begin || own >= end) {
			add(order, &len, begin, end);
			continue;
		}
		add(order, &len, begin, own);
		add(order, &len, own + PAGE, end);
	}
	return 1; /* the program itself comes first */
}

int lean_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	static struct order order;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(PAGE - 1);
	struct timespec time = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
	long r;

	if (!order.segments[0].begin)
		(void)dl_iterate_phdr(find_segments, &order);
	order.fds = fds;
	order.n = n;
	order.time = timeout_ms < 0 ? NULL : &time;
	/* Below the page that we are on, and the next one, nobody has anything. Where the
	 * stack ends, the kernel stops. */
	(void)madvise((void *)(here - PAGE - STACK_BELOW), STACK_BELOW, MADV_DONTNEED);
	r = let_go_and_wait(&order);
	if (r >= 0)
		return (int)r;
	errno = (int)-r;
	return -1;
}
