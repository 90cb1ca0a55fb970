/* SPDX-License-Identifier: MIT */
/*
 * streams - what the command's 0, 1 and 2 are, and what passes through us.
 *
 * A file is passed as it is, but on stdin with a position of its own. Where the caller has a
 * terminal, the command gets one of its own, and where he has a pipe, a pipe of its own: the
 * supervisor carries the bytes. Whoever has one end of a pipe can open the other, and others
 * have the caller's, too. So it is with a file that is appended to. With a limit on output,
 * stdout and stderr are pipes to the supervisor in any case. Without any of them there is nothing
 * to carry and nothing to pay.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/fd.h"
#include "base/loop.h"
#include "engine/bookmark.h"
#include "engine/inlet.h"
#include "engine/pump.h"
#include "engine/terminal.h"

struct err;
struct plan;

struct relay {
	struct streams *owner;
	struct pump pump;
	int source, sink; /* -1: closed */
	bool source_on;   /* watched by the loop */
	short sink_events;
	uint64_t left; /* to be read once the run has ended */
	bool active;
	bool is_plain; /* from pipe to pipe, without a limit */
};

enum { RELAY_STDOUT, RELAY_STDERR, RELAY_SCREEN, RELAY_KEYBOARD, RELAY_COUNT_ };

struct streams {
	struct stdio outer; /* the caller's */
	struct stdio inner; /* what the child begins with */
	struct terminal terminal;
	struct inlet inlet;
	struct bookmark bookmark;
	struct relay relays[RELAY_COUNT_];
	struct loop *loop;
	struct loop_timer look; /* whether we are in the foreground now */
	int channel;
	bool in_use; /* anything to carry at all */
	bool foreground;
	bool ending;
	bool held; /* the caller's terminal is somebody else's for now */
};

/* Decide. Refuses descriptors that the command must not have. */
int streams_init(struct streams *s, const struct plan *plan, const struct stdio *stdio,
		 struct err *err);
/* FD is to be descriptor NUMBER of a command as it is: a folder and some sockets would lead
 * out of the sandbox, and a terminal is the caller's. */
int streams_check(const struct plan *plan, int number, int fd, struct err *err);
/* In the supervisor, once the child is there. CHANNEL is the warden's. */
void streams_start(struct streams *s, struct loop *loop, int channel);
/* The other end of the command's terminal has come; MASTER is ours from here on. */
void streams_attach(struct streams *s, int master);
/* Give the caller's terminal back, and take it again. */
void streams_suspend(struct streams *s);
void streams_resume(struct streams *s);
void streams_hold(struct streams *s, bool held); /* carry nothing, and go on */
/* The run has ended: carry what is left. True when nothing is; else the loop is
 * done once it is written. */
bool streams_end(struct streams *s);
/* At every end, also before streams_start(). Returns how much was dropped. */
uint64_t streams_release(struct streams *s);
