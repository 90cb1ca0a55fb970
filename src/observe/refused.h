/* SPDX-License-Identifier: MIT */
/*
 * refused - what the broker did not let out, as a violation.
 *
 *     resolve  NAME            no rule knows the name
 *     connect  NAME:PORT       no rule has it at this port; or a limit was met
 *     connect  ADDRESS:PORT    no rule covers the literal
 *     resolve  ADDRESS:PORT    an allowed name led there, where no name may lead
 *     send     …:PORT          a datagram
 *
 * policy/remedy.c reads them.
 */
#pragma once
#include <stdint.h>

struct refusal;
struct violation;
struct violations;

/* Count it. The entry if it is a new one, else NULL. */
struct violation *refused_add(struct violations *list, const struct refusal *refusal,
			      uint64_t at_ms);
