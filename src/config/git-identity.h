/* SPDX-License-Identifier: MIT */
/*
 * git-identity - user.name and user.email of the user's own git configuration,
 * which is all that a confined git gets to know of it.
 */
#pragma once

struct str;
struct user;

struct git_identity {
	char *name; /* NULL: unknown */
	char *email;
};

/* From $XDG_CONFIG_HOME/git/config, then ~/.gitconfig, the later one winning.
 * Includes are not followed; what cannot be read tells nothing. -ENOMEM. */
int git_identity_read(const struct user *user, struct git_identity *ret);
void git_identity_release(struct git_identity *identity);

/* Take over what TEXT, the content of one file, says. */
int git_identity_parse(const char *text, struct git_identity *identity);
