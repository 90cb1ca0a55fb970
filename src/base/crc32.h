/* SPDX-License-Identifier: MIT */
/* crc32 - the CRC of Ethernet and zip: it tells a torn line from a whole one, and
 * protects from nobody. */
#pragma once
#include <stddef.h>
#include <stdint.h>

uint32_t crc32_of(const void *data, size_t len);
