/* SPDX-License-Identifier: MIT */
/*
 * library VERB WORKSPACE SPEC [CMD...] - libpale at work, for tests/live/library.t.
 *
 * SPEC is TOML text; "new" is a new spec. PALE names the program. What is seen
 * is printed as KEY=VALUE lines; the command itself prints to where VERB says.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <pale.h>

static struct pale_context *context;
static struct pale_spec *spec;
static struct pale_request request = PALE_REQUEST_INIT;

static void die(const char *what, const struct pale_error *error)
{
	printf("failed=%s: %s\n", what, error->message);
	exit(1);
}

static struct pale_run *spawn(void)
{
	struct pale_error error;
	struct pale_run *run;

	if (pale_spawn(context, spec, &request, &run, &error) < 0)
		die("spawn", &error);
	return run;
}

static void finish(struct pale_run *run)
{
	struct pale_error error;

	if (pale_run_wait(run, 20000, &error) < 0)
		die("wait", &error);
	printf("outcome=%s\ncode=%d\nsignal=%d\nstatus=%d\nlimit=%s\n",
	       pale_outcome_name(pale_run_outcome(run)), pale_run_exit_code(run),
	       pale_run_signal(run), pale_run_status(run),
	       pale_run_limit(run) ? pale_run_limit(run) : "");
	printf("duration=%lld\ncpu=%lld\nmemory=%lld\n",
	       (long long)pale_run_number(run, PALE_DURATION_MS),
	       (long long)pale_run_number(run, PALE_CPU_MS),
	       (long long)pale_run_number(run, PALE_MEMORY_PEAK));
	if (pale_run_error(run, &error))
		printf("error=%d %s\nhint=%s\n", error.code, error.message, error.hint);
	printf("json=%s\n", pale_run_json(run));
	pale_run_free(run);
}

static void verb_run(void)
{
	finish(spawn());
}

/* The command reads from a pipe of ours, and writes to two others, whose numbers
 * are those that a careless dup2() would trample on. */
static void verb_fds(void)
{
	int in[2], out[2], err[2];
	struct pale_run *run;
	char buf[256];
	ssize_t n;

	fflush(stdout);
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		exit(1);
	/* 3 and 4 are what pale itself uses; ours are there, crosswise. */
	request.fds[0] = in[0];
	request.fds[1] = out[1];
	request.fds[2] = err[1];
	run = spawn();
	close(in[0]);
	close(out[1]);
	close(err[1]);
	if (write(in[1], "to the command\n", 15) != 15)
		exit(1);
	close(in[1]);
	n = read(out[0], buf, sizeof(buf) - 1);
	printf("out=%.*s", n > 0 ? (int)n : 1, n > 0 ? buf : "\n");
	n = read(err[0], buf, sizeof(buf) - 1);
	printf("err=%.*s", n > 0 ? (int)n : 1, n > 0 ? buf : "\n");
	finish(run);
}

static void verb_swapped(void)
{
	/* The command's 1 is our 2, and the other way round; 0 is closed. */
	close(0);
	request.fds[0] = -1;
	request.fds[1] = 2;
	request.fds[2] = 1;
	fflush(stdout);
	finish(spawn());
}

/* A descriptor that is not close-on-exec must not get in, or keep a pipe open. */
static void verb_leak(void)
{
	struct pollfd hangup;
	struct pale_run *run;
	int p[2], high;

	/* Not where pale's own would take its place. */
	if (pipe2(p, O_CLOEXEC) < 0 || (high = fcntl(p[1], F_DUPFD, 50)) < 0)
		exit(1);
	close(p[1]);
	run = spawn();
	close(high);
	hangup = (struct pollfd){.fd = p[0], .events = POLLIN};
	printf("closed=%d\n", poll(&hangup, 1, 800) == 1 && hangup.revents & POLLHUP);
	finish(run);
}

