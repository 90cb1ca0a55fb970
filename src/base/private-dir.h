/* SPDX-License-Identifier: MIT */
/* private-dir - a folder of the user's alone. */
#pragma once
#include <stdbool.h>

struct err;

/* A descriptor of the folder PATH, or -errno. It must belong to the caller and be
 * writable by nobody else. With CREATE it is made (0700), parents too; without,
 * -ENOENT when it is absent, err untouched. */
int private_dir_open(const char *path, bool create, struct err *err);
