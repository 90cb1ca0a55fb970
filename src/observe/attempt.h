/* SPDX-License-Identifier: MIT */
/* attempt - one call of a command, as far as it can be read: names and addresses. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "net/endpoint.h"
#include "observe/address.h"
#include "observe/verdict.h"

struct call;
struct profile;
struct seccomp_data;

struct attempt {
	pid_t pid;
	const struct call *call; /* NULL: none that is about names */
	const char *op;
	unsigned flags; /* of an open */
	bool no_follow; /* a link is meant itself */
	struct {
		const char *path; /* NULL: none, or it could not be read */
		enum name_use use;
	} uses[2];
	char path[PATH_MAX], path2[PATH_MAX];
	struct address address; /* of a connection; a path is in `path`, too */
	struct endpoint to;     /* the same, of one that is neither a path nor abstract */
};

/* While the task PID waits. */
void attempt_read(pid_t pid, const struct seccomp_data *data, struct attempt *ret);
void attempt_profile(const struct attempt *attempt, struct profile *profile);
