/* SPDX-License-Identifier: MIT */
/*
 * trust - what a workspace's pale.toml asks beyond the built-in workspace
 * ceiling, and whether the user has agreed to exactly that.
 */
#pragma once
#include "base/hash.h"
#include "policy/resolve.h"

struct trust_item {
	char *text; /* `commands.x.sandbox = "off"` */
	char *why;  /* `network "unrestricted", filesystem "unrestricted"` */
	unsigned line;
};

struct trust_ask {
	struct trust_item *items;
	size_t len;
	char digest[SHA256_HEX]; /* over the workspace's path and the sorted texts */
};

enum trust_state { TRUST_NOT_NEEDED, TRUST_GIVEN, TRUST_CHANGED, TRUST_NONE };
const char *trust_state_name(enum trust_state state); /* "not_needed", … */

/* The values of the workspace file that exceed the built-in ceiling. */
int trust_ask_compute(const struct config *config, const struct workspace *workspace,
		      const struct user *user, struct trust_ask *ret, struct err *err);
void trust_ask_release(struct trust_ask *ask);

/* The loosest that a workspace file may ask for without trust. */
int trust_ceiling(const char *workspace_root, struct spec *ret, struct err *err);

int trust_read(const struct trust_ask *ask, const struct workspace *workspace,
	       enum trust_state *ret_state, struct err *err);
/* Store the digest in the workspace's state directory (0700, file 0600). */
int trust_give(const struct trust_ask *ask, const struct workspace *workspace, struct err *err);
int trust_revoke(const struct workspace *workspace, struct err *err);

/* 0, or ERR_TRUST naming file:line of each value. */
int trust_check(const struct config *config, const struct workspace *workspace,
		const struct user *user, struct err *err);
