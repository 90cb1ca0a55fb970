/* SPDX-License-Identifier: MIT */
/*
 * bound-sockets - the unix sockets that have a path, of the caller's network namespace.
 *
 * The kernel is asked by netlink (unix_diag), which says which file each is bound to. Where
 * that is not to be had, /proc/net/unix has the names alone.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

struct err;

struct bound_socket {
	/* As it was bound: relative to a folder that nobody knows, through links, or of a file
	 * that was removed since. */
	char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	dev_t dev;    /* of its filesystem, which on btrfs no stat(2) says; 0: unknown */
	uint32_t ino; /* the lower half of it; 0: unknown */
};

typedef int bound_socket_fn(void *data, const struct bound_socket *socket, struct err *err);

/* FN for each that can be connected or sent to, some twice; what it returns below 0 ends the
 * list. A connected datagram socket takes from its peer alone, and is none of them. */
int bound_sockets_list(bound_socket_fn *fn, void *data, struct err *err);

/* FN for each that is in TEXT, the content of /proc/net/unix. */
int bound_sockets_parse(const char *text, size_t len, bound_socket_fn *fn, void *data,
			struct err *err);
