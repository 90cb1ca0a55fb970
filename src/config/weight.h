/* SPDX-License-Identifier: MIT */
/*
 * weight - how much there is to look through before anything of a project runs.
 *
 * Each preset and each command is judged with all that it builds on, so that a small file can
 * name a long list a thousand times.
 */
#pragma once
#include <stddef.h>

struct toml;
struct toml_entry;

/* In entries of lists, long ones counted as several. */
#define WEIGHT_MAX ((size_t)250000)

/* The preset or command of DOC with which all of them together exceed WEIGHT_MAX, or NULL. DOC was
 * checked before; what it builds on in other files is not counted. */
const struct toml_entry *weight_excess(const struct toml *doc);
