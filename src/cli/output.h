/* SPDX-License-Identifier: MIT */
/*
 * output - text that may be long: in pieces, through a pager when it goes to a
 * terminal.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"

struct err;

struct output {
	struct str text; /* append here, then output_step() */
	int fd;
	pid_t pager;      /* 0: none */
	bool on_terminal; /* also behind a pager: escape what could deceive */
	bool colour;
	bool is_closed; /* the reader has gone: no more is wanted */
	int error;
};

/* PAGED: through $PALE_PAGER, $GIT_PAGER, $PAGER or less, if standard output is a
 * terminal. One that cannot be started is none. */
void output_open(struct output *out, bool paged);
/* Write what there is, if it is a lot. -EPIPE: no more is wanted, which is no error. */
int output_step(struct output *out);
/* Write the rest and wait for the pager. 0, or -errno and err. */
int output_close(struct output *out, struct err *err);

unsigned terminal_columns(int fd); /* 80 when it is none */
