/* SPDX-License-Identifier: MIT */
#include "base/lean.h"

#include <errno.h>
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

/* Without a call: that of the C library is elsewhere. */
static inline long ask_kernel(long number, long a, long b, long c, long d)
{
#ifdef __x86_64__
	register long fourth __asm__("r10") = d;
	register long fifth __asm__("r8") = 0;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
			 : "rcx", "r11", "memory");
	return r;
#else
	long r = syscall(number, a, b, c, d, 0);

	return r < 0 ? -errno : r;
#endif
}

/* Each page of code that is needed afterwards brings fifteen more along: so nothing is called
 * any more. */
int lean_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(PAGE - 1);
	struct timespec time = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
	long r;

	if (segments_len == 0)
		(void)dl_iterate_phdr(find_segments, NULL);
	/* Below the page that we are on, and the next one, nobody has anything. Where the
	 * stack ends, the kernel stops. */
	(void)madvise((void *)(here - PAGE - STACK_BELOW), STACK_BELOW, MADV_DONTNEED);
	for (size_t i = 0; i < segments_len; i++)
		(void)ask_kernel(SYS_madvise, (long)segments[i].begin, (long)segments[i].size,
				 MADV_DONTNEED, 0);
	r = ask_kernel(SYS_ppoll, (long)fds, (long)n, timeout_ms < 0 ? 0 : (long)&time, 0);
	if (r < 0) {
		errno = (int)-r;
		return -1;
	}
	return (int)r;
}
