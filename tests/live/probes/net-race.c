/* SPDX-License-Identifier: MIT */
/*
 * net-race - net-race WAY GOOD PORT BAD PORT ATTEMPTS: connects to an address that may be reached,
 * while sibling threads change what the call is about between the moment somebody looks at it
 * and the moment the kernel does.
 *
 * Prints "attempts N made N", and how many calls ended how. Whether BAD was reached is for BAD to say.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	ADDRESS = 1,
	PORT = 2,
	DUP2 = 4,
	CLOSE = 8,
	UNMAP = 16,
	SIGNAL = 32,
	WAITLESS = 64,
	DATAGRAM = 128
};

static const struct {
	const char *name;
	int what;
} ways[] = {
	{"address", ADDRESS},
	{"port", PORT},
	{"dup2", DUP2},
	{"address+dup2", ADDRESS | DUP2},
	{"close", CLOSE | ADDRESS},
	{"unmap", UNMAP | ADDRESS},
	{"signal", SIGNAL | ADDRESS},
	{"waitless", ADDRESS | WAITLESS},
	{"waitless+dup2", ADDRESS | WAITLESS | DUP2},
	{"datagram", ADDRESS | DATAGRAM},
};

static int what;
static struct sockaddr_storage good, bad;
static socklen_t length;
static _Atomic int current = -1; /* the descriptor of the call in flight */
static atomic_bool over;
static struct sockaddr_storage *shared; /* what the call points to: a page of its own */
static pthread_t caller;
static atomic_ulong swaps;

static void nothing(int number)
{
	(void)number;
}

static void read_address(const char *text, const char *port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (void *)ret;
	struct sockaddr_in6 *v6 = (void *)ret;

	if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)atoi(port));
		length = sizeof(*v6);
	} else if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)atoi(port));
		length = sizeof(*v4);
	} else {
		exit(2);
	}
}

static int new_socket(void)
{
	int type = what & DATAGRAM ? SOCK_DGRAM : SOCK_STREAM;

	return socket(good.ss_family, type | (what & WAITLESS ? SOCK_NONBLOCK : 0) | SOCK_CLOEXEC,
		      0);
}

static void spin(unsigned *seed)
{
	for (volatile int n = rand_r(seed) % 4096; n > 0; n--)
		;
}

static void *rewrite(void *data)
{
	unsigned seed = (unsigned)(uintptr_t)data;

	while (!over) {
		if (what & (ADDRESS | PORT | UNMAP)) {
			if (what & UNMAP)
				mprotect(shared, 4096, PROT_NONE);
			spin(&seed);
			if (what & UNMAP)
				mprotect(shared, 4096, PROT_READ | PROT_WRITE);
			if (what & PORT)
				((struct sockaddr_in *)shared)->sin_port =
					((struct sockaddr_in *)&bad)->sin_port;
			else
				memcpy(shared, &bad, length);
			spin(&seed);
			memcpy(shared, &good, length);
			swaps++;
		}
		spin(&seed);
		if (what & SIGNAL)
			pthread_kill(caller, SIGUSR1);
	}
	return NULL;
}

/* Another socket, or none, behind the number. */
static void *exchange(void *data)
{
	unsigned seed = (unsigned)(uintptr_t)data;

	while (!over) {
		int fd = current;

		if (fd < 0) {
			sched_yield();
			continue;
		}
		spin(&seed);
		if (what & CLOSE) {
			close(fd);
			swaps++;
		} else if (what & DUP2) {
			int other = rand_r(&seed) % 3
					    ? new_socket()
					    : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
			dup2(other, fd);
			close(other);
			swaps++;
		}
		atomic_compare_exchange_strong(&current, &fd, -1);
	}
	return NULL;
}

/* What became of it: 0 connected, or an errno. */
static int attempt(void)
{
	const struct linger hard = {1, 0};
	int fd = new_socket(), r, error = 0;

	if (fd < 0)
		return errno;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	current = fd;
	r = connect(fd, (void *)shared, length) < 0 ? errno : 0;
	if (r == EINPROGRESS) {
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		socklen_t len = sizeof(error);
		poll(&p, 1, 100);
		r = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
	}
	if (r == 0)
		send(fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	current = -1;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(fd);
	return r;
}

int main(int argc, char **argv)
{
	unsigned long attempts, ends[256] = {0};
	struct sigaction act = {.sa_handler = nothing};
	pthread_t threads[2];

	if (argc != 7)
		return 2;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			what = ways[i].what;
	read_address(argv[4], argv[5], &bad);
	read_address(argv[2], argv[3], &good);
	attempts = strtoul(argv[6], NULL, 10);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!what || shared == MAP_FAILED)
		return 2;
	sigaction(SIGUSR1, &act, NULL);
	memcpy(shared, &good, length);
	caller = pthread_self();
	pthread_create(&threads[0], NULL, rewrite, (void *)(uintptr_t)getpid());
	pthread_create(&threads[1], NULL, exchange, (void *)(uintptr_t)(getpid() + 1));
	for (unsigned long i = 0; i < attempts; i++)
		ends[attempt() & 255]++;
	over = true;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("attempts %lu\nswaps %lu\nmade %lu\n", attempts, (unsigned long)swaps, ends[0]);
	for (int i = 1; i < 256; i++)
		if (ends[i])
			printf("errno-%d %lu\n", i, ends[i]);
	return 0;
}
