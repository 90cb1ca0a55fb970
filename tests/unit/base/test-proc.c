/* SPDX-License-Identifier: MIT */
#include "base/proc.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "scratch.h"
#include "tap.h"

static char *path_env[] = {"PATH=/usr/bin:/bin", NULL};

/* Run SCRIPT by /bin/sh. */
static int run_shell(struct child *child, const char *script, struct str *out, struct err *err)
{
	char *argv[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};

	child->path = "/bin/sh";
	child->argv = argv;
	if (!child->envp)
		child->envp = path_env;
	return child_run(child, out, err);
}

static void test_output(void)
{
	_cleanup_(str_release) struct str out = {0};
	_cleanup_(str_release) struct str big = {0};
	struct child child = {.max_output = 1000};
	struct err err = {.message = "untouched"};

	str_append(&out, "before ");
	tap_eq_int(run_shell(&child, "echo hello; echo noise >&2; exit 3", &out, &err), 0, "runs");
	tap_eq_str(out.data, "before hello\n", "stdout is appended, stderr is not");
	tap_ok(WIFEXITED(child.status) && WEXITSTATUS(child.status) == 3, "the status is told");
	tap_eq_str(err.message, "untouched", "success leaves err alone");

	tap_eq_int(run_shell(&child, "kill -TERM $$", &out, &err), 0, "dies of a signal");
	tap_ok(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM, "which is told");

	tap_eq_int(run_shell(&child, "head -c 300000 /dev/zero | tr '\\0' x", &big, &err), 0,
		   "more output than wanted");
	tap_eq_int(big.len, 1000, "is cut");
	tap_ok(WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0,
	       "without harm to the writer");
	str_truncate(&big, 0);
	child.max_output = SIZE_MAX;
	run_shell(&child, "head -c 300000 /dev/zero | tr '\\0' x", &big, &err);
	tap_eq_int(big.len, 300000, "or taken whole");
	child.max_output = 0;
	str_truncate(&big, 0);
	tap_eq_int(run_shell(&child, "echo x", &big, &err), 0, "no output wanted");
	tap_eq_int(big.len, 0, "none taken");
	child.max_output = 10;
	tap_eq_int(run_shell(&child, "echo x", NULL, NULL), 0, "nowhere to put it");
}

static void test_input(void)
{
	_cleanup_(str_release) struct str in = {0};
	_cleanup_(str_release) struct str out = {0};
	struct child child = {.max_output = 1 << 20};

	tap_eq_int(run_shell(&child, "cat; echo end", &out, NULL), 0, "no input");
	tap_eq_str(out.data, "end\n", "is the end at once");
	str_truncate(&out, 0);
	for (int i = 0; i < 50000; i++)
		str_appendf(&in, "%d\n", i);
	child.input = in.data;
	tap_eq_int(run_shell(&child, "cat", &out, NULL), 0, "much input");
	tap_ok(str_eq(in.data, out.data), "arrives");
	tap_eq_int(run_shell(&child, "exit 0", &out, NULL), 0, "unread input does no harm");
}

static void test_refused(void)
{
	char *argv[] = {"x", NULL};
	struct child child = {.path = "/nonexistent/x", .argv = argv, .status = 77};
	struct err err = {0};

	tap_eq_int(child_run(&child, NULL, &err), -ENOENT, "no such program");
	tap_eq_str(err.message, "run /nonexistent/x: No such file or directory", "is said");
	scratch_write("plain", "text");
	child.path = "plain";
	tap_eq_int(child_run(&child, NULL, &err), -EACCES, "not executable");
}

/* What the child gets from us, and what not. */
static void test_surroundings(void)
{
	_cleanup_(str_release) struct str out = {0};
	char *argv[] = {"env", NULL};
	char *grep[] = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL};
	char *ls[] = {"ls", "/proc/self/fd", NULL};
	struct child child = {.path = "/usr/bin/env", .argv = argv, .max_output = 1000};
	unsigned long long blocked = 1, ignored = 0;
	sigset_t set, old;

	tap_ok(child_run(&child, &out, NULL) == 0 && out.len == 0, "no environment unless given");
	child.envp = (char *[]){"A=b", NULL};
	child_run(&child, &out, NULL);
	tap_eq_str(out.data, "A=b\n", "and only what is given");

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	signal(SIGPIPE, SIG_IGN);
	str_truncate(&out, 0);
	child.path = "/bin/grep";
	child.argv = grep;
	child_run(&child, &out, NULL);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	tap_ok(sscanf(str_text(&out), "SigBlk: %llx SigIgn: %llx", &blocked, &ignored) == 2 &&
		       blocked == 0 && (ignored & 1ull << (SIGPIPE - 1)) == 0,
	       "no signal is blocked, SIGPIPE is not ignored");

	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, 200), given = fcntl(fd, F_DUPFD, 300);
	str_truncate(&out, 0);
	child.path = "/bin/ls";
	child.argv = ls;
	child_run(&child, &out, NULL);
	tap_ok(kept == 200 && !strstr(str_text(&out), "200\n"), "no descriptor of ours is there");
	tap_ok(given == 300 && strstr(str_text(&out), "300\n"), "twin: one for it is");
	close(fd);
	close(kept);
	close(given);
}

