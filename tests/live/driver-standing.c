/* SPDX-License-Identifier: MIT */
/*
 * A sandbox that stays up, by hand: what a session's keeper does, without one.
 *
 *     driver-standing [--engine E] [--spec TOML] [--workspace DIR] [--no-observe]
 *
 * Orders are lines on stdin, their words separated by tabs; each answer is one line of
 * JSON. start ID [in= out= err= notes= cwd= env= tty= screen= fill= timeout= cpu= memory=
 * pids= tool=] -- ARGV...; signal ID N; end ID; type ID TEXT; bench N ARGV...; bare N
 * ARGV...; status; close. `tty` and `screen` name the file that gets what is on the screen.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/run.h"
#include "backend/standing.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/str.h"
#include "warden/main.h"

enum { WORDS_MAX = 256, ENV_MAX = 256, SCREENS_MAX = 16 };

static struct screen {
	uint32_t id;
	int master, file;
} screens[SCREENS_MAX];
static struct loop loop;
static struct standing *standing;
static struct plan *plan;
static struct str input;
static unsigned bench_left, bench_bad;
static char **bench_argv;
static uint64_t bench_began;
static unsigned bench_count;

/* A tool: says which descriptors it has, or reads a file. */
static int tool(char *const *argv)
{
	char buf[4096];
	ssize_t n;
	int fd;

	if (argv[1] && strcmp(argv[0], "read") == 0) {
		fd = fd_open(argv[1], O_RDONLY);
		if (fd < 0)
			return errno;
		while ((n = read(fd, buf, sizeof(buf))) > 0)
			(void)fd_write_all(1, buf, (size_t)n);
		return 0;
	}
	if (strcmp(argv[0], "sleep") == 0) {
		dprintf(1, "%d\n", (int)getpid());
		sleep(60);
		return 0;
	}
	for (fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			dprintf(1, "%d\n", fd);
	return environ ? 9 : 7;
}

static void say(struct json *json)
{
	json_end_object(json);
	if (json_finish(json) < 0 || str_append_char(json->out, '\n') < 0 ||
	    fd_write_all(1, json->out->data, json->out->len) < 0)
		exit(3);
	str_release(json->out);
}

static struct json begin(struct str *text)
{
	struct json json = {.out = text};

	json_begin_object(&json, NULL);
	return json;
}

static void say_word(const char *key, const char *value)
{
	struct str text = {0};
	struct json json = begin(&text);

	json_add_string(&json, key, value);
	say(&json);
}

/* -- What the ear hears --------------------------------------------------- */

static struct screen *find_screen(uint32_t id)
{
	for (size_t i = 0; i < SCREENS_MAX; i++)
		if (screens[i].id == id)
			return &screens[i];
	return NULL;
}

static void on_master(void *data, short revents)
{
	struct screen *screen = data;
	char buf[4096];
	ssize_t n = read(screen->master, buf, sizeof(buf));

	(void)revents;
	if (n > 0) {
		(void)fd_write_all(screen->file, buf, (size_t)n);
		return;
	}
	loop_remove(&loop, screen->master);
	fd_close(screen->master);
	fd_close(screen->file);
	*screen = (struct screen){0};
}

static void on_terminal(void *data, uint32_t id, int master)
{
	struct screen *screen = find_screen(id);

	(void)data;
	screen->master = master;
	loop_add(&loop, master, POLLIN, on_master, screen);
}

static void on_stopped(void *data, uint32_t id)
{
	struct str text = {0};
	struct json json = begin(&text);

	(void)data;
	json_add_uint(&json, "stopped", id);
	say(&json);
}

static void bench_next(void);

static void on_ended(void *data, uint32_t id, struct result *result, const struct err *failed)
{
	struct str text = {0};
	struct json json;

	(void)data;
	if (bench_left > 0) {
		bench_bad += failed || result->outcome != OUTCOME_OK;
		events_release(&result->events);
		violations_release(&result->violations);
		bench_left--;
		bench_next();
		return;
	}
	json = begin(&text);
	json_add_uint(&json, "ended", id);
	json_add_string(&json, "failed", failed ? failed->message : NULL);
	json_add_string(&json, "outcome", failed ? "error" : outcome_name(result->outcome));
	json_add_int(&json, "exit", result->exit_code);
	json_add_int(&json, "signal", result->signal);
	json_add_string(&json, "limit", result->limit);
	json_add_uint(&json, "duration_ms", result->duration_ms);
	json_add_uint(&json, "memory", result->usage.memory_peak);
	json_add_uint(&json, "cpu_ms", result->usage.cpu_ms);
	json_add_uint(&json, "pids", result->usage.pids_peak);
	violations_json(&result->violations, &json);
	events_json(&result->events, &json);
	say(&json);
	events_release(&result->events);
	violations_release(&result->violations);
}

static void on_gone(void *data)
{
	(void)data;
	say_word("gone", "");
	loop.done = true;
}

static const struct standing_ear ear = {
	.terminal = on_terminal, .stopped = on_stopped, .ended = on_ended, .gone = on_gone};

/* -- Orders --------------------------------------------------------------- */

static int open_stream(const char *path, bool writes)
{
	int fd = open(path,
		      writes ? O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC : O_RDONLY | O_CLOEXEC,
		      0644);

	if (fd < 0) {
		perror(path);
		exit(3);
	}
	return fd;
}

struct start {
	struct errand errand;
	struct pty pty;
	char *env[ENV_MAX];
	size_t env_len;
	char *fill;
};

static void set_screen(struct start *s, const char *path, bool keyboard)
{
	struct screen *screen = find_screen(0);

	if (!screen)
		exit(3);
	screen->id = s->errand.id;
	screen->file = open_stream(path, true);
	s->pty = (struct pty){.mask = keyboard ? 7 : 6,
			      .interactive = keyboard,
			      .size = {.ws_row = 24, .ws_col = 80}};
	s->pty.modes.c_iflag = ICRNL;
	s->pty.modes.c_oflag = OPOST | ONLCR;
	s->pty.modes.c_cflag = CS8 | CREAD | B38400;
	s->pty.modes.c_lflag = ISIG | ICANON | ECHO;
	s->pty.modes.c_cc[VINTR] = 3;
	s->pty.modes.c_cc[VSUSP] = 26;
	s->pty.modes.c_cc[VEOF] = 4;
	s->errand.pty = &s->pty;
}

static void fill_env(struct start *s, size_t size)
{
	s->fill = malloc(size + 6);
	if (!s->fill)
		exit(3);
	memcpy(s->fill, "FILL=", 5);
	memset(s->fill + 5, 'x', size);
	s->fill[size + 5] = '\0';
	s->env[s->env_len++] = s->fill;
}

static void set_word(struct start *s, char *key, char *value)
{
	if (strcmp(key, "in") == 0)
		s->errand.fds[0] = open_stream(value, false);
	else if (strcmp(key, "out") == 0)
		s->errand.fds[1] = open_stream(value, true);
	else if (strcmp(key, "err") == 0)
		s->errand.fds[2] = open_stream(value, true);
	else if (strcmp(key, "notes") == 0)
		s->errand.notes = open_stream(value, true);
	else if (strcmp(key, "cwd") == 0)
		s->errand.cwd = value;
	else if (strcmp(key, "env") == 0)
		s->env[s->env_len++] = value;
	else if (strcmp(key, "fill") == 0)
		fill_env(s, strtoul(value, NULL, 10));
	else if (strcmp(key, "tty") == 0 || strcmp(key, "screen") == 0)
		set_screen(s, value, key[0] == 't');
	else if (strcmp(key, "tool") == 0)
		s->errand.is_tool = true;
	else if (strcmp(key, "timeout") == 0)
		s->errand.timeout_ms = strtoull(value, NULL, 10);
	else if (strcmp(key, "cpu") == 0)
		s->errand.cpu_ms = strtoull(value, NULL, 10);
	else if (strcmp(key, "memory") == 0)
		s->errand.memory = strtoull(value, NULL, 10);
	else if (strcmp(key, "pids") == 0)
		s->errand.pids = strtoull(value, NULL, 10);
	else
		exit(3);
}

static void start(char **words)
{
	static int null = -1;
	struct start s = {.errand = {.id = (uint32_t)strtoul(words[0], NULL, 10),
				     .cwd = plan->cwd,
				     .fds = {-1, -1, -1},
				     .notes = -1,
				     .timeout_ms = UINT64_MAX,
				     .cpu_ms = UINT64_MAX,
				     .memory = UINT64_MAX,
				     .pids = UINT64_MAX}};
	struct err err = {0};

	if (null < 0)
		null = fd_open("/dev/null", O_RDWR);
	for (; s.env_len < plan->env.len && s.env_len < ENV_MAX / 2; s.env_len++)
		s.env[s.env_len] = plan->env.items[s.env_len];
	for (words++; *words && strcmp(*words, "--") != 0; words++) {
		char *equals = strchr(*words, '=');

		*equals = '\0';
		set_word(&s, *words, equals + 1);
	}
	s.errand.argv = words + 1;
	s.errand.env = s.env;
	for (int i = 0; i < 3; i++)
		if (s.errand.fds[i] < 0 && !(s.pty.mask & 1u << i))
			s.errand.fds[i] = null;
	if (standing_start(standing, &s.errand, &err) < 0)
		say_word("refused", err.message);
	for (int i = 0; i < 3; i++)
		if (s.errand.fds[i] != null)
			fd_close(s.errand.fds[i]);
	fd_close(s.errand.notes);
	free(s.fill);
}

static void say_time(const char *key, uint64_t ns)
{
	struct str text = {0};
	struct json json = begin(&text);

	json_add_string(&json, "timed", key);
	json_add_uint(&json, "ns", ns);
	json_add_uint(&json, "bad", bench_bad);
	say(&json);
}

static void bench_next(void)
{
	static int null = -1;
	struct errand e = {.id = bench_left,
			   .argv = bench_argv,
			   .env = plan->env.items,
			   .cwd = plan->cwd,
			   .notes = -1,
			   .timeout_ms = UINT64_MAX,
			   .cpu_ms = UINT64_MAX,
			   .memory = UINT64_MAX,
			   .pids = UINT64_MAX};
	struct err err;

	if (null < 0)
		null = fd_open("/dev/null", O_RDWR);
	e.fds[0] = e.fds[1] = e.fds[2] = null;
	if (bench_left == 0) {
		say_time("bench", (clock_mono_ns() - bench_began) / bench_count);
		return;
	}
	if (standing_start(standing, &e, &err) < 0)
		exit(4);
}

static void bench(char **words)
{
	static char *argv[WORDS_MAX];

	for (size_t i = 0; words[i]; i++) {
		free(argv[i]);
		argv[i] = words[i + 1] ? strdup(words[i + 1]) : NULL;
	}
	bench_argv = argv;
	bench_bad = 0;
	bench_count = bench_left = (unsigned)strtoul(words[0], NULL, 10);
	bench_began = clock_mono_ns();
	bench_next();
}

static void bare(char **words)
{
	unsigned n = (unsigned)strtoul(words[0], NULL, 10);
	uint64_t begin_ns = clock_mono_ns();

	for (unsigned i = 0; i < n; i++) {
		pid_t pid;

		if (posix_spawnp(&pid, words[1], NULL, NULL, words + 1, plan->env.items) != 0)
			exit(4);
		waitpid(pid, NULL, 0);
	}
	say_time("bare", (clock_mono_ns() - begin_ns) / n);
}

static uint64_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint64_t n = 0;

	while (dir && readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void status(void)
{
	struct str text = {0};
	struct json json = begin(&text);

	json_add_uint(&json, "fds", count_fds());
	json_add_int(&json, "warden", standing_pid(standing));
	json_add_int(&json, "keeper", getpid());
	say(&json);
}

static void obey(char *line)
{
	char *words[WORDS_MAX + 1] = {0}, *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(line, "\t", &save); w && n < WORDS_MAX;
	     w = strtok_r(NULL, "\t", &save))
		words[n++] = w;
	if (n == 0)
		return;
	if (strcmp(words[0], "start") == 0)
		start(words + 1);
	else if (strcmp(words[0], "signal") == 0)
		standing_signal(standing, (uint32_t)strtoul(words[1], NULL, 10), atoi(words[2]));
	else if (strcmp(words[0], "end") == 0)
		standing_end(standing, (uint32_t)strtoul(words[1], NULL, 10));
	else if (strcmp(words[0], "type") == 0)
		(void)fd_write_all(find_screen((uint32_t)strtoul(words[1], NULL, 10))->master,
				   words[2], strlen(words[2]));
	else if (strcmp(words[0], "bench") == 0)
		bench(words + 1);
	else if (strcmp(words[0], "bare") == 0)
		bare(words + 1);
	else if (strcmp(words[0], "status") == 0)
		status();
	else if (strcmp(words[0], "close") == 0)
		loop.done = true;
	else
		exit(3);
}

static void on_input(void *data, short revents)
{
	char buf[65536], *end;
	ssize_t n = read(0, buf, sizeof(buf));

	(void)data;
	(void)revents;
	if (n <= 0) {
		loop.done = true;
		return;
	}
	if (str_append_bytes(&input, buf, (size_t)n) < 0)
		exit(3);
	while (input.len > 0 && (end = memchr(input.data, '\n', input.len))) {
		size_t used = (size_t)(end - input.data) + 1;

		*end = '\0';
		obey(input.data);
		memmove(input.data, input.data + used, input.len - used);
		input.len -= used;
	}
}

/* -- Begin and end -------------------------------------------------------- */

static void ask(int argc, char **argv, struct run_request *request)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--no-observe") == 0)
			request->ask.no_observe = true;
		else if (i + 1 == argc)
			exit(3);
		else if (strcmp(argv[i], "--engine") == 0)
			request->ask.engine = argv[++i];
		else if (strcmp(argv[i], "--spec") == 0)
			request->ask.spec = argv[++i];
		else if (strcmp(argv[i], "--workspace") == 0)
			request->workspace = argv[++i];
		else if (strcmp(argv[i], "--allow-degraded") == 0)
			(void)strv_add(&request->ask.allow_degraded, argv[++i]);
		else
			exit(3);
	}
}

