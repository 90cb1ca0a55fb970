/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "observe/task.h"
#include "tap.h"

static void joined(const char *base, const char *name, const char *want)
{
	char got[PATH_MAX];

	tap_ok(task_join(base, name, got) == 0, "%s in %s", name, base);
	tap_eq_str(got, want, "is %s", want);
}

static void test_join(void)
{
	char got[PATH_MAX], long_name[PATH_MAX + 10];

	joined("/a", "b", "/a/b");
	joined("/a/b", "../c", "/a/c");
	joined("/a/b", "./c//d/", "/a/b/c/d");
	joined("/a", "/x/../y", "/y");
	joined("/a", "../../../etc", "/etc");
	joined("/a", "", "/a");
	joined("/", ".", "/");
	joined("/", "..", "/");
	joined("/a", "...", "/a/...");
	joined("/a", "..b", "/a/..b");
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	tap_eq_int(task_join("/a", long_name, got), -ENAMETOOLONG, "a name that is too long");
	long_name[PATH_MAX - 2] = '\0';
	tap_eq_int(task_join("/", long_name, got), 0, "one that is just short enough");
	tap_eq_int((long long)strlen(got), PATH_MAX - 1, "fills the room");
}

static void test_memory(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char got[PATH_MAX];
	pid_t self = getpid();
	int r;

	if (two == MAP_FAILED || munmap(two + page, (size_t)page) < 0)
		exit(1);
	r = task_read_name(self, (uint64_t)(uintptr_t)strcpy(two, "/etc/hosts"), got);
	if (r == -EPERM || r == -ENOSYS) {
		tap_skip("memory cannot be read here: %s", strerror(-r));
		return;
	}
	tap_ok(r == 10 && strcmp(got, "/etc/hosts") == 0, "a name at the begin of a page");
	memcpy(two + page - 4, "abc", 4);
	r = task_read_name(self, (uint64_t)(uintptr_t)(two + page - 4), got);
	tap_ok(r == 3 && strcmp(got, "abc") == 0, "one that ends with the last page");
	memset(two + page - 4, 'x', 4);
	tap_eq_int(task_read_name(self, (uint64_t)(uintptr_t)(two + page - 4), got), -ENAMETOOLONG,
		   "one that does not end there");
	tap_eq_int(task_read_name(self, (uint64_t)(uintptr_t)(two + page), got), -EFAULT,
		   "one that is nowhere");
	memset(two, 'l', 1000);
	two[1000] = '\0';
	tap_eq_int(task_read_name(self, (uint64_t)(uintptr_t)two, got), 1000, "a long one");
	tap_eq_int(task_read_name(self, 8, got), -EFAULT, "a null pointer, nearly");
}

static void test_resolve(void)
{
	char got[PATH_MAX];
	int fd = open("/usr/bin", O_PATH | O_DIRECTORY | O_CLOEXEC);

	tap_ok(chdir("/usr") == 0 && task_resolve(getpid(), AT_FDCWD, "lib", got) == 0 &&
		       strcmp(got, "/usr/lib") == 0,
	       "relative to the working directory");
	tap_ok(task_resolve(getpid(), fd, "env", got) == 0 && strcmp(got, "/usr/bin/env") == 0,
	       "relative to a descriptor");
	tap_ok(task_resolve(getpid(), fd, "", got) == 0 && strcmp(got, "/usr/bin") == 0,
	       "the descriptor itself");
	tap_ok(task_resolve(getpid(), 9999, "x", got) < 0, "one that is not open");
	tap_ok(task_resolve(getpid(), 9999, "/x", got) == 0, "which does not matter here");
}

static void noop(int sig)
{
	(void)sig;
}

/* A child that sleeps, with a signal blocked and one that it handles. */
static void test_other(void)
{
	char program[TASK_PROGRAM_MAX], got = 0;
	int pair[2], fd, status;
	sigset_t usr1;
	pid_t child;

	if (pipe2(pair, O_CLOEXEC) < 0 || write(pair[1], "x", 1) != 1)
		exit(1);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	child = fork();
	if (child == 0) {
		sigprocmask(SIG_BLOCK, &usr1, NULL);
		signal(SIGUSR2, noop);
		raise(SIGUSR1); /* it stays */
		for (;;)
			pause();
	}
	usleep(100000);
	fd = task_take_fd(child, pair[0]);
	if (fd == -EPERM || fd == -ENOSYS)
		tap_skip("descriptors of others cannot be had here");
	else
		tap_ok(fd >= 0 && read(fd, &got, 1) == 1 && got == 'x', "its descriptor");
	tap_ok(fd < 0 || fcntl(fd, F_GETFD) & FD_CLOEXEC, "which nobody inherits");
	if (tap_on_valgrind()) {
		tap_note("valgrind takes no descriptors, and is the program itself");
	} else {
		tap_eq_int(task_take_fd(child, 9999), -EBADF, "one that is not open");
		task_program(child, program);
		tap_eq_str(program, "test-task", "its program");
	}
	tap_ok(!task_has_signal(child), "a signal that is blocked would not wake it");
	kill(child, SIGSTOP);
	waitpid(child, &status, WUNTRACED);
	kill(child, SIGUSR2);
	tap_ok(task_has_signal(child), "one that it handles would");
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	task_program(child, program);
	tap_ok(!program[0] && !task_has_signal(child) && task_take_fd(child, 0) < 0,
	       "of one that is gone nothing is known");
}

/* Connected, with more to send than anybody takes, and told to wait for that. */
static int lingering(int *ret_peer)
{
	static char bytes[65536];
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(at);

	if (bind(listener, (struct sockaddr *)&at, len) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&at, len) < 0)
		exit(1);
	*ret_peer = accept(listener, NULL, NULL);
	close(listener);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 30}, sizeof(struct linger));
	return fd;
}

static void test_return(void)
{
	struct timespec begin, end;
	struct sigaction action;
	int peer, fd;

	if (tap_on_valgrind()) {
		tap_note("valgrind lets nothing interrupt a close");
		return;
	}
	fd = lingering(&peer);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	tap_eq_int(task_return_fd(fd), -1, "a socket that lingers is closed");
	clock_gettime(CLOCK_MONOTONIC, &end);
	tap_ok(end.tv_sec - begin.tv_sec < 10, "and does not keep us");
	tap_ok(fcntl(fd, F_GETFD) < 0 && errno == EBADF, "it is gone");
	sigaction(SIGALRM, NULL, &action);
	tap_ok(action.sa_handler == SIG_DFL, "alarms are as they were");
	tap_eq_int(task_return_fd(-1), -1, "one that there is not");
	close(peer);
}

int main(void)
{
	test_join();
	test_memory();
	test_resolve();
	test_other();
	test_return();
	return tap_done();
}
