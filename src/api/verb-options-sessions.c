/* SPDX-License-Identifier: MIT */
/* The options of verbs about sessions. */
#include <string.h>

#include "api/verb-options-impl.h"
#include "api/verb-options.h"
#include "config/keys.h"

#define FOR_PROGRAMS "For programs"
#define SESSION                                                                                    \
	{                                                                                          \
		"session", 's', "NAME", "this session, instead of the workspace's own",            \
			OPT_SESSION, NULL                                                          \
	}
#define LIMITS "Limits of this command, each at most the session's"
#define LIMIT(dim, name, metavar, help)                                                            \
	{                                                                                          \
		name, 0, metavar, help, OPT_DIM + (dim), LIMITS                                    \
	}

struct opt_table options_exec(void)
{
	static const struct opt items[] = {
		SESSION,
		{"background", 'b', NULL, "do not wait for it: print its id and return",
		 OPT_BACKGROUND, NULL},
		{"shell", 0, NULL,
		 "CMD is a line for a shell, which goes on where the last one ended", OPT_LINE,
		 NULL},
		{"ask", 0, NULL,
		 "ask on this terminal about names that no rule of the session allows", OPT_ASK,
		 NULL},
		{"cwd", 0, "DIR", "where it begins; here, if left out", OPT_CWD, NULL},
		{"setenv", 0, "NAME=VALUE", "set a variable for the command", OPT_SETENV, NULL},
		WORKSPACE,
		{"json", 'j', NULL,
		 "print the result as JSON; the command's output goes to standard error", OPT_JSON,
		 NULL},
		{"result", 0, "FILE", "write the result as JSON to FILE", OPT_RESULT, NULL},
		HELP,
		{"result-fd", 0, "N",
		 "write the result as JSON to descriptor N; a hang-up ends the command",
		 OPT_RESULT_FD, FOR_PROGRAMS},
		LIMIT(DIM_TIMEOUT, "timeout", "DURATION",
		      "wall-clock time after which it is ended"),
		LIMIT(DIM_CPU, "cpu", "DURATION", "CPU time that it may use"),
		LIMIT(DIM_MEMORY, "memory", "SIZE", "memory of its processes together"),
		LIMIT(DIM_PIDS, "pids", "N", "number of its processes"),
		LIMIT(DIM_MAX_OUTPUT, "max-output", "SIZE",
		      "output that is kept; past it the middle is dropped"),
	};

	return (struct opt_table){items, array_len(items), true};
}

/* Those of `run` that say what a sandbox is, and a few of its own. */
struct opt_table options_session_start(void)
{
	static const struct opt own[] = {
		{"idle", 0, "DURATION",
		 "end it when nothing ran in it for so long; [session] idle if left out", OPT_IDLE,
		 NULL},
		JSON,
		{"lifeline-fd", 0, "N", "end it when the other end of descriptor N hangs up",
		 OPT_LIFELINE_FD, FOR_PROGRAMS},
	};
	static const int left_out[] = {OPT_EXPLAIN,   OPT_JSON,    OPT_RESULT,
				       OPT_RESULT_FD, OPT_SPEC_FD, OPT_PROFILE_FD};
	static struct opt items[160];
	static size_t len;
	const struct opt_table run = options_run();

	for (size_t i = 0; len == 0 && i < array_len(own); i++)
		items[i] = own[i];
	if (len > 0)
		return (struct opt_table){items, len, false};
	len = array_len(own);
	for (size_t i = 0; i < run.len && len < array_len(items); i++) {
		bool skip = false;

		for (size_t k = 0; k < array_len(left_out); k++)
			skip = skip || run.items[i].id == left_out[k];
		if (!skip)
			items[len++] = run.items[i];
	}
	return (struct opt_table){items, len, false};
}

struct opt_table options_session_list(void)
{
	static const struct opt items[] = {
		{"all", 'a', NULL, "those of all workspaces", OPT_ALL, NULL},
		NAMES,
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_session_stop(void)
{
	static const struct opt items[] = {
		{"all", 'a', NULL, "every session of this workspace", OPT_ALL, NULL},
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_session_network(void)
{
	static const struct opt items[] = {
		{"deny", 0, "RULE", "take back what RULE covers; may be repeated", OPT_DENY, NULL},
		{"allow", 0, "RULE", "add RULE; may be repeated", OPT_ALLOW, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_output(void)
{
	static const struct opt items[] = {
		SESSION,
		{"from", 0, "OFFSET", "begin with this byte; 0 if left out", OPT_FROM, NULL},
		{"follow", 'f', NULL, "go on until the command has ended", OPT_FOLLOW, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_signal(void)
{
	static const struct opt items[] = {SESSION, WORKSPACE, HELP};

	return TABLE(items);
}

struct opt_table options_wait(void)
{
	static const struct opt items[] = {
		SESSION,
		{"timeout", 0, "DURATION", "give up after this time, with status 124",
		 OPT_DIM + DIM_TIMEOUT, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}
