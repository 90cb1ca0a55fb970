/* SPDX-License-Identifier: MIT */
/* What a line leaves to the next one, by the shells of this machine; and that nothing else is
 * taken for it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "session/shell-state.h"
#include "tap.h"

extern char **environ;

static char *const none[] = {NULL};

/* Run LINE by SHELL (NULL: by the one that is chosen); returns the exit status. */
static int run(struct shell_state *state, const char *shell, const char *line, int *ret_kept)
{
	_cleanup_(strv_release) struct strv argv = {0}, env = {0};
	_cleanup_(fd_closep) int fd = -1, null = fd_open("/dev/null", O_RDWR);
	struct err err = {0};
	int status = 0;
	pid_t pid;

	for (char **item = environ; *item; item++)
		strv_add(&env, *item);
	if (shell_argv(state->cwd, line, &argv) < 0 ||
	    shell_env(state, (char *[]){NULL}, &env) < 0 || shell_notes_open(&fd, &err) < 0)
		return -1;
	if (shell) {
		free(argv.items[0]);
		argv.items[0] = strdup(shell);
		/* past the choice */
		free(argv.items[2]);
		argv.items[2] = strdup("exec \"$0\" -c \"$1\" sh \"$2\" \"$3\"");
		free(argv.items[3]);
		argv.items[3] = strdup(shell);
	}
	pid = fork();
	if (pid == 0) {
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		dup2(fd, 3);
		execve(argv.items[0], argv.items, env.items);
		_exit(126);
	}
	waitpid(pid, &status, 0);
	*ret_kept = shell_notes_read(fd, none, state, &err);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *variable(const struct shell_state *state, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < state->env.len; i++)
		if (strncmp(state->env.items[i], name, len) == 0 && state->env.items[i][len] == '=')
			return state->env.items[i] + len + 1;
	return NULL;
}

static void test_shell(const char *shell)
{
	_cleanup_(shell_state_release) struct shell_state state = {0};
	const char *name = shell ? shell : "the chosen one";
	static const struct {
		const char *line;
		int status;
		bool kept;
		const char *cwd, *a; /* afterwards */
	} steps[] = {
		{"cd /usr; export A='x\ny'; B=hidden", 0, true, "/usr", "x\ny"},
		{"[ \"$A\" = 'x\ny' ] && [ -z \"$B\" ] && [ \"$(pwd)\" = /usr ]", 0, true, "/usr",
		 "x\ny"},
		{"cd lib; exit 3", 3, true, "/usr/lib", "x\ny"},
		{"cd - && set -e; export A=2; false; export A=3", 1, true, "/usr", "2"},
		{"case $- in *e*) exit 9;; esac", 0, true, "/usr", "2"},
		{"if", 2, true, "/usr", "2"},
		{"[ $# = 0 ]", 0, true, "/usr", "2"},
		{"unset A; sleep 0 & wait; (cd /; exit 7)", 7, true, "/usr", NULL},
		{"export A=1; kill -9 $$", 137, false, "/usr", NULL},
		{"export A=1; exec true", 0, false, "/usr", NULL},
		{"export A=1; trap : EXIT", 0, false, "/usr", NULL},
		{"export A=$(head -c 120000 /dev/zero | tr '\\0' a); export B=$A C=$A", 0, false,
		 "/usr", NULL},
		{"! { echo x >&3; } 2>/dev/null && ! { echo x >&9; } 2>/dev/null", 0, true, "/usr",
		 NULL},
		{"[ ! -e /proc/self/fd/9 ]", 0, true, "/usr", NULL},
		{"cd /nowhere; cd /var", 0, true, "/var", NULL},
	};

	for (size_t i = 0; i < array_len(steps); i++) {
		int kept = -1, status = run(&state, shell, steps[i].line, &kept);
		const char *a = variable(&state, "A");

		tap_eq_int(status, steps[i].status, "%s: %.40s: status", name, steps[i].line);
		tap_ok((kept == 0) == steps[i].kept, "%s: %.40s: %s (%d)", name, steps[i].line,
		       steps[i].kept ? "kept" : "not kept", kept);
		tap_ok(str_eq(state.cwd, steps[i].cwd), "%s: %.40s: folder %s", name, steps[i].line,
		       state.cwd);
		tap_ok(str_eq(a, steps[i].a), "%s: %.40s: A is %.20s", name, steps[i].line,
		       a ? a : "unset");
	}
}

/* The folder can be gone: the shell says so, and goes on where it was started. */
static void test_gone(void)
{
	_cleanup_(shell_state_release) struct shell_state state = {0};
	int kept = -1;

	state.cwd = strdup("/no/such/folder");
	strv_add(&state.env, "PATH=/usr/bin:/bin");
	tap_ok(chdir("/") == 0 && run(&state, NULL, "true", &kept) == 0 && kept == 0,
	       "a folder that is gone is survived");
	tap_eq_str(state.cwd, "/", "and the one that it was started in counts");
}

#define PARSE(text, want, name)                                                                    \
	do {                                                                                       \
		struct shell_state s_ = {.cwd = strdup("/old")};                                   \
		int r_ = shell_notes_parse(text, sizeof(text) - 1, none, &s_);                     \
		tap_eq_int(r_, want, "%s", name);                                                  \
		tap_ok(r_ == 0 || (str_eq(s_.cwd, "/old") && s_.env.len == 0),                     \
		       "%s: else all is as it was", name);                                         \
		shell_state_release(&s_);                                                          \
	} while (0)

