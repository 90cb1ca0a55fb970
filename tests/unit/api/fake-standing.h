/* SPDX-License-Identifier: MIT */
/*
 * fake-standing - errands without any boundary, for tests of the keeper: fork and exec.
 * A tool's name as argv[0] is not looked for.
 */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/standing.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "result/result.h"

struct fake_errand {
	struct standing *owner;
	struct fake_errand *next;
	uint32_t id;
	pid_t pid;
	int pidfd;
};

struct standing {
	struct loop *loop;
	const struct standing_ear *ear;
	struct fake_errand *errands;
};

int standing_open(const struct plan *plan, struct loop *loop, const struct standing_ear *ear,
		  struct standing **ret, struct err *err)
{
	(void)plan;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return err_oom(err);
	**ret = (struct standing){.loop = loop, .ear = ear};
	return 0;
}

static void fake_take(struct fake_errand *e, struct result *result)
{
	int status = 0;

	(void)waitpid(e->pid, &status, 0);
	*result = (struct result){
		.outcome = WIFSIGNALED(status)   ? OUTCOME_SIGNALED
			   : WEXITSTATUS(status) ? OUTCOME_FAILED
						 : OUTCOME_OK,
		.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	};
	for (struct fake_errand **at = &e->owner->errands; *at; at = &(*at)->next)
		if (*at == e) {
			*at = e->next;
			break;
		}
	loop_remove(e->owner->loop, e->pidfd);
	fd_close(e->pidfd);
}

static void fake_on_end(void *data, short revents)
{
	struct fake_errand *e = data;
	const struct standing_ear *ear = e->owner->ear;
	struct result result;
	uint32_t id = e->id;

	(void)revents;
	fake_take(e, &result);
	free(e);
	ear->ended(ear->data, id, &result, NULL);
}

int standing_start(struct standing *s, const struct errand *errand, struct err *err)
{
	struct fake_errand *e = calloc(1, sizeof(*e));
	sigset_t none;

	if (!e)
		return err_oom(err);
	*e = (struct fake_errand){.owner = s, .id = errand->id, .next = s->errands};
	e->pid = fork();
	if (e->pid == 0) {
		int fds[3];

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		setsid();
		for (int i = 0; i < 3; i++)
			fds[i] = fcntl(errand->fds[i], F_DUPFD, 10);
		for (int i = 0; i < 3; i++)
			dup2(fds[i], i);
		if (chdir(errand->cwd) < 0)
			_exit(125);
		environ = (char **)errand->env;
		execvp(errand->argv[0], errand->argv);
		_exit(127);
	}
	e->pidfd = e->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, e->pid, 0);
	if (e->pidfd < 0) {
		free(e);
		return err_sys(err, -errno, "fork");
	}
	s->errands = e;
	loop_add(s->loop, e->pidfd, POLLIN, fake_on_end, e);
	return 0;
}

void standing_signal(struct standing *s, uint32_t id, int sig)
{
	for (struct fake_errand *e = s->errands; e; e = e->next)
		if (e->id == id)
			kill(-e->pid, sig);
}

void standing_end(struct standing *s, uint32_t id)
{
	standing_signal(s, id, SIGTERM);
}

struct standing *standing_close(struct standing *s, struct result *ret)
{
	(void)ret;
	while (s && s->errands) {
		struct fake_errand *e = s->errands;
		struct result result;

		kill(-e->pid, SIGKILL);
		fake_take(e, &result);
		free(e);
	}
	free(s);
	return NULL;
}
