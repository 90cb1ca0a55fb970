/* SPDX-License-Identifier: MIT */
/*
 * json-scan - the names in one object of a JSON text, and nothing else of it.
 *
 * The whole text is checked against RFC 8259 on the way; nesting past
 * JSON_SCAN_DEPTH is refused.
 */
#pragma once
#include <stddef.h>

struct strv;

#define JSON_SCAN_DEPTH 64

/* Add to *RET the keys with string values of the object that is the value of
 * KEY in the top-level object. -EINVAL: TEXT is not JSON; *RET is undefined. */
int json_scan_names(const char *text, size_t len, const char *key, struct strv *ret);
