/* SPDX-License-Identifier: MIT */
#include "cli/cmd-exec-sh.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
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

int cmd_sh(int argc, char **argv)
{
	/* A shell that is called by a name with a dash is to be a login shell. */
	bool login = *path_basename(argv[0]) == '-';
	const char *head[] = {"run", "--", "/bin/sh", "-c", CHOOSE, "pale-sh", "-l"};
	size_t n = array_len(head) - !login, len = n + (size_t)argc - 1;
	char **line = calloc(len + 1, sizeof(*line));

	if (!line)
		return report_oom(), EXIT_NOT_RUN;
	for (size_t i = 0; i < n; i++)
		line[i] = (char *)head[i];
	memcpy(line + n, argv + 1, ((size_t)argc - 1) * sizeof(*line));
	return cmd_run(VERB_RUN, (int)len, line); /* the process ends: nothing is freed */
}
