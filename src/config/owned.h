/* SPDX-License-Identifier: MIT */
/*
 * owned - whose word a file is: what others can write is not the user's.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct stat;

/* Can others than root and UID write FD, by its mode (ST) or its access list? A group that is
 * the user's alone, by its number, is nobody else. FD may be O_PATH. */
bool owned_is_open(int fd, const struct stat *st, uid_t uid, gid_t gid);
