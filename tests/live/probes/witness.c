/* SPDX-License-Identifier: MIT */
/*
 * witness FILE SECRET OUTSIDE [forks | PORT PORT] - write down what the boundary looks like
 * from inside, in a way that one failing call does not change. That FILE exists
 * says that the command was executed. With a fourth word, also how many processes
 * it may make; with two, which of these ports of 127.0.0.1 it reaches, and who
 * resolves names.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

static char text[8192];
static size_t len;

static void add(const char *key, const char *value)
{
	len += (size_t)snprintf(text + len, sizeof(text) - len, "%s %s\n", key, value);
}

static void add_answer(const char *key, long r)
{
	add(key, r >= 0 ? "yes" : "no");
}

/* One call in a row may be made to fail: try again before believing it. */
static int open_twice(const char *path, int flags)
{
	int fd = (int)syscall(SYS_open, path, flags);

	return fd >= 0 ? fd : (int)syscall(SYS_open, path, flags);
}

/* Whether a namespace is the host's is for the host to say. */
static void add_namespaces(void)
{
	static const char *const names[] = {"user", "mnt", "pid", "net", "ipc", "uts"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64], link[64] = "";
		long n;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		n = syscall(SYS_readlink, path, link, sizeof(link) - 1);
		if (n < 0)
			n = syscall(SYS_readlink, path, link, sizeof(link) - 1);
		add(names[i], n < 0 ? "unknown" : link);
	}
}

static void add_status(void)
{
	static char status[8192];
	static const char *const keys[] = {"CapInh", "CapPrm",  "CapEff",    "CapBnd",
					   "CapAmb", "Seccomp", "NoNewPrivs"};
	int fd = open_twice("/proc/self/status", O_RDONLY);

	if (syscall(SYS_pread64, fd, status, sizeof(status) - 1, 0) < 0 &&
	    syscall(SYS_pread64, fd, status, sizeof(status) - 1, 0) < 0)
		status[0] = '\0';
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *at = strstr(status, keys[i]), value[32] = "unknown";

		if (at)
			sscanf(at, "%*[^:]:%31s", value);
		add(keys[i], value);
	}
}

/* Forty are tried. They end with their parent, which is the main process here. */
static void add_forks(void)
{
	char count[16];
	int made = 0;

	for (int i = 0; i < 40; i++) {
		long pid = syscall(SYS_fork);

		if (pid == 0)
			for (;;)
				pause();
		made += pid > 0;
	}
	snprintf(count, sizeof(count), "%d", made);
	add("forks", count);
}

static int reaches(const char *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((unsigned short)atoi(port)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), r;

	if (fd < 0)
		fd = socket(AF_INET, SOCK_STREAM, 0);
	r = connect(fd, (struct sockaddr *)&at, sizeof(at));
	close(fd);
	return r;
}

/* The host's server in the folder where this was started. */
static int reaches_server(void)
{
	const struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "server"};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), r;

	if (fd < 0)
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
	r = connect(fd, (const struct sockaddr *)&at, sizeof(at));
	close(fd);
	return r;
}

static void add_network(char **ports)
{
	char names[64] = "";
	int fd = open_twice("/etc/resolv.conf", O_RDONLY);

	if (syscall(SYS_pread64, fd, names, sizeof(names) - 1, 0) < 0)
		(void)syscall(SYS_pread64, fd, names, sizeof(names) - 1, 0);
	names[strcspn(names, "\n")] = '\0';
	add("resolver", names);
	add_answer("allowed", reaches(ports[0]) < 0 ? reaches(ports[0]) : 0);
	add_answer("forbidden", reaches(ports[1]) < 0 ? reaches(ports[1]) : 0);
}

int main(int argc, char **argv)
{
	struct utsname host = {0};
	struct rlimit core = {1, 1};
	struct stat st;
	int out, extra = 0;

	if (argc < 4)
		return 2;
	for (int fd = 3; fd < 100; fd++)
		extra += syscall(SYS_fstat, fd, &st) == 0 || syscall(SYS_fstat, fd, &st) == 0;
	out = (int)syscall(SYS_creat, argv[1], 0644);
	add("descriptors", extra ? "some" : "none");
	if (syscall(SYS_uname, &host) < 0)
		syscall(SYS_uname, &host);
	add("host", host.nodename);
	syscall(SYS_getrlimit, RLIMIT_CORE, &core);
	add("core", core.rlim_max > 1 ? "on" : "off");
	add_answer("secret", open_twice(argv[2], O_RDONLY));
	add_answer("outside", open_twice(argv[3], O_WRONLY));
	add_answer("etc",
		   syscall(SYS_access, "/etc", W_OK) == 0 ? 0 : syscall(SYS_access, "/etc", W_OK));
	add_answer("sys", open_twice("/proc/sys/kernel/core_pattern", O_WRONLY));
	add_answer("server", reaches_server() < 0 ? reaches_server() : 0);
	add_status();
	add_namespaces();
	if (argc == 5)
		add_forks();
	if (argc == 6)
		add_network(argv + 4);
	return out < 0 || (syscall(SYS_pwrite64, out, text, len, 0) < 0 &&
			   syscall(SYS_pwrite64, out, text, len, 0) < 0);
}
