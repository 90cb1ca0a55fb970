/* SPDX-License-Identifier: MIT */
/*
 * host-group - "@packages" in a list of hosts: a list that the system's or the user's file
 * defines in [host_groups].
 *
 * A group is a shorthand and no more. It is expanded where a list is read, so that everything
 * after sees plain rules; groups do not name groups. A project's file may use one, but not define
 * one: what it asks for would change with the words it asks in.
 */
#pragma once
#include <stdbool.h>

#include "config/load.h"

struct err;
struct strv;

bool host_is_group(const char *text);
/* Append the canonical rules of group TEXT ("@NAME") to *ret_rules, which stays as it was on
 * failure. The user's definition wins, but for TOP == LAYER_SYSTEM: what the system bounds by a
 * group, nobody else redefines. *ret_from (may be NULL): where it is defined. */
int host_group_expand(const struct config *config, enum layer top, const char *text,
		      struct strv *ret_rules, struct setting *ret_from, struct err *err);
/* Is every rule of every group one? */
int host_groups_check(const struct config *config, struct err *err);
