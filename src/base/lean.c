/* SPDX-License-Identifier: MIT */
/*
 * Each page of the program that is needed while we wait would bring many more along: as many
 * as the kernel has in one piece in its cache. So the wait itself is done by a few instructions
 * that are copied to a page of their own, and all of the program is let go of.
 */
#include "base/lean.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, STACK_BELOW = 256 * 1024, SEGMENTS_MAX = 4 };

struct order {
	struct {
		uintptr_t begin;
		size_t size;
	} segments[SEGMENTS_MAX + 1]; /* to let go of; ends with zeroes */
	struct pollfd *fds;
	nfds_t n;
	const struct timespec *time;
};

/* Let go, wait: what ppoll(2) returned, or -errno. */
typedef long wait_fn(const struct order *order);

#ifdef __x86_64__
/* Calls nothing and names no address: it works wherever it stands. */
__asm__(".pushsection .text.lean_code,\"ax\",@progbits\n"
	"lean_code:\n"
	"	push %rbx\n"
	"	lea 80(%rdi), %r9\n" /* behind the segments */
	"	mov %rdi, %rbx\n"
	"1:	mov (%rbx), %rdi\n"
	"	test %rdi, %rdi\n"
	"	jz 2f\n"
	"	mov 8(%rbx), %rsi\n"
	"	mov $4, %edx\n"  /* MADV_DONTNEED */
	"	mov $28, %eax\n" /* madvise */
	"	syscall\n"
	"	add $16, %rbx\n"
	"	jmp 1b\n"
	"2:	mov (%r9), %rdi\n"
	"	mov 8(%r9), %rsi\n"
	"	mov 16(%r9), %rdx\n"
	"	xor %r10d, %r10d\n"
	"	xor %r8d, %r8d\n"
	"	mov $271, %eax\n" /* ppoll */
	"	syscall\n"
	"	pop %rbx\n"
	"	ret\n"
	"lean_code_end:\n"
	".popsection\n");
extern const char lean_code[] __attribute__((visibility("hidden")));
extern const char lean_code_end[] __attribute__((visibility("hidden")));
_Static_assert(offsetof(struct order, fds) == 80 && MADV_DONTNEED == 4 && SYS_madvise == 28 &&
		       SYS_ppoll == 271,
	       "what the instructions above say");

static wait_fn *copy_code(void)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	memcpy(page, lean_code, (uintptr_t)lean_code_end - (uintptr_t)lean_code);
	if (mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0)
		return (wait_fn *)page;
	munmap(page, PAGE);
	return NULL;
}
#else
static wait_fn *copy_code(void)
{
	return NULL;
}
#endif

/* Where there is no such page. */
static long wait_here(const struct order *order)
{
	long r;

	for (size_t i = 0; order->segments[i].begin; i++)
		(void)syscall(SYS_madvise, order->segments[i].begin, order->segments[i].size,
			      MADV_DONTNEED);
	r = syscall(SYS_ppoll, order->fds, order->n, order->time, NULL, 0);
	return r < 0 ? -errno : r;
}

static int find_segments(struct dl_phdr_info *info, size_t size, void *data)
{
	struct order *order = data;
	size_t len = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum && len < SEGMENTS_MAX; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr,
			  end = begin + segment->p_memsz;

		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
			continue;
		begin &= ~(uintptr_t)(PAGE - 1);
		order->segments[len].begin = begin;
		order->segments[len++].size = end - begin;
	}
	return 1; /* the program itself comes first */
}

int lean_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	static struct order order;
	static wait_fn *wait;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(PAGE - 1);
	struct timespec time = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
	long r;

	if (!wait) {
		(void)dl_iterate_phdr(find_segments, &order);
		wait = copy_code();
		wait = wait ? wait : wait_here;
	}
	order.fds = fds;
	order.n = n;
	order.time = timeout_ms < 0 ? NULL : &time;
	/* Below the page that we are on, and the next one, nobody has anything. Where the
	 * stack ends, the kernel stops. */
	(void)madvise((void *)(here - PAGE - STACK_BELOW), STACK_BELOW, MADV_DONTNEED);
	r = wait(&order);
	if (r >= 0)
		return (int)r;
	errno = (int)-r;
	return -1;
}
