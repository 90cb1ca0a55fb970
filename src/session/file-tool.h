/* SPDX-License-Identifier: MIT */
/*
 * file-tool - the file tools from outside: a run whose command is files_main().
 *
 * What comes back is what a process inside has written. It is taken apart here, checked,
 * and then shown; nothing is decided by it but the tool's own success.
 */
#pragma once
#include "api/run.h"
#include "base/str.h"
#include "files/reply.h"
#include "files/request.h"

struct err;
struct json;

struct file_job {
	struct file_request request; /* what the user asked for; the rest is filled in */
	const char *session;         /* where it runs; NULL: in a sandbox of its own */
	struct run_request run;      /* the boundary; args, tool and stdio are filled in */
	struct str input;            /* of write and edit */
	bool began;                  /* it was executed, whatever became of it */
};
void file_job_release(struct file_job *job);

/* Is what the user asked for at all possible? -EINVAL; ERR_USAGE. */
int file_job_check(const struct file_job *job, struct err *err);
/* WORDS are what the user asked for: add where it is to be done, as RUN's boundary says.
 * ERR_USAGE: they are no request, or say so themselves. */
int file_tool_complete(const struct run *run, struct strv *words, struct err *err);
/* Run it to its end. *ret_reply: the tool's, whole and well-formed; *ret_result: the run as
 * JSON, as far as it went. An error: the tool did not run, or not to its end. */
int file_tool_run(struct file_job *job, struct str *ret_reply, struct str *ret_result,
		  struct err *err);

/* The part of every answer that is not the tool's own. Borrows from TEXT. */
struct file_verdict {
	enum file_code code;
	struct str message, hint; /* not NUL-terminated; not to be released */
};
/* -EBADMSG: TEXT is no answer. */
int file_reply_check(const char *text, size_t len, struct file_verdict *ret);
/* Note in RUN what the boundary refused, for WORDS, the tool's request. */
void file_reply_judge(struct run *run, char *const *words, const struct file_verdict *verdict);
/* The same with the reply in FD, as file_tool_run() passes it; anything else is left alone. */
void file_reply_collect(struct run *run, char *const *words, int fd);
