/* SPDX-License-Identifier: MIT */
/*
 * library-scarce VERB WORKSPACE - libpale where something runs out, at every step in turn:
 * memory (one allocation fails, or all from there on) or descriptors. PALE names the
 * program. Prints how many steps failed, and a line bad=... for each promise that was broken.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <pale.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static long step, failing; /* failing 0: none */
static int for_good;

static int runs_out(void)
{
	step++;
	return failing && (for_good ? step >= failing : step == failing);
}

void *malloc(size_t size)
{
	return runs_out() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return runs_out() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return runs_out() ? NULL : __libc_realloc(old, size);
}

static struct pale_context *context;
static struct pale_spec *spec;
static struct pale_error error;

static void bad(const char *what, const char *why)
{
	printf("bad=%s at %ld: %s\n", what, failing, why);
}

static struct pale_request request_of(const char *const *argv)
{
	struct pale_request request = PALE_REQUEST_INIT;

	request.argv = argv;
	request.fds[0] = request.fds[1] = request.fds[2] = -1;
	return request;
}

/* Whatever becomes of it: what is said of a run that ended is true. */
static int run(const char *program, int status)
{
	const char *const argv[] = {program, NULL};
	struct pale_request request = request_of(argv);
	struct pale_run *run;
	int r = pale_spawn(context, spec, &request, &run, &error), again = 0;

	if (r < 0)
		return r;
	r = pale_run_wait(run, 20000, &error);
	if (r < 0) {
		failing = 0;
		again = pale_run_wait(run, 20000, NULL);
	}
	if (again < 0 || pale_run_status(run) != status)
		bad(program, *pale_run_json(run) ? pale_run_json(run) : "no answer");
	pale_run_free(run);
	return r;
}

static int run_true(void)
{
	return run("true", 0);
}

static int run_false(void)
{
	return run("false", 1);
}

static int run_nothing(void)
{
	return run("no-such-program", 127);
}

static int make_spec(void)
{
	struct pale_spec *made = NULL;
	int r = pale_spec_from_toml(NULL, "base = 'build'\nenv_pass = ['A', 'B*']\nports = [1]",
				    &made, &error);

	if (r < 0 && made)
		bad("spec", "touched on failure");
	pale_spec_free(made);
	return r;
}

static int add_host(void)
{
	char *before = NULL, *after = NULL;
	long now = failing;
	int r;

	failing = 0;
	pale_spec_get(spec, "hosts", &before, NULL);
	failing = now;
	r = pale_spec_add(spec, "hosts", "example.org:1,2,3", &error);
	failing = 0;
	pale_spec_get(spec, "hosts", &after, NULL);
	if (r < 0 && strcmp(before, after) != 0)
		bad("add", "changed on failure");
	pale_spec_set(spec, "hosts", NULL, NULL);
	free(before);
	free(after);
	return r;
}

static void memory(const char *name, int (*deed)(void))
{
	long failed = 0, steps = 0;
	int r = 0;

	deed();
	for (for_good = 0; for_good < 2; for_good++) {
		for (failing = 1; failing < 10000; failing++) {
			long now = failing;

			step = 0;
			r = deed();
			failing = now;
			if (r < 0 && r != -ENOMEM)
				bad(name, error.message);
			failed += r < 0;
			if (r == 0 && step < failing)
				break;
		}
		steps += failing - 1;
		failing = 0;
	}
	printf("%s=%ld of %ld failed\n", name, failed, steps);
}

/* A run either does not start, or is in our hands. */
static void descriptors(void)
{
	const char *const argv[] = {"sleep", "60", NULL};
	struct pale_request request = request_of(argv);
	struct rlimit limit;
	long failed = 0, started = 0;

	getrlimit(RLIMIT_NOFILE, &limit);
	for (failing = 6; failing < 24; failing++) {
		struct pale_run *run;
		int r;

		limit.rlim_cur = (rlim_t)failing;
		setrlimit(RLIMIT_NOFILE, &limit);
		r = pale_spawn(context, spec, &request, &run, &error);
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		failed += r < 0;
		started += r == 0;
		if (r < 0 && r != -EMFILE)
			bad("spawn", error.message);
		if (r == 0 && pale_run_kill(run, SIGTERM, &error) < 0)
			bad("kill", error.message);
		if (r == 0)
			pale_run_free(run);
	}
	failing = 0;
	printf("descriptors=%ld failed, %ld started\n", failed, started);
}

int main(int argc, char **argv)
{
	if (argc < 3 || pale_context_new(getenv("PALE"), &context, &error) < 0 ||
	    pale_spec_from_preset(argv[2], "workspace", &spec, &error) < 0)
		return 1;
	if (strcmp(argv[1], "descriptors") == 0) {
		descriptors();
	} else {
		memory("spec", make_spec);
		memory("add", add_host);
		memory("true", run_true);
		memory("false", run_false);
		memory("nothing", run_nothing);
	}
	pale_spec_free(spec);
	pale_context_free(context);
	return 0;
}
