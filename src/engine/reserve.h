/* SPDX-License-Identifier: MIT */
/*
 * reserve - the supervisor's side of a spare (warden/spare.h): at most one is there, for some
 * time after a command.
 *
 * Whoever is inside can send a spare signals, and have it run with less priority. One that is
 * gone does not take its errand; one that is not as the warden is does not get it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "base/sys.h"

struct errand;
struct iovec;
struct parked;
struct plan;
struct warden_order;
struct warden_report;

/* How the kernel runs somebody. */
struct manner {
	struct sys_sched_attr attr; /* flags and slice among it */
	int ioprio;
	unsigned long cpus[16];
};

struct reserve {
	struct loop *loop; /* NULL: this sandbox has none */
	struct parked *parked;
	struct loop_timer timer; /* nobody wanted it for a while */
	uint32_t id;             /* of the one that was ordered last */
	int sock;                /* to it; -1: none was ordered */
	pid_t pid;               /* 0: not ready */
	int listener;            /* of its filter; -1: none */
	struct manner manner;    /* the warden's, when it got ready */
	bool asked;              /* to take an errand */
	bool has_it;             /* and may not begin yet */
};

typedef int reserve_send(void *data, const struct warden_order *order, const int *sock);

/* A limit of processes would count it, and a plan that is not observed gains little. */
void reserve_init(struct reserve *r, const struct plan *plan, struct loop *loop,
		  struct parked *parked);
/* For the next errand, if it comes soon: order one by SEND, unless one is there. */
void reserve_fill(struct reserve *r, reserve_send *send, void *data);
/* True: REPORT is about the one that is here, and FD, which came along, taken. WARDEN: its
 * pid. */
bool reserve_take(struct reserve *r, const struct warden_report *report, int fd, pid_t sender,
		  pid_t warden);
/* Pass ERRAND to the one that is ready, which prepares itself while it is looked whether it may
 * begin. */
void reserve_offer(struct reserve *r, const struct errand *errand, const struct iovec *parts,
		   size_t n_parts, const int *fds, size_t n_fds);
/* It may, or not. */
struct given {
	uint32_t id;  /* what the warden calls it from now on; 0: nobody here has it */
	int listener; /* the caller's; -1: none */
	pid_t pid;
};
struct given reserve_give(struct reserve *r, bool may_begin);
void reserve_release(struct reserve *r);
