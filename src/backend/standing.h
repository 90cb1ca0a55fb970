/* SPDX-License-Identifier: MIT */
/*
 * standing - a sandbox that stays up, and the commands that run in it.
 *
 * The walls of a plan with a warden inside that waits for errands: an errand is one command,
 * and costs a fork and an exec. Each is confined anew (seccomp, Landlock), observed on a
 * listener of its own, and has a result of its own. Everything happens in the caller's
 * loop; nothing here waits, but for opening and closing.
 *
 * What an errand leaves running stays until the sandbox ends. An errand that is ended, by
 * its limits or by standing_end(), takes its process group, its session and its descendants
 * along; what has left all three belongs to the sandbox, and ends with that.
 *
 * The plan's memory, pids and disk hold for the sandbox as a whole. Its timeout and cpu are
 * of no matter here: those of an errand are its own.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "warden/errand.h"

struct err;
struct events;
struct loop;
struct plan;
struct result;
struct rules;
struct standing;
struct violation;
struct violations;

/* Never called from within standing_start() or standing_open(). None of them may close the
 * sandbox; they may start, signal and end errands. */
struct standing_ear {
	/* The other end of its terminal, the callee's from here on. Before it ends. */
	void (*terminal)(void *data, uint32_t id, int master);
	void (*stopped)(void *data, uint32_t id); /* by a signal, with a terminal */
	/* FAILED: nothing was executed, and why; else NULL and RESULT says how it ended. The
	 * events and violations are the callee's to release. The id is free again. */
	void (*ended)(void *data, uint32_t id, struct result *result, const struct err *failed);
	/* Errand ID attempted something new that was refused: NEW is in FOUND. `rule` and `fix` may
	 * be filled. NULL: `ended` is soon enough. */
	void (*refused)(void *data, uint32_t id, struct violations *found, struct violation *new);
	/* As in struct run_ear. */
	void (*ask)(void *data, const char *name, uint16_t port, const char *program,
		    void (*answer)(void *answer_data, bool allow), void *answer_data);
	/* While no errand lived: by what one left behind, or by the host. NULL: standing_close()
	 * tells. */
	void (*tampered)(void *data, const struct events *events);
	/* The sandbox has ended, and everything inside. Every living errand was told first.
	 * standing_close() is still to be called, later. */
	void (*gone)(void *data);
	void *data;
};

/* Raise the walls of PLAN, whose argv and env are of no matter. PLAN, LOOP and EAR outlive it.
 * Waits until it stands or cannot: then err says why, as with engine_run(). The calling
 * process is the sandbox's parent: its end is the sandbox's. Where the boundary is no pid
 * namespace of ours it becomes a subreaper, and has no children of another kind at the
 * end, since those would be ended, too. */
int standing_open(struct plan *plan, struct loop *loop, const struct standing_ear *ear,
		  struct standing **ret, struct err *err);
/* What becomes of it is told to the ear, later. -E2BIG, -EISDIR, -ENOTTY (a descriptor is a
 * terminal), -EEXIST (the id), -EAGAIN (too many), -EPIPE (it is gone). */
int standing_start(struct standing *s, const struct errand *errand, struct err *err);
/* An id that is not living is no error: it may have ended a moment ago. */
void standing_signal(struct standing *s, uint32_t id, int sig); /* to its process group */
/* Rules of its network, while it lives; as broker_narrow() and broker_widen(). */
int standing_narrow(struct standing *s, const char *rule, unsigned *ret_gone, struct err *err);
int standing_widen(struct standing *s, const char *rule, struct err *err);
void standing_end(struct standing *s, uint32_t id); /* its processes: SIGTERM, later SIGKILL */
/* What may be reached from inside, now: valid until the loop turns. */
struct standing_network {
	const struct rules *rules;            /* see net/rules.h */
	uint64_t connections, sent, received; /* so far, as the commands see it */
};
bool standing_network(const struct standing *s, struct standing_network *ret); /* false: none */
pid_t standing_pid(const struct standing *s); /* of our child, below which all the rest is */
/* End everything at once, wait for that, and clean up. The ear hears nothing any more; living
 * errands are forgotten. RET, if not NULL: usage of the whole, and events such as tampering
 * that no errand was told of. NULL ok; returns NULL. */
struct standing *standing_close(struct standing *s, struct result *ret);
