/* SPDX-License-Identifier: MIT */
/* address - whom a command connects to: as text, and whether somebody listens there. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

struct sockaddr_storage;

enum address_kind {
	ADDRESS_OTHER,    /* nothing that leads anywhere */
	ADDRESS_INTERNET, /* an address and a port */
	ADDRESS_LOOPBACK, /* the same, of this machine itself, as it sees itself */
	ADDRESS_PATH,     /* a unix socket in the filesystem */
	ADDRESS_ABSTRACT, /* one without a path; text begins with '@' */
};

struct address {
	enum address_kind kind;
	char text[sizeof(((struct sockaddr_un *)0)->sun_path) + 1]; /* without the port */
	unsigned port;
};

/* LEN bytes as connect(2) would take them. */
void address_parse(const struct sockaddr_storage *bytes, size_t len, struct address *ret);
/* "ADDRESS:PORT", "[V6]:PORT". */
void address_target(const struct address *address, char *ret, size_t size);
/* Does TABLE, the text of /proc/net/tcp or tcp6, have a socket that listens on PORT? */
bool address_listens(const char *table, unsigned port);
/* Is there a unix socket in TABLE, the text of /proc/net/unix, called "@NAME"? */
bool address_is_bound(const char *table, const char *name);
/* "AF_INET"; NULL: one that nobody knows. */
const char *address_family_name(int family);
