/* SPDX-License-Identifier: MIT */
/* proc - child processes by argv, never through a shell. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct str;

struct child {
	const char *path; /* absolute path of the program */
	char *const *argv;
	char *const *envp;   /* NULL: an empty environment */
	const char *input;   /* text for stdin; NULL: /dev/null */
	const char *cwd;     /* NULL: the caller's */
	bool alone;          /* what is left of its process group at its end is killed */
	unsigned timeout_ms; /* 0: none; past it SIGKILL and -ETIMEDOUT */
	size_t max_output;   /* stdout past it is dropped; 0: stdout is /dev/null */
	int status;          /* result: as waitpid(2) */
};

/* Run to the end, in a process group of its own, which a timeout kills whole.
 * Stdout is appended to *ret_output (may be NULL), stderr goes to /dev/null;
 * descendants that outlive the child are not waited for.
 * 0, or -errno when it could not be run. */
int child_run(struct child *child, struct str *ret_output, struct err *err);
