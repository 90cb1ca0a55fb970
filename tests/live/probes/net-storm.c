/* SPDX-License-Identifier: MIT */
/*
 * net-storm - loads for whoever carries the connections.
 *
 *   net-storm storm HOST PORT RATE SECONDS   a new process for each connection, RATE in a second
 *   net-storm one HOST PORT                  that process: says "ping", wants an answer
 *   net-storm many HOST PORT PROCESSES EACH  connections that do nothing, until the input ends
 *   net-storm deaf HOST PORT COUNT           that ask for much and read nothing, until the input ends
 *   net-storm slow HOST PORT COUNT SECONDS   that send a byte now and then
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_storage to;
static socklen_t length;

static void read_address(const char *text, const char *port)
{
	struct sockaddr_in *v4 = (void *)&to;
	struct sockaddr_in6 *v6 = (void *)&to;

	if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)atoi(port));
		length = sizeof(*v6);
	} else {
		inet_pton(AF_INET, text, &v4->sin_addr);
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)atoi(port));
		length = sizeof(*v4);
	}
}

static int one(void)
{
	char answer[64];
	int fd = socket(to.ss_family, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (void *)&to, length) < 0 || write(fd, "ping\n", 5) != 5)
		return errno ? errno : 1;
	return read(fd, answer, sizeof(answer)) > 0 ? 0 : 250;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int storm(char **argv, int rate, int seconds)
{
	int total = rate * seconds, failed = 0, status, ends[256] = {0};
	double begin = now();

	for (int i = 0; i < total; i++) {
		double wait = begin + (double)i / rate - now();

		if (wait > 0)
			usleep((useconds_t)(wait * 1e6));
		pid_t pid = fork();
		if (pid == 0) {
			execl("/proc/self/exe", "net-storm", "one", argv[2], argv[3], NULL);
			_exit(251);
		}
		failed += pid < 0;
		while (waitpid(-1, &status, WNOHANG) > 0)
			ends[WIFEXITED(status) ? WEXITSTATUS(status) : 255]++;
	}
	double took = now() - begin;
	while (waitpid(-1, &status, 0) > 0)
		ends[WIFEXITED(status) ? WEXITSTATUS(status) : 255]++;
	printf("total %d\ngood %d\nforks-failed %d\nmilliseconds %d\n", total, ends[0], failed,
	       (int)(took * 1000));
	for (int i = 1; i < 256; i++)
		if (ends[i])
			printf("end-%d %d\n", i, ends[i]);
	return ends[0] != total;
}

static void until_the_end(void)
{
	char c;

	while (read(0, &c, 1) > 0)
		;
}

/* Their number; they stay open. */
static int open_all(int count, const char *say)
{
	int good = 0;

	for (int i = 0; i < count; i++) {
		int fd = socket(to.ss_family, SOCK_STREAM, 0);

		if (fd < 0)
			break;
		if (connect(fd, (void *)&to, length) < 0) {
			close(fd);
			continue;
		}
		good++;
		if (say && write(fd, say, strlen(say)) < 0)
			good--;
	}
	return good;
}

static int many(int processes, int each)
{
	int ends[2], good, all = 0;

	if (pipe(ends) < 0)
		return 1;
	for (int i = 0; i < processes; i++) {
		if (fork() == 0) {
			good = open_all(each, NULL);
			if (write(ends[1], &good, sizeof(good)) < 0)
				_exit(1);
			until_the_end();
			_exit(0);
		}
	}
	for (int i = 0; i < processes && read(ends[0], &good, sizeof(good)) == sizeof(good); i++)
		all += good;
	printf("open %d\n", all);
	fflush(stdout);
	until_the_end();
	kill(0, SIGKILL);
	return 0;
}

static int slow(int count, int seconds)
{
	int fds[1024], good = 0;

	for (int i = 0; i < count && i < 1024; i++) {
		fds[good] = socket(to.ss_family, SOCK_STREAM, 0);
		if (connect(fds[good], (void *)&to, length) == 0)
			good++;
	}
	printf("open %d\n", good);
	fflush(stdout);
	for (int s = 0; s < seconds * 5; s++) {
		for (int i = 0; i < good; i++)
			if (send(fds[i], "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
				return 1;
		usleep(200000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit files;

	if (argc < 4)
		return 2;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	read_address(argv[2], argv[3]);
	if (strcmp(argv[1], "one") == 0)
		return one();
	if (strcmp(argv[1], "storm") == 0 && argc == 6)
		return storm(argv, atoi(argv[4]), atoi(argv[5]));
	if (strcmp(argv[1], "many") == 0 && argc == 6)
		return many(atoi(argv[4]), atoi(argv[5]));
	if (strcmp(argv[1], "slow") == 0 && argc == 6)
		return slow(atoi(argv[4]), atoi(argv[5]));
	if (strcmp(argv[1], "deaf") == 0 && argc == 5) {
		printf("open %d\n", open_all(atoi(argv[4]), "flood\n"));
		fflush(stdout);
		until_the_end();
		return 0;
	}
	return 2;
}
