/* SPDX-License-Identifier: MIT */
/* home-places - where a home keeps credentials, and what programs of the host act on. */
#pragma once
#include <stdbool.h>

struct user;

/* PATH: absolute, normalized. Is one of the places at it, above or below it? */
bool holds_credentials(const char *path, const struct user *user);
/* ANYWHERE: in every folder, which may be somebody's home. */
bool is_run_later(const char *path, const struct user *user, bool anywhere);
/* Why PATH, which has no links, is no place for a workspace: static; NULL: it may be one. */
const char *not_a_project(const char *path, const struct user *user);
