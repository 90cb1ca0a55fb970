/* SPDX-License-Identifier: MIT */
/*
 * engine - enforces a plan on this machine with the kernel's own interfaces.
 *
 * engine_run() is the supervisor: it clones the warden into new namespaces,
 * passes signals on, ends the run on time, and takes the warden's report.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct loop;
struct plan;
struct result;
struct stdio;

/* Who looks at what an observed command attempts. The engine knows of it that a listener
 * comes, and that somebody has to answer. */
struct watcher {
	/* LISTENER stays the engine's, and is open until the run has ended. */
	void (*begin)(void *data, int listener);
	/* A call waits, or did: answer a few. Never waits itself. False: it cannot. */
	bool (*serve)(void *data);
	/* Nobody is left who could call. NULL: of no interest. */
	void (*done)(void *data);
	void *data;
};

/* Who reaches out for a command whose plan is brokered. The engine brings sockets of the
 * sandbox's network, and a loop to live in. */
struct gateway {
	/* Before anything is started. MORE(more_data) asks for another batch of sockets, which
	 * comes later; it never waits. */
	int (*open)(void *data, struct loop *loop, int (*more)(void *more_data), void *more_data,
		    struct err *err);
	/* Unbound stream sockets of the sandbox's network, the callee's from here on; with the
	 * first batch also one for IPv4 datagrams and raw ones for ICMP and, where the kernel has
	 * IPv6, ICMPv6: SO_DOMAIN, SO_TYPE and SO_PROTOCOL tell which is which. All are
	 * O_NONBLOCK. A later batch
	 * may be smaller than others, and empty when there are none to be had. */
	void (*take)(void *data, const int *fds, size_t len);
	/* Nobody is left inside, or nobody came up: leave the loop. After open() only. */
	void (*close)(void *data);
	void *data;
};

/* What must have happened before the command starts, and can while its sandbox is built. */
struct prelude {
	void (*play)(void *data);
	void *data;
};

/* Who else has to do with a run; NULL: nobody. */
struct attendants {
	const struct watcher *watcher; /* not NULL for a plan that observes */
	const struct gateway *gateway; /* not NULL for one that is brokered */
	const struct prelude *prelude; /* not played when it is known before that nothing starts */
};

/* Execute PLAN; our own 0, 1 and 2 must be open as well as those of STDIO. ERR is not NULL.
 * 0: the command was executed and *ret is filled. Else nothing was executed and err says why. */
int engine_run(const struct plan *plan, const struct stdio *stdio,
	       const struct attendants *attendants, struct result *ret, struct err *err);

/* Remove what engine_run() has left, when there is no more to do. */
void engine_tidy(void);

/* While the caller's terminal is needed for something else: what engine_run() of this process
 * carries waits, in both directions. */
void engine_hold(bool held);

/* Would it get as far as that? Makes the namespaces of a native PLAN in a child
 * that does nothing in them; looks for bubblewrap and tries it for one of bwrap's.
 * Bounded to a second. */
int engine_try(const struct plan *plan, struct err *err);
/* A bubblewrap that works here, or NULL and why. */
const char *engine_find_bwrap(struct err *err);
