/* SPDX-License-Identifier: MIT */
/*
 * launch - one command: a process of its own, confined for good, that becomes a program.
 *
 * A vfork-like clone that shares the warden's memory, so that a failed exec is known by
 * its errno. A tool of our own is forked instead, since it runs for long and allocates.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "warden/pty.h"

struct err;
struct op;
struct parcel;
struct parcel_words;
struct warden_job;

struct launch {
	char *const *argv;
	char *const *env;
	bool is_tool;     /* argv is for the job's tool */
	bool is_observed; /* the warden has entered the filter for both, and reports it */
	int terminal; /* it is a job in the foreground of this one, whose session we lead; or -1 */
	bool is_errand; /* and so are the rest; else 0, 1, 2 and the folder are in place */
	uint32_t id;
	const char *cwd;
	mode_t umask;
	int fds[3]; /* become its 0, 1 and 2; -1: what is there, or becomes a terminal */
	int notes;  /* becomes its 3; -1: none */
	const struct pty *screen; /* a terminal for output only, opened by itself; NULL: none */
};

/* Errands have the limits that we have now, whatever becomes of ours. */
int launch_keep_limits(struct err *err);
/* That of an errand, which came as PARCEL and is good as long as that and WORDS are. */
struct launch launch_of(const struct parcel *parcel, const struct parcel_words *words);
/* For a process that is to become an errand: what can be done before it is known which, and
 * that it is ready, as ID; then the rest, but for its program. Limits come first: the filters
 * of others let nobody change them. */
int launch_prepare_ahead(const struct warden_job *job, uint32_t id, struct err *err);
int launch_prepare_rest(const struct warden_job *job, const struct launch *command,
			struct err *err);
/* Enter the filter, for good, and for what is launched; *ret_listener is -1 where none is to be
 * had. Then tell that ID starts, and pass the listener on: it is closed. */
int launch_observe(const struct op *observed, int *ret_listener, struct err *err);
int launch_report(uint32_t id, int channel, int listener, struct err *err);
/* Its pid; or -errno, and err says why nothing was executed. */
pid_t launch_command(const struct warden_job *job, const struct launch *command, struct err *err);
