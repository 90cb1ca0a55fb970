/* SPDX-License-Identifier: MIT */
#include "warden/exec.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "scratch.h"
#include "tap.h"

static struct str path_env;
static char *env[] = {NULL, NULL};

__attribute__((format(printf, 1, 2))) static void set_path(const char *fmt, ...)
{
	va_list ap;

	str_truncate(&path_env, 0);
	va_start(ap, fmt);
	if (str_append(&path_env, "PATH=") < 0 || str_vappendf(&path_env, fmt, ap) < 0)
		abort();
	va_end(ap);
	env[0] = path_env.data;
}

/* What exec_program() returned (negative), or the program's exit status. */
static int run(char **argv, char **envp, struct str *out)
{
	int pipe_fds[2], result[2], status, r = 0;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0 || pipe2(result, O_CLOEXEC) < 0)
		abort();
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		dup2(pipe_fds[1], STDOUT_FILENO);
		r = exec_program(argv, envp);
		_exit(write(result[1], &r, sizeof(r)) != sizeof(r));
	}
	close(pipe_fds[1]);
	close(result[1]);
	str_truncate(out, 0);
	if (fd_read_all(pipe_fds[0], 65536, out) < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	if (read(result[0], &r, sizeof(r)) != sizeof(r))
		r = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
	close(pipe_fds[0]);
	close(result[0]);
	return r;
}

#define RUN(out, ...) run((char *[]){__VA_ARGS__, NULL}, env, out)

static void make_program(const char *path, const char *text, mode_t mode)
{
	scratch_write(path, text);
	if (chmod(path, mode) < 0)
		abort();
}

static void test_search(struct str *out)
{
	set_path("%s/a:%s/b", scratch_path, scratch_path);
	tap_eq_int(RUN(out, "first", "x y"), 3, "found in PATH, and its status comes back");
	tap_eq_str(str_text(out), "a: x y\n", "the first entry wins, arguments stay whole");
	tap_eq_int(RUN(out, "second"), 0, "a later entry, too");
	tap_eq_str(str_text(out), "b\n", "is searched");
	tap_eq_int(RUN(out, "shadowed"), 0, "a file that is not executable");
	tap_eq_str(str_text(out), "b\n", "does not stop the search");
	tap_eq_int(RUN(out, "plain"), -EACCES, "unless nothing better is found");
	tap_eq_int(RUN(out, "nothing"), -ENOENT, "a name that is nowhere");
	tap_eq_int(RUN(out, ""), -ENOENT, "no name");
	tap_eq_int(RUN(out, "a/first", "z"), 3, "a name with a slash is not searched for");
	tap_eq_int(RUN(out, "./second"), -ENOENT, "nor in PATH");
	tap_eq_int(RUN(out, "a/first/x"), -ENOTDIR, "below a file");
	tap_eq_int(RUN(out, "./a"), -EACCES, "a folder is no program");
}

static void test_odd_paths(struct str *out)
{
	char *bare[] = {NULL};

	set_path(":%s/b::", scratch_path);
	tap_eq_int(RUN(out, "second"), 0, "empty entries are passed over");
	tap_eq_int(RUN(out, "here"), -ENOENT, "and do not mean the working directory");
	set_path("%s", "");
	tap_eq_int(RUN(out, "here"), -ENOENT, "nor does an empty PATH");
	set_path("%05000d:%s/b", 0, scratch_path);
	tap_eq_int(RUN(out, "second"), 0, "an entry that is too long is passed over");
	tap_eq_int(run((char *[]){(char *)"sh", (char *)"-c", (char *)"exit 7", NULL}, bare, out),
		   7, "without PATH there is a default");
}

static void test_shell(struct str *out)
{
	static char *many[1100];

	set_path("/bin");
	tap_eq_int(RUN(out, "./plain-script", "one", "two  three"), 0,
		   "a script without a first line is run by the shell");
	tap_eq_str(str_text(out), "./plain-script one two  three\n", "with its name and arguments");
	many[0] = (char *)"./plain-script";
	for (size_t i = 1; i < 1099; i++)
		many[i] = (char *)"x";
	tap_eq_int(run(many, env, out), -E2BIG, "with too many arguments, it is refused");
	/* Valgrind dies of it instead. */
	if (!tap_on_valgrind())
		tap_eq_int(RUN(out, "./no-interpreter"), -ENOENT, "a missing interpreter");
}

static void test_errors(void)
{
	static const struct {
		int r;
		enum err_code code;
	} samples[] = {
		{-ENOENT, ERR_NOT_FOUND},       {-ENOTDIR, ERR_NOT_FOUND},
		{-EACCES, ERR_NOT_EXECUTABLE},  {-ENOEXEC, ERR_NOT_EXECUTABLE},
		{-ETXTBSY, ERR_NOT_EXECUTABLE}, {-E2BIG, ERR_NOT_EXECUTABLE},
	};

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		struct err err = {0};

		tap_eq_int(exec_error(samples[i].r, "prog", &err), samples[i].r, "%s",
			   strerror(-samples[i].r));
		tap_ok(err.code == samples[i].code && str_starts(err.message, "prog: "),
		       "is %s, by name", err_code_name(samples[i].code));
	}
}

int main(void)
{
	struct str out = {0};

	scratch_enter();
	if (mkdir("a", 0755) < 0 || mkdir("b", 0755) < 0)
		return 1;
	make_program("a/first", "#!/bin/sh\necho \"a: $1\"\nexit 3\n", 0755);
	make_program("b/first", "#!/bin/sh\necho b\n", 0755);
	make_program("b/second", "#!/bin/sh\necho b\n", 0755);
	make_program("a/shadowed", "#!/bin/sh\necho a\n", 0644);
	make_program("b/shadowed", "#!/bin/sh\necho b\n", 0755);
	make_program("a/plain", "text", 0644);
	make_program("here", "#!/bin/sh\necho here\n", 0755);
	make_program("plain-script", "echo \"$0\" \"$@\"\n", 0755);
	make_program("no-interpreter", "#!/nowhere/sh\n", 0755);
	test_search(&out);
	test_odd_paths(&out);
	test_shell(&out);
	test_errors();
	str_release(&out);
	str_release(&path_env);
	scratch_leave();
	return tap_done();
}
