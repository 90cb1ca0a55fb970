/* SPDX-License-Identifier: MIT */
/* xml - text of any bytes, so that an XML parser takes it. */
#pragma once
#include <stddef.h>

struct str;

/* For element content and attribute values in double quotes. What XML 1.0 cannot hold
 * (control characters, U+FFFE, bytes that are not UTF-8), and what turns the direction of
 * text, becomes \xNN or \u{N}. 0 or -ENOMEM. */
int xml_append(struct str *out, const char *text, size_t len);
