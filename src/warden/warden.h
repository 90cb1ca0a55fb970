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
#include <sys/types.h>

struct err;
struct landlock;
struct op;

struct warden_job {
	char *const *argv;
	char *const *env;
	int (*tool)(char *const *argv); /* called in place of a program; NULL: none */
	bool stands;     /* no command: errands, until the supervisor is gone (errands.h) */
	bool owns_pidns; /* its end is everybody's end */
	const struct landlock *landlock; /* entered by the command, never by the warden; NULL */
	const struct op *observed; /* a seccomp filter with a listener, of both the warden and the
				    * command, or of the command alone, and then the warden
				    * enters one without once that has begun; NULL: none */
	const char *scratch;       /* a folder that is to go with the supervisor; NULL */
	int channel;               /* to the supervisor; see protocol.h */
	int terminal;              /* becomes the controlling one of the command's session; or -1 */
	/* Called when all is ready and nothing was started; what waits for others waits there.
	 * NULL: there is nothing to wait for. */
	int (*await)(const void *data, struct err *err);
	const void *await_data;
};

_Noreturn void warden_run(const struct warden_job *job);

/* -- For those who work for it -------------------------------------------- */

struct warden {
	const struct warden_job *job;
	pid_t command;
	bool enclosed; /* kill(-1) reaches the run and nobody else, as in a pid namespace */
	bool hushed;   /* everybody is stopped by order, which is no news */
};

void warden_signal_all(const struct warden *w, int sig);
/* STATUS: the command's, to be reported; -1: nobody is there whom it would concern. */
_Noreturn void warden_end(const struct warden *w, int status);
_Noreturn void warden_orphaned(const struct warden *w); /* the supervisor is gone */
/* The caller's is of no use to a tool, and none of the sandbox's business. */
void warden_forget_environment(void);
