/* SPDX-License-Identifier: MIT */
/* apart - can a file be renamed from one folder into another, and be exchanged with one there? */
#pragma once
#include <stdbool.h>

/* True: not between A and B, of which descriptors are given. They are on two mounts, or the file
 * system has a wall between them. Nothing is renamed to find out; what cannot be asked counts as
 * no wall. */
bool folders_are_apart(int a, int b);
