/* SPDX-License-Identifier: MIT */
/*
 * cache-place - folders of a home that programs keep copies in, and where a project may have
 * a cache without being asked.
 */
#pragma once
#include <stdbool.h>

struct user;

/* The folder of that kind that NAME, a path as it is called in a home, is or lies in: static, or
 * NULL. *ret_names: how many names below it belong to one cache. */
const char *cache_folder_of(const char *name, unsigned *ret_names);

/* Is PATH, where a project in ROOT wants a cache, a place for one? Anywhere else what its
 * commands leave there would stand in for programs and settings of the host, also in runs that
 * the user gave more. */
bool cache_place_is_usual(const char *path, const char *root, const struct user *user);
