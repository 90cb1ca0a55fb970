/* SPDX-License-Identifier: MIT */
/* run-ear - what a run, above all its network, has to say to whoever runs it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct loop;
struct violation;
struct violations;

struct run_ear {
	/* Before the command starts, unless it is known before that nothing will; NULL: of no
	 * interest. */
	void (*starts)(void *data);
	/* NEW is in FOUND, and was not there before; `rule` and `fix` may be filled. NULL: they
	 * are wanted at the end alone. */
	void (*refused)(void *data, struct violations *found, struct violation *new);
	/* As in struct broker_ear; NULL: nobody can be asked. */
	void (*ask)(void *data, const char *name, uint16_t port, const char *program,
		    void (*answer)(void *answer_data, bool allow), void *answer_data);
	/* The loop that it lives in, from here until it is over, when whoever was asked has to
	 * answer; NULL: of no interest. */
	void (*begins)(void *data, struct loop *loop);
	void (*over)(void *data);
	void *data;
};
