/* SPDX-License-Identifier: MIT */
/*
 * spare - a process that waits to become an errand.
 *
 * Half of what an errand costs before its program begins is its process and its filter. A
 * spare has both already; the errand comes straight from the supervisor, by a socket, and is
 * prepared as any other: descriptors, folder, limits, Landlock. It has not seen one before. A
 * byte follows when the supervisor is ready, too, and without it no program is executed.
 *
 * Until it is another program its end makes SPARE_SIGNAL, not SIGCHLD, so that only __WALL
 * waits for it: it is nobody inside. The kernel changes that when it executes one.
 */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct warden_job;

enum { SPARE_SIGNAL = SIGUSR2 };

/* Does JOB have them? Without a filter they are not worth it; and the end of its namespace
 * ends a spare for sure. */
bool spare_is_worth(const struct warden_job *job);
/* Its pid, or -errno. It reports when it is ready, and ends when SOCK hangs up. */
pid_t spare_start(const struct warden_job *job, uint32_t id, int sock);
