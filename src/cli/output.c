/* SPDX-License-Identifier: MIT */
#include "cli/common.h"
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"

enum { PIECE = 65536 };

unsigned terminal_columns(int fd)
{
	const char *text = getenv("COLUMNS");
	unsigned long columns = text ? strtoul(text, NULL, 10) : 0;
	struct winsize size;

	if (columns > 0 && columns < 10000)
		return (unsigned)columns;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

static bool is_in_path(const char *program)
{
	const char *dir = getenv("PATH");

	while (dir && *dir) {
		size_t len = strcspn(dir, ":");
		_cleanup_(freep) char *file = str_printf("%.*s/%s", (int)len, dir, program);

		if (len > 0 && file && access(file, X_OK) == 0)
			return true;
		dir += len + (dir[len] == ':');
	}
	return false;
}

/* As git: set but empty, or cat, is none. */
static const char *pager_command(void)
{
	static const char *const names[] = {"PALE_PAGER", "GIT_PAGER", "PAGER"};

	for (size_t i = 0; i < array_len(names); i++) {
		const char *command = getenv(names[i]);

		if (command)
			return *command && !str_eq(command, "cat") ? command : NULL;
	}
	return is_in_path("less") ? "less" : NULL;
}

static void set_signal(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

	sigaction(number, &action, NULL);
}

static _Noreturn void become_pager(const char *command, int input)
{
	set_signal(SIGPIPE, SIG_DFL);
	if (dup2(input, STDIN_FILENO) < 0)
		_exit(127);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static void start_pager(struct output *out, const char *command)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	out->pager = fork();
	if (out->pager == 0)
		become_pager(command, fds[0]);
	fd_close(fds[0]);
	if (out->pager < 0) {
		fd_close(fds[1]);
		out->pager = 0;
		return;
	}
	out->fd = fds[1];
	/* Ctrl-C is for the pager, which stays; a closed one is seen as EPIPE. */
	set_signal(SIGPIPE, SIG_IGN);
	set_signal(SIGINT, SIG_IGN);
}

void output_open(struct output *out, bool paged)
{
	const char *command = pager_command();

	*out = (struct output){.fd = STDOUT_FILENO};
	out->on_terminal = isatty(STDOUT_FILENO);
	out->colour = terminal_has_colour(STDOUT_FILENO);
	if (paged && out->on_terminal && command)
		start_pager(out, command);
}

static int flush(struct output *out)
{
	if (out->error == 0 && out->text.len > 0)
		out->error = fd_write_all(out->fd, out->text.data, out->text.len);
	str_truncate(&out->text, 0);
	if (out->error == -EPIPE && out->pager > 0)
		out->is_closed = true;
	return out->error;
}

int output_step(struct output *out)
{
	return out->text.len < PIECE ? out->error : flush(out);
}

int output_close(struct output *out, struct err *err)
{
	int r = flush(out), status = 0;

	str_release(&out->text);
	if (out->pager > 0) {
		out->fd = fd_close(out->fd);
		while (waitpid(out->pager, &status, 0) < 0 && errno == EINTR)
			;
		set_signal(SIGINT, SIG_DFL);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
			err_set(err, ERR_SYSTEM, -ENOENT, "the pager could not be started");
			return err_hint(err, -ENOENT, "PALE_PAGER=cat shows everything at once");
		}
		out->pager = 0;
	}
	if (out->is_closed)
		return 0;
	return r < 0 ? err_sys(err, r, "cannot write to standard output") : 0;
}
