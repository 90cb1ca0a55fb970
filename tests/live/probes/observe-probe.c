/* SPDX-License-Identifier: MIT */
/*
 * observe-probe - what makes an observer's life hard.
 *
 *   flood PATH          open PATH for writing, for ever, in four processes
 *   many PATH N         open PATH/0, PATH/1, … PATH/N-1
 *   killed PATH N       N times: a child opens PATH for ever, and is killed at any moment
 *   threads DIR N       eight threads make and remove N files each
 *   race A B MS         open for writing a name that another thread changes from A to B
 *   signals PATH MS     open PATH while a timer strikes, with and without SA_RESTART
 *   listen              listen on a loopback port, and connect to it before and after
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char name[4096];
static const char *first, *second, *dir;
static volatile int done;
static int rounds;

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int attempt(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
	return fd;
}

static void flood(const char *path)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			break;
	for (;;)
		attempt(path);
}

static int killed(const char *path, int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			for (;;)
				attempt(path);
		usleep((useconds_t)(i * 37 % 1500));
		kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
			return 1;
	}
	return printf("killed %d\n", n) < 0;
}

static void *make_files(void *arg)
{
	char path[4200];
	long failed = 0;

	for (int i = 0; i < rounds; i++) {
		snprintf(path, sizeof(path), "%s/t%ld-%d", dir, (long)arg, i);
		failed += attempt(path) < 0;
		failed += unlink(path) < 0;
	}
	return (void *)failed;
}

static int threads(void)
{
	pthread_t all[8];
	long failed = 0;
	void *got;

	for (long i = 0; i < 8; i++)
		if (pthread_create(&all[i], NULL, make_files, (void *)i) != 0)
			return 1;
	for (int i = 0; i < 8; i++) {
		pthread_join(all[i], &got);
		failed += (long)got;
	}
	return printf("threads failed %ld\n", failed) < 0;
}

static void *change_name(void *arg)
{
	(void)arg;
	while (!done) {
		memcpy(name, first, strlen(first) + 1);
		memcpy(name, second, strlen(second) + 1);
	}
	return NULL;
}

static int race(long ms)
{
	long end = now_ms() + ms, tries = 0, opened = 0;
	pthread_t other;

	strcpy(name, first);
	if (pthread_create(&other, NULL, change_name, NULL) != 0)
		return 1;
	for (; now_ms() < end; tries++) {
		int fd = open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);

		if (fd >= 0 && write(fd, "raced\n", 6) == 6)
			opened++;
		if (fd >= 0)
			close(fd);
	}
	done = 1;
	pthread_join(other, NULL);
	return printf("race tries %ld opened %ld\n", tries, opened) < 0;
}

static void on_alarm(int sig)
{
	(void)sig;
}

static long interrupted(const char *path, int flags, long ms)
{
	const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
	long end = now_ms() + ms, count = 0;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (now_ms() < end)
		count += attempt(path) < 0 && errno == EINTR;
	setitimer(ITIMER_REAL, &never, NULL);
	return count;
}

static int try_connect(struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = connect(fd, (struct sockaddr *)to, sizeof(*to)) < 0 ? errno : 0;

	close(fd);
	return r;
}

static int listening(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(to);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), before, after;

	if (bind(fd, (struct sockaddr *)&to, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&to, &len) < 0)
		return 1;
	before = try_connect(&to);
	if (listen(fd, 4) < 0)
		return 1;
	after = try_connect(&to);
	return printf("listen %d %d\n", before, after) < 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char path[4200];

	if (strcmp(what, "flood") == 0 && argc == 3)
		flood(argv[2]);
	if (strcmp(what, "many") == 0 && argc == 4) {
		for (int i = 0; i < atoi(argv[3]); i++) {
			snprintf(path, sizeof(path), "%s/%d", argv[2], i);
			attempt(path);
		}
		return 1;
	}
	if (strcmp(what, "killed") == 0 && argc == 4)
		return killed(argv[2], atoi(argv[3]));
	if (strcmp(what, "threads") == 0 && argc == 4) {
		dir = argv[2];
		rounds = atoi(argv[3]);
		return threads();
	}
	if (strcmp(what, "race") == 0 && argc == 5) {
		first = argv[2];
		second = argv[3];
		return race(atol(argv[4]));
	}
	if (strcmp(what, "signals") == 0 && argc == 4)
		return printf("signals %ld %ld\n", interrupted(argv[2], SA_RESTART, atol(argv[3])),
			      interrupted(argv[2], 0, atol(argv[3]))) < 0;
	if (strcmp(what, "listen") == 0)
		return listening();
	return 2;
}