static void verb_wait(void)
{
	struct pale_run *run = spawn();
	struct pollfd fd = {.fd = pale_run_fd(run), .events = POLLIN};

	printf("poll=%d\n", poll(&fd, 1, 200));
	printf("wait0=%d\n", pale_run_wait(run, 0, NULL));
	printf("wait=%d\n", pale_run_wait(run, 200, NULL));
	printf("before=%s\n", pale_outcome_name(pale_run_outcome(run)));
	printf("kill=%d\n", pale_run_kill(run, SIGTERM, NULL));
	printf("polled=%d\n", poll(&fd, 1, 10000));
	finish(run);
}

static void kill_with(int sig)
{
	struct pale_run *run = spawn();

	printf("wait=%d\n", pale_run_wait(run, 300, NULL));
	printf("kill=%d\n", pale_run_kill(run, sig, NULL));
	finish(run);
}

static void verb_kill9(void)
{
	kill_with(SIGKILL);
}

static void verb_usr1(void)
{
	kill_with(SIGUSR1);
}

static void verb_stopped(void)
{
	struct pale_run *run = spawn();

	printf("wait=%d\n", pale_run_wait(run, 300, NULL));
	printf("stop=%d\n", pale_run_kill(run, SIGTSTP, NULL));
	printf("wait=%d\n", pale_run_wait(run, 300, NULL));
	printf("kill=%d\n", pale_run_kill(run, SIGKILL, NULL));
	finish(run);
}

/* Free before the end. */
static void verb_free(void)
{
	struct pale_run *run = spawn();

	printf("wait=%d\n", pale_run_wait(run, 500, NULL));
	pale_run_free(run);
	printf("freed=1\n");
	printf("children=%d\n", waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? 0 : 1);
	fflush(stdout);
	pause();
}

/* What a child does that exits after a fork, as a server of several processes has them. */
static void verb_fork(void)
{
	struct pale_run *run = spawn();
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		pale_run_free(run);
		pale_spec_free(spec);
		pale_context_free(context);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	finish(run);
}

static void verb_pause(void)
{
	spawn();
	printf("up=1\n");
	fflush(stdout);
	pause();
}

/* The caller takes no interest in its children. */
static void verb_ignore(void)
{
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	finish(spawn());
}

static void *spawn_thread(void *data)
{
	struct pale_request own = request;
	const char *argv[] = {"sh", "-c", "echo BOOTED; exit $1", "sh", data, NULL};
	int good = 0;

	own.argv = argv;
	for (int i = 0; i < 5; i++) {
		char buf[64] = "";
		struct pale_run *run;
		int p[2];

		if (pipe2(p, O_CLOEXEC) < 0)
			break;
		own.fds[1] = p[1];
		if (pale_spawn(context, spec, &own, &run, NULL) < 0)
			break;
		close(p[1]);
		good += read(p[0], buf, sizeof(buf)) == 7 && pale_run_wait(run, 20000, NULL) == 0 &&
			pale_run_exit_code(run) == atoi(data);
		close(p[0]);
		pale_run_free(run);
	}
	return (void *)(intptr_t)good;
}

static void verb_threads(void)
{
	static char codes[8][4];
	pthread_t threads[8];
	struct pale_event events[PALE_EVENTS_MAX];
	int good = 0;

	for (int i = 0; i < 8; i++) {
		snprintf(codes[i], sizeof(codes[i]), "%d", i * 10);
		pthread_create(&threads[i], NULL, spawn_thread, codes[i]);
	}
	for (int i = 0; i < 8; i++) {
		void *value;

		pthread_join(threads[i], &value);
		good += (int)(intptr_t)value;
	}
	printf("good=%d\nevents=%zu\n", good, pale_events(context, 0, events, PALE_EVENTS_MAX));
	printf("workspace=%d\n", events[0].workspace != 0 && events[0].kind == PALE_EVENT_START);
}

static void verb_plan(void)
{
	struct pale_error error;
	struct pale_plan *plan;

	if (pale_plan_new(context, spec, &request, &plan, &error) < 0)
		die("plan", &error);
	printf("world=%s\nceiling=%u\n", pale_plan_world(plan), pale_plan_ceiling(plan));
	for (size_t i = 0; i < pale_plan_len(plan); i++)
		printf("dim.%s=%d %s\n", pale_plan_dimension(plan, i),
		       (int)pale_plan_state(plan, i), pale_plan_by(plan, i));
	printf("past=%d\n", pale_plan_dimension(plan, 999) == NULL && !pale_plan_by(plan, 999));
	printf("json=%s", pale_plan_json(plan));
	pale_plan_free(plan);
}

