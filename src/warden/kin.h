/* SPDX-License-Identifier: MIT */
/*
 * kin - who belongs to an errand: its process group, its session, and its descendants.
 *
 * Found in /proc. A process that made a session of its own and whose parents have ended is
 * nobody's kin any more: it belongs to the sandbox. Allocation-free.
 */
#pragma once
#include <sys/types.h>

/* SIG to the errand whose first process is LEADER and whose session is that of SESSION;
 * SESSION itself, where that is another process, is left alone. Returns how many were met
 * that have not ended yet; -errno when /proc cannot be read. */
int kin_signal(pid_t leader, pid_t session, int sig);
