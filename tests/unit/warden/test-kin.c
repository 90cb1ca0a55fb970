/* SPDX-License-Identifier: MIT */
/*
 * Who is kin: the group, the session, and descendants that have left both. Whether one is
 * gone is seen by a pipe, whose writing end each of them holds.
 */
#include "warden/kin.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static int kin[2], stranger[2], ready[2];

_Noreturn static void stay(void)
{
	close(kin[0]);
	close(stranger[0]);
	if (write(ready[1], "x", 1) != 1)
		_exit(1);
	close(1); /* a reader of the results waits for nobody */
	close(2);
	alarm(5);
	for (;;)
		pause();
}

/* In a group of its own, in a session of its own, or neither. */
static void spawn(bool group, bool session)
{
	if (fork() != 0)
		return;
	if (group)
		setpgid(0, 0);
	if (session)
		setsid();
	stay();
}

/* Its parent ends: only a session that is not the leader's keeps it from being kin. */
static void orphan(bool session)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (session) {
			close(kin[1]);
			setsid();
		} else {
			close(stranger[1]);
		}
		if (fork() == 0)
			stay();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static bool all_gone(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};

	return poll(&end, 1, 2000) == 1 && end.revents & POLLHUP;
}

static bool one_lives(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};

	return poll(&end, 1, 100) == 0;
}

static void await(unsigned n)
{
	char c;

	while (n-- > 0)
		if (read(ready[0], &c, 1) != 1)
			abort();
}

int main(void)
{
	pid_t leader;
	int n;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (pipe(kin) < 0 || pipe(stranger) < 0 || pipe(ready) < 0)
		abort();
	leader = fork();
	if (leader == 0) {
		setsid();
		orphan(true);
		close(stranger[1]);
		spawn(false, false);
		spawn(true, false);
		spawn(false, true);
		orphan(false);
		stay();
	}
	await(6);
	close(kin[1]);
	close(stranger[1]);
	n = kin_signal(leader, leader, 0);
	tap_eq_int(n, 5, "the leader, its group, another group, another session, an orphan");
	tap_ok(one_lives(kin[0]), "asking ends nobody");
	tap_eq_int(kin_signal(leader, leader, SIGKILL), 5, "all of them are met");
	tap_ok(all_gone(kin[0]), "and end");
	tap_ok(one_lives(stranger[0]), "an orphan with a session of its own is left");
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	tap_eq_int(kin_signal(leader, leader, SIGKILL), 0, "nobody is left to be met");
	return tap_done();
}
