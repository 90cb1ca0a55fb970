/* SPDX-License-Identifier: MIT */
#include "warden/exec.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/quick.h"
#include "base/str.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
enum { SHELL_ARGS_MAX = 1024 };

static const char *env_path(char *const *env)
{
	for (; *env; env++)
		if (str_starts(*env, "PATH="))
			return *env + strlen("PATH=");
	return DEFAULT_PATH;
}

/* A script without a first line that names its interpreter, as POSIX has it. */
static int exec_by_shell(const char *path, char *const *argv, char *const *env)
{
	static char shell[] = "/bin/sh";
	char *shell_argv[SHELL_ARGS_MAX];
	size_t n = 0;

	shell_argv[n++] = shell;
	shell_argv[n++] = (char *)path;
	for (argv++; *argv; argv++) {
		if (n + 1 == SHELL_ARGS_MAX)
			return -E2BIG;
		shell_argv[n++] = *argv;
	}
	shell_argv[n] = NULL;
	execve(shell, shell_argv, env);
	return -errno;
}

static int exec_file(const char *path, char *const *argv, char *const *env)
{
	execve(path, argv, env);
	return errno == ENOEXEC ? exec_by_shell(path, argv, env) : -errno;
}

/* Worth looking further along PATH? */
static bool is_absence(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ENAMETOOLONG || r == -ELOOP;
}

int exec_program(char *const *argv, char *const *env)
{
	const char *name = argv[0];
	size_t name_len = strlen(name);
	char path[PATH_MAX];
	int worst = -ENOENT;

	if (name_len == 0)
		return -ENOENT;
	be_usual();
	if (strchr(name, '/'))
		return exec_file(name, argv, env);
	for (const char *dir = env_path(env);;) {
		size_t len = strcspn(dir, ":");

		/* An empty entry means the working directory: as `.` in PATH it is
		 * an invitation, and passed over. */
		if (len > 0 && len + name_len + 2 <= sizeof(path)) {
			int r;

			memcpy(path, dir, len);
			path[len] = '/';
			memcpy(path + len + 1, name, name_len + 1);
			/* Cheaper than a failed execve for each folder before the right one. */
			r = access(path, F_OK) < 0 ? -errno : exec_file(path, argv, env);
			if (!is_absence(r))
				return r;
			if (r == -EACCES)
				worst = r;
		}
		if (dir[len] == '\0')
			return worst;
		dir += len + 1;
	}
}

int exec_error(int r, const char *program, struct err *err)
{
	if (r == -ENOENT || r == -ENOTDIR) {
		err_set(err, ERR_NOT_FOUND, r, "%s: not found inside the sandbox", program);
		if (strchr(program, ' '))
			err_hint(err, r, "a line for a shell is run by one: sh -c LINE");
		return r;
	}
	return err_set(err, ERR_NOT_EXECUTABLE, r, "%s: cannot be executed: %s", program,
		       strerror(-r));
}
