/* SPDX-License-Identifier: MIT */
#include "base/netlink.h"

#include <errno.h>
#include <sys/socket.h>

int netlink_ask(int fd, const struct nlmsghdr *question, union netlink_answer *ret)
{
	const struct nlmsgerr *failed = NLMSG_DATA(&ret->head);
	ssize_t n;

	if (send(fd, question, question->nlmsg_len, 0) < 0)
		return -errno;
	do
		n = recv(fd, ret, sizeof(*ret), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (!NLMSG_OK(&ret->head, (size_t)n))
		return -EBADMSG;
	if (ret->head.nlmsg_type != NLMSG_ERROR)
		return 0;
	if (ret->head.nlmsg_len < NLMSG_LENGTH(sizeof(*failed)) || failed->error > 0)
		return -EBADMSG;
	return failed->error;
}
