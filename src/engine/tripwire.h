/* SPDX-License-Identifier: MIT */
/*
 * tripwire - says that names came or went in a folder, and not which.
 *
 * The kernel's oldest way to watch a folder (dnotify), because it costs next to
 * nothing: to end an inotify instance waits for a grace period of the kernel,
 * some milliseconds, which is longer than a short run. So inotify comes only once
 * something has happened.
 */
#pragma once
#include <stdbool.h>

struct tripwire {
	int signals; /* readable when something happened; -1: not open */
};

enum trip { TRIP_NONE, TRIP_WIRE, TRIP_OVERFLOW };

/* Both: 0, or -errno where the kernel cannot do this. */
int tripwire_open(struct tripwire *wire);
/* A descriptor that stands for names that come into DIR or, with LEAVING, that go. The wire is
 * there as long as it is open. */
int tripwire_add(int dir, bool leaving);
/* The next thing that happened, in order; *ret_fd is what tripwire_add() gave. */
enum trip tripwire_next(struct tripwire *wire, int *ret_fd);
void tripwire_close(struct tripwire *wire);
