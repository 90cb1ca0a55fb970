/* SPDX-License-Identifier: MIT */
/*
 * broker - what a connection through the broker costs, against plain loopback.
 *
 *     broker [--check] PALE [NOTHING]
 *
 * The same client runs bare and in `pale run --network localhost`, by turns, and measures
 * itself: the start of a sandbox is not part of it. Only figures of one run are compared. The
 * status is 0 unless something failed or, with --check, a budget was missed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, CONNECTS = 300, WORDS = 2000, BLOCK = 128 << 10 };
enum { STREAM_BYTES = 256 << 20 };

enum measure { DOWN, UP, CONNECT, WORD, MEASURES };
static const struct {
	const char *option, *name, *unit;
	double budget; /* a ratio at least; for CONNECT, how many µs more at most; 0: none */
} measures[MEASURES] = {
	[DOWN] = {"down", "a stream from outside", "MiB/s", 0.6},
	[UP] = {"up", "a stream from inside", "MiB/s", 0.6},
	[CONNECT] = {"connect", "connect, p50", "us", 150},
	[WORD] = {"word", "a word and its answer, p50", "us", 0},
};

static char base[] = "/var/tmp/pale-bench-XXXXXX";
static char home_var[64], state_var[64];
static char *environment[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", home_var, state_var, NULL};
static char block[BLOCK];

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "broker: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), compare_numbers);
	return numbers[count / 2];
}

/* -- The client: prints one number ---------------------------------------- */

static int reach(uint16_t port, char what)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		fail("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	if (what && send(fd, &what, 1, 0) != 1)
		fail("send");
	return fd;
}

static double stream(uint16_t port, enum measure m)
{
	int fd = reach(port, m == DOWN ? 'd' : 'u');
	uint64_t begin = now_ns();
	size_t sum = 0;
	ssize_t n = 1;

	while (sum < STREAM_BYTES && n > 0) {
		n = m == DOWN ? recv(fd, block, sizeof(block), 0)
			      : send(fd, block, sizeof(block), MSG_NOSIGNAL);
		sum += n > 0 ? (size_t)n : 0;
	}
	shutdown(fd, SHUT_WR);
	if (sum < STREAM_BYTES || recv(fd, block, 1, 0) < 0) /* all has arrived */
		fail("stream");
	close(fd);
	return (double)STREAM_BYTES / (1 << 20) / ((double)(now_ns() - begin) / 1e9);
}

static double connects(uint16_t port)
{
	static double us[CONNECTS];

	for (int i = 0; i < CONNECTS; i++) {
		uint64_t begin = now_ns();
		int fd = reach(port, 0);

		us[i] = (double)(now_ns() - begin) / 1e3;
		close(fd);
	}
	return median(us, CONNECTS);
}

static double words(uint16_t port)
{
	static double us[WORDS];
	int fd = reach(port, 'w');

	for (int i = 0; i < WORDS; i++) {
		uint64_t begin = now_ns();

		if (send(fd, block, 100, MSG_NOSIGNAL) != 100 ||
		    recv(fd, block, 100, MSG_WAITALL) != 100)
			fail("word");
		us[i] = (double)(now_ns() - begin) / 1e3;
	}
	close(fd);
	return median(us, WORDS);
}

static int client(const char *option, uint16_t port)
{
	enum measure m = DOWN;

	while (m < MEASURES && strcmp(measures[m].option, option) != 0)
		m++;
	printf("%f\n", m == CONNECT ? connects(port) : m == WORD ? words(port) : stream(port, m));
	return 0;
}

/* -- The server ------------------------------------------------------------ */

static _Noreturn void serve_one(int fd)
{
	char what = 0;
	ssize_t n = recv(fd, &what, 1, 0);
	size_t sum = 0;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	while (what == 'd' && sum < STREAM_BYTES &&
	       (n = send(fd, block, sizeof(block), MSG_NOSIGNAL)) > 0)
		sum += (size_t)n;
	while (what == 'u' && (n = recv(fd, block, sizeof(block), 0)) > 0)
		;
	while (what == 'w' && (n = recv(fd, block, 100, MSG_WAITALL)) == 100)
		send(fd, block, 100, MSG_NOSIGNAL);
	_exit(0);
}

