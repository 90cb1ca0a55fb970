/* SPDX-License-Identifier: MIT */
#include "stage/throwaway.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

#define BUSY_TRIES   100
#define BUSY_WAIT_NS 20000000L

/* Does the name say that it is of KIND, and whose it is? */
static bool is_of(const char *kind, const char *name, pid_t *ret_pid)
{
	size_t len = strlen(kind);
	char *end;
	long pid;

	if (!str_starts(name, kind) || name[len] != '.')
		return false;
	pid = strtol(name + len + 1, &end, 10);
	if (*end != '.' || pid < 1 || pid > INT_MAX || strlen(end) != 9 ||
	    strspn(end + 1, "0123456789abcdef") != 8)
		return false;
	*ret_pid = (pid_t)pid;
	return true;
}

int throwaway_name(const char *kind, char ret_name[STAGE_NAME_MAX + 1], struct err *err)
{
	unsigned chance;

	if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
		return err_sys(err, -errno, "getrandom");
	snprintf(ret_name, STAGE_NAME_MAX + 1, "%s.%d.%08x", kind, (int)getpid(), chance);
	return 0;
}

int throwaway_drop(const char *state_dir, const char *name, struct err *err)
{
	const struct timespec wait = {.tv_nsec = BUSY_WAIT_NS};
	_cleanup_(stage_freep) struct stage *stage = NULL;
	int r = stage_open(state_dir, name, false, &stage, err);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	for (int i = 0; i < BUSY_TRIES; i++) {
		r = stage_lock(stage, true, err);
		if (r != -EBUSY)
			break;
		nanosleep(&wait, NULL);
	}
	return r < 0 ? r : stage_remove(stage, err);
}

void throwaway_sweep(const char *state_dir, const char *kind)
{
	char **names = NULL;

	if (stage_list(state_dir, &names, NULL) < 0)
		return;
	for (char **name = names; *name; name++) {
		_cleanup_(stage_freep) struct stage *stage = NULL;
		pid_t pid;

		if (is_of(kind, *name, &pid) && kill(pid, 0) < 0 && errno == ESRCH &&
		    stage_open(state_dir, *name, false, &stage, NULL) == 0 &&
		    stage_try_lock(stage, true, NULL) == 0)
			(void)stage_remove(stage, NULL);
		free(*name);
	}
	free(names);
}
