/* SPDX-License-Identifier: MIT */
/* netlink - one question to the kernel, and its answer. */
#pragma once
#include <linux/netlink.h>
#include <stdint.h>

union netlink_answer {
	struct nlmsghdr head;
	uint8_t bytes[4096];
};

/* 0: RET holds a whole message, NLMSG_ERROR being a bare yes. Else -errno, as the kernel says
 * or as it came: -EBADMSG. */
int netlink_ask(int fd, const struct nlmsghdr *question, union netlink_answer *ret);
