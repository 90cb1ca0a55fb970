/* SPDX-License-Identifier: MIT */
/* place-impl - private to place*.c. */
#pragma once
#include "files/place.h"

int place_check_name(const char *path, struct reply *reply);
int place_absolute(const struct place *place, const char *path, char **ret);
const struct place_root *place_root_of(const struct place *place, const char *absolute,
				       const char **ret_rest);
/* The descriptor, or -errno; -EXDEV: beneath no root. */
int place_open_at(const struct place *place, const char *absolute, int flags);
/* Path and status of target->fd. */
int place_fill(const struct place *place, struct target *target);