static uint16_t serve(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(l, (struct sockaddr *)&at, len) < 0 || listen(l, 1024) < 0 ||
	    getsockname(l, (struct sockaddr *)&at, &len) < 0)
		fail("listen");
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGCHLD, SIG_IGN);
		for (;;) {
			int fd = accept(l, NULL, NULL);
			char byte;

			/* Only those who have something to say need a process. */
			if (fd >= 0 && poll(&(struct pollfd){fd, POLLIN, 0}, 1, 1000) == 1 &&
			    recv(fd, &byte, 1, MSG_PEEK) == 1 && fork() == 0)
				serve_one(fd);
			close(fd);
		}
	}
	close(l);
	return ntohs(at.sin_port);
}

/* -- The comparison -------------------------------------------------------- */

static double run(char **argv)
{
	posix_spawn_file_actions_t actions;
	char text[64] = "";
	int out[2], status, r;
	ssize_t n;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		fail("pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	r = posix_spawn(&pid, argv[0], &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(out[1]);
	if (r != 0) {
		errno = r;
		fail(argv[0]);
	}
	n = read(out[0], text, sizeof(text) - 1);
	close(out[0]);
	if (waitpid(pid, &status, 0) != pid || status != 0 || n <= 0) {
		fprintf(stderr, "broker: %s: status %d\n", argv[0], status);
		exit(1);
	}
	return strtod(text, NULL);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void clean_up(void)
{
	if (chdir("/") < 0 || nftw(base, remove_entry, 16, FTW_DEPTH | FTW_PHYS) < 0)
		fprintf(stderr, "broker: %s is left: %s\n", base, strerror(errno));
}

/* A workspace with this program in it, since a sandbox sees no other place of ours. */
static void make_workspace(void)
{
	struct stat st;
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;

	if (!mkdtemp(base))
		fail(base);
	atexit(clean_up);
	snprintf(home_var, sizeof(home_var), "HOME=%s/home", base);
	snprintf(state_var, sizeof(state_var), "XDG_STATE_HOME=%s/state", base);
	if (chdir(base) < 0 || mkdir("home", 0700) < 0 || mkdir("work", 0700) < 0 ||
	    chdir("work") < 0)
		fail(base);
	to = open("client", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	if (from < 0 || to < 0 || fstat(from, &st) < 0)
		fail("client");
	while (st.st_size > 0) {
		ssize_t n = sendfile(to, from, NULL, (size_t)st.st_size);

		if (n <= 0)
			fail("client");
		st.st_size -= n;
	}
	close(from);
	close(to);
}

/* Prints a line. False: the budget was missed. */
static bool compare(enum measure m, char *pale, char *port)
{
	char *bare[] = {"./client", "--client", (char *)measures[m].option, port, NULL};
	char *in[] = {pale,      "run", "--network", "localhost", "--connect-rate",
		      "1000000", "--",  "./client",  bare[1],     bare[2],
		      port,      NULL};
	double plain[ROUNDS], brokered[ROUNDS], a, b, budget = measures[m].budget;
	bool late;

	for (int i = 0; i < ROUNDS; i++) {
		if (i % 2)
			brokered[i] = run(in);
		plain[i] = run(bare);
		if (i % 2 == 0)
			brokered[i] = run(in);
	}
	a = median(brokered, ROUNDS);
	b = median(plain, ROUNDS);
	late = budget > 0 && (m == CONNECT ? a - b > budget : a / b < budget);
	printf("%-28s %9.1f %s brokered %9.1f plain  ", measures[m].name, a, measures[m].unit, b);
	if (m == CONNECT)
		printf("%+.1f (at most +%.0f)", a - b, budget);
	else if (budget > 0)
		printf("%.2f (at least %.2f)", a / b, budget);
	else
		printf("%+.1f", a - b);
	printf("%s\n", late ? "  MISSED" : "");
	return !late;
}

int main(int argc, char **argv)
{
	bool check = argc > 1 && strcmp(argv[1], "--check") == 0, good = true;
	char pale[4096], port[8];

	if (argc == 4 && strcmp(argv[1], "--client") == 0)
		return client(argv[2], (uint16_t)atoi(argv[3]));
	if (argc < 2 + check || !realpath(argv[1 + check], pale)) {
		fprintf(stderr, "usage: broker [--check] PALE\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	make_workspace();
	snprintf(port, sizeof(port), "%u", serve());
	for (enum measure m = DOWN; m < MEASURES; m++)
		good &= compare(m, pale, port);
	return good || !check ? 0 : 1;
}
