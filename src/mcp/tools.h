/* SPDX-License-Identifier: MIT */
/*
 * tools - what a client can call, declared once.
 *
 * A tool is a verb of the command line with some of its options: name, type and text of
 * a parameter come from the verb's own table. Nothing that would loosen a boundary is
 * among them. Feeds tools/list, the check of arguments, and the command line that a call
 * becomes.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct opt;
struct verb;

enum param_type {
	PARAM_TEXT,
	PARAM_NUMBER,
	PARAM_FLAG,
	PARAM_TEXTS,
	PARAM_MAP,   /* an object of texts */
	PARAM_TABLE, /* a text, or an object: the sandbox of a command */
};

struct param {
	const char *name;
	enum param_type type;
	const char *option; /* of the verb, without dashes; NULL: an operand, or the tool's own */
	const char *help;   /* NULL: the option's */
	bool required;
	bool own;         /* it is no operand: the tool's code takes it */
	int64_t min, max; /* of a number; max also the bytes of a text; 0: a default */
};

enum {
	TOOL_DEFAULT = 1 << 0,   /* exposed without a word in the configuration */
	TOOL_READ_ONLY = 1 << 1, /* annotations */
	TOOL_DESTRUCTIVE = 1 << 2,
	TOOL_IDEMPOTENT = 1 << 3,
	TOOL_SESSION = 1 << 4, /* takes -s: it works in our session */
	TOOL_STAGE = 1 << 5,   /* takes --stage: it is about our own stage */
	TOOL_FILES = 1 << 6,   /* a file tool: its result says `ok`, or why not */
	TOOL_NO_JSON = 1 << 7, /* what it prints is no data */
	TOOL_RUNS = 1 << 8,    /* a run: a result, and the output of a command */
	TOOL_ALONE = 1 << 10,  /* not while our session stands: it changes what that stands on */
	TOOL_STATUS = 1 << 9,  /* its status says something, and where there is data no failure */
};

enum tool_id {
	TOOL_RUN,
	TOOL_EXEC,
	TOOL_OUTPUT,
	TOOL_READ,
	TOOL_WRITE,
	TOOL_EDIT,
	TOOL_GREP,
	TOOL_GLOB,
	TOOL_DIFF,
	TOOL_COMMANDS,
	TOOL_SANDBOX_INFO,
	TOOL_SANDBOX_STATUS,
	TOOL_REGISTER_COMMAND,
	TOOL_UNREGISTER_COMMAND,
	TOOL_HISTORY,
	TOOL_EVENTS,
	TOOL_WHY,
	TOOL_SIGNAL,
	TOOL_WAIT,
	TOOL_DISCARD,
	TOOL_APPLY,
	TOOL_UNDO,
	TOOL_ALLOW,
	TOOL_COUNT_
};

struct tool {
	const char *name;
	const char *title;
	const char *verb; /* of verbs[] */
	const char *help; /* for the model */
	unsigned flags;
	const char *list; /* what a list that the verb prints is called in the answer */
	const struct param *params;
	size_t params_len;
};

extern const struct tool tools[TOOL_COUNT_];

/* NULL: there is none. */
const struct tool *tool_find(const char *name);
const struct verb *tool_verb(const struct tool *tool);
bool tool_has_option(const struct tool *tool, const char *name);
/* Not, when it stands for an option that the verb does not have. */
bool param_is_offered(const struct tool *tool, const struct param *param);
/* The option that PARAM stands for, or NULL. */
const struct opt *param_option(const struct tool *tool, const struct param *param);

/* Which tools the configuration lets a client see: one bit for each. */
uint64_t tools_exposed(const struct config *config);
static inline bool tool_is_exposed(uint64_t exposed, const struct tool *tool)
{
	return exposed >> (tool - tools) & 1;
}
