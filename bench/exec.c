/* SPDX-License-Identifier: MIT */
/*
 * exec - what a command in a session costs, against bwrap and against none.
 *
 *     exec [--check] PALE NOTHING LEAST
 *
 * Each round runs every subject once, each round in another order, so that what a run leaves
 * behind for the next one falls on all alike. Only ratios of one run are judged. A bare command is not
 * measured beside sandboxes: the kernel takes their namespaces down long after they have ended.
 * The status is 0 unless a command failed or, with --check, a budget was missed.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bwrap.h"

enum { ROUNDS = 400 };
enum { BARE, EXEC, SHORT, SAME, RUN, NOTHING, SUBJECTS };

static char base[] = "/var/tmp/pale-bench-XXXXXX";
static char home_var[64], state_var[64], runtime_var[64];
static char *environment[] = {
	"PATH=/usr/bin:/bin", "LANG=C.UTF-8", home_var, state_var, runtime_var, NULL};
static struct {
	const char *name;
	char *argv[BWRAP_WORDS];
	uint64_t ns[ROUNDS];
} subjects[SUBJECTS] = {
	[BARE] = {.name = "fork+exec true", .argv = {"/bin/true"}},
	[EXEC] = {.name = "pale exec -- true", .argv = {NULL, "exec", "--", "true"}},
	[SHORT] = {.name = "bwrap, short"},
	[SAME] = {.name = "bwrap, the same"},
	[RUN] = {.name = "pale run -- true", .argv = {NULL, "run", "--", "true"}},
	[NOTHING] = {.name = "musl, nothing", .argv = {NULL}},
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "exec: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t run(char *const *argv)
{
	static posix_spawn_file_actions_t actions;
	static bool ready;
	uint64_t begin;
	int status, r;
	pid_t pid;

	if (!ready) {
		posix_spawn_file_actions_init(&actions);
		bwrap_add(&actions);
		ready = true;
	}
	begin = now_ns();
	r = posix_spawn(&pid, argv[0], &actions, NULL, argv, environment);
	if (r != 0)
		errno = r, fail(argv[0]);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid");
	if (status != 0) {
		fprintf(stderr, "exec: %s %s: %x\n", argv[0], argv[1] ? argv[1] : "", status);
		exit(1);
	}
	return now_ns() - begin;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static char *pale;

static void end_session(void)
{
	char *stop[] = {pale, "session", "stop", "--all", NULL};
	char *rm[] = {"/bin/rm", "-rf", base, NULL};

	(void)run(stop);
	(void)!chdir("/");
	(void)run(rm);
}

static void make_place(char *least)
{
	char work[64];

	bwrap_find();
	if (!mkdtemp(base) || chdir(base) < 0)
		fail(base);
	bwrap_save_filter(least, base);
	snprintf(home_var, sizeof(home_var), "HOME=%s/home", base);
	snprintf(state_var, sizeof(state_var), "XDG_STATE_HOME=%s/state", base);
	snprintf(runtime_var, sizeof(runtime_var), "XDG_RUNTIME_DIR=%s/runtime", base);
	if (mkdir("home", 0700) < 0 || mkdir("runtime", 0700) < 0 || mkdir("work", 0700) < 0 ||
	    chdir("work") < 0)
		fail(base);
	snprintf(work, sizeof(work), "%s/work", base);
	bwrap_read("bwrap-short", work, home_var + strlen("HOME="), subjects[SHORT].argv);
	bwrap_read("bwrap-same", work, home_var + strlen("HOME="), subjects[SAME].argv);
}

static int judge(const char *what, uint64_t a, uint64_t b, double budget)
{
	double ratio = (double)a / (double)b;

	printf("  %-42s %6.2f   budget <= %.2f   %s\n", what, ratio, budget,
	       ratio <= budget ? "ok" : "MISSED");
	return ratio > budget;
}

/* The same orders in every run of the program: random() is not seeded. */
static void shuffle(int *order, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int j = (int)(random() % (i + 1)), s = order[i];

		order[i] = order[j];
		order[j] = s;
	}
}

/* Each of them once, round by round; RET is the median of each. */
static void measure(const char *title, const int *list, int n, uint64_t ret[SUBJECTS])
{
	int order[SUBJECTS];

	memcpy(order, list, (size_t)n * sizeof(*order));
	for (int round = 0; round < ROUNDS; round++) {
		shuffle(order, n);
		for (int i = 0; i < n; i++)
			subjects[order[i]].ns[round] = run(subjects[order[i]].argv);
	}
	printf("\n%-20s %10s %10s   (%d rounds)\n", title, "p10", "p50", ROUNDS);
	for (int i = 0; i < n; i++) {
		uint64_t *ns = subjects[list[i]].ns;

		qsort(ns, ROUNDS, sizeof(*ns), compare);
		ret[list[i]] = ns[ROUNDS / 2];
		printf("%-20s %7.3f ms %7.3f ms\n", subjects[list[i]].name,
		       (double)ns[ROUNDS / 10] / 1e6, (double)ns[ROUNDS / 2] / 1e6);
	}
}

int main(int argc, char **argv)
{
	static const int bare[] = {BARE, EXEC, NOTHING}, sandboxes[] = {SHORT, SAME, EXEC, RUN};
	bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
	uint64_t p50[SUBJECTS];
	int missed = 0;

	char *least;

	if (argc < 4 + check)
		return 2;
	pale = realpath(argv[1 + check], NULL);
	subjects[NOTHING].argv[0] = realpath(argv[2 + check], NULL);
	least = realpath(argv[3 + check], NULL);
	if (!pale || !subjects[NOTHING].argv[0] || !least)
		fail(argv[1 + check]);
	subjects[EXEC].argv[0] = subjects[RUN].argv[0] = pale;
	make_place(least);
	run(subjects[EXEC].argv); /* starts the session */
	atexit(end_session);
	measure("in a session", bare, 3, p50);
	missed += judge("pale exec / fork+exec, p50", p50[EXEC], p50[BARE], 2);
	measure("beside sandboxes", sandboxes, 4, p50);
	missed += judge("pale exec / the same bwrap, p50", p50[EXEC], p50[SAME], 0.25);
	printf("  %-42s %6.2f\n", "pale exec / the short bwrap, p50",
	       (double)p50[EXEC] / (double)p50[SHORT]);
	return check && missed ? 1 : 0;
}
