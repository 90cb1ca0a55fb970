/* SPDX-License-Identifier: MIT */
/*
 * common - what every command of the command line shares: arguments, output,
 * errors.
 */
#pragma once
#include "api/verbs.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

struct context;

enum { STATUS_OK = 0, STATUS_ERROR = 1, STATUS_USAGE = 2 };

/* A verb: ARGV[0] is the last word of its name. Returns the exit status. */
typedef int command_fn(int argc, char **argv);

/* The options and operands of a verb none of whose options is repeated. */
struct args {
	const char *values[OPT_COUNT_]; /* NULL: not given; "" for a flag */
	char **operands;
	int len;
	int dashdash; /* as in struct opt_args */
};

/* Make sure that descriptors 0 to 2 are open, lest a file takes their place. */
void stdio_ensure(void);

/* opt_parse() by the table of verb ID, --help and the number of operands seen
 * to and their list ended in NULL. 1: help was asked for and is printed. */
int verb_parse(enum verb_id id, int argc, char **argv, opt_set_fn *set, void *data,
	       struct opt_args *ret_args, struct err *err);
/* The same into a struct args. */
int args_parse(enum verb_id id, int argc, char **argv, struct args *ret, struct err *err);

/* The same, and then the context: where a verb that reads the configuration
 * begins. */
int verb_begin(enum verb_id id, int argc, char **argv, struct args *ret_args,
	       struct context *ret_context, struct err *err);

/* "pale: MESSAGE" and the hint, on standard error. Returns 1, or 2 for a wrong
 * command line. */
int report(const struct err *err);
/* Is FD a terminal, and one where colour is wanted: NO_COLOR, TERM=dumb. */
bool terminal_has_colour(int fd);
/* For a failed append. */
int report_oom(void);
/* Write OUT to standard output. Returns the exit status. */
int emit(const struct str *out);
/* json_finish(), a newline, emit(). */
int emit_json(struct json *json);
/* ERR as JSON: what a run that was not executed has. RUN: its id, or NULL. */
int emit_error(const char *run, const struct err *err);

/* "pale VERB" with what leads to the same workspace, NULL when that is where we are, and the same
 * stage, NULL when it has none. 0 or -ENOMEM. */
int put_pale(struct str *out, const char *verb, const char *workspace, const char *stage);

/* ERR_USAGE: ARGV begins with no verb; says which one may be meant. */
int verb_unknown(int argc, char **argv, struct err *err);

/* common-fds.c: descriptors that the caller passes. */
/* The open descriptor that TEXT, the value of OPTION, names; not 0 to 2. The
 * caller's from here on, and close-on-exec. */
int fd_take(const char *option, const char *text, int *ret_fd, struct err *err);

/* common-file.c: a file that an option names, written at the end. */
struct outfile {
	const char *option, *name; /* borrowed */
	int dir;                   /* opened before anything runs, lest a command swaps it */
};
#define OUTFILE_NONE                                                                               \
	{                                                                                          \
		.dir = -1                                                                          \
	}
/* Says at once if it cannot be written. */
int outfile_open(const char *option, const char *path, struct outfile *ret, struct err *err);
/* Replaces the file as a whole. */
int outfile_write(const struct outfile *file, const struct str *text, struct err *err);
void outfile_close(struct outfile *file);

/* common-help.c */
int help_verb(const struct verb *verb, struct str *out);
int help_family(const struct verb *verb, struct str *out);
int help_main(struct str *out);

/* For a command line that could not be parsed to the end. */
bool asks_json(int argc, char **argv);

/* On standard error; the answer is a line of standard input. */
bool ask_yes(const char *question);
