/* SPDX-License-Identifier: MIT */
#include "cli/cmd-exec-sh.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cmd-exec.h"
#include "cli/cmd-run.h"
#include "cli/common.h"
#include "result/result.h"

/* Which shells are there is known inside, and decided there. What is started there by $SHELL
 * is inside already, and is to be an ordinary one. */
#define CHOOSE                                                                                     \
	"for s in /bin/bash /bin/sh; do "                                                          \
	"[ -x $s ] && SHELL=$s && export SHELL && exec $s \"$@\"; done; exit 127"

bool is_sh(const char *program)
{
	const char *name = path_basename(program);

	return str_eq(name, "pale-sh") || str_eq(name, "-pale-sh");
}

/* PALE_WORKSPACE, if it is set: the only workspace there is, and the line must begin in it. An
 * agent chooses the folder of its lines, and would choose the workspace by it. */
static int find_root(char **ret_root, struct err *err)
{
	const char *asked = getenv("PALE_WORKSPACE");
	_cleanup_(freep) char *root = NULL, *cwd = NULL;

	if (!asked || !*asked)
		return 0;
	root = *asked == '/' ? realpath(asked, NULL) : NULL;
	if (!root)
		return err_set(err, ERR_USAGE, -EINVAL,
			       "PALE_WORKSPACE: \"%.200s\" is not the absolute path of a folder",
			       asked);
	cwd = realpath(".", NULL);
	if (!cwd || !path_covers(root, cwd))
		return err_set(err, ERR_POLICY, -EPERM, "%s is not in PALE_WORKSPACE, which is %s",
			       cwd ? cwd : "the current folder", root);
	*ret_root = take_ptr(root);
	return 0;
}

int cmd_sh(int argc, char **argv)
{
	/* A shell that is called by a name with a dash is to be a login shell. */
	bool login = *path_basename(argv[0]) == '-';
	char *session = getenv("PALE_SESSION"), *root = NULL;
	const char *const shell[] = {"--", "/bin/sh", "-c", CHOOSE, "pale-sh", "-l"};
	size_t n = 0, words = array_len(shell) - !login;
	char **line = calloc(5 + words + (size_t)argc, sizeof(*line));
	struct err err = {0};

	if (!line)
		return report_oom(), EXIT_NOT_RUN;
	if (find_root(&root, &err) < 0) {
		free(line);
		return report(&err), EXIT_NOT_RUN;
	}
	if (session && !*session)
		session = NULL;
	line[n++] = session ? "exec" : "run";
	if (session) {
		line[n++] = "--session";
		line[n++] = session;
	}
	if (root) {
		line[n++] = "--workspace";
		line[n++] = root;
	}
	for (size_t i = 0; i < words; i++)
		line[n++] = (char *)shell[i];
	for (int i = 1; i < argc; i++)
		line[n++] = argv[i];
	/* The process ends: nothing is freed. */
	return session ? cmd_exec(VERB_EXEC, (int)n, line) : cmd_run(VERB_RUN, (int)n, line);
}
