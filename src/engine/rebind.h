/* SPDX-License-Identifier: MIT */
/*
 * rebind - make something read-only in a sandbox that runs already.
 *
 * A process of the host that renames over a file takes the mount on it away, in
 * every namespace: the new file is as writable inside as its folder.
 */
#pragma once
#include <sys/types.h>

struct err;

/* The namespaces of a sandbox. */
struct rebind {
	int userns, mntns; /* -1: unknown */
};

/* Those of CHILD, as long as it can still be looked at: a warden cannot. */
void rebind_open(struct rebind *rebind, pid_t child, int pidfd);
void rebind_close(struct rebind *rebind);
/* Make what is at DST inside read-only. */
int rebind_readonly(const struct rebind *rebind, const char *dst, struct err *err);
