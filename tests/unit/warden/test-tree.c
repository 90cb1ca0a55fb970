/* SPDX-License-Identifier: MIT */
/*
 * Each test runs in a process of its own that is a subreaper, as the warden is
 * without a pid namespace. Whether a process is gone is seen from outside: all
 * of a tree hold the writing end of a pipe, which ends with the last of them.
 */
#include "warden/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "confine/confine.h"
#include "confine/landlock.h"
#include "tap.h"

enum { SIGNALS_ABI = 6 };

static int held[2];
static uint64_t hop_until_ns;

/* Tell that we are there, and stay. */
static void stay(void)
{
	if (write(held[1], "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void await(unsigned n)
{
	char c;

	for (; n > 0; n--)
		if (read(held[0], &c, 1) != 1)
			abort();
}

static pid_t spawn(void (*what)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid == 0) {
		alarm(20); /* should a test fail, nothing stays behind */
		what();
		_exit(0);
	}
	return pid;
}

static void two_deep(void)
{
	spawn(stay);
	stay();
}

static void three_deep(void)
{
	spawn(two_deep);
	stay();
}

static void stay_in_session(void)
{
	setsid();
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	stay();
}

/* Its child is an orphan with a session of its own, and comes to the subreaper. */
static void daemonize(void)
{
	spawn(stay_in_session);
}

static void *spawn_from_thread(void *arg)
{
	spawn(stay);
	for (;;)
		pause();
	return arg;
}

static void threaded(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, spawn_from_thread, NULL) != 0)
		abort();
	stay();
}

enum { BROOD_THREADS = 5 };
static int brood_each = 60;

static void *spawn_many(void *arg)
{
	for (int i = 0; i < brood_each; i++)
		spawn(stay);
	for (;;)
		pause();
	return arg;
}

/* More children than one read of /proc lists, and of several threads. */
static void brood(void)
{
	pthread_t thread;

	for (int i = 0; i < BROOD_THREADS; i++)
		if (pthread_create(&thread, NULL, spawn_many, NULL) != 0)
			abort();
	stay();
}

/* Spawns until it is killed: each round of the killer meets new ones. */
static void breed(void)
{
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (pid == 0)
			pause();
		usleep(200);
	}
	stay();
}

/* Run BODY in a subreaper; its exit status. */
static int in_subreaper(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid == 0) {
		if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || pipe2(held, O_CLOEXEC) < 0)
			_exit(99);
		_exit(body());
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

/* Is the pipe's writing end closed everywhere, once ours is? */
static bool all_gone(void)
{
	struct pollfd fd = {.fd = held[0], .events = POLLIN};
	char c;

	close(held[1]);
	while (poll(&fd, 1, 1000) == 1 && read(held[0], &c, 1) == 1)
		;
	return fd.revents & POLLHUP;
}

static bool no_child(void)
{
	return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static int count_and_signal(void)
{
	int status, n;

	if (tree_signal(0) != 0)
		return 1;
	spawn(three_deep);
	spawn(stay);
	await(4);
	n = tree_signal(0);
	if (n != 4)
		return 10 + n;
	/* One whose parent ends first comes to us, and may be met again. */
	if (tree_signal(SIGTERM) < 4)
		return 2;
	for (int i = 0; i < 4; i++)
		if (waitpid(-1, &status, 0) < 0 || !WIFSIGNALED(status) ||
		    WTERMSIG(status) != SIGTERM)
			return 3;
	return all_gone() ? 0 : 4;
}

static int signal_brood(void)
{
	const int all = 1 + BROOD_THREADS * brood_each;

	spawn(brood);
	await(all);
	if (tree_signal(0) != all || tree_signal(SIGTERM) < all)
		return 1;
	for (int i = 0, status; i < all; i++)
		if (waitpid(-1, &status, 0) < 0 || !WIFSIGNALED(status) ||
		    WTERMSIG(status) != SIGTERM)
			return 2;
	return all_gone() ? 0 : 3;
}

static int kill_all_of(void (*what)(void), unsigned members)
{
	spawn(what);
	await(members);
	return tree_kill(5000, false) && no_child() && all_gone() ? 0 : 1;
}

static int kill_deep(void)
{
	return kill_all_of(three_deep, 3);
}

static int kill_daemon(void)
{
	return kill_all_of(daemonize, 1);
}

static int kill_threaded(void)
{
	return kill_all_of(threaded, 2);
}

static int kill_brood(void)
{
	return kill_all_of(brood, (unsigned)(1 + BROOD_THREADS * brood_each));
}

static int kill_breeding(void)
{
	spawn(breed);
	usleep(10000);
	tree_kill(5000, false);
	return no_child() && all_gone() ? 0 : 1;
}

static int kill_nothing(void)
{
	uint64_t begin = clock_mono_ns();

	tree_kill(5000, false);
	return clock_mono_ns() - begin < 1000000000 ? 0 : 1;
}

/* Makes the next one and ends, without an end; each has a session of its own. */
static void hop(void)
{
	for (;;) {
		alarm(5); /* which no child inherits: a time of its own would never come */
		setsid();
		if (clock_mono_ns() > hop_until_ns || fork() > 0)
			_exit(0);
	}
}

static pid_t outside;

static int kill_enclosed(void)
{
	struct err err = {0};

	hop_until_ns = clock_mono_ns() + 8000000000ull;
	if (confine_no_new_privs(&err) < 0 || landlock_enclose(&err) < 0)
		return 1;
	for (int i = 0; i < 8; i++)
		spawn(hop);
	spawn(daemonize);
	await(1);
	usleep(20000);
	if (!tree_kill(2000, true) || !no_child() || !all_gone())
		return 2;
	return kill(outside, 0) < 0 && errno == EPERM ? 0 : 3;
}

/* Nobody outside is hurt: a child of the caller, not of who is enclosed. */
static void check_enclosed(void)
{
	if (landlock_abi() < SIGNALS_ABI) {
		tap_skip("signals have no scope before Linux 6.12");
		return;
	}
	outside = fork();
	if (outside == 0) {
		alarm(20);
		for (;;)
			pause();
	}
	tap_eq_int(in_subreaper(kill_enclosed), 0,
		   "enclosed, all end at once, even those that hop");
	tap_eq_int(waitpid(outside, NULL, WNOHANG), 0, "and nobody else");
	kill(outside, SIGKILL);
	waitpid(outside, NULL, 0);
}

int main(void)
{
	if (access("/proc/thread-self/children", R_OK) < 0) {
		tap_skip("the kernel lists no children in /proc");
		return tap_done();
	}
	if (getenv("PALE_QUICK"))
		brood_each = 12; /* valgrind ends more than that in seconds only */
	tap_eq_int(in_subreaper(count_and_signal), 0, "every descendant is counted and signalled");
	tap_eq_int(in_subreaper(signal_brood), 0, "so are hundreds, of several threads");
	tap_eq_int(in_subreaper(kill_nothing), 0, "nothing to kill takes no time");
	tap_eq_int(in_subreaper(kill_deep), 0, "a deep tree is killed and reaped");
	tap_eq_int(in_subreaper(kill_daemon), 0, "so is an orphan that left the session");
	tap_eq_int(in_subreaper(kill_threaded), 0, "so is what a thread started");
	tap_eq_int(in_subreaper(kill_brood), 0, "so are hundreds, of several threads");
	tap_eq_int(in_subreaper(kill_breeding), 0, "so is what multiplies meanwhile");
	check_enclosed();
	return tap_done();
}
