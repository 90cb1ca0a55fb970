/* SPDX-License-Identifier: MIT */
/*
 * confine - what a process does to itself, for good.
 *
 * Each step is inherited by everything that the process starts, and none can
 * be taken back. Allocation-free: they run between clone and exec.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct seccomp_data;

/* Empty the permitted, effective, inheritable, ambient and bounding sets, and
 * lock securebits so that uid 0 brings nothing back. */
int confine_drop_caps(struct err *err);
/* Is every set empty, the bounding set included, with no_new_privs? Nothing can
 * bring one back then. */
bool confine_has_no_caps(void);
/* The same without the right to touch the bounding set: what no_new_privs keeps
 * from being of use anyway. */
int confine_clear_caps(struct err *err);
int confine_no_new_privs(struct err *err);
/* The caller's keys are out of reach from here on. */
int confine_fresh_keyring(struct err *err);
int confine_no_core(struct err *err);
/* Lower RESOURCE of setrlimit(2), soft and hard. */
int confine_limit(int resource, uint64_t value, struct err *err);
/* No real-time priority, and none above the present one, whatever the user's limits are. */
int confine_no_priority(struct err *err);
/* Half of the user's signals that may wait, and of the bytes in POSIX queues: others keep the rest. */
int confine_spare_queues(struct err *err);
/* The filter of refused system calls. VARIANT: the first two are bits, the next two are for
 * a process without namespaces, the last ones for commands that share a pid namespace.
 * Needs no_new_privs. */
enum {
	SECCOMP_VISIBLE = 1,
	SECCOMP_NESTED = 2,
	SECCOMP_BARE = 4,         /* visible, no unix sockets, no System V IPC */
	SECCOMP_BARE_OFFLINE = 5, /* no sockets at all, but pairs */
	SECCOMP_SHARED = 6,       /* limits of other processes stay as they are */
	SECCOMP_SHARED_NESTED = 7,
};
int confine_seccomp(unsigned variant, struct err *err);
/* The same, and a listener is told of what the call numbers in tools/seccomp-gen.c attempt
 * and of every refusal, and answers in the kernel's place: as seccomp_answer() says. Returns
 * the listener or -errno; -EBUSY: somebody listens already, -EINVAL: an older kernel. */
enum seccomp_audience {
	SECCOMP_OBSERVED, /* changes, connections, refusals */
	SECCOMP_BROKERED, /* … and what is sent to an address; with namespaces only */
	SECCOMP_PROFILED, /* … and reads and executions */
};
int confine_seccomp_observed(unsigned variant, enum seccomp_audience audience);
/* What the filter without a listener says of a call: 0 to allow it, or -errno. Registers
 * are all that it looks at, so that nothing can change its mind later. */
int seccomp_answer(unsigned variant, const struct seccomp_data *data);
const char *seccomp_call_name(int nr); /* "unshare"; "?" for an unknown one */
