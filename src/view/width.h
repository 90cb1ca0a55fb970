/* SPDX-License-Identifier: MIT */
/* width - columns that text takes on a terminal. */
#pragma once
#include <stdint.h>

unsigned char_width(uint32_t c);
