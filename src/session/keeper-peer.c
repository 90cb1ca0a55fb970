/* SPDX-License-Identifier: MIT */
/* Who may ask: the user, from where we are ourselves. What runs confined has the same uid, and
 * may see the socket: where its folder is made later, or called otherwise, nothing hides it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/sys.h"
#include "session/keeper-impl.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define PIDFD_GET_MNT_NAMESPACE  _IO(0xFF, 3) /* Linux 6.11 */
#define PIDFD_GET_PID_NAMESPACE  _IO(0xFF, 5)
#define PIDFD_GET_USER_NAMESPACE _IO(0xFF, 9)

enum { STATUS_MAX = 1 << 20, OF_PIDS = 2 };

static const struct {
	const char *name;
	unsigned long get;
} namespaces[KEEPER_NAMESPACES] = {{"ns/user", PIDFD_GET_USER_NAMESPACE},
				   {"ns/mnt", PIDFD_GET_MNT_NAMESPACE},
				   [OF_PIDS] = {"ns/pid", PIDFD_GET_PID_NAMESPACE}};

/* -1: KEY is not there. */
static int take_number(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? (int)strtol(at + strlen(key), NULL, 10) : -1;
}

/* One number for each namespace of pids from that of /proc on, inwards. */
static bool is_where_proc_is(const char *status)
{
	static const char key[] = "\nNSpid:\t";
	const char *at = strstr(status, key);

	return at && at[sizeof(key) - 1 + strspn(at + sizeof(key) - 1, "0123456789")] == '\n';
}

/* By its name in /proc, and for certain. */
struct process {
	char who[16];
	int pidfd;
};

static int open_proc(const struct process *p, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/%s", p->who, name);
	return fd_open(path, O_RDONLY);
}

/* Asking the pidfd costs less than names below /proc, which are made for every process anew. */
static int open_namespace(const struct process *p, size_t i)
{
	int fd = ioctl(p->pidfd, namespaces[i].get, 0);

	return fd < 0 ? open_proc(p, namespaces[i].name) : fd;
}

static int look_at_namespaces(const struct process *p, const char *status, struct whereabouts *ret)
{
	size_t n = is_where_proc_is(status) ? OF_PIDS : KEEPER_NAMESPACES;

	for (size_t i = 0; i < n; i++) {
		_cleanup_(fd_closep) int fd = open_namespace(p, i);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0)
			return -errno;
		ret->namespaces[i] = st.st_ino;
	}
	return 0;
}

/* Landlock cannot be seen; whoever has it put on without privileges has no new ones. */
static int look(const struct process *p, struct whereabouts *ret)
{
	_cleanup_(fd_closep) int fd = open_proc(p, "status");
	_cleanup_(str_release) struct str status = {0};

	/* As long as the list of groups is. */
	if (fd < 0 || fd_read_all(fd, STATUS_MAX, &status) < 0 || !status.data)
		return -ESRCH;
	ret->no_new_privs = take_number(status.data, "\nNoNewPrivs:\t");
	ret->filters = take_number(status.data, "\nSeccomp_filters:\t");
	if (ret->filters < 0) /* before Linux 5.9 */
		ret->filters = take_number(status.data, "\nSeccomp:\t");
	if (ret->no_new_privs < 0 || ret->filters < 0)
		return -EBADMSG;
	return look_at_namespaces(p, status.data, ret);
}

int whereabouts_own(struct whereabouts *ret)
{
	const struct process own = {.who = "self", .pidfd = sys_pidfd_open(getpid(), 0)};
	int r;

	/* For good: as long as somebody has one open the kernel need not make what stands for
	 * it anew for every look at a peer's. */
	for (size_t i = 0; i < KEEPER_NAMESPACES; i++)
		(void)open_namespace(&own, i);
	r = look(&own, ret);
	fd_close(own.pidfd);
	return r;
}

/* Of who connected, also when that is another process by now. Before 6.5 a number is all that
 * there is. */
static int open_peer(int sock, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	return errno == ENOPROTOOPT ? sys_pidfd_open(pid, 0) : -1;
}

const char *peer_refusal(int sock, const struct whereabouts *own)
{
	static const char elsewhere[] = "this session is not for who is confined, or elsewhere";
	static const char full[] = "this session has no descriptors left: too much runs in it";
	_cleanup_(fd_closep) int pidfd = -1;
	struct whereabouts at = {0};
	struct process process;
	struct pollfd ended;
	struct ucred peer;
	socklen_t len = sizeof(peer);

	/* The folder lets nobody in but the user and root; this holds wherever the socket is. */
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
		return "this session belongs to another user";
	errno = 0;
	pidfd = peer.pid > 0 ? open_peer(sock, peer.pid) : -1;
	process.pidfd = pidfd;
	snprintf(process.who, sizeof(process.who), "%d", (int)peer.pid);
	if (pidfd < 0 || look(&process, &at) < 0)
		return errno == EMFILE || errno == ENFILE ? full : elsewhere;
	/* It lives: what was looked at was its own. */
	ended = (struct pollfd){.fd = pidfd, .events = POLLIN};
	if (poll(&ended, 1, 0) != 0)
		return elsewhere;
	return memcmp(at.namespaces, own->namespaces, sizeof(at.namespaces)) == 0 &&
			       at.no_new_privs <= own->no_new_privs && at.filters <= own->filters
		       ? NULL
		       : elsewhere;
}