/* With 0, 1 and 2 closed, our own pipes must not take their places. */
static void test_closed_stdio(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		_cleanup_(str_release) struct str out = {0};
		struct child child = {.input = "1 ", .max_output = 100};

		close(0);
		close(1);
		close(2);
		_exit(run_shell(&child, "cat; echo 2; echo 3 >&2", &out, NULL) < 0 ||
		      !str_eq(str_text(&out), "1 2\n"));
	}
	waitpid(pid, &status, 0);
	tap_eq_int(status, 0, "works with stdin, stdout and stderr closed");
}

static bool is_alive(pid_t pid)
{
	char path[64], state = 'X';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 'X';
	fclose(f);
	return state != 'Z' && state != 'X';
}

static pid_t read_pid(const char *path)
{
	FILE *f = fopen(path, "re");
	int pid = 0;

	if (f) {
		if (fscanf(f, "%d", &pid) != 1)
			pid = 0;
		fclose(f);
	}
	return pid;
}

static void test_timeout(void)
{
	_cleanup_(str_release) struct str out = {0};
	struct child child = {.timeout_ms = 500, .max_output = 100};
	struct err err = {0};
	uint64_t start = clock_mono_ns();
	pid_t pid;

	str_append(&out, "old");
	tap_eq_int(run_shell(&child, "sleep 100 & echo $! >pid; echo partial; wait", &out, &err),
		   -ETIMEDOUT, "a run that takes too long");
	tap_eq_str(err.message, "run /bin/sh: killed after 500 ms", "is said");
	tap_ok(clock_mono_ns() - start < 20000000000, "and ended soon");
	tap_ok(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGKILL, "by SIGKILL");
	tap_eq_str(out.data, "old", "its output is dropped");
	pid = read_pid("pid");
	for (int i = 0; i < 100 && is_alive(pid); i++)
		usleep(20000);
	tap_ok(pid > 0 && !is_alive(pid), "and its own child %d is gone with it", pid);

	start = clock_mono_ns();
	tap_eq_int(run_shell(&child, "exec yes", &out, &err), -ETIMEDOUT,
		   "a flood of output does not hold off the clock");
	tap_ok(clock_mono_ns() - start < 20000000000, "either");
	child.timeout_ms = 60000;
	tap_eq_int(run_shell(&child, "echo quick", &out, &err), 0, "a quick run is in time");
	tap_eq_str(out.data, "oldquick\n", "with its output");
}

static void test_survivor(void)
{
	_cleanup_(str_release) struct str out = {0};
	struct child child = {.max_output = 100};
	uint64_t start = clock_mono_ns();
	pid_t pid;

	tap_eq_int(run_shell(&child, "sleep 30 & echo $! >pid; echo last", &out, NULL), 0,
		   "a descendant that keeps stdout open");
	tap_ok(clock_mono_ns() - start < 20000000000, "is not waited for");
	tap_eq_str(out.data, "last\n", "and nothing is lost");
	pid = read_pid("pid");
	if (tap_ok(pid > 0 && is_alive(pid), "nor killed"))
		kill(pid, SIGKILL);
}

/* Of what it has left in its process group nothing goes on. */
static void test_alone(void)
{
	_cleanup_(str_release) struct str out = {0};
	struct child child = {.max_output = 100, .alone = true, .cwd = "/usr"};
	pid_t left;

	tap_eq_int(run_shell(&child, "sleep 60 >/dev/null & echo $!; pwd", &out, NULL), 0, "runs");
	left = (pid_t)strtol(str_text(&out), NULL, 10);
	tap_ok(WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0,
	       "it has ended by itself, and that is what is told");
	for (int i = 0; i < 500 && kill(left, 0) == 0; i++)
		usleep(10000);
	tap_ok(left > 0 && kill(left, 0) < 0, "what it left behind is killed");
	tap_ok(str_ends(str_text(&out), "\n/usr\n"), "it began in the folder that was named");
	child.cwd = "/no/such/folder";
	tap_ok(run_shell(&child, "true", NULL, NULL) == -ENOENT, "a folder that is not there");
}

int main(void)
{
	if (tap_on_valgrind()) {
		tap_ok(true, "nothing here runs under valgrind");
		return tap_done();
	}
	scratch_enter();
	test_output();
	test_input();
	test_refused();
	test_surroundings();
	test_closed_stdio();
	test_timeout();
	test_survivor();
	test_alone();
	scratch_leave();
	return tap_done();
}
