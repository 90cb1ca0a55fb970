/* SPDX-License-Identifier: MIT */
/* units - sizes and times for people: rounded, short. base/size.h has the exact ones. */
#pragma once
#include <stdint.h>

#define UNITS_MAX 32

/* "812 B", "34.1 MiB"; UINT64_MAX is "-". */
const char *units_bytes(uint64_t bytes, char buf[UNITS_MAX]);
/* "812 ms", "1.23 s", "2m 03s", "1h 02m"; UINT64_MAX is "-". */
const char *units_ms(uint64_t ms, char buf[UNITS_MAX]);
