/* SPDX-License-Identifier: MIT */
/*
 * bench - what a sandbox costs, against bwrap and against none.
 *
 *     bench [--check] [--rounds N] [--spaced N] PALE NOTHING LEAST
 *
 * Every round runs each subject once, each round in another order, so that
 * whatever else the machine does, and what a run leaves behind for the next
 * one, falls on all alike. Only ratios of one run are judged, never times. Beside
 * them stands what LEAST needs, which is the kernel's share: no budget is met where
 * that misses it. The status is 0 unless a command failed or, with --check, a budget
 * was missed.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bwrap.h"

enum { SPACE_MS = 60, SLICE_MS = 1000, SLICES = 2, WORKERS_MAX = 1024 };

struct subject {
	const char *name;
	char *argv[BWRAP_WORDS];
	int exit_code; /* when all is well */
	char **env;    /* NULL: environment */
	uint64_t *ns;  /* one per round */
	uint64_t p50;
	uint64_t p99;
};

enum { BARE, PALE, LIMITED, LEAST, SHORT, SAME, START, NOTHING, REMEMBERED, FORGOTTEN, SUBJECTS };

/* A configuration that says whether runs are remembered. */
static char on_var[64], off_var[64], home_var[64], state_var[64];
static char *on_env[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", home_var, state_var, on_var, NULL};
static char *off_env[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", home_var, state_var, off_var, NULL};

static struct subject subjects[SUBJECTS] = {
	[BARE] = {.name = "fork+exec true", .argv = {"/bin/true"}},
	[PALE] = {.name = "pale run -- true", .argv = {NULL, "run", "--", "true"}},
	[LIMITED] = {.name = "pale run, limits",
		     .argv = {NULL, "run", "--memory", "4g", "--pids", "4096", "--allow-degraded",
			      "memory", "--", "true"}},
	[LEAST] = {.name = "least true", .argv = {NULL, "true"}},
	[SHORT] = {.name = "bwrap, short"},
	[SAME] = {.name = "bwrap, the same"},
	/* Starts, reads its arguments, and says that there is no command. */
	[START] = {.name = "pale run, no command", .argv = {NULL, "run"}, .exit_code = 125},
	[NOTHING] = {.name = "musl, nothing", .argv = {NULL}},
	[REMEMBERED] = {.name = "pale, history on",
			.argv = {NULL, "run", "--", "true"},
			.env = on_env},
	[FORGOTTEN] = {.name = "pale, history off",
		       .argv = {NULL, "run", "--", "true"},
		       .env = off_env},
};

static char base_dir[] = "/var/tmp/pale-bench-XXXXXX";
static char *environment[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", home_var, state_var, NULL};
static int stderr_fd = -1; /* what the subjects complain about */
static int missed;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void clean_up(void)
{
	if (chdir("/") < 0 || nftw(base_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS) < 0)
		fprintf(stderr, "bench: %s is left: %s\n", base_dir, strerror(errno));
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL);
}

static void write_config(const char *name, const char *text, char *var, size_t size)
{
	char path[128];
	FILE *file;

	snprintf(var, size, "XDG_CONFIG_HOME=%s/%s", base_dir, name);
	snprintf(path, sizeof(path), "%s/%s", base_dir, name);
	if (mkdir(path, 0700) < 0)
		fail(path);
	snprintf(path, sizeof(path), "%s/%s/pale", base_dir, name);
	if (mkdir(path, 0700) < 0)
		fail(path);
	snprintf(path, sizeof(path), "%s/%s/pale/pale.toml", base_dir, name);
	file = fopen(path, "we");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		fail(path);
}

/* A fresh home and an empty workspace: no configuration, no repository. Not
 * below /tmp, which the sandboxes replace. */
static void make_workspace(void)
{
	const char *home = home_var + strlen("HOME=");
	char work[64];

	bwrap_find();
	if (!mkdtemp(base_dir))
		fail(base_dir);
	atexit(clean_up);
	snprintf(home_var, sizeof(home_var), "HOME=%s/home", base_dir);
	snprintf(state_var, sizeof(state_var), "XDG_STATE_HOME=%s/state", base_dir);
	if (mkdir(home, 0700) < 0)
		fail(home);
	write_config("on", "[history]\nenabled = true\n", on_var, sizeof(on_var));
	write_config("off", "[history]\nenabled = false\n", off_var, sizeof(off_var));
	if (chdir(base_dir) < 0 || mkdir("work", 0700) < 0 || chdir("work") < 0)
		fail(base_dir);
	snprintf(work, sizeof(work), "%s/work", base_dir);
	bwrap_read("bwrap-short", work, home, subjects[SHORT].argv);
	bwrap_read("bwrap-same", work, home, subjects[SAME].argv);
	bwrap_save_filter(subjects[LEAST].argv[0], base_dir);
}

static void subject_failed(const struct subject *s, int status)
{
	char text[4096];
	ssize_t n = pread(stderr_fd, text, sizeof(text), 0);

	fprintf(stderr, "bench: %s: %s %d\n%.*s", s->name, WIFEXITED(status) ? "exit" : "signal",
		WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), n > 0 ? (int)n : 0,
		text);
}

/* Run S once. 0 and its wall time, or -1 after saying why. */
static int subject_run(const struct subject *s, uint64_t *ret_ns)
{
	static posix_spawn_file_actions_t actions;
	static bool ready;
	uint64_t begin;
	int r, status;
	pid_t pid;

	if (!ready) {
		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
		posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
		posix_spawn_file_actions_adddup2(&actions, stderr_fd, 2);
		bwrap_add(&actions);
		ready = true;
	}
	begin = now_ns();
	r = posix_spawn(&pid, s->argv[0], &actions, NULL, s->argv, s->env ? s->env : environment);
	if (r != 0) {
		fprintf(stderr, "bench: %s: %s\n", s->argv[0], strerror(r));
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid");
	*ret_ns = now_ns() - begin;
	if (WIFEXITED(status) && WEXITSTATUS(status) == s->exit_code)
		return 0;
	subject_failed(s, status);
	return -1;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The same orders in every run of the program: random() is not seeded. */
static void shuffle(struct subject **order, size_t count)
{
	for (size_t i = count - 1; i > 0; i--) {
		size_t j = (size_t)random() % (i + 1);
		struct subject *s = order[i];

		order[i] = order[j];
		order[j] = s;
	}
}

/* Time COUNT subjects from the first on, ROUNDS times, SPACE ms between runs. */
static void measure(const char *title, size_t count, unsigned rounds, unsigned space)
{
	struct subject *order[SUBJECTS];

	printf("\n%-20s %10s %10s   (%u rounds)\n", title, "p50", "p99", rounds);
	for (size_t i = 0; i < count; i++) {
		order[i] = &subjects[i];
		subjects[i].ns = calloc(rounds, sizeof(uint64_t));
		if (!subjects[i].ns)
			fail("calloc");
	}
	for (unsigned round = 0; round < rounds; round++) {
		shuffle(order, count);
		for (size_t i = 0; i < count; i++) {
			if (space)
				sleep_ms(space);
			if (subject_run(order[i], &order[i]->ns[round]) < 0)
				exit(1);
		}
	}
	for (size_t i = 0; i < count; i++) {
		struct subject *s = &subjects[i];

		qsort(s->ns, rounds, sizeof(*s->ns), compare_ns);
		s->p50 = s->ns[rounds / 2];
		s->p99 = s->ns[(uint64_t)rounds * 99 / 100];
		free(s->ns);
		printf("%-20s %7.3f ms %7.3f ms\n", s->name, (double)s->p50 / 1e6,
		       (double)s->p99 / 1e6);
	}
}

static void judge(const char *what, double ratio, const char *relation, double budget)
{
	bool ok = relation[0] == '<' ? ratio <= budget : ratio >= budget;

	printf("  %-42s %6.2f   budget %s %.2f   %s\n", what, ratio, relation, budget,
	       ok ? "ok" : "MISSED");
	missed += !ok;
}

static double ratio(uint64_t a, uint64_t b)
{
	return (double)a / (double)b;
}

static void tell(const char *what, double ratio)
{
	printf("  %-42s %6.2f\n", what, ratio);
}

/* A subject against both kinds of bwrap. */
static void judge_both(const char *what, uint64_t ns, double budget)
{
	char title[64];

	snprintf(title, sizeof(title), "%s / the same bwrap, p50", what);
	judge(title, ratio(ns, subjects[SAME].p50), "<=", budget);
	snprintf(title, sizeof(title), "%s / the short bwrap, p50", what);
	tell(title, ratio(ns, subjects[SHORT].p50));
}

static void tell_least(void)
{
	tell("least / the same bwrap, p50", ratio(subjects[LEAST].p50, subjects[SAME].p50));
	tell("least / the short bwrap, p50", ratio(subjects[LEAST].p50, subjects[SHORT].p50));
}

static void report_latency(unsigned rounds, unsigned spaced)
{
	const struct subject *pale = &subjects[PALE], *limited = &subjects[LIMITED];

	measure("back to back", SUBJECTS, rounds, 0);
	judge("pale / the short bwrap, p50", ratio(pale->p50, subjects[SHORT].p50), "<=", 0.55);
	tell("pale / the same bwrap, p50", ratio(pale->p50, subjects[SAME].p50));
	judge_both("with limits", limited->p50, 0.60);
	tell_least();
	tell("pale / the same bwrap, p99", ratio(pale->p99, subjects[SAME].p99));
	judge("start of pale / nothing, p50", ratio(subjects[START].p50, subjects[NOTHING].p50),
	      "<=", 2);
	judge("pale, history on / off, p50",
	      ratio(subjects[REMEMBERED].p50, subjects[FORGOTTEN].p50), "<=", 1.05);

	measure("spaced by 60 ms", SAME + 1, spaced, SPACE_MS);
	judge_both("with limits", limited->p50, 0.70);
	tell_least();
	tell("pale / the same bwrap, p99", ratio(pale->p99, subjects[SAME].p99));
}

static int cpu_count(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < WORKERS_MAX ? n : WORKERS_MAX;
}

/* While others compute, each in a session of its own as from terminals: two for each processor. */
static void report_busy(unsigned rounds)
{
	pid_t pids[WORKERS_MAX];
	int n = 2 * cpu_count();

	n = n < WORKERS_MAX ? n : WORKERS_MAX;
	fflush(stdout);
	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			fail("fork");
		if (pids[i] == 0) {
			setsid();
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (volatile unsigned turns = 0;; turns++)
				;
		}
	}
	measure("on a busy machine", SAME + 1, rounds, 0);
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	tell("with limits / the same bwrap, p50", ratio(subjects[LIMITED].p50, subjects[SAME].p50));
	tell_least();
}

/* How many runs of S do N workers finish in one slice? */
static uint64_t slice(const struct subject *s, int n, uint64_t *counts)
{
	uint64_t end = now_ns() + (uint64_t)SLICE_MS * 1000000, sum = 0;
	pid_t pids[WORKERS_MAX];
	bool failed = false;

	for (int i = 0; i < n; i++) {
		counts[i] = 0;
		pids[i] = fork();
		if (pids[i] < 0)
			fail("fork");
		if (pids[i] == 0) {
			uint64_t ns;

			for (; now_ns() < end; counts[i]++)
				if (subject_run(s, &ns) < 0)
					_exit(1);
			_exit(0);
		}
	}
	for (int i = 0; i < n; i++) {
		int status = -1;

		waitpid(pids[i], &status, 0);
		failed |= status != 0;
		sum += counts[i];
	}
	if (failed)
		exit(1);
	return sum;
}

static void report_throughput(void)
{
	static const int list[] = {PALE, LEAST, SHORT, SAME};
	uint64_t sum[SUBJECTS] = {0}, *counts;
	int n = cpu_count();

	counts = mmap(NULL, (size_t)n * sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		fail("mmap");
	fflush(stdout);
	for (int i = 0; i < SLICES; i++)
		for (size_t j = 0; j < array_len(list); j++)
			sum[list[j]] += slice(&subjects[list[j]], n, counts);
	munmap(counts, (size_t)n * sizeof(*counts));

	printf("\nsandboxes per second, %d worker%s\n", n, n == 1 ? "" : "s");
	for (size_t j = 0; j < array_len(list); j++)
		printf("%-20s %7.0f\n", subjects[list[j]].name,
		       (double)sum[list[j]] * 1000 / (SLICES * SLICE_MS));
	judge("pale / the same bwrap", ratio(sum[PALE], sum[SAME]), ">=", 1.70);
	tell("pale / the short bwrap", ratio(sum[PALE], sum[SHORT]));
	tell("least / the same bwrap", ratio(sum[LEAST], sum[SAME]));
	tell("least / the short bwrap", ratio(sum[LEAST], sum[SHORT]));
}

static unsigned parse_count(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || n < 1 || n > 1000000) {
		fprintf(stderr, "bench: bad number of rounds: %s\n", text);
		exit(2);
	}
	return (unsigned)n;
}

static char *absolute(const char *path)
{
	char *full = realpath(path, NULL);

	if (!full)
		fail(path);
	return full;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"check", no_argument, NULL, 'c'},
		{"rounds", required_argument, NULL, 'n'},
		{"spaced", required_argument, NULL, 's'},
		{0},
	};
	unsigned rounds = 300, spaced = 60;
	bool check = false;
	int c;

	while ((c = getopt_long(argc, argv, "cn:s:", options, NULL)) >= 0) {
		if (c == 'c')
			check = true;
		else if (c == 'n')
			rounds = parse_count(optarg);
		else if (c == 's')
			spaced = parse_count(optarg);
		else
			return 2;
	}
	if (argc - optind != 3) {
		fprintf(stderr,
			"usage: bench [--check] [--rounds N] [--spaced N] PALE NOTHING LEAST\n");
		return 2;
	}
	subjects[PALE].argv[0] = subjects[LIMITED].argv[0] = subjects[START].argv[0] =
		subjects[REMEMBERED].argv[0] = subjects[FORGOTTEN].argv[0] = absolute(argv[optind]);
	subjects[NOTHING].argv[0] = absolute(argv[optind + 1]);
	subjects[LEAST].argv[0] = absolute(argv[optind + 2]);

	stderr_fd = memfd_create("stderr", MFD_CLOEXEC);
	if (stderr_fd < 0)
		fail("memfd_create");
	make_workspace();
	report_latency(rounds, spaced);
	report_busy(spaced);
	report_throughput();
	return check && missed ? 1 : 0;
}
