/* SPDX-License-Identifier: MIT */
/*
 * sys - kernel calls and constants that libc does not wrap, or that the
 * oldest supported headers (Linux 6.1) do not name. Each returns a value >= 0
 * or -errno.
 */
#pragma once
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long sys_result(long r)
{
	return r < 0 ? -errno : r;
}