static void verb_probe(void)
{
	struct pale_error error = {0};

	printf("probe=%d\n", pale_probe(context, NULL, &error));
	printf("message=%s\n", error.message);
}

static void verb_exec(void)
{
	struct pale_error error;
	char **argv;

	if (pale_argv(context, spec, &request, &argv, &error) < 0)
		die("argv", &error);
	execv(argv[0], argv);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The shortest time of pale_spawn() itself: what else the machine does adds to
 * the others. */
static double fastest(void)
{
	double best = 1e9;

	for (int i = 0; i < 41; i++) {
		double begin = now(), time;
		struct pale_run *run = spawn();

		time = now() - begin;
		best = time < best ? time : best;
		pale_run_wait(run, 20000, NULL);
		pale_run_free(run);
	}
	return best;
}

static void verb_big(void)
{
	size_t size = (size_t)1 << 30;
	double before = fastest(), after;
	char *memory = malloc(size);

	if (!memory)
		_exit(1);
	memset(memory, 1, size);
	after = fastest();
	printf("small=%.3f\nbig=%.3f\nbyte=%d\n", before, after, memory[size / 2]);
	free(memory);
}

static int annotate(const struct pale_event *event, const char *json,
		    struct pale_annotation *annotation, void *data)
{
	(void)data;
	if (event->kind != PALE_EVENT_EXIT || !strstr(json, "\"outcome\""))
		return 0;
	snprintf(annotation->type, sizeof(annotation->type), "seen");
	return 1;
}

/* What is in the ring after a run: by name, and as it lies in memory. */
static void verb_ring(void)
{
	static struct pale_event events[PALE_EVENTS_MAX];
	struct pale_annotation said = {0};
	struct pale_run *run;
	size_t n;

	pale_annotator_add(context, "probe", annotate, NULL, NULL);
	run = spawn();
	pale_run_wait(run, 20000, NULL);
	pale_run_free(run);
	n = pale_events(context, 0, events, PALE_EVENTS_MAX);
	for (size_t i = 0; i < n; i++)
		printf("%s=%s %u\n", pale_event_name((enum pale_event_kind)events[i].kind),
		       pale_dimension_name((enum pale_dimension)events[i].dimension),
		       (unsigned)events[i].count);
	printf("annotation=%zu %s\n", pale_annotations(context, n, &said, 1), said.type);
	printf("memory=");
	for (size_t i = 0; i < n * sizeof(events[0]); i++)
		printf("%02x", ((unsigned char *)events)[i]);
	printf("\n");
}

static const struct {
	const char *name;
	void (*run)(void);
} verbs[] = {
	{"run", verb_run},         {"fds", verb_fds},   {"swapped", verb_swapped},
	{"leak", verb_leak},       {"wait", verb_wait}, {"kill9", verb_kill9},
	{"usr1", verb_usr1},       {"free", verb_free}, {"pause", verb_pause},
	{"ignore", verb_ignore},   {"plan", verb_plan}, {"threads", verb_threads},
	{"probe", verb_probe},     {"exec", verb_exec}, {"big", verb_big},
	{"stopped", verb_stopped}, {"ring", verb_ring}, {"fork", verb_fork},
};

int main(int argc, char **argv)
{
	struct pale_error error;
	int r;

	if (argc < 4 || pale_context_new(getenv("PALE"), &context, &error) < 0)
		return 2;
	if (strcmp(argv[3], "new") == 0)
		r = pale_spec_new(argv[2], &spec, &error);
	else
		r = pale_spec_from_toml(argv[2], argv[3], &spec, &error);
	if (r < 0)
		die("spec", &error);
	request.argv = (const char *const *)argv + 4;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(verbs[i].name, argv[1]) == 0) {
			verbs[i].run();
			pale_spec_free(spec);
			pale_context_free(context);
			return 0;
		}
	return 2;
}
