/* SPDX-License-Identifier: MIT */
/* whole - files as a whole, by descriptor: read with a bound, replaced as a whole. */
#pragma once
#include <stddef.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "files/place.h"

struct str;

/* What it was when it was read. */
struct whole_mark {
	struct stat st;
	char digest[SHA256_HEX];
};

/* All of FD, an O_PATH descriptor of a regular file, at most FILE_CONTENT_MAX bytes: -EFBIG
 * past that. Never mapped: whoever shortens it meanwhile does no harm. */
int whole_read(int fd, struct str *ret_text, struct whole_mark *ret_mark);

/* Put LEN bytes of DATA in place of TARGET: a new file beside it takes its name, so that
 * other names of the old one keep what they had. An existing file's permissions and group
 * are kept (never set-uid, set-gid or sticky), or it stays (-EOVERFLOW), as one of another owner
 * does; a new one's follow the umask. Without a parent it is written into. -EACCES: its permissions, or those of its folder, forbid it.
 * BEFORE, if not NULL: the old file must still be that (-ESTALE). Not synced: after a power cut it
 * may be the old one. */
int whole_replace(const struct target *target, const struct whole_mark *before, const void *data,
		  size_t len);
