/* SPDX-License-Identifier: MIT */
#include "net/endpoint.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/host-rule.h"

#define V4(a, b, c, d)                                                                             \
	{                                                                                          \
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d                               \
	}
#define V4_BITS(n) (96 + (n))

/* Where a name must not lead. The first that matches counts. */
static const struct range {
	uint8_t bytes[16];
	unsigned bits;
	const char *why;
} ranges[] = {
	{V4(0, 0, 0, 0), V4_BITS(8), "no address of a host"},
	{V4(127, 0, 0, 0), V4_BITS(8), "a loopback address"},
	{V4(100, 100, 100, 200), V4_BITS(32), "a cloud's metadata service"},
	{V4(168, 63, 129, 16), V4_BITS(32), "a cloud's metadata service"},
	{V4(169, 254, 169, 254), V4_BITS(32), "a cloud's metadata service"},
	{V4(192, 0, 0, 192), V4_BITS(32), "a cloud's metadata service"},
	{V4(169, 254, 0, 0), V4_BITS(16), "a link-local address"},
	{V4(192, 0, 0, 0), V4_BITS(24), "a reserved address"},
	{V4(192, 88, 99, 0), V4_BITS(24), "a relay of 6to4"},
	{V4(198, 18, 0, 0), V4_BITS(15), "an address that stands for a name"}, /* names.c */
	{V4(224, 0, 0, 0), V4_BITS(4), "a multicast address"},
	{V4(240, 0, 0, 0), V4_BITS(4), "a reserved address, or broadcast"},
	{V4(0, 0, 0, 0), V4_BITS(0), NULL},
	{{0}, 128, "no address of a host"},
	{{[15] = 1}, 128, "a loopback address"},
	{{0}, 96, "IPv4 inside IPv6"},
	{{[8] = 0xff, [9] = 0xff}, 96, "IPv4 inside IPv6"},
	{{0x00, 0x64, 0xff, 0x9b}, 96, "IPv4 behind NAT64"},
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, "IPv4 behind NAT64"},
	{{0x00}, 8, "a reserved address"},
	{{0x01, 0x00}, 64, "an address that is discarded"},
	{{0x20, 0x01, 0x00, 0x00}, 32, "IPv4 inside Teredo"},
	{{0x20, 0x01, 0x00}, 23, "a reserved address"},
	{{0x20, 0x02}, 16, "IPv4 inside 6to4"},
	{{0xfd, 0x00, 0x00, 0xc1}, 32, "a cloud's metadata service"},
	{{0xfd, 0x00, 0x0e, 0xc2}, 32, "a cloud's metadata service"},
	{{0xfd, 0x20, 0x00, 0xce}, 32, "a cloud's metadata service"},
	{{0xfd, 'p', 'a', 'l', 'e', 0}, 48, "an address that stands for a name"}, /* names.c */
	{{0xfe, 0x80}, 10, "a link-local address"},
	{{0xfe, 0xc0}, 10, "a site-local address"},
	{{0xff}, 8, "a multicast address"},
};

static bool is_in(const struct in6_addr *address, const struct range *range)
{
	const uint8_t *bytes = address->s6_addr;
	unsigned whole = range->bits / 8, rest = range->bits % 8;

	if (memcmp(bytes, range->bytes, whole) != 0)
		return false;
	return rest == 0 || (bytes[whole] ^ range->bytes[whole]) >> (8 - rest) == 0;
}

const char *endpoint_complaint(const struct endpoint *e)
{
	for (size_t i = 0; i < array_len(ranges); i++)
		if (is_in(&e->address, &ranges[i]))
			return ranges[i].why;
	return NULL;
}

bool endpoint_read(const struct sockaddr_storage *from, size_t len, struct endpoint *ret)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;

	if (len < sizeof(from->ss_family))
		return false;
	if (from->ss_family == AF_INET && len >= sizeof(*v4)) {
		*ret = (struct endpoint){.port = ntohs(v4->sin_port)};
		memset(ret->address.s6_addr + 10, 0xff, 2);
		memcpy(ret->address.s6_addr + 12, &v4->sin_addr, 4);
		return true;
	}
	/* The kernel takes addresses without the scope at their end. */
	if (from->ss_family == AF_INET6 && len >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		*ret = (struct endpoint){.address = v6->sin6_addr, .port = ntohs(v6->sin6_port)};
		return true;
	}
	return false;
}

socklen_t endpoint_write(const struct endpoint *e, int family, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;

	memset(ret, 0, sizeof(*ret));
	if (family == AF_INET) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(e->port);
		memcpy(&v4->sin_addr, e->address.s6_addr + 12, 4);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(e->port);
	v6->sin6_addr = e->address;
	return sizeof(*v6);
}

bool endpoint_is_v4(const struct endpoint *e)
{
	return IN6_IS_ADDR_V4MAPPED(&e->address);
}

bool endpoint_equal(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port && IN6_ARE_ADDR_EQUAL(&a->address, &b->address);
}

bool endpoint_is_loopback(const struct endpoint *e)
{
	static const uint8_t any_v4[4];
	const uint8_t *v4 = e->address.s6_addr + 12;

	if (endpoint_is_v4(e))
		return v4[0] == 127 || memcmp(v4, any_v4, 4) == 0;
	return IN6_IS_ADDR_LOOPBACK(&e->address) || IN6_IS_ADDR_UNSPECIFIED(&e->address);
}

void endpoint_print_address(const struct endpoint *e, char ret[ENDPOINT_TEXT_MAX])
{
	host_address_print(&e->address, ret);
}

void endpoint_print(const struct endpoint *e, char ret[ENDPOINT_TEXT_MAX])
{
	char address[HOST_ADDRESS_MAX];

	host_address_print(&e->address, address);
	snprintf(ret, ENDPOINT_TEXT_MAX, endpoint_is_v4(e) ? "%s:%u" : "[%s]:%u", address,
		 (unsigned)e->port);
}
