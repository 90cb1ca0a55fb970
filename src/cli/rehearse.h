/* SPDX-License-Identifier: MIT */
/*
 * rehearse - run a command once, to see what it does, and keep nothing of it.
 *
 * Through `pale run`, under a given spec, with all writes in a stage of its own that
 * is thrown away afterwards, whatever happens. One that a killed pale left behind is
 * removed by the next rehearsal. To the history it is a run without a name: what is
 * learned from the runs of a command comes from real ones.
 */
#pragma once
#include "api/context.h"
#include "learn/evidence.h"

struct spec;

struct rehearsal {
	const struct context *context;
	const struct spec *spec;
	char *const *argv; /* ends in NULL */
	bool profile;      /* reads and executions, too */
};

/* What the command says goes to standard error. A signal that asks us to end goes to it,
 * and -EINTR comes back. Of RET, `digest` is the caller's to fill in. */
int rehearse(const struct rehearsal *rehearsal, struct evidence *ret, struct err *err);

/* The argv of a registered command, without further arguments. */
int rehearsal_argv(const struct command *command, struct strv *ret, struct err *err);
