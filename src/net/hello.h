/* SPDX-License-Identifier: MIT */
/*
 * hello - which name a TLS client asks for, from its first bytes. Pure.
 *
 * Only what is there in clear: a client that encrypts its hello, sends no name, or speaks
 * something else shows none, and nothing is known about it.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "net/rules.h"

enum hello {
	HELLO_MORE, /* it may become one: too few bytes are there */
	HELLO_NONE, /* no hello, or one without a name */
	/* The name is canonical; "": it is not the name of a host, or this is TLS that begins in
	 * another way than with a proper hello. */
	HELLO_NAME,
};

#define HELLO_MAX 65536 /* bytes; more than any client sends before it is answered */

enum hello hello_judge(const uint8_t *bytes, size_t len, char ret_name[NAME_CANONICAL_MAX]);
