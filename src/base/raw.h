/* SPDX-License-Identifier: MIT */
/* raw - a system call that leaves errno alone, for who shares it with another process. */
#pragma once
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the kernel answers: -errno on failure. */
static inline long raw_call(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return r;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
	long r = syscall(number, a, b, c);

	return r < 0 ? -errno : r;
#endif
}
