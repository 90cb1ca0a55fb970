/* SPDX-License-Identifier: MIT */
/* keeper-impl - what the files keeper*.c share. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/run.h"
#include "base/loop.h"
#include "base/str.h"
#include "plan/host.h"
#include "session/fingerprint.h"
#include "session/session-place.h"
#include "session/session-proto.h"
#include "session/shell-state.h"

struct keeper;
struct standing;

enum {
	KEEPER_CLIENTS_MAX = 256,
	KEEPER_JOBS_MAX = 512,    /* that run */
	KEEPER_FINISHED_MAX = 64, /* in the background, whose end can be asked for */
};

/* keeper-output.c: what a command in the background prints, its beginning and its end. */
struct job_output {
	int pipe; /* that it comes by; -1: none any more */
	int file; /* -1: none */
	uint64_t total;
	uint64_t head_max, tail_max;
};
int job_output_open(struct job_output *out, int dir, const char *id, uint64_t max, int *ret_writer,
		    struct err *err);
/* Take what has come. True: there may be more; false: that was the end. */
bool job_output_fill(struct job_output *out);
void job_output_add(struct job_output *out, const char *text);
/* At most SIZE bytes from FROM on into BUF; RET says which these are. */
size_t job_output_read(const struct job_output *out, uint64_t from, char *buf, size_t size,
		       struct session_bytes *ret);
void job_output_close(struct job_output *out);

/* One command. */
struct job {
	struct keeper *keeper;
	struct job *next;
	struct client *client; /* that waits for it in the foreground; NULL: gone, or none */
	uint32_t id;
	uint32_t flags; /* of the request */
	bool is_checked, is_started, is_ended;
	bool has_failed; /* it could not be run */
	uint64_t nth;    /* of those in the background that have ended; 0: it has not */
	struct run run;  /* the session's, but for what is its own */
	struct plan plan;
	struct strv argv;
	struct strv line; /* of a shell: what the history is told in place of argv */
	struct strv set;  /* variables that it was given for this line alone */
	struct strv base; /* of the first line: all others */
	int notes;        /* that its shell writes its state to; -1: none */
	struct err *lost; /* why that was of no use; NULL: it was, or there is none */
	struct job_output output;
	int reply; /* what a file tool writes to; 0: none */
	int status;
};

/* keeper-peer.c: where a process lives, as far as that tells what confines it. */
enum { KEEPER_NAMESPACES = 3 };
struct whereabouts {
	uint64_t namespaces[KEEPER_NAMESPACES]; /* of pids: 0 where it is that of /proc */
	int filters;                            /* of seccomp */
	int no_new_privs;
};
int whereabouts_own(struct whereabouts *ret);
/* Why who is at the other end of SOCK may not ask, or NULL. */
const char *peer_refusal(int sock, const struct whereabouts *own);

struct client {
	struct keeper *keeper;
	struct client *next;
	int sock;
	struct job *job;    /* its own, in the foreground */
	struct job *awaits; /* in the background */
	uint16_t awaited;   /* SESSION_WAIT or SESSION_OUTPUT */
	uint32_t flags;     /* of that request */
	uint64_t from;
};

/* How the configurations of git looked, of which what is protected was made. */
struct keeper_sources {
	struct fingerprint_file *files; /* NULL: nobody has looked yet */
	size_t len;
};

struct keeper {
	struct run *run;
	const struct site *site; /* the run's: another plan may have brought another one */
	struct session_place place;
	struct fingerprint fingerprint;
	struct whereabouts whereabouts;
	struct keeper_sources sources;
	struct strv shown; /* where a command may begin */
	struct loop loop;
	struct standing *standing;
	int listener, signals, lifeline;
	uint64_t idle_ms;
	struct loop_timer idle;
	struct client *clients;
	struct job *jobs;
	int spool;                /* of the history; below 0: not open */
	struct shell_state shell; /* as the last line for it left it */
	size_t n_clients, n_living, n_finished;
	uint64_t n_ends;
	uint32_t last_id;
	struct keeper_question *questions;
	struct strv said_no; /* rules that were refused by who was asked */
	uint64_t last_question;
	unsigned n_asked;
	bool is_gone; /* the sandbox, by itself */
};

/* keeper-clients.c */
int keeper_listen(struct keeper *k, struct err *err);
void keeper_adopt(struct keeper *k, int sock); /* a client's, who may ask; owned from here on */
void keeper_hang_up(struct client *client);
void keeper_hang_up_all(struct keeper *k);
/* Sends never wait: who does not take an answer is let go. */
void client_answer(struct client *client, enum session_kind kind, const struct str *body,
		   const int *fds, size_t n_fds);
void client_fail(struct client *client, const struct err *err);
void client_number(struct client *client, enum session_kind kind, uint64_t value);
void keeper_stir(struct keeper *k); /* something was asked for: not idle */

/* keeper-covers.c */
/* -ESTALE: something that is to be hidden is seen by the next command. */
int keeper_covers_check(const struct keeper *k, struct err *err);

/* keeper-protected.c. -ESTALE: something is to be protected that is not. */
int keeper_protected_check(struct keeper *k, struct err *err);

/* keeper-exec.c */
void keeper_exec(struct client *client, struct session_message *message);

/* keeper-jobs.c */
struct job *job_new(struct keeper *k, struct err *err);
void job_free(struct job *job); /* takes it off the list */
struct job *job_by_id(struct keeper *k, uint32_t id);
void job_end(struct job *job, struct result *result, const struct err *failed);
void job_watch_output(struct job *job);
void keeper_output(struct client *client, struct session_message *message);
void keeper_wait(struct client *client, struct session_message *message);
void keeper_signal(struct client *client, struct session_message *message);
void keeper_info(struct client *client);

/* keeper-asking.c: see struct standing_ear. */
void keeper_ask(void *data, const char *name, uint16_t port, const char *program,
		void (*fn)(void *answer_data, bool allow), void *answer_data);
void keeper_answer(struct client *client, struct session_message *message);
void keeper_unask(struct keeper *k, const struct client *client); /* NULL: whoever was asked */

/* keeper-network.c: what the session may reach, and less or more of it. */
void keeper_network(struct client *client, struct session_message *message);
const struct rules *keeper_rules(const struct keeper *k); /* as they are now; NULL: none */

/* keeper-shell.c: lines that are run by one shell after the other, as if it were the same. */
/* LINE becomes JOB's command; HERE: where it is started, not where the last one ended. */
int job_shell_begin(struct job *job, const char *line, bool here, struct err *err);
int job_shell_env(struct job *job, char *const *set, struct err *err);
/* Take what its shell left. */
void job_shell_end(struct job *job);
void job_shell_release(struct job *job);
