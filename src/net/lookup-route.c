/* SPDX-License-Identifier: MIT */
/* Where the kernel would deliver what is sent to an address: it is asked, so that every
 * interface and every rule of its routing counts. */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/netlink.h"
#include "net/lookup.h"

struct question {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr attribute;
	uint8_t address[16];
};

static void question_make(const struct in6_addr *address, struct question *ret)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(address);
	size_t len = v4 ? 4 : 16;

	*ret = (struct question){
		.head = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
		.route = {.rtm_family = v4 ? AF_INET : AF_INET6, .rtm_dst_len = (uint8_t)(len * 8)},
		.attribute = {.rta_type = RTA_DST, .rta_len = (uint16_t)RTA_LENGTH(len)},
	};
	ret->head.nlmsg_len = (uint32_t)(offsetof(struct question, address) + len);
	memcpy(ret->address, address->s6_addr + 16 - len, len);
}

/* The type of the route (RTN_…), or -errno. */
static int ask(const struct question *question)
{
	_cleanup_(fd_closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	union netlink_answer answer;
	const struct rtmsg *route = NLMSG_DATA(&answer.head);
	int r = fd < 0 ? -errno : netlink_ask(fd, &question->head, &answer);

	if (r < 0)
		return r;
	return answer.head.nlmsg_type == RTM_NEWROUTE &&
			       answer.head.nlmsg_len >= NLMSG_LENGTH(sizeof(*route))
		       ? route->rtm_type
		       : -EBADMSG;
}

bool lookup_is_own_address(const struct in6_addr *address)
{
	struct question question;

	question_make(address, &question);
	switch (ask(&question)) {
	case RTN_UNICAST:
	case RTN_BLACKHOLE: /* a dial fails, and says why */
	case RTN_UNREACHABLE:
	case RTN_PROHIBIT:
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -EACCES:
		return false;
	default:
		return true;
	}
}
