/* SPDX-License-Identifier: MIT */
/* mounts - what is mounted below a folder: an overlay of it would not show that. */
#pragma once

struct err;
struct strv;

/* All mount points of this namespace, by name. */
int mounts_read(struct strv *ret, struct err *err);
/* The same of TEXT, as /proc/self/mountinfo has it. TEXT is changed. 0 or -ENOMEM. */
int mounts_parse(char *text, struct strv *ret);
