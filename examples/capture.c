/* SPDX-License-Identifier: MIT */
/*
 * capture - run a command inside the boundary of the preset `workspace`, for ten
 * seconds at most, and read what it prints.
 *
 *     cc -o capture capture.c $(pkg-config --cflags --libs pale)
 *     ./capture ~/project make test
 *
 * PALE names another pale program than the installed one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <pale.h>

static int fail(const struct pale_error *error)
{
	fprintf(stderr, "capture: %s\n", error->message);
	if (error->hint[0])
		fprintf(stderr, "  hint: %s\n", error->hint);
	return 125;
}

/* The command's output until nobody writes any more. */
static void show(int fd)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
}

static int report(struct pale_run *run)
{
	struct pale_error error;

	if (pale_run_error(run, &error))
		fail(&error);
	else
		printf("[%s after %llu ms]\n", pale_outcome_name(pale_run_outcome(run)),
		       (unsigned long long)pale_run_number(run, PALE_DURATION_MS));
	return pale_run_status(run);
}

int main(int argc, char **argv)
{
	struct pale_request request = PALE_REQUEST_INIT;
	struct pale_context *context = NULL;
	struct pale_spec *spec = NULL;
	struct pale_run *run = NULL;
	struct pale_error error;
	int out[2], status = 125;

	if (argc < 3) {
		fprintf(stderr, "usage: capture WORKSPACE CMD [ARGS...]\n");
		return 125;
	}
	/* Close-on-exec, as every descriptor should be in a program with threads. */
	if (pipe(out) < 0 || fcntl(out[0], F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(out[1], F_SETFD, FD_CLOEXEC) < 0)
		return 125;
	request.argv = (const char *const *)argv + 2;
	request.cwd = argv[1];
	request.fds[0] = -1;
	request.fds[1] = out[1];
	if (pale_context_new(getenv("PALE"), &context, &error) < 0 ||
	    pale_spec_from_preset(argv[1], "workspace", &spec, &error) < 0 ||
	    pale_spec_set(spec, "timeout", "10s", &error) < 0 ||
	    pale_spawn(context, spec, &request, &run, &error) < 0) {
		fail(&error);
	} else {
		close(out[1]);
		show(out[0]);
		status = pale_run_wait(run, PALE_FOREVER, &error) < 0 ? fail(&error) : report(run);
	}
	pale_run_free(run);
	pale_spec_free(spec);
	pale_context_free(context);
	return status;
}
