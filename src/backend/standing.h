/* SPDX-License-Identifier: MIT */
/*
 * standing - a sandbox that stays up, and the commands that run in it.
 *
 * The walls of a plan with a warden inside that waits for errands: an errand is one command,
 * and costs a fork and an exec. Each is confined anew (seccomp, Landlock, rlimits), observed
 * on a listener of its own, and has a result of its own. Everything happens in the caller's
 * loop; nothing here waits. What an errand leaves running stays until the sandbox ends.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct loop;
struct plan;
struct pty;
struct result;
struct standing;

/* Borrowed for the call. */
struct errand {
	uint32_t id; /* the caller's choice; no living one's */
	char *const *argv;
	char *const *env; /* all of it */
	const char *cwd;  /* as seen inside */
	int fds[3];       /* become its 0, 1 and 2 */
	int notes;        /* becomes its 3: where a shell leaves what it is to remember; -1: none */
	const struct pty *pty; /* a terminal for it, made after this one; NULL: none */
	bool is_tool;          /* argv is for plan->tool */
	uint64_t timeout_ms, cpu_ms, memory, pids; /* its own; UINT64_MAX: none */
};

struct standing_ear {
	/* The other end of its terminal, the callee's from here on. */
	void (*terminal)(void *data, uint32_t id, int master);
	void (*stopped)(void *data, uint32_t id); /* by a signal, with a terminal */
	/* FAILED: nothing was executed, and why; else NULL and RESULT says how it ended. The
	 * events and violations are the callee's to release. */
	void (*ended)(void *data, uint32_t id, struct result *result, const struct err *failed);
	/* The sandbox has ended, and everything inside. Every living errand was told first. */
	void (*gone)(void *data);
	void *data;
};

/* Raise the walls of PLAN, whose argv is of no matter. PLAN, LOOP and EAR outlive it. Waits
 * until it stands or cannot: then err says why, as with engine_run(). */
int standing_open(const struct plan *plan, struct loop *loop, const struct standing_ear *ear,
		  struct standing **ret, struct err *err);
/* What becomes of it is told to the ear, later. */
int standing_start(struct standing *s, const struct errand *errand, struct err *err);
void standing_signal(struct standing *s, uint32_t id, int sig); /* to its process group */
void standing_end(struct standing *s, uint32_t id); /* its processes: SIGTERM, later SIGKILL */
/* End everything at once, wait for that, and clean up. RET, if not NULL: usage of the whole,
 * and events such as tampering. NULL ok; returns NULL. */
struct standing *standing_close(struct standing *s, struct result *ret);
