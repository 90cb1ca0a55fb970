/* SPDX-License-Identifier: MIT */
/*
 * protocol - what supervisor and warden say to each other.
 *
 * One SOCK_SEQPACKET pair, one struct per message. The warden reports STARTING
 * and then EXITED, or FAILED at any point before the command's program runs; the
 * supervisor reads that when the warden has ended. With a terminal it reads at
 * once: TERMINAL comes first, and STOPPED whenever the command was stopped. It
 * sends orders at any time. Where the command is observed LISTENER stands in place of
 * STARTING: its calls wait for answers. A staged run reports MOUNTED before all else, and is answered
 * by one byte. A sandbox whose network is brokered sends SOCKETS as part of its set-up, answered
 * by one byte as well (sockets.h), and again for every order MORE_SOCKETS. When its end is
 * closed, the warden ends the run.
 *
 * A standing warden reports STARTING without an id when it takes errands (errand.h). From
 * then on each report is about the errand whose id it bears: its own process says STARTING
 * or LISTENER, so that the kernel tells its pid; EXITED or FAILED is the last of it. For a
 * spare (spare.h) that is when it is ready, and the errand that it becomes goes by its id.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum warden_report_kind {
	WARDEN_FAILED,   /* nothing was executed; `err` says why */
	WARDEN_STARTING, /* from here on the command may have been executed */
	WARDEN_EXITED,   /* `status` as in waitpid(2) */
	WARDEN_TERMINAL, /* the supervisor's end of the command's terminal comes along */
	WARDEN_STOPPED,  /* the command, by a signal; not after an order to stop everybody */
	WARDEN_MOUNTED,  /* the stage; descriptors for others come along */
	WARDEN_LISTENER, /* as WARDEN_STARTING; the listener of its filter comes along */
	WARDEN_HEARD,    /* an order to kill an errand: it is being carried out */
	WARDEN_QUIET,    /* no errand is there, and nobody whom one left behind */
	WARDEN_SOCKETS,  /* of the sandbox's network; `status`: how many come along */
};

struct warden_report {
	uint32_t kind;
	int32_t status;
	uint32_t id;     /* of an errand; 0: of the only command, or of the sandbox */
	uint32_t cpu_ms; /* of an errand that has exited, and what it waited for */
	uint64_t memory; /* of the largest process of those, in bytes */
	uint64_t written;
	struct err err; /* sent only with WARDEN_FAILED */
};

enum warden_order_kind {
	WARDEN_SIGNAL,     /* `value` to the command's process group */
	WARDEN_SIGNAL_ALL, /* `value` to every process of the run */
	WARDEN_SIGNAL_KIN, /* `value` to all that belongs to an errand, which is to end */
	WARDEN_ERRAND,     /* the beginning of a struct errand_order */
	WARDEN_MORE_SOCKETS,
	WARDEN_SPARE, /* make a spare, which gets its errand by the socket that comes along */
};

/* Ids of spares have this bit, those of other errands do not. */
#define WARDEN_SPARE_ID 0x80000000u

struct warden_order {
	uint32_t kind;
	int32_t value;
	uint32_t id; /* of an errand; 0: of the only command */
};

int warden_send_report(int channel, const struct warden_report *report);
/* Has a report arrived that was not taken yet? */
bool warden_has_report(int channel);
/* 0, or -errno: -EPIPE when the other side is gone, -EBADMSG. */
int warden_receive_report(int channel, struct warden_report *ret);
enum { WARDEN_FDS_MAX = 64 };
/* A report with copies of N descriptors. */
int warden_send_fds(int channel, enum warden_report_kind kind, uint32_t id, const int *fds,
		    size_t n);
/* As warden_receive_report(); what came along, at most *n_fds, is the caller's. More than one
 * comes with MOUNTED and SOCKETS only. */
int warden_receive_fds(int channel, struct warden_report *ret, int *ret_fds, size_t *n_fds);
/* Send WARDEN_TERMINAL and with it a copy of FD. */
int warden_send_terminal(int channel, uint32_t id, int fd);
/* As warden_receive_report(); *ret_fd is what came along, the caller's, or -1. */
int warden_receive_terminal(int channel, struct warden_report *ret, int *ret_fd);
/* As warden_receive_fds() without waiting, -EAGAIN, and who sent it, as seen here: takes
 * warden_expect_senders(). */
int warden_receive_now(int channel, struct warden_report *ret, int ret_fds[WARDEN_FDS_MAX],
		       size_t *ret_n, pid_t *ret_sender);
int warden_expect_senders(int channel);
int warden_send_order(int channel, enum warden_order_kind kind, int value);
int warden_receive_order(int channel, struct warden_order *ret);
