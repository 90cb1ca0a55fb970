/* SPDX-License-Identifier: MIT */
#include "engine/sample.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

enum { CHILDREN = 3, EACH = 8 << 20, SHARED = 64 << 20 };

static char *shared;

static void burn(void)
{
	while (clock() < CLOCKS_PER_SEC / 10)
		;
}

/* A child with two below it, each with some memory. */
static pid_t grow(int ready, int depth)
{
	pid_t pid = fork();

	if (pid == 0) {
		char *memory = malloc(EACH);

		if (depth == 0) {
			grow(ready, 1);
			grow(ready, 1);
		}
		if (!memory)
			_exit(1);
		memset(memory, depth + 1, EACH);
		memset(shared, 1, SHARED);
		prctl(PR_SET_NAME, "RssShmem: 0"); /* it may be called anything */
		burn();
		if (write(ready, "x", 1) != 1)
			_exit(1);
		pause();
		_exit(memory[0]);
	}
	return pid;
}

int main(void)
{
	struct sample sample = {0}, gone = {0};
	int ready[2];
	pid_t top;
	char c;

	if (tap_on_valgrind()) {
		tap_skip("memory and time are valgrind's own here");
		return tap_done();
	}
	shared = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe(ready) < 0)
		return 1;
	setpgid(0, 0);
	top = grow(ready[1], 0);
	for (int i = 0; i < CHILDREN; i++)
		if (read(ready[0], &c, 1) != 1)
			return 1;
	tap_eq_int(sample_tree(top, &sample), 0, "a tree can be sampled");
	tap_eq_int((long long)sample.pids, CHILDREN, "grandchildren count");
	tap_ok(sample.memory >= (uint64_t)CHILDREN * EACH, "memory adds up: %llu",
	       (unsigned long long)sample.memory);
	tap_ok(sample.memory >= (uint64_t)CHILDREN * EACH + SHARED &&
		       sample.memory < (uint64_t)CHILDREN * EACH + 2 * SHARED,
	       "what they share counts once");
	tap_ok(sample.cpu_ms >= 200 && sample.cpu_ms < 20000, "CPU time adds up: %llu",
	       (unsigned long long)sample.cpu_ms);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	tap_ok(sample_tree(top, &gone) == 0 && gone.pids == 0, "a tree that is gone uses nothing");
	return tap_done();
}
