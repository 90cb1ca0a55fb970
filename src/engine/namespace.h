/* SPDX-License-Identifier: MIT */
/* namespace - descriptors of the namespaces that a child of ours is in. */
#pragma once
#include <sys/types.h>

enum namespace { NAMESPACE_MOUNT, NAMESPACE_USER };

/* A descriptor, or -1 and errno. */
int namespace_open(pid_t child, int pidfd, enum namespace which);
