/* SPDX-License-Identifier: MIT */
/* protect - what of the protected names a layout lets the command reach. */
#pragma once
#include <stdbool.h>

struct places;
struct plan;
struct protection;
struct strv;

/* Is the host's PATH protected, or in something that is? */
bool protection_covers(const struct protection *protection, const char *path);

/* Wherever PLACES, which are settled, are writable: add to READONLY what exists
 * of the protected names, to PINS the folders above any, and to PLAN what is to
 * be watched. HIDES are the paths inside that show nothing. 0 or -ENOMEM. */
int protect_compile(const struct protection *protection, const struct places *places,
		    const struct strv *hides, struct plan *plan, struct strv *pins,
		    struct strv *readonly);
