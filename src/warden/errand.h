/* SPDX-License-Identifier: MIT */
/*
 * errand - one command for a sandbox that stays up, and how it is sent there.
 *
 * One packet: struct errand_order, then the words (folder, arguments, environment), each
 * ended by a NUL; when they are many, in a sealed memory file that is the first of the
 * descriptors. The others are its 0, 1 and 2, but for those that become a terminal, and
 * the one for notes. Made by the supervisor, read by the warden in place.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "warden/protocol.h"
#include "warden/pty.h"

struct err;

/* Arguments and environment together, as sent. */
#define ERRAND_SIZE_MAX   (1 << 20)
#define ERRAND_INLINE_MAX (12 << 10) /* words in the packet itself */
#define ERRANDS_MAX       1024       /* at one time */

/* Borrowed for the call. */
struct errand {
	uint32_t id; /* the caller's choice: not 0, and no living one's */
	char *const *argv;
	char *const *env; /* all of it */
	const char *cwd;  /* as seen inside */
	int fds[3];       /* become its 0, 1 and 2; no folder, no terminal; -1 where PTY is it */
	int notes;        /* becomes its 3: where a shell leaves what it is to remember; -1: none */
	const struct pty *pty; /* a terminal for it, made after this one; NULL: none */
	bool is_tool;          /* argv is for plan->tool */
	uint32_t umask;
	uint64_t timeout_ms, cpu_ms, memory, pids; /* its own; UINT64_MAX: none */
	/* Called once, before its program can have begun: 0, or -errno when it may not. NULL ok. */
	int (*begins)(void *data, struct err *err);
	void *data;
};

enum {
	ERRAND_TOOL = 1 << 0,
	ERRAND_NOTES = 1 << 1,
	ERRAND_APART = 1 << 2, /* the words are in a file */
	ERRAND_HELD = 1 << 3,  /* it has limits: what it starts stays below a holder */
};

struct errand_order {
	struct warden_order order; /* WARDEN_ERRAND; `value`: ERRAND_... */
	uint32_t argc, envc, size; /* `size`: of the words */
	uint32_t umask;
	struct pty pty;
};

enum { ERRAND_FDS_MAX = 5 };

/* Ready to be sent: `order`, then `words` unless they are apart. */
struct errand_packet {
	struct errand_order order;
	char *words; /* owned; NULL when apart */
	int fds[ERRAND_FDS_MAX];
	size_t fds_len;
	int file; /* owned: the words, apart; -1 */
};

/* Is it to be looked after because it has limits? A tool starts nothing. */
bool errand_is_held(const struct errand *errand);
/* -E2BIG: too long to be sent, or for the kernel to execute. */
int errand_pack(const struct errand *errand, struct errand_packet *ret, struct err *err);
/* What is to be sent, as 1 or 2 parts. */
size_t errand_packet_parts(struct errand_packet *packet, struct iovec parts[2]);
void errand_packet_release(struct errand_packet *packet);

/* The words of ORDER at TEXT, SIZE bytes, as pointers in POINTERS, which has room for
 * errand_pointers(). -EBADMSG. */
struct errand_words {
	char *cwd, **argv, **env;
};
size_t errand_pointers(const struct errand_order *order);
int errand_unpack(const struct errand_order *order, char *text, size_t size, char **pointers,
		  struct errand_words *ret);
/* How many descriptors ORDER comes with. */
size_t errand_fds(const struct errand_order *order);
