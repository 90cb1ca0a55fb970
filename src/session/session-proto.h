/* SPDX-License-Identifier: MIT */
/*
 * session-proto - what clients and the keeper of a session say to each other.
 *
 * SOCK_SEQPACKET, one head and one body per packet. A body that is too long for a packet
 * comes in a sealed memfd, the last of the descriptors. A body is a struct of fixed size
 * and then strings, each ended by a NUL. Every request has one answer, but signals for its
 * own command, which have none, and EXEC, which may be told PIPES, TERMINAL and STOPPED
 * before RESULT. A client that hangs up ends what it runs in the foreground.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>
#include <sys/ioctl.h>

struct err;
struct str;

#define SESSION_MAGIC 0x656c6170u /* "pale" */

enum {
	SESSION_VERSION = 1,
	SESSION_INLINE_MAX = 32 * 1024, /* of a body, in a packet */
	SESSION_BODY_MAX = 1024 * 1024 + 64 * 1024,
	SESSION_FDS_MAX = 5,
	SESSION_ARGS_MAX = 65536, /* strings of each list of EXEC */
};

enum session_kind {
	SESSION_EXEC = 1, /* struct session_exec, cwd, argv, env, set; 0 to 2, and `notes` */
	SESSION_TELL,     /* struct session_number: a signal for the client's own command */
	SESSION_END,      /* the client's own command and its processes */
	SESSION_OUTPUT,   /* struct session_range, the id of a command in the background */
	SESSION_WAIT,     /* its id */
	SESSION_SIGNAL,   /* struct session_number, its id */
	SESSION_STOP,     /* everything */
	SESSION_INFO,
	SESSION_NETWORK, /* struct session_network, rules to take back, rules to add */
	SESSION_ANSWER,  /* struct session_number: the id of a QUESTION, twice, and 1 for yes */
	SESSION_REQUESTS_END_,

	SESSION_ERROR = 64, /* struct session_failure, message, hint */
	SESSION_PIPES,      /* struct session_number: ask again, with pipes of your own */
	SESSION_TERMINAL,   /* one descriptor */
	SESSION_STOPPED,    /* the command was, by a signal */
	SESSION_STARTED,    /* the id, in the background */
	SESSION_RESULT,     /* struct session_result, the id, notes, JSON if it was asked for */
	SESSION_BYTES,      /* struct session_bytes, and then bytes, no string */
	SESSION_DONE,
	SESSION_FACTS, /* JSON */
	/* struct session_number, a rule, a program or "": to who runs a command and can be asked. */
	SESSION_QUESTION,
};

/* Of requests, in the head. */
enum {
	SESSION_HAS_FD = 1 << 0, /* the body is in the last descriptor */
	SESSION_BACKGROUND = 1 << 1,
	SESSION_JSON = 1 << 2,
	SESSION_TOOL = 1 << 3,
	SESSION_PIPED = 1 << 4,     /* `max_output` is the client's to hold */
	SESSION_PTY = 1 << 5,       /* `pty` is meant */
	SESSION_NOTES = 1 << 6,     /* a fourth descriptor */
	SESSION_CWD_ASKED = 1 << 7, /* --cwd: elsewhere will not do */
	SESSION_FOLLOW = 1 << 8,    /* OUTPUT: wait until there is some */
	SESSION_IF_IDLE = 1 << 9,   /* STOP: not when a command is running */
	SESSION_SHELL = 1 << 11,    /* EXEC: argv is one line; see session/shell-state.h */
	SESSION_QUIET = 1 << 10,    /* EXEC: no notes */
	SESSION_ASKS = 1 << 12,     /* EXEC: who sends it can be asked, and wants to */
	SESSION_MAY_ASK = 1 << 13,  /* EXEC: … and need not */
	SESSION_STATE = 1 << 14,    /* OUTPUT: how the command did, as well */
};

struct session_head {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	uint32_t flags;
	uint32_t len; /* of the body */
};

/* UINT64_MAX: not asked for. */
struct session_exec {
	uint64_t timeout_ms, cpu_ms, memory, pids, max_output;
	uint32_t n_argv, n_env, n_set;
	uint32_t pty_mask, pty_interactive;
	struct termios pty_modes;
	struct winsize pty_size;
	uint32_t umask;
};

struct session_network {
	uint32_t n_deny, n_allow;
};
struct session_number {
	uint64_t value;
};
struct session_range {
	uint64_t from;
};
struct session_failure {
	uint32_t code; /* enum err_code */
	int32_t errnum;
};
struct session_result {
	int32_t status;   /* the exit status of who asked */
	uint32_t n_notes; /* each as a whole SESSION_ERROR */
};
struct session_bytes {
	uint64_t from, next; /* what these bytes are, of all that were printed */
	uint64_t total, dropped;
	uint32_t ended; /* and these are the last of them */
};
/* How it did, between that and the bytes: where SESSION_STATE was asked for, and is in the answer. */
struct session_state {
	uint32_t is_over;  /* else what follows says nothing */
	int32_t outcome;   /* enum outcome */
	int32_t exit_code; /* below 0: none */
	int32_t signal;    /* 0: none */
};

struct session_message {
	struct session_head head;
	const char *body;         /* in the buffer, or mapped */
	int fds[SESSION_FDS_MAX]; /* without that of the body */
	size_t n_fds;
	void *mapped; /* NULL: it is in the buffer */
};

/* What a message is received in: nothing is allocated. */
struct session_buffer {
	struct session_head head;
	char body[SESSION_INLINE_MAX];
};

/* FLAGS as in send(2) besides those of the head. 0 or -errno: -EAGAIN, -EPIPE. */
int session_send(int sock, enum session_kind kind, uint32_t flags, const struct str *body,
		 const int *fds, size_t n_fds, int how);
/* *ret is released by session_message_release(), which closes what was not taken.
 * -EPIPE: the other side is gone; -ECONNRESET: likewise, and has not read all that was sent to it,
 * and the next one may say why; -EAGAIN; -EBADMSG: it is no message. */
int session_receive(int sock, struct session_buffer *buffer, struct session_message *ret, int how);
/* Closes and forgets; what stood in BUFFER is overwritten. */
void session_message_release(struct session_message *message, struct session_buffer *buffer);

/* Reading a body. Each returns false when it is not there as a whole. */
struct session_cursor {
	const char *at, *end;
};
static inline struct session_cursor session_cursor(const struct session_message *m)
{
	return (struct session_cursor){m->body, m->body + m->head.len};
}
bool session_take(struct session_cursor *c, void *ret, size_t size);
const char *session_take_string(struct session_cursor *c); /* NULL: there is none */
bool session_take_end(const struct session_cursor *c);
/* N strings as an argv, which is freed by the caller; they stay in the body. */
char **session_take_strings(struct session_cursor *c, uint32_t n);

int session_put_string(struct str *body, const char *text); /* NULL is "" */
/* ERR as the body of SESSION_ERROR, and back. */
int session_put_failure(struct str *body, const struct err *err);
bool session_take_failure(struct session_cursor *c, struct err *ret);
