/* SPDX-License-Identifier: MIT */
/* clock - monotonic and wall time. */
#pragma once
#include <stdint.h>
#include <time.h>

struct timespec clock_now(clockid_t clock);
uint64_t clock_mono_ns(void);
uint64_t clock_wall_ms(void);