static int fail(const struct err *err)
{
	say_word("error", err->message);
	return 2;
}

int main(int argc, char **argv)
{
	static char *const none[] = {"none", NULL};
	struct run_request request = {.args = none, .tool = tool, .stdio = {.fd = {0, 1, 2}}};
	struct result result = {0};
	struct run run = {0};
	struct err err = {0};
	struct str text = {0};
	struct json json;

	if (argc > 1 && strcmp(argv[1], WARDEN_OPTION) == 0)
		return warden_main(argc - 2, argv + 2, tool);
	ask(argc, argv, &request);
	if (run_prepare(&run, &request, &err) < 0)
		return fail(&err);
	plan = run.plan;
	if (standing_open(plan, &loop, &ear, &standing, &err) < 0)
		return fail(&err);
	json = begin(&text);
	json_add_int(&json, "stands", standing_pid(standing));
	json_add_string(&json, "engine", engine_name(plan->engine));
	say(&json);
	loop.lean = true;
	loop_add(&loop, 0, POLLIN, on_input, NULL);
	loop_run(&loop);
	standing_close(standing, &result);
	json = begin(&text);
	json_add_string(&json, "closed", "");
	json_add_uint(&json, "cpu_ms", result.usage.cpu_ms);
	json_add_uint(&json, "left", loop.len);
	events_json(&result.events, &json);
	say(&json);
	events_release(&result.events);
	loop_release(&loop);
	str_release(&input);
	strv_release(&request.ask.allow_degraded);
	run_release(&run);
	return 0;
}
