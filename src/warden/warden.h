/* SPDX-License-Identifier: MIT */
/*
 * warden - PID 1 inside.
 *
 * Starts the command, reaps whatever is orphaned, passes signals on, and ends
 * the run when the command has ended or the supervisor is gone. Without a pid
 * namespace it is a subreaper instead, and ends the tree process by process.
 */
#pragma once
#include <stdbool.h>

struct landlock;
struct op;

struct warden_job {
	char *const *argv;
	char *const *env;
	int (*tool)(char *const *argv);  /* called in place of a program; NULL: none */
	bool owns_pidns;                 /* its end is everybody's end */
	const struct landlock *landlock; /* entered by the command, never by the warden; NULL */
	const struct op *observed; /* a seccomp filter: entered by the command with a listener, and
				    * by the warden without, once that has begun; NULL: none */
	const char *scratch;       /* a folder that is to go with the supervisor; NULL */
	int channel;               /* to the supervisor; see protocol.h */
	int terminal;              /* becomes the controlling one of the command's session; or -1 */
};

_Noreturn void warden_run(const struct warden_job *job);
