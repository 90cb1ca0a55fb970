/* SPDX-License-Identifier: MIT */
/*
 * A process that calls getaddrinfo(3) once.
 *
 * What it reads was sent by strangers, so it has nothing but its pipe, little memory and
 * time, and is not root if it can help it.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"
#include "net/lookup-impl.h"

enum {
	NOBODY = 65534,
	CPU_S = 5,
	MEMORY = 64 << 20,
	FILES = 32,
	ALARM_S = 15, /* in case that nobody ends it */
};

static void limit(int what, rlim_t value)
{
	const struct rlimit l = {.rlim_cur = value, .rlim_max = value};

	(void)setrlimit(what, &l);
}

/* Only the pipe stays, as descriptor 0. What fails here takes away a precaution, and no
 * decision rests on it. */
static void strip(int pipe_end, pid_t parent)
{
	const struct sigaction plain = {.sa_handler = SIG_DFL};
	sigset_t none;

	if (dup2(pipe_end, 0) != 0)
		_exit(1);
	if (sys_close_range(1, ~0U, 0) < 0)
		_exit(1);
	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &plain, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(ALARM_S);
	limit(RLIMIT_CPU, CPU_S);
	limit(RLIMIT_CORE, 1); /* not even to a program that core_pattern names */
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, FILES);
#if !defined(__SANITIZE_ADDRESS__)
	limit(RLIMIT_AS, MEMORY);
#endif
	if (geteuid() == 0 && setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0)
		(void)!setresuid(NOBODY, NOBODY, NOBODY);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the ids: they clear it */
	if (getppid() != parent)
		_exit(1);
}

static int error_of(int gai)
{
	switch (gai) {
	case EAI_AGAIN:
	case EAI_FAIL:
	case EAI_MEMORY:
	case EAI_SYSTEM:
		return -EAGAIN;
	default:
		return -ENOENT;
	}
}

static void add(struct lookup_wire *wire, const struct sockaddr *from, socklen_t len)
{
	struct sockaddr_storage copy = {0};
	struct endpoint e;

	if (wire->len == LOOKUP_ADDRESSES_MAX || len > sizeof(copy))
		return;
	memcpy(&copy, from, len);
	/* IPv4 inside IPv6 is nothing that an honest name server says. */
	if (copy.ss_family == AF_INET6 &&
	    IN6_IS_ADDR_V4MAPPED(&((const struct sockaddr_in6 *)&copy)->sin6_addr))
		return;
	if (!endpoint_read(&copy, len, &e))
		return;
	for (uint32_t i = 0; i < wire->len; i++)
		if (IN6_ARE_ADDR_EQUAL(&wire->addresses[i], &e.address))
			return;
	wire->addresses[wire->len++] = e.address;
}

static int ask(const char *name, int family, struct lookup_wire *wire)
{
	const struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	int r = getaddrinfo(name, NULL, &hints, &list);

	if (r != 0)
		return error_of(r);
	for (const struct addrinfo *a = list; a; a = a->ai_next)
		add(wire, a->ai_addr, a->ai_addrlen);
	return wire->len > 0 ? 0 : -ENOENT; /* the list ends with the process */
}

_Noreturn static void child_main(int pipe_end, pid_t parent, const char *name)
{
	/* Some servers fail for the one kind of address, and musl then has none of the other. */
	static const int families[] = {AF_UNSPEC, AF_INET, AF_INET6};
	struct lookup_wire wire = {.error = -EAGAIN};

	strip(pipe_end, parent);
	for (size_t i = 0; i < array_len(families) && wire.error == -EAGAIN; i++)
		wire.error = ask(name, families[i], &wire);
	_exit(fd_write_all(0, &wire, sizeof(wire)) < 0);
}

int lookup_child_start(struct lookup_child *child, const char *name)
{
	_cleanup_(fd_closep) int ours = -1, theirs = -1;
	int ends[2], pidfd = -1, pid;
	pid_t parent = getpid();

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	ours = ends[0];
	theirs = ends[1];
	pid = sys_fork(&pidfd);
	if (pid < 0)
		return pid;
	if (pid == 0)
		child_main(theirs, parent, name);
	*child = (struct lookup_child){.pid = pid, .pidfd = pidfd, .fd = take_fd(ours)};
	return 0;
}

void lookup_child_read(struct lookup_child *child, struct lookup_wire *ret)
{
	ssize_t n = read(child->fd, ret, sizeof(*ret));

	if (n == sizeof(*ret) && ret->len <= LOOKUP_ADDRESSES_MAX &&
	    (ret->error == 0 ? ret->len > 0 : ret->error == -ENOENT || ret->error == -EAGAIN)) {
		if (ret->error != 0)
			ret->len = 0;
		return;
	}
	*ret = (struct lookup_wire){.error = -EAGAIN};
}

void lookup_child_end(struct lookup_child *child)
{
	/* It has answered, or is late: nothing is lost. Somebody who reaps every child of
	 * the process may have been faster; the descriptor means no other. */
	sys_pidfd_send_signal(child->pidfd, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	fd_close(child->pidfd);
	fd_close(child->fd);
	*child = (struct lookup_child){.pidfd = -1, .fd = -1};
}
