/* SPDX-License-Identifier: MIT */
/*
 * holder - looks after the terminal of one errand.
 *
 * The leader of a session whose controlling terminal that is, and the parent of the
 * errand, a job in its foreground: without a parent in its session the kernel would not
 * let Ctrl-Z stop it. A copy of the warden that does nothing but wait.
 */
#pragma once
#include <sys/types.h>

struct launch;
struct err;
struct pty;
struct rusage;
struct warden_job;

/* How the errand ended, as it comes through the pipe. */
struct holder_word {
	int status;
	unsigned cpu_ms;
	unsigned long long memory, written;
};

struct holder_word holder_word_of(int status, const struct rusage *usage);

/* Start one that launches COMMAND with a terminal after PTY. Returns its pid, and in
 * *ret_leader the errand's; *ret_pipe, the caller's, has a struct holder_word when it ends
 * properly. Else -errno. */
pid_t holder_start(const struct warden_job *job, const struct launch *command,
		   const struct pty *pty, pid_t *ret_leader, int *ret_pipe, struct err *err);
