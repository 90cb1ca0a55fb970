/* SPDX-License-Identifier: MIT */
/* host-port - whether anybody listens at a place of the host's. */
#pragma once
#include <stdbool.h>

struct endpoint;

/* The kernel is asked: nobody is connected to, and no port is taken, not even for a moment
 * in which its own server would find it in use. True where the kernel cannot tell. */
bool host_port_listens(const struct endpoint *at);
