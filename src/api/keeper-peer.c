/* SPDX-License-Identifier: MIT */
/* Who may ask: the user, from where we are ourselves. What runs confined has the same uid, and
 * may see the socket: where its folder is made later, or called otherwise, nothing hides it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/keeper-impl.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum { STATUS_MAX = 1 << 20 };

static const char *const namespaces[KEEPER_NAMESPACES] = {"ns/user", "ns/mnt", "ns/pid"};

/* -1: KEY is not there. */
static int take_number(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? (int)strtol(at + strlen(key), NULL, 10) : -1;
}

/* Landlock cannot be seen; whoever has it put on without privileges has no new ones. */
static int look(int proc, struct whereabouts *ret)
{
	_cleanup_(fd_closep) int fd = openat(proc, "status", O_RDONLY | O_CLOEXEC);
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
	for (size_t i = 0; i < KEEPER_NAMESPACES; i++) {
		struct stat st;

		if (fstatat(proc, namespaces[i], &st, 0) < 0)
			return -errno;
		ret->namespaces[i] = st.st_ino;
	}
	return 0;
}

int whereabouts_own(struct whereabouts *ret)
{
	_cleanup_(fd_closep) int proc = fd_open("/proc/self", O_PATH | O_DIRECTORY);

	if (proc < 0)
		return -errno;
	/* For good: as long as somebody has one open the kernel need not make what stands for
	 * it anew for every look at a peer's. */
	for (size_t i = 0; i < KEEPER_NAMESPACES; i++)
		(void)openat(proc, namespaces[i], O_RDONLY | O_CLOEXEC);
	return look(proc, ret);
}

/* Of who connected, also when that is another process by now. Before 6.5 a number is all that
 * there is. */
static int open_peer(int sock, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	return errno == ENOPROTOOPT ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

const char *peer_refusal(int sock, const struct whereabouts *own)
{
	static const char elsewhere[] = "this session is not for who is confined, or elsewhere";
	_cleanup_(fd_closep) int pidfd = -1;
	_cleanup_(fd_closep) int proc = -1;
	struct whereabouts at = {0};
	struct pollfd ended;
	struct ucred peer;
	socklen_t len = sizeof(peer);
	char path[32];

	/* The folder lets nobody in but the user and root; this holds wherever the socket is. */
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
		return "this session belongs to another user";
	pidfd = peer.pid > 0 ? open_peer(sock, peer.pid) : -1;
	snprintf(path, sizeof(path), "/proc/%d", (int)peer.pid);
	proc = pidfd < 0 ? -1 : fd_open(path, O_PATH | O_DIRECTORY);
	if (proc < 0 || look(proc, &at) < 0)
		return elsewhere;
	/* It lives: what was looked at was its own. */
	ended = (struct pollfd){.fd = pidfd, .events = POLLIN};
	if (poll(&ended, 1, 0) != 0)
		return elsewhere;
	return memcmp(at.namespaces, own->namespaces, sizeof(at.namespaces)) == 0 &&
			       at.no_new_privs <= own->no_new_privs && at.filters <= own->filters
		       ? NULL
		       : elsewhere;
}
