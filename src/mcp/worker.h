/* SPDX-License-Identifier: MIT */
/*
 * worker - one `pale` process that does what a call asks for.
 *
 * With a result, the socket that brings it is also its lifeline: a hang-up, and so our
 * own end however it comes, ends the run. All descriptors are non-blocking.
 */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "mcp/tail.h"

enum {
	WORKER_RESULT_FD = 3, /* in the worker */
	WORKER_PASSED_FD = 4,
	WORKER_TEXT_FD = 5, /* and the next one */
	WORKER_TEXTS = 2,
	WORKER_FDS = 4,               /* that it is waited on by, at most */
	WORKER_OUTPUT_MAX = 32 << 10, /* of a command's output: the end */
	WORKER_DATA_MAX = 8 << 20,    /* of what a verb prints */
};

/* What to start; borrowed. */
struct work {
	const struct strv *argv;         /* after "pale" */
	const char *input;               /* its standard input; NULL: none */
	bool has_result;                 /* descriptor 3 takes it */
	bool is_command;                 /* both streams are a command's output: one tail */
	int passed;                      /* becomes descriptor 4; -1: none */
	const char *texts[WORKER_TEXTS]; /* become files 5 and 6; NULL: none */
};

struct worker {
	pid_t pid; /* 0: none */
	int pidfd, result, out, err;
	bool is_command;
	struct str answer;  /* from the result's socket */
	struct str data;    /* standard output of a verb */
	bool is_cut;        /* there was more than WORKER_DATA_MAX */
	struct tail output; /* of a command; else what a verb says on standard error */
	int status;         /* as waitpid(2), once it has ended */
	uint64_t told_ns;   /* when it was told to end; 0: not yet */
	unsigned urgency;
};

void worker_init(struct worker *worker);
void worker_release(struct worker *worker); /* kills it if it is still there */
/* WORKDIR: where it starts. 0 or -errno. */
int worker_start(struct worker *worker, const char *program, const char *workdir,
		 const struct work *work);
/* Fill FDS with what to wait for; returns how many. */
size_t worker_fds(const struct worker *worker, struct pollfd fds[WORKER_FDS]);
/* Take what has come. 1: it has ended and is reaped; 0: not yet; -ENOMEM. */
int worker_step(struct worker *worker);
/* Tell it to end: a hang-up or SIGTERM first, SIGKILL at last. To be called until it has
 * ended, each time worker_due() has come. */
void worker_end(struct worker *worker, uint64_t now_ns);
uint64_t worker_due(const struct worker *worker); /* UINT64_MAX: never */
/* As a shell sees it: the exit status, or 128 and the signal. */
int worker_exit(const struct worker *worker);
