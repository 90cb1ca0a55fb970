/* SPDX-License-Identifier: MIT */
/* Rows of verbs[]: sessions, and commands in them. */
#include "api/verb-options.h"
#include "api/verb-rows.h"

const struct verb verb_exec = {
	.id = VERB_EXEC,
	.name = "exec",
	.group = GROUP_RUN,
	.operands = "[--] CMD [ARGS…]",
	.min = 1,
	.max = VERB_ANY,
	.summary = "run a program in a session",
	.details = "Without --session in the workspace's own, which is started if there is\n"
		   "none, under [sandbox] preset. The program runs without a shell, in the\n"
		   "current folder, and costs a fork and an exec: the sandbox stands already.\n"
		   "What it leaves running stays until the session ends.\n"
		   "\n"
		   "A session keeps the policy that it was started with. When a configuration\n"
		   "file has changed since, nothing is run (125); the workspace's own session\n"
		   "is started anew instead, if no command runs in it.\n"
		   "\n"
		   "With --shell, CMD is one line for bash, or sh where there is none. Its\n"
		   "folder and its exported variables are there for the next such line.\n"
		   "\n"
		   "The exit status is the command's own; 124, 125, 126, 127 and 128+N as of\n"
		   "`pale run`.",
	.examples = "pale exec -- make -j4\n"
		    "pale exec --shell -- 'cd src && export DEBUG=1'\n"
		    "pale exec -s review --timeout 10s -- ./check.sh\n"
		    "pale exec --background -- python3 -m http.server",
	.options = options_exec,
	.on_run_path = true,
};

const struct verb verb_session_list = {
	.id = VERB_SESSION_LIST,
	.name = "session list",
	.group = GROUP_SESSIONS,
	.operands = "",
	.summary = "list the sessions of this workspace",
	.options = options_session_list,
	.on_run_path = true,
};

const struct verb verb_session_start = {
	.id = VERB_SESSION_START,
	.name = "session start",
	.group = GROUP_SESSIONS,
	.operands = "[NAME]",
	.max = 1,
	.summary = "start a sandbox that stays up",
	.details = "NAME is `default` if left out. It is as a run under the same options would\n"
		   "be: what is limited in time is each command, memory, pids and disk are\n"
		   "those of the session as a whole. With --staged its writes go to a stage\n"
		   "of its own, which has its name, unless --stage names another.\n"
		   "\n"
		   "It ends by `pale session stop`, or when nothing has run in it for a while.",
	.examples = "pale session start\n"
		    "pale session start agent --staged --memory 4g\n"
		    "pale session start ci --preset build --idle 5m",
	.options = options_session_start,
	.on_run_path = true,
};

const struct verb verb_session_stop = {
	.id = VERB_SESSION_STOP,
	.name = "session stop",
	.group = GROUP_SESSIONS,
	.operands = "NAME… | --all",
	.max = VERB_ANY,
	.summary = "end sessions, and everything that runs in them",
	.details = "Returns when they are gone. What is staged stays: see `pale stages`.",
	.examples = "pale session stop agent\n"
		    "pale session stop --all",
	.options = options_session_stop,
	.on_run_path = true,
};

const struct verb verb_session_rm = {
	.id = VERB_SESSION_RM,
	.name = "session rm",
	.group = GROUP_SESSIONS,
	.operands = "NAME…",
	.min = 1,
	.max = VERB_ANY,
	.summary = "end sessions, and forget what is left of dead ones",
	.details = "As `session stop`; a session that is not there is no error.",
	.options = options_plain,
	.on_run_path = true,
};

const struct verb verb_session_prune = {
	.id = VERB_SESSION_PRUNE,
	.name = "session prune",
	.group = GROUP_SESSIONS,
	.operands = "",
	.summary = "remove what killed sessions left, in all workspaces",
	.options = options_data,
	.on_run_path = true,
};

const struct verb verb_session_network = {
	.id = VERB_SESSION_NETWORK,
	.name = "session network",
	.group = GROUP_SESSIONS,
	.operands = "NAME",
	.min = 1,
	.max = 1,
	.summary = "show what a session may reach, or change it",
	.details =
		"RULE is a host rule as in `hosts`: NAME, NAME:PORT, an address, a network; or\n"
		"`localhost` and `localhost:PORT` for the host's loopback. --deny takes back\n"
		"every rule that it covers, and resets the connections that rested on one.\n"
		"--allow adds a rule, within all ceilings; nobody inside can ask for that. Both\n"
		"may be repeated; what is denied goes first. Either all of it happens or nothing.",
	.examples = "pale session network agent\n"
		    "pale session network agent --deny '*.example.org'\n"
		    "pale session network agent --allow db.example.org:5432",
	.options = options_session_network,
	.on_run_path = true,
};

const struct verb verb_output = {
	.id = VERB_OUTPUT,
	.name = "output",
	.group = GROUP_SESSIONS,
	.operands = "ID",
	.min = 1,
	.max = 1,
	.summary = "print what a command in the background has printed",
	.details = "ID is what `pale exec --background` printed, or the beginning of it. Of long\n"
		   "output the beginning and the end are kept; what lay between is counted.\n"
		   "With --json it says by which offset to go on.",
	.examples = "pale output 019a\n"
		    "pale output 019a --from 4096 --follow",
	.options = options_output,
	.on_run_path = true,
};

const struct verb verb_signal = {
	.id = VERB_SIGNAL,
	.name = "signal",
	.group = GROUP_SESSIONS,
	.operands = "ID SIG",
	.min = 2,
	.max = 2,
	.summary = "send a signal to a command in the background",
	.details = "SIG is a name, TERM or SIGTERM, or a number. It goes to the command's whole\n"
		   "process group.",
	.examples = "pale signal 019a INT",
	.options = options_signal,
	.on_run_path = true,
};

const struct verb verb_wait = {
	.id = VERB_WAIT,
	.name = "wait",
	.group = GROUP_SESSIONS,
	.operands = "ID",
	.min = 1,
	.max = 1,
	.summary = "wait for a command in the background",
	.details = "The exit status is the command's own, as of `pale exec`; 124 also when\n"
		   "--timeout is over and it still runs.",
	.examples = "pale wait 019a",
	.options = options_wait,
	.on_run_path = true,
};
