/* SPDX-License-Identifier: MIT */
/* raw - a system call without the C library: it leaves errno alone, which may be shared with
 * another process, and calls nothing, since what lies elsewhere may be gone. */
#pragma once
#include <sys/syscall.h>

/* What the kernel answers: -errno on failure. A fourth and a fifth argument are 0. */
__attribute__((always_inline)) static inline long raw_call(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	register long none4 __asm__("r10") = 0;
	register long none5 __asm__("r8") = 0;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(none4), "r"(none5)
			 : "rcx", "r11", "memory");
	return r;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
#else
#error "no system call without the C library for this processor yet"
#endif
}
