/* SPDX-License-Identifier: MIT */
/*
 * pale - the run path. Every other verb is in pale-verbs, a program that links
 * heavier libraries and takes longer to start.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own-args.h"
#include "cli/cmd-exec-sh.h"
#include "cli/cmd-exec.h"
#include "cli/cmd-file.h"
#include "cli/cmd-run.h"
#include "cli/common.h"
#include "files/files.h"
#include "result/result.h"
#include "warden/main.h"

static int (*const commands[VERB_COUNT_])(enum verb_id verb, int argc, char **argv) = {
	[VERB_RUN] = cmd_run,
	[VERB_SHELL] = cmd_run,
	[VERB_EXEC] = cmd_exec,
	[VERB_SESSION_LIST] = cmd_session,
	[VERB_SESSION_START] = cmd_session_start,
	[VERB_SESSION_STOP] = cmd_session,
	[VERB_SESSION_RM] = cmd_session,
	[VERB_SESSION_PRUNE] = cmd_session,
	[VERB_SESSION_NETWORK] = cmd_session_network,
	[VERB_OUTPUT] = cmd_job,
	[VERB_SIGNAL] = cmd_job,
	[VERB_WAIT] = cmd_job,
	[VERB_FILE_READ] = cmd_file,
	[VERB_FILE_WRITE] = cmd_file,
	[VERB_FILE_EDIT] = cmd_file,
	[VERB_FILE_GREP] = cmd_file,
	[VERB_FILE_GLOB] = cmd_file,
};

/* Beside this program or in its libexec; never by PATH. */
static int hand_over(char **argv)
{
	static const char *const places[] = {"pale-verbs", "../libexec/pale/pale-verbs"};
	char self[PATH_MAX], path[PATH_MAX + 32];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct err err;
	char *slash;

	self[len < 0 ? 0 : len] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < 2; i++) {
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self), self, places[i]);
		execv(path, argv);
		if (errno != ENOENT && errno != ENOTDIR)
			break;
	}
	err_sys(&err, -errno, "cannot start pale-verbs, the other half of pale");
	err_hint(&err, 0, "install it beside pale, or as ../libexec/pale/pale-verbs from there");
	report(&err);
	return EXIT_NOT_RUN;
}

int main(int argc, char **argv)
{
	char *bare[] = {"pale", NULL};
	const struct verb *verb;
	int words = 0;

	stdio_ensure();
	own_args_keep(argc, argv);
	if (argc < 1)
		return hand_over(bare);
	if (is_sh(argv[0]))
		return cmd_sh(argc, argv);
	argv[0] = bare[0];
	if (argc > 1 && strcmp(argv[1], WARDEN_OPTION) == 0)
		return warden_main(argc - 2, argv + 2, files_main);
	verb = verb_find(argc - 1, argv + 1, &words);
	if (verb && verb->on_run_path && commands[verb->id])
		return commands[verb->id](verb->id, argc - words, argv + words);
	return hand_over(argv);
}
