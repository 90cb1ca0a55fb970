/* SPDX-License-Identifier: MIT */
/*
 * Closes a socket while a connect(2) by it is looked at: whoever has the last descriptor
 * of a socket that lingers waits for data that nobody reads.
 *
 *     net-linger SECONDS
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in address = {.sin_family = AF_INET};
static atomic_int fd = -1, calls;

static void on_alarm(int sig)
{
	(void)sig; /* our own close(2) does not wait for ever, either */
}

static void *call(void *data)
{
	(void)data;
	for (;;) {
		while (!atomic_load(&calls))
			;
		(void)connect(atomic_load(&fd), (struct sockaddr *)&address, sizeof(address));
		atomic_store(&calls, 0);
	}
	return NULL;
}

static void set_alarm(int ms)
{
	const struct itimerval timer = {{0, ms * 1000}, {0, ms * 1000}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static int fill(int listener)
{
	static char bytes[65536];
	const struct linger linger = {1, 600};
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	setsockopt(s, SOL_SOCKET, SO_SNDBUF, &(int){2048}, sizeof(int));
	if (connect(s, (struct sockaddr *)&address, sizeof(address)) < 0 && errno != EINPROGRESS)
		return -1;
	if (accept(listener, NULL, NULL) < 0)
		return -1;
	while (send(s, bytes, sizeof(bytes), 0) > 0)
		;
	setsockopt(s, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return s;
}

int main(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	int listener = socket(AF_INET, SOCK_STREAM, 0), tries = 0;
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	socklen_t len = sizeof(address);
	pthread_t thread;
	sigset_t alarms;

	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &(int){2048}, sizeof(int));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, len) < 0 || listen(listener, 64) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) < 0)
		return 1;
	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	pthread_create(&thread, NULL, call, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	for (; time(NULL) < end; tries++) {
		int s = fill(listener);

		if (s < 0)
			break;
		atomic_store(&fd, s);
		atomic_store(&calls, 1);
		for (volatile int i = 0; i < tries * 37 % 40000; i++)
			;
		set_alarm(3);
		close(s);
		set_alarm(0);
		printf("tries %d\n", tries + 1);
		fflush(stdout);
		/* The other thread may have the last one: then this is the end of us. */
		while (atomic_load(&calls))
			;
	}
	return tries == 0;
}
