/* SPDX-License-Identifier: MIT */
#include "engine/net.h"

#include <errno.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/netlink.h"
#include "warden/protocol.h"
#include "warden/sockets.h"

enum { LOOPBACK = 1 }; /* its index: the first of every network */

int net_loopback_up(struct err *err)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(err, -errno, "open a socket in the private network");
	if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		return err_sys(err, -errno, "bring the private loopback up");
	return 0;
}

struct set_link {
	struct nlmsghdr head;
	struct ifinfomsg link;
};

struct add_route {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr oif;
	uint32_t index;
};

static const struct set_link loopback_up = {
	.head = {.nlmsg_len = sizeof(struct set_link),
		 .nlmsg_type = RTM_NEWLINK,
		 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
	.link = {.ifi_index = LOOPBACK, .ifi_flags = IFF_UP, .ifi_change = IFF_UP},
};

static struct add_route everywhere(unsigned char family)
{
	return (struct add_route){
		.head = {.nlmsg_len = sizeof(struct add_route),
			 .nlmsg_type = RTM_NEWROUTE,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE},
		.route = {.rtm_family = family,
			  .rtm_table = RT_TABLE_LOCAL,
			  .rtm_protocol = RTPROT_BOOT,
			  .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
			  .rtm_type = RTN_LOCAL},
		.oif = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF},
		.index = LOOPBACK,
	};
}

struct add_address {
	struct nlmsghdr head;
	struct ifaddrmsg link;
	struct rtattr local;
	uint8_t address[16];
};

/* The C library leaves out a family in which there is none but the loopback's address, for
 * programs that ask for what can be reached (AI_ADDRCONFIG). So each has one more, out of
 * what stands for names: the resolver's, and the one before the first. */
static struct add_address address_of(unsigned char family)
{
	static const uint8_t v4[4] = {198, 18, 0, 1}, v6[16] = {0xfd, 'p', 'a', 'l', 'e'};
	size_t len = family == AF_INET ? sizeof(v4) : sizeof(v6);
	struct add_address a = {
		.head = {.nlmsg_len = (uint32_t)(offsetof(struct add_address, address) + len),
			 .nlmsg_type = RTM_NEWADDR,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE},
		.link = {.ifa_family = family,
			 .ifa_prefixlen = (uint8_t)(len * 8),
			 .ifa_flags = IFA_F_NODAD,
			 .ifa_index = LOOPBACK},
		.local = {.rta_len = (uint16_t)RTA_LENGTH(len), .rta_type = IFA_LOCAL},
	};

	memcpy(a.address, family == AF_INET ? v4 : v6, len);
	return a;
}

/* 0 or -errno. */
static int ask(int netlink, const struct nlmsghdr *request)
{
	union netlink_answer answer;
	int r = netlink_ask(netlink, request, &answer);

	return r == 0 && answer.head.nlmsg_type != NLMSG_ERROR ? -EPROTO : r;
}

