/* SPDX-License-Identifier: MIT */
#include "observe/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

static void parse_internet(const void *bytes, struct address *ret)
{
	const struct sockaddr_in *in = bytes;

	ret->port = ntohs(in->sin_port);
	ret->kind = ntohl(in->sin_addr.s_addr) >> 24 == 127 || in->sin_addr.s_addr == INADDR_ANY
			    ? ADDRESS_LOOPBACK
			    : ADDRESS_INTERNET;
	(void)inet_ntop(AF_INET, &in->sin_addr, ret->text, sizeof(ret->text));
}

static void parse_internet6(const void *bytes, struct address *ret)
{
	const struct sockaddr_in6 *in = bytes;
	const struct in6_addr *a = &in->sin6_addr;

	ret->port = ntohs(in->sin6_port);
	ret->kind = IN6_IS_ADDR_LOOPBACK(a) || IN6_IS_ADDR_UNSPECIFIED(a) ||
				    (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == 127)
			    ? ADDRESS_LOOPBACK
			    : ADDRESS_INTERNET;
	(void)inet_ntop(AF_INET6, a, ret->text, sizeof(ret->text));
}

static void parse_unix(const struct sockaddr_un *un, size_t len, struct address *ret)
{
	size_t n = len - offsetof(struct sockaddr_un, sun_path);

	if (n == 0)
		return;
	if (un->sun_path[0]) {
		ret->kind = ADDRESS_PATH;
		snprintf(ret->text, sizeof(ret->text), "%.*s", (int)n, un->sun_path);
		return;
	}
	ret->kind = ADDRESS_ABSTRACT;
	snprintf(ret->text, sizeof(ret->text), "@%.*s", (int)n - 1, un->sun_path + 1);
}

void address_parse(const struct sockaddr_storage *bytes, size_t len, struct address *ret)
{
	*ret = (struct address){0};
	if (len > sizeof(struct sockaddr_un))
		len = sizeof(struct sockaddr_un);
	if (len < sizeof(sa_family_t))
		return;
	if (bytes->ss_family == AF_INET && len >= sizeof(struct sockaddr_in))
		parse_internet(bytes, ret);
	else if (bytes->ss_family == AF_INET6 &&
		 len >= offsetof(struct sockaddr_in6, sin6_scope_id))
		parse_internet6(bytes, ret);
	else if (bytes->ss_family == AF_UNIX)
		parse_unix((const struct sockaddr_un *)bytes, len, ret);
	/* Port 0 is asked by who wants to know which way a packet would go. */
	if ((ret->kind == ADDRESS_INTERNET || ret->kind == ADDRESS_LOOPBACK) && ret->port == 0)
		ret->kind = ADDRESS_OTHER;
}

void address_target(const struct address *address, char *ret, size_t size)
{
	if (address->port == 0)
		snprintf(ret, size, "%s", address->text);
	else
		snprintf(ret, size, strchr(address->text, ':') ? "[%s]:%u" : "%s:%u", address->text,
			 address->port);
}

/* The word after the next N blanks of LINE; "" past its end. */
static const char *word(const char *line, unsigned n)
{
	line += strspn(line, " ");
	while (n-- > 0) {
		line += strcspn(line, " \n");
		line += strspn(line, " ");
	}
	return line;
}

/* "  sl: LOCAL:PORT REMOTE:PORT ST …", hexadecimal; 0A is listening. */
bool address_listens(const char *table, unsigned port)
{
	for (const char *line = strchr(table, '\n'); line; line = strchr(line, '\n')) {
		const char *local = word(++line, 1), *colon = local + strcspn(local, ": \n");

		if (*colon == ':' && strtoul(colon + 1, NULL, 16) == port &&
		    strtoul(word(line, 3), NULL, 16) == 0x0a)
			return true;
	}
	return false;
}

bool address_is_bound(const char *table, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = strstr(table, name); at; at = strstr(at + 1, name))
		if (at > table && at[-1] == ' ' && (at[len] == '\n' || at[len] == '\0'))
			return true;
	return false;
}

const char *address_family_name(int family)
{
	static const struct {
		int family;
		const char *name;
	} known[] = {
		{AF_UNIX, "AF_UNIX"},       {AF_INET, "AF_INET"},           {AF_INET6, "AF_INET6"},
		{AF_NETLINK, "AF_NETLINK"}, {AF_PACKET, "AF_PACKET"},       {AF_ALG, "AF_ALG"},
		{AF_VSOCK, "AF_VSOCK"},     {AF_BLUETOOTH, "AF_BLUETOOTH"},
	};

	for (size_t i = 0; i < array_len(known); i++)
		if (known[i].family == family)
			return known[i].name;
	return NULL;
}
