/* SPDX-License-Identifier: MIT */
#include "net/host-port.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/netlink.h"
#include "net/endpoint.h"

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

static void question_make(const struct endpoint *at, struct question *ret)
{
	bool v4 = endpoint_is_v4(at);
	size_t len = v4 ? 4 : 16;

	*ret = (struct question){
		.head = {.nlmsg_len = sizeof(*ret),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.body = {.sdiag_family = v4 ? AF_INET : AF_INET6,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = ~0U,
			 .id = {.idiag_sport = htons(at->port),
				.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
	};
	memcpy(ret->body.id.idiag_src, at->address.s6_addr + 16 - len, len);
	memcpy(ret->body.id.idiag_dst, at->address.s6_addr + 16 - len, len);
}

/* The type of the answer, or -errno as it says. */
static int ask(int fd, const struct question *question)
{
	union netlink_answer answer;
	int r = netlink_ask(fd, &question->head, &answer);

	if (r < 0)
		return r;
	return answer.head.nlmsg_type == NLMSG_ERROR ? -EBADMSG : answer.head.nlmsg_type;
}

/* -ENOENT says a kernel without such answers as well: then it has no list of them, either. */
static bool can_tell(int fd, const struct question *question)
{
	struct question list = *question;

	list.head.nlmsg_flags |= NLM_F_DUMP;
	list.body.idiag_states = 0;
	return ask(fd, &list) == NLMSG_DONE;
}

bool host_port_listens(const struct endpoint *at)
{
	_cleanup_(fd_closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
					     NETLINK_SOCK_DIAG);
	struct question question;

	if (fd < 0)
		return true;
	question_make(at, &question);
	return ask(fd, &question) != -ENOENT || !can_tell(fd, &question);
}