int net_everywhere(struct err *err)
{
	_cleanup_(fd_closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	const struct add_route v4 = everywhere(AF_INET), v6 = everywhere(AF_INET6);
	const struct add_address own4 = address_of(AF_INET), own6 = address_of(AF_INET6);
	int r;

	if (fd < 0)
		return err_sys(err, -errno, "open a socket in the private network");
	r = ask(fd, &loopback_up.head);
	if (r < 0)
		return err_sys(err, r, "bring the private loopback up");
	r = ask(fd, &v4.head);
	if (r == 0)
		r = ask(fd, &own4.head);
	if (r < 0)
		return err_sys(err, r, "make every address the private loopback's");
	r = ask(fd, &v6.head);
	if (r == 0)
		r = ask(fd, &own6.head);
	/* A kernel without IPv6, or one that has it turned off for every new network: then no
	 * address of it leads anywhere. */
	if (r < 0 && r != -EAFNOSUPPORT && r != -EOPNOTSUPP && r != -EACCES)
		return err_sys(err, r, "make every IPv6 address the private loopback's");
	return 0;
}

/* For the resolver, and to hear of datagrams that nobody takes. */
static int make_special(int fds[NET_SPECIAL_MAX], size_t *ret_len, struct err *err)
{
	static const struct {
		int family, type, protocol;
	} kinds[NET_SPECIAL_MAX] = {
		{AF_INET, SOCK_DGRAM, 0},
		{AF_INET, SOCK_RAW, IPPROTO_ICMP},
		{AF_INET6, SOCK_RAW, IPPROTO_ICMPV6},
	};

	*ret_len = 0;
	for (size_t i = 0; i < array_len(kinds); i++) {
		int fd = socket(kinds[i].family, kinds[i].type | SOCK_CLOEXEC | SOCK_NONBLOCK,
				kinds[i].protocol);

		if (fd >= 0) {
			fds[(*ret_len)++] = fd;
		} else if (kinds[i].family != AF_INET6 || errno != EAFNOSUPPORT) {
			err_sys(err, -errno, "make the sockets of the private network");
			while (*ret_len > 0)
				fd_close(fds[--*ret_len]);
			return -err->errnum;
		}
	}
	return 0;
}

int net_open(int channel, struct err *err)
{
	int fds[SOCKETS_FIRST_MAX], r = net_everywhere(err);
	size_t special, streams;

	if (r == 0)
		r = make_special(fds, &special, err);
	if (r < 0)
		return r;
	streams = sockets_make(fds + special);
	r = sockets_send(channel, fds, special + streams);
	if (r < 0 || streams < SOCKETS_BATCH)
		return err_sys(err, r < 0 ? r : -EMFILE, "hand the sandbox's sockets over");
	return 0;
}

/* The network of SOCKET, by way of the user namespace that owns it, where we may do everything. */
static int enter(int socket, struct err *err)
{
	_cleanup_(fd_closep) int net = ioctl(socket, SIOCGSKNS);
	_cleanup_(fd_closep) int user = net < 0 ? -1 : ioctl(net, NS_GET_USERNS);

	if (net < 0 || user < 0 || setns(user, CLONE_NEWUSER) < 0 || setns(net, CLONE_NEWNET) < 0)
		return err_sys(err, -errno, "enter the sandbox's network");
	return 0;
}

_Noreturn static void work_inside(int socket, int channel)
{
	struct warden_report failed = {.kind = WARDEN_FAILED};
	int fds[NET_SPECIAL_MAX];
	size_t len = 0;
	int r = enter(socket, &failed.err);

	if (r == 0)
		r = net_everywhere(&failed.err);
	if (r == 0)
		r = make_special(fds, &len, &failed.err);
	(void)(r < 0 ? warden_send_report(channel, &failed) : sockets_send(channel, fds, len));
	_exit(0);
}

int net_open_from(int socket, int ret_fds[NET_SPECIAL_MAX], size_t *ret_len, struct err *err)
{
	struct warden_report report;
	size_t len = NET_SPECIAL_MAX;
	int pair[2], r;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, -errno, "socketpair");
	child = fork();
	if (child == 0)
		work_inside(socket, pair[1]);
	r = child < 0 ? -errno : 0;
	fd_close(pair[1]);
	while (r == 0 && (r = warden_receive_fds(pair[0], &report, ret_fds, &len)) == -EINTR)
		r = 0;
	fd_close(pair[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return err_sys(err, r, "prepare the sandbox's network");
	if (report.kind == WARDEN_FAILED) {
		*err = report.err;
		return -err->errnum;
	}
	if (report.kind != WARDEN_SOCKETS || (size_t)report.status != len || len == 0) {
		while (len > 0)
			fd_close(ret_fds[--len]);
		return err_set(err, ERR_SYSTEM, -EPROTO, "prepare the sandbox's network");
	}
	*ret_len = len;
	return 0;
}
