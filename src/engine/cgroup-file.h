/* SPDX-License-Identifier: MIT */
/* cgroup-file - the small files of a cgroup. Each returns 0 or -errno. */
#pragma once
#include <stdint.h>

int cgroup_file_write(int dir, const char *name, const char *text);
int cgroup_file_number(int dir, const char *name, uint64_t *ret); /* "max" is UINT64_MAX */
int cgroup_file_number_of(int fd, uint64_t *ret);                 /* of an open one */
/* Of lines "KEY NUMBER", the number of KEY. -ENOENT when there is none. */
int cgroup_file_field(int dir, const char *name, const char *key, uint64_t *ret);
