/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static void test_messages(void)
{
	struct err err = {0};
	char want[256];

	tap_eq_int(err_set(&err, ERR_CONFIG, -EINVAL, "bad %s", "key"), -EINVAL,
		   "err_set returns its number");
	tap_eq_str(err.message, "bad key", "err_set formats");
	tap_eq_int(err.code, ERR_CONFIG, "err_set keeps the code");
	tap_eq_int(err.errnum, EINVAL, "err_set keeps a positive errno");

	tap_eq_int(err_hint(&err, -EINVAL, "try %d", 2), -EINVAL, "err_hint returns its number");
	tap_eq_str(err.hint, "try 2", "err_hint formats");
	err_wrap(&err, -EINVAL, "load %s", "x.toml");
	tap_eq_str(err.message, "load x.toml: bad key", "err_wrap goes in front");
	tap_eq_str(err.hint, "try 2", "err_wrap keeps the hint");
	tap_eq_int(err.code, ERR_CONFIG, "err_wrap keeps the code");

	err_sys(&err, -ENOENT, "open %s", "f");
	snprintf(want, sizeof(want), "open f: %s", strerror(ENOENT));
	tap_eq_str(err.message, want, "err_sys adds the reason");
	tap_eq_str(err.hint, "", "a new error drops the old hint");
	tap_eq_int(err.code, ERR_SYSTEM, "err_sys is of the system");

	tap_eq_int(err_oom(&err), -ENOMEM, "err_oom");
	tap_eq_int(err.errnum, ENOMEM, "err_oom sets the errno");
	err_set(&err, ERR_USAGE, 0, "no errno");
	tap_eq_int(err.errnum, 0, "no errno where there is none");
}

static void test_bounds(void)
{
	struct err err = {0};
	char big[4096];

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	err_set(&err, ERR_CONFIG, -EINVAL, "%s", big);
	tap_eq_int(strlen(err.message), sizeof(err.message) - 1, "a long message is cut");
	err_wrap(&err, -EINVAL, "in front");
	tap_ok(strncmp(err.message, "in front: xxx", 13) == 0, "a cut message can be wrapped");
	err_sys(&err, -EINVAL, "%s", big);
	tap_eq_int(strlen(err.message), sizeof(err.message) - 1, "err_sys cuts as well");
	err_hint(&err, -EINVAL, "%s", big);
	tap_eq_int(strlen(err.hint), sizeof(err.hint) - 1, "a long hint is cut");
	tap_ok(strcmp(err.message + sizeof(err.message) - 5, "x…") == 0 &&
		       strcmp(err.hint + sizeof(err.hint) - 5, "x…") == 0,
	       "and ends so that one sees it");
	big[sizeof(err.hint) - 1] = '\0';
	err_hint(&err, -EINVAL, "%s", big);
	tap_eq_str(err.hint, big, "one that fits is not cut");
	for (size_t i = 0; i < sizeof(big) - 2; i += 2)
		memcpy(big + i, "ä", 3);
	err_set(&err, ERR_CONFIG, -EINVAL, "%s", big);
	tap_eq_str(err.message + sizeof(err.message) - 6, "ä…", "at a whole character");
}

static void test_null(void)
{
	tap_eq_int(err_set(NULL, ERR_USAGE, -EPERM, "x"), -EPERM, "err_set without err");
	tap_eq_int(err_sys(NULL, -EPERM, "x"), -EPERM, "err_sys without err");
	tap_eq_int(err_wrap(NULL, -EPERM, "x"), -EPERM, "err_wrap without err");
	tap_eq_int(err_hint(NULL, -EPERM, "x"), -EPERM, "err_hint without err");
	tap_eq_int(err_oom(NULL), -ENOMEM, "err_oom without err");
}

static void test_words(void)
{
	static const struct {
		const char *name, *hint;
	} cases[] = {
		{"/a/b-c", "rm /a/b-c now"},
		{"/a b", "rm '/a b' now"},
		{"/x'; evil", "rm '/x'\\''; evil' now"},
		{"/$(evil)`evil`", "rm '/$(evil)`evil`' now"},
		{"/a\nevil", "rm $'/a\\x0aevil' now"},
	};

	char name[sizeof(((struct err *)NULL)->hint)] = "";
	struct err err = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		err = (struct err){0};
		tap_eq_int(err_hint_word(&err, -EPERM, "rm ", cases[i].name, " now"), -EPERM,
			   "err_hint_word");
		tap_eq_str(err.hint, cases[i].hint, "a name is one word of a shell");
	}
	err = (struct err){0};
	memset(name, 'a', sizeof(name) - 1);
	err_hint_word(&err, -EPERM, "rm ", name, "");
	tap_eq_str(err.hint, "", "one that is too long is not cut to another one");
	tap_eq_int(err_hint_word(NULL, -EPERM, "", "x", ""), -EPERM, "err_hint_word without err");
}

static void test_bug(void)
{
	struct rlimit none = {0, 0};
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &none);
		close(STDERR_FILENO);
		BUG("on purpose");
	}
	waitpid(pid, &status, 0);
	tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "BUG aborts");
}

int main(void)
{
	test_messages();
	test_bounds();
	test_null();
	test_words();
	tap_eq_str(err_code_name(ERR_SYSTEM), "system", "the first code has a name");
	tap_eq_str(err_code_name(ERR_NOT_EXECUTABLE), "not_executable", "and so has the last");
	test_bug();
	return tap_done();
}
