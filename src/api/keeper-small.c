/* SPDX-License-Identifier: MIT */
#include "api/keeper-small.h"

#include <stdint.h>
#include <sys/mman.h>

/* By the linker: where the program begins, and where its code ends. */
extern const char __executable_start[], etext[];

void keeper_be_small(void)
{
	uintptr_t start = (uintptr_t)__executable_start & ~(uintptr_t)4095;
	uintptr_t end = ((uintptr_t)etext + 4095) & ~(uintptr_t)4095;

	(void)madvise((void *)start, end - start, MADV_DONTNEED);
}
