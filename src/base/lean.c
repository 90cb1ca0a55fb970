/* SPDX-License-Identifier: MIT */
#include "base/lean.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, STACK_BELOW = 256 * 1024, SEGMENTS_MAX = 4 };

static struct {
	uintptr_t begin;
	size_t size;
} segments[SEGMENTS_MAX];
static size_t segments_len;

static int find_segments(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	for (int i = 0; i < info->dlpi_phnum && segments_len < SEGMENTS_MAX; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr,
			  end = begin + segment->p_memsz;

		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
			continue;
		begin &= ~(uintptr_t)(PAGE - 1);
		segments[segments_len].begin = begin;
		segments[segments_len++].size = end - begin;
	}
	return 1; /* the program itself comes first */
}

/* Each page of code that is needed afterwards brings fifteen more along: so nothing is called
 * but syscall(). */
int lean_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(PAGE - 1);
	struct timespec time = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

	if (segments_len == 0)
		(void)dl_iterate_phdr(find_segments, NULL);
	/* Below the page that we are on, and the next one, nobody has anything. Where the
	 * stack ends, the kernel stops. */
	(void)madvise((void *)(here - PAGE - STACK_BELOW), STACK_BELOW, MADV_DONTNEED);
	for (size_t i = 0; i < segments_len; i++)
		(void)syscall(SYS_madvise, segments[i].begin, segments[i].size, MADV_DONTNEED);
	return (int)syscall(SYS_ppoll, fds, n, timeout_ms < 0 ? NULL : &time, NULL, 0);
}
