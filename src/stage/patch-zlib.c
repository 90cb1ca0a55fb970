/* SPDX-License-Identifier: MIT */
#include "stage/patch-zlib.h"

#include <errno.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/str.h"

int patch_deflate_zlib(const void *data, size_t len, struct str *out)
{
	uLongf n = compressBound(len);
	_cleanup_(freep) Bytef *packed = malloc(n);

	if (!packed || compress2(packed, &n, data, len, Z_DEFAULT_COMPRESSION) != Z_OK)
		return -ENOMEM;
	return str_append_bytes(out, packed, n);
}
