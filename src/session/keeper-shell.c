/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "session/keeper-impl.h"

int job_shell_begin(struct job *job, const char *line, bool here, struct err *err)
{
	const char *cwd = here ? NULL : job->keeper->shell.cwd;
	const char *const told[] = {"/bin/sh", "-c", line};
	int r = shell_argv(cwd, line, &job->argv);

	for (size_t i = 0; r == 0 && i < array_len(told); i++)
		r = strv_add(&job->line, told[i]);
	if (r < 0)
		return err_oom(err);
	job->plan.argv = job->line;
	/* What ends in the background is not where the user is. */
	return job->flags & SESSION_BACKGROUND ? 0 : shell_notes_open(&job->notes, err);
}

int job_shell_env(struct job *job, char *const *set, struct err *err)
{
	const struct shell_state *state = &job->keeper->shell;
	int r = state->cwd ? 0 : strv_copy(&job->base, &job->plan.env);

	if (r == 0)
		r = shell_env(state, set, &job->plan.env);
	for (char *const *text = set; r == 0 && *text; text++)
		r = strv_add(&job->set, *text);
	return r < 0 ? err_oom(err) : 0;
}

void job_shell_end(struct job *job)
{
	char *const none[] = {NULL}, *const *set = job->set.len > 0 ? job->set.items : none;
	struct err err = {0};

	if (job->notes < 0)
		return;
	job->run.shell = "kept";
	if (!job->keeper->shell.cwd) {
		shell_forget(&job->keeper->shell.env);
		job->keeper->shell.env = job->base;
		job->base = (struct strv){0};
	}
	if (shell_notes_read(job->notes, set, &job->keeper->shell, &err) < 0) {
		job->run.shell = "unchanged";
		job->lost = malloc(sizeof(*job->lost));
		if (job->lost)
			*job->lost = err;
	}
	job->notes = fd_close(job->notes);
}

void job_shell_release(struct job *job)
{
	shell_forget(&job->set);
	shell_forget(&job->base);
	strv_release(&job->line);
	job->notes = fd_close(job->notes);
	free(job->lost);
}
