/* SPDX-License-Identifier: MIT */
/*
 * library - what a run through libpale costs, in a small and in a large caller,
 * against `pale run` started by hand.
 *
 *     library [--check] PALE NOTHING
 *
 * Rounds take turns, so that the machine's moods fall on all alike. Only ratios
 * are judged. The status is 0 unless a run failed or, with --check, a budget was
 * missed. NOTHING is not used: the same arguments as bench.
 */
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pale.h"

enum { BLOCKS = 10, BLOCK = 20, ROUNDS = BLOCKS * BLOCK, LARGE = 1 << 30 };

static char work[] = "/var/tmp/pale-bench-XXXXXX";
static char state[] = "/var/tmp/pale-state-XXXXXX"; /* not the user's */
static struct pale_context *context;
static struct pale_spec *spec;
static char *program, *memory;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_state(void)
{
	(void)nftw(state, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "library: %s\n", what);
	rmdir(work);
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double by_hand(void)
{
	char *argv[] = {program, "run", "--workspace", work, "--", "true", NULL};
	double begin = now_ms();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		fail("pale run -- true");
	return now_ms() - begin;
}

static double by_library(void)
{
	static const char *const argv[] = {"true", NULL};
	struct pale_request request = PALE_REQUEST_INIT;
	double begin = now_ms();
	struct pale_error error;
	struct pale_run *run;

	request.argv = argv;
	if (pale_spawn(context, spec, &request, &run, &error) < 0 ||
	    pale_run_wait(run, PALE_FOREVER, &error) < 0)
		fail(error.message);
	if (pale_run_outcome(run) != PALE_OK)
		fail(pale_run_json(run));
	pale_run_free(run);
	return now_ms() - begin;
}

static void grow(void)
{
	memory = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		fail("no memory");
	memset(memory, 1, LARGE);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *times)
{
	qsort(times, ROUNDS, sizeof(*times), compare);
	return times[ROUNDS / 2];
}

static int judge(const char *name, double ratio, double budget, int check)
{
	printf("%-44s %5.2f  (budget %.2f)%s\n", name, ratio, budget,
	       ratio <= budget ? "" : "  missed");
	return check && ratio > budget;
}

int main(int argc, char **argv)
{
	static double hand[ROUNDS], small[ROUNDS], large[ROUNDS];
	int check = argc > 1 && strcmp(argv[1], "--check") == 0, missed;

	program = argc > check + 1 ? realpath(argv[check + 1], NULL) : NULL;
	if (!program || !mkdtemp(work) || chdir(work) < 0)
		fail("usage: library [--check] PALE NOTHING");
	if (!mkdtemp(state) || setenv("XDG_STATE_HOME", state, 1) < 0)
		fail(state);
	atexit(remove_state);
	if (pale_context_new(program, &context, NULL) < 0 ||
	    pale_spec_from_preset(work, "workspace", &spec, NULL) < 0)
		fail("no memory");
	for (int block = 0; block < BLOCKS; block++) {
		int first = block * BLOCK;

		for (int i = first; i < first + BLOCK; i++) {
			hand[i] = by_hand();
			small[i] = by_library();
		}
		grow();
		for (int i = first; i < first + BLOCK; i++)
			large[i] = by_library();
		munmap(memory, LARGE);
	}
	printf("\nlibrary: pale run %.2f ms, small caller %.2f ms, caller of 1 GiB %.2f ms\n",
	       median(hand), median(small), median(large));
	missed = judge("library / pale run", median(small) / median(hand), 1.1, check);
	missed |= judge("caller of 1 GiB / small caller", median(large) / median(small), 1.15,
			check);
	pale_spec_free(spec);
	pale_context_free(context);
	free(program);
	rmdir(work);
	return missed;
}
