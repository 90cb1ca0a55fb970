/* SPDX-License-Identifier: MIT */
/*
 * holder - looks after one errand that has a terminal or limits.
 *
 * What the errand starts stays below it, orphans as well, however they left its session:
 * so a limit counts them, and its end is theirs. With a terminal it is the leader of the
 * session whose controlling terminal that is, and the errand a job in its foreground:
 * without a parent in its session the kernel would not let Ctrl-Z stop it. A copy of the
 * warden that does nothing but wait.
 */
#pragma once
#include <signal.h>
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

/* The errand is to end: nothing of it is to be left. */
enum { HOLDER_END = SIGUSR1 };

/* Start one that launches COMMAND with a terminal after PTY; NULL: without one. Returns its pid, and in
 * *ret_leader the errand's; *ret_pipe, the caller's, has a struct holder_word when it ends
 * properly. Else -errno. */
pid_t holder_start(const struct warden_job *job, const struct launch *command,
		   const struct pty *pty, pid_t *ret_leader, int *ret_pipe, struct err *err);
