/* SPDX-License-Identifier: MIT */
/*
 * staged - what supervisor and child do about a stage, besides mounting it.
 *
 * The child gets the stage's lock, and the mounts that it shares with other runs, as
 * descriptors that it keeps; the mount lock, too, until its own mounts are written down.
 * When all is mounted it reports, with what it has mounted for later runs. It goes on
 * to the command only when that is written down, and when files that the user saves from
 * then on bear a later time than t0.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct builder;
struct err;
struct staging;
struct warden_report;

/* In the child: put the descriptors to NEXT and those after it. Returns the first
 * that is free, or -errno. STAGING may be NULL. */
int staged_keep(const struct staging *staging, int next, struct err *err);
/* The mount that came with root INDEX. */
int staged_joined(const struct staging *staging, size_t index);
/* Before the old root goes: tell what was mounted. */
int staged_report(const struct builder *b, int channel, struct err *err);
/* Before the command: until then. */
int staged_wait(const struct staging *staging, int channel, struct err *err);

/* In the supervisor, before the child becomes undumpable: its user and its mount namespace. */
int staged_prepare(pid_t child, int pidfd, int ret_namespaces[2], struct err *err);
/* Then: with the NAMESPACES, which it takes when they are needed, hear what was mounted. 1: the
 * child failed instead, and *ret_report says why; -EPIPE: it died. */
int staged_serve(const struct staging *staging, int namespaces[2], int channel,
		 struct warden_report *ret_report, struct err *err);