static void test_parse(void)
{
	PARSE("pale-shell\0/x\0A=1\0=\0", 0, "a whole one");
	PARSE("pale-shell\0/x\0=\0", 0, "no variables");
	PARSE("pale-shell\0/x\0A=1\0=\0garbage", 0, "what follows the end is of no matter");
	PARSE("", -ENODATA, "nothing");
	PARSE("\0\0\0\0", -ENODATA, "untouched");
	PARSE("pale-shell\0/x\0A=1\0", -ENODATA, "no end");
	PARSE("pale-shell\0/x\0A=1\0\0\0=\0", -ENODATA, "a gap");
	PARSE("pale-shell\0/x\0A=1", -ENODATA, "cut off");
	PARSE("pale-shell\0x\0=\0", -EBADMSG, "no absolute folder");
	PARSE("pale-shell\0\0=\0", -EBADMSG, "no folder");
	PARSE("other\0/x\0=\0", -EBADMSG, "something else");
	PARSE("pale-shell\0/x\0A\0=\0", -EBADMSG, "no variable");
	PARSE("pale-shell\0/x\0=1\0=\0", -EBADMSG, "no name");
}

static void test_bounds(void)
{
	_cleanup_(str_release) struct str notes = {0};
	struct shell_state state = {0};
	_cleanup_(fd_closep) int fd = -1;
	struct err err = {0};

	str_append_bytes(&notes, "pale-shell\0/x", 14);
	for (int i = 0; i <= SHELL_VARIABLES_MAX; i++) {
		str_appendf(&notes, "A%d=", i);
		str_append_char(&notes, '\0');
	}
	str_append_bytes(&notes, "=", 2);
	tap_eq_int(shell_notes_parse(notes.data, notes.len, none, &state), -EBADMSG, "too many");
	tap_ok(shell_notes_open(&fd, &err) == 0, "a descriptor");
	tap_ok(pwrite(fd, "x", 1, SHELL_NOTES_MAX) < 0, "that does not grow");
	tap_ok(ftruncate(fd, 0) < 0, "nor shrink");
	tap_eq_int(shell_notes_read(fd, none, &state, &err), -ENODATA, "and holds nothing");
	tap_ok(err.message[0] && err.hint[0], "that is said: %s", err.message);
}

/* A variable that no program could be started with would be the end of the shell. */
static void test_long(void)
{
	struct shell_state state = {.cwd = strdup("/old")};

	for (size_t len = SHELL_VARIABLE_MAX - 3; len <= SHELL_VARIABLE_MAX - 2; len++) {
		_cleanup_(str_release) struct str notes = {0};
		bool fits = len < SHELL_VARIABLE_MAX - 2;

		str_append_bytes(&notes, "pale-shell\0/x", 14);
		str_append(&notes, "A=");
		for (size_t i = 0; i < len; i++)
			str_append_char(&notes, 'x');
		str_append_bytes(&notes, "\0=", 3);
		tap_eq_int(shell_notes_parse(notes.data, notes.len, none, &state),
			   fits ? 0 : -EBADMSG, "a variable of %zu bytes", len);
		tap_eq_str(state.cwd, "/x", "the state that was taken stays");
	}
	shell_state_release(&state);
}

/* What one line was given is not there for the next, unless the line changed it. */
static void test_given(void)
{
	static const char notes[] = "pale-shell\0/\0A=given\0B=changed\0C=given\0D=own\0=";
	struct shell_state state = {.cwd = strdup("/")};
	char *set[] = {"A=given", "B=given", "C=given", NULL};

	strv_add(&state.env, "A=before");
	tap_ok(shell_notes_parse(notes, sizeof(notes), set, &state) == 0, "taken");
	tap_eq_str(variable(&state, "A"), "before", "one that was there is as before");
	tap_eq_str(variable(&state, "B"), "changed", "one that the line changed is kept");
	tap_ok(!variable(&state, "C"), "one that was not there is gone");
	tap_eq_str(variable(&state, "D"), "own", "and others are kept");
	shell_state_release(&state);
}

static void test_set(void)
{
	struct shell_state state = {.cwd = strdup("/")};
	_cleanup_(strv_release) struct strv env = {0};
	char *set[] = {"AB=new", "C=3", NULL};

	strv_add(&state.env, "A=1");
	strv_add(&state.env, "AB=2");
	strv_add(&env, "GONE=1");
	tap_ok(shell_env(&state, set, &env) == 0 && env.len == 3, "the state's and what is set");
	tap_eq_str(env.items[0], "A=1", "one of the state's");
	tap_eq_str(env.items[1], "AB=new", "one that is set anew");
	tap_eq_str(env.items[2], "C=3", "one that is new");
	shell_state_release(&state);
	tap_ok(shell_env(&state, set, &env) == 0 && env.len == 3,
	       "without a state nothing happens");
}

int main(void)
{
	test_shell(NULL);
	test_shell("/bin/sh");
	if (access("/bin/bash", X_OK) == 0)
		test_shell("/bin/bash");
	else
		tap_skip("no bash here");
	test_gone();
	test_parse();
	test_bounds();
	test_long();
	test_given();
	test_set();
	return tap_done();
}
