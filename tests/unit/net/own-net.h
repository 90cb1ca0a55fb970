/* SPDX-License-Identifier: MIT */
/*
 * own-net - a network and a hosts file of the test's own.
 *
 * The loopback of it has 127.0.0.1 and 192.168.9.9; nothing leads outside. Names are those of the
 * file, and a DNS server on 127.0.0.1 that the test may be.
 */
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"

#define OWN_NET_ADDRESS "192.168.9.9"

static inline bool own_net_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool good = fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0;

	fd_close(fd);
	return good;
}

/* Become root of a namespace, unless we are. */
static inline bool own_net_root(void)
{
	char map[64];
	unsigned uid = getuid(), gid = getgid();

	if (uid == 0)
		return unshare(CLONE_NEWNS | CLONE_NEWNET) == 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0)
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (!own_net_write("/proc/self/setgroups", "deny") ||
	    !own_net_write("/proc/self/uid_map", map))
		return false;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return own_net_write("/proc/self/gid_map", map);
}

static inline bool own_net_files(const char *hosts)
{
	static const char *const files[][2] = {
		{"/tmp/hosts", "/etc/hosts"},
		{"/tmp/resolv.conf", "/etc/resolv.conf"},
		{"/tmp/nsswitch.conf", "/etc/nsswitch.conf"},
	};
	/* One try that lasts longer than any test. */
	bool good = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		    mount("none", "/tmp", "tmpfs", 0, NULL) == 0 &&
		    own_net_write("/tmp/hosts", hosts) &&
		    own_net_write("/tmp/resolv.conf",
				  "nameserver 127.0.0.1\noptions timeout:30 attempts:1\n") &&
		    own_net_write("/tmp/nsswitch.conf", "hosts: files dns\n");

	for (size_t i = 0; good && i < 3; i++)
		good = mount(files[i][0], files[i][1], NULL, MS_BIND, NULL) == 0;
	return good;
}

static inline bool own_net_up(void)
{
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	struct ifreq alias = {.ifr_name = "lo:1"};
	struct sockaddr_in *address = (struct sockaddr_in *)&alias.ifr_addr;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool good;

	address->sin_family = AF_INET;
	inet_pton(AF_INET, OWN_NET_ADDRESS, &address->sin_addr);
	good = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &up) == 0 && ioctl(fd, SIOCSIFADDR, &alias) == 0;
	fd_close(fd);
	return good;
}

static inline bool own_net(const char *hosts)
{
	return own_net_root() && own_net_files(hosts) && own_net_up();
}

static inline void own_net_nothing(void *data, short revents)
{
	(void)data;
	(void)revents;
}

/* Turn LOOP until *DONE (NULL: never), or for so long. */
static inline bool own_net_turn(struct loop *loop, const bool *done, unsigned ms)
{
	uint64_t end = clock_mono_ns() + ms * UINT64_C(1000000);
	struct loop_timer timer = {.fn = own_net_nothing};

	loop_add_timer(loop, &timer);
	while (!(done && *done) && clock_mono_ns() < end) {
		timer.at_ns = clock_mono_ns() + 10000000;
		loop_turn(loop);
	}
	loop_remove_timer(loop, &timer);
	return done && *done;
}
