/* SPDX-License-Identifier: MIT */
/*
 * landlock - a domain that a process enters for good, with all it starts.
 *
 * Files can be reached as far as a rule opens them, whatever the mounts say;
 * signals and unix sockets reach only who is in the domain. The set of
 * rules is a descriptor: made by whoever can still open paths, entered later by
 * the command's process alone. Allocation-free.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

/* The rules of a set once more: a set can be entered often, but not copied. */
struct landlock_kept {
	struct {
		int fd;
		uint64_t rights;
	} rules[256];
	size_t len;
};

struct landlock {
	int ruleset;                /* -1: none */
	int around;                 /* another one, for landlock_enter_around(); -1: none */
	unsigned about;             /* LANDLOCK_... */
	uint64_t handled;           /* rights on files that need a rule; 0: files are free */
	struct landlock_kept *kept; /* for landlock_enter_anew(); NULL: not wanted */
};
#define LANDLOCK_NONE ((struct landlock){.ruleset = -1, .around = -1})

/* What a domain is about. */
enum {
	LANDLOCK_FILES = 1 << 0,
	LANDLOCK_SIGNALS = 1 << 1,  /* ABI 6 */
	LANDLOCK_ABSTRACT = 1 << 2, /* ABI 6 */
	LANDLOCK_SOCKETS = 1 << 3,  /* ABI 9: those that have a path */
	LANDLOCK_SHARED = 1 << 4,   /* several commands are to reach each other's sockets */
};

/* What a rule opens, beyond reading and executing. */
enum {
	ALLOW_WRITE = 1 << 0,   /* everything else that can be done to files */
	ALLOW_DEVICES = 1 << 1, /* ioctl() on devices */
	ALLOW_FILE = 1 << 2,    /* it is no folder */
	ALLOW_SOCKET = 1 << 3,  /* who listens there can be reached */
};

/* The version of the running kernel's Landlock; 0: none. */
int landlock_abi(void);
/* All rights on files that this version knows. */
uint64_t landlock_rights(int abi);

/* A set without rules. -EOPNOTSUPP: this kernel has no such scope. */
int landlock_init(struct landlock *landlock, unsigned about, struct err *err);
void landlock_release(struct landlock *landlock);
/* Open what FD, which may be O_PATH, refers to and everything below. */
int landlock_allow(const struct landlock *landlock, int fd, unsigned flags, struct err *err);
/* Descriptors 0, 1 and 2 can be reopened by /proc/self/fd in the direction that
 * they were opened in, wherever they are. Then enter. Needs no_new_privs, or
 * CAP_SYS_ADMIN in the user namespace. */
int landlock_enter(const struct landlock *landlock, struct err *err);
/* The same for one of many: what is opened for its descriptors is opened for nobody else. */
int landlock_enter_anew(const struct landlock *landlock, struct err *err);
/* A set of its own with the rules that were kept, to be entered by landlock_enter(). */
int landlock_copy(const struct landlock *landlock, struct landlock *ret, struct err *err);
/* Enter another one, about signals alone: from then on those of this process, kill(-1)
 * too, reach what it starts and nobody else, even its parent. Needs the same. */
int landlock_enclose(struct err *err);
/* Before any of that, by whoever starts the commands, where there is such a set: the sockets of
 * all that it starts are those made inside. If it is about those that have a path, nothing can
 * be mounted from then on. */
int landlock_enter_around(const struct landlock *landlock, struct err *err);
