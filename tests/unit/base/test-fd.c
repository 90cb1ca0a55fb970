/* SPDX-License-Identifier: MIT */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "scratch.h"
#include "tap.h"

static void test_close(void)
{
	int fd = dup(STDOUT_FILENO), copy = fd;

	errno = EXDEV;
	tap_eq_int(fd_close(-1), -1, "closing nothing");
	tap_eq_int(fd_close(fd), -1, "close returns the empty value");
	tap_eq_int(fcntl(copy, F_GETFD), -1, "and closes");
	errno = EXDEV;
	fd_close(copy);
	tap_eq_int(errno, EXDEV, "a failed close keeps errno");
	{
		_cleanup_(fd_closep) int scoped = dup(STDOUT_FILENO);

		copy = scoped;
	}
	tap_eq_int(fcntl(copy, F_GETFD), -1, "the scope closes");
	{
		_cleanup_(fd_closep) int scoped = dup(STDOUT_FILENO);

		copy = take_fd(scoped);
	}
	tap_ok(fcntl(copy, F_GETFD) >= 0, "but not what was taken");
	close(copy);
}

/* More than a pipe holds, so that writes are short. */
static void test_close_later(void)
{
	int ends[2];
	char byte;

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	tap_ok(fd_close_later(ends[1]) == -1 && fcntl(ends[1], F_GETFD) < 0,
	       "what is closed later is no descriptor any more");
	tap_ok(read(ends[0], &byte, 1) == 0, "and is closed in the end");
	tap_ok(fd_close_later(-1) == -1, "nothing stays nothing");
	fd_close(ends[0]);
}

static void test_through_pipe(void)
{
	enum { BYTES = 300000 };
	_cleanup_(str_release) struct str sent = {0};
	_cleanup_(str_release) struct str got = {0};
	int fds[2], status = -1;
	pid_t pid;

	for (int i = 0; i < BYTES; i++)
		str_append_char(&sent, (char)(i * 7));
	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		_exit(fd_write_all(fds[1], sent.data, sent.len) == 0 ? 0 : 1);
	}
	close(fds[1]);
	str_append(&got, "old");
	tap_eq_int(fd_read_all(fds[0], BYTES, &got), 0, "read a pipe of exactly the limit");
	tap_ok(got.len == BYTES && memcmp(got.data, sent.data, BYTES) == 0,
	       "the same bytes, and the old ones replaced");
	close(fds[0]);
	waitpid(pid, &status, 0);
	tap_eq_int(status, 0, "the writer wrote all");
}

static void test_limits(void)
{
	_cleanup_(str_release) struct str got = {0};
	int fd;

	scratch_write("ten", "0123456789");
	scratch_write("none", "");
	str_append(&got, "old");
	fd = open("ten", O_RDONLY | O_CLOEXEC);
	tap_eq_int(fd_read_all(fd, 9, &got), -EFBIG, "one byte too many");
	tap_eq_str(got.data, "old", "a failed read leaves the result");
	tap_eq_int(fd_write_all(fd, "x", 1), -EBADF, "writing to a reader fails");
	tap_eq_int(fd_write_all(fd, NULL, 0), 0, "writing nothing does not");
	close(fd);
	fd = open("big", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	tap_ok(ftruncate(fd, 40000) == 0, "a file of several reads");
	tap_eq_int(fd_read_all(fd, 39999, &got), -EFBIG, "is bounded as a whole");
	close(fd);
	fd = open("none", O_RDONLY | O_CLOEXEC);
	tap_eq_int(fd_read_all(fd, 0, &got), 0, "nothing fits into nothing");
	tap_ok(got.len == 0 && got.data && !got.data[0], "and is a text");
	close(fd);
	fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	tap_eq_int(fd_read_all(fd, 10, &got), -EISDIR, "a directory cannot be read");
	close(fd);
	fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		tap_eq_int(fd_write_all(fd, "x", 1), -ENOSPC, "a full device is reported");
	fd_close(fd);
}

int main(void)
{
	scratch_enter();
	test_close();
	test_close_later();
	test_through_pipe();
	test_limits();
	scratch_leave();
	return tap_done();
}
