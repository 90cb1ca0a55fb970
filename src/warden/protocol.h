/* SPDX-License-Identifier: MIT */
/*
 * protocol - what supervisor and warden say to each other.
 *
 * One SOCK_SEQPACKET pair, one struct per message. The warden reports STARTING
 * and then EXITED, or FAILED at any point before the command's program runs; the
 * supervisor reads that when the warden has ended. With a terminal it reads at
 * once: TERMINAL comes first, and STOPPED whenever the command was stopped. It
 * sends orders at any time. An observed command's own process says LISTENER, just before
 * its program, in place of STARTING: its calls wait for answers. A staged run reports MOUNTED before all else, and is answered
 * by one byte. When its end is closed, the warden ends the run.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum warden_report_kind {
	WARDEN_FAILED,   /* nothing was executed; `err` says why */
	WARDEN_STARTING, /* from here on the command may have been executed */
	WARDEN_EXITED,   /* `status` as in waitpid(2) */
	WARDEN_TERMINAL, /* the supervisor's end of the command's terminal comes along */
	WARDEN_STOPPED,  /* the command, by a signal; not after an order to stop everybody */
	WARDEN_MOUNTED,  /* the stage; descriptors for others come along */
	WARDEN_LISTENER, /* as WARDEN_STARTING; the listener of its filter comes along */
};

struct warden_report {
	uint32_t kind;
	int32_t status;
	struct err err; /* sent only with WARDEN_FAILED */
};

enum warden_order_kind {
	WARDEN_SIGNAL,     /* `value` to the command's process group */
	WARDEN_SIGNAL_ALL, /* `value` to every process of the run */
};

struct warden_order {
	uint32_t kind;
	int32_t value;
};

int warden_send_report(int channel, const struct warden_report *report);
/* Has a report arrived that was not taken yet? */
bool warden_has_report(int channel);
/* 0, or -errno: -EPIPE when the other side is gone, -EBADMSG. */
int warden_receive_report(int channel, struct warden_report *ret);
enum { WARDEN_FDS_MAX = 64 };
/* A report with copies of N descriptors. */
int warden_send_fds(int channel, enum warden_report_kind kind, const int *fds, size_t n);
/* As warden_receive_report(); what came along, at most *n_fds, is the caller's. */
int warden_receive_fds(int channel, struct warden_report *ret, int *ret_fds, size_t *n_fds);
/* Send WARDEN_TERMINAL and with it a copy of FD. */
int warden_send_terminal(int channel, int fd);
/* As warden_receive_report(); *ret_fd is what came along, the caller's, or -1. */
int warden_receive_terminal(int channel, struct warden_report *ret, int *ret_fd);
int warden_send_order(int channel, enum warden_order_kind kind, int value);
int warden_receive_order(int channel, struct warden_order *ret);
