/* SPDX-License-Identifier: MIT */
/*
 * protected-names - names in a workspace that programs of the host act on: policy,
 * shells, editors, agents and git read or execute them there.
 */
#pragma once
#include <stdbool.h>

/* At the root of a workspace; ends in NULL. */
extern const char *const protected_names[];
/* In every directory that git takes for a repository's; ends in NULL. With
 * `commondir` it would read the others from somewhere else. */
extern const char *const protected_git_names[];

/* At the root of a workspace, too: folders of other version control, which work with all but these
 * paths in them. One that programs act on unasked must not appear. Ends in a NULL name. */
struct protected_folder {
	const char *name;
	bool must_not_appear;
	const char *inner[4]; /* ends in NULL */
};
extern const struct protected_folder protected_folders[];

/* Is RELATIVE, a path in a workspace, one of these by its name, or below one? What
 * git really uses may lie elsewhere: plan/protected.h looks. */
bool protected_is_named(const char *relative);

struct str;

/* Append PATH as a filesystem that does not tell names apart by case or spelling may see it:
 * lower case, without marks and signs that cannot be seen, look-alikes as what they look
 * like, no dots and blanks at the end of a name. 0 or -ENOMEM. */
int protected_fold(const char *path, struct str *out);
/* As protected_is_named(), of what such a filesystem may see. True without memory. */
bool protected_is_alike(const char *relative);
