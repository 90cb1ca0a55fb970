/* SPDX-License-Identifier: MIT */
/*
 * session - sessions as verbs use them: find one, start one, have a command run in it.
 *
 * The way to a session that stands is short on purpose: no file is parsed, nobody is looked
 * up. Only when none is found where it should be, the configuration is read.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "api/run.h"
#include "base/str.h"

struct err;

/* Of one command. UINT64_MAX: no limit of its own. */
struct session_call {
	const char *session;   /* NULL: the workspace's own, started if need be */
	const char *workspace; /* --workspace or NULL */
	char *const *argv;
	const char *cwd; /* --cwd, or NULL: ours */
	struct strv set; /* --setenv */
	uint64_t timeout_ms, cpu_ms, memory, pids, max_output;
	struct stdio stdio; /* with `lifeline` */
	int notes;          /* -1: none; see struct errand */
	bool is_tool;       /* argv is for the session's plan->tool */
	bool shell;         /* argv is one line */
	bool background;
	bool wants_json;
	bool quiet; /* no notes */
	bool asks;  /* on our terminal, about names that no rule allows */
};

struct session_answer {
	int status; /* what to exit with */
	char run[RUN_ID_SIZE];
	struct str json; /* the result, or empty */
	struct session_notes {
		struct err *items;
		size_t len;
	} notes;
};

/* To the end of the command, or, in the background, until it has begun. < 0: nothing was
 * executed, and err says why. */
int session_call(const struct session_call *call, struct session_answer *ret, struct err *err);
void session_answer_release(struct session_answer *answer);

/* What is asked of a session without running anything. */
struct session_where {
	const char *session; /* NULL: the workspace's own */
	const char *workspace;
};
/* A connection. -ENOENT: no such session; err says so. */
int session_reach(const struct session_where *where, struct err *err);
/* The folder of the workspace's sessions, by a real look: a new string. */
int session_locate(const char *workspace, char **ret_folder, struct err *err);

/* Options of `session start`; REQUEST as for run_prepare(). */
struct session_wish {
	const char *name;
	const char *idle; /* --idle, or NULL */
	int lifeline;     /* -1: none */
};
/* RET_FACTS, if not NULL: as session_facts(). */
int session_raise(struct run_request *request, const struct session_wish *wish,
		  struct str *ret_facts, struct err *err);
/* The `session` file of NAME in FOLDER. */
int session_facts(const char *folder, const char *name, struct str *ret, struct err *err);
/* End it and wait until it is gone. -ENOENT: there is none. */
int session_stop(const char *folder, const char *name, struct err *err);
/* The one at the other end of SOCK, if no command runs in it (-EBUSY). */
int session_stop_idle(int sock, struct err *err);
/* The tool of our own that sessions have; set once by a program that has one. */
extern int (*session_tool)(char *const *argv);

struct session_buffer;
struct session_message;
/* One request and its answer, for at most TIMEOUT_MS (-1: as long as it takes). An answer that
 * is an error is returned as such. -ETIMEDOUT leaves err. */
int session_ask(int sock, int kind, uint32_t flags, const struct str *body,
		struct session_buffer *buffer, struct session_message *ret, int timeout_ms,
		struct err *err);
/* The session that has command ID, or one that begins so, in the background: a connection to
 * it, and the whole id. */
int session_find_job(const struct session_where *where, const char *id, char ret_id[RUN_ID_SIZE],
		     struct err *err);
/* RESULT as an answer. */
int session_take_result(struct session_message *message, struct session_answer *ret);
