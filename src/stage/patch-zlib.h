/* SPDX-License-Identifier: MIT */
/* patch-zlib - compression for binary patches. Only in programs that link zlib:
 * the Makefile keeps *-zlib.c out of `pale`. */
#pragma once
#include "stage/patch.h"

patch_deflate_fn patch_deflate_zlib;
