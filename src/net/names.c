/* SPDX-License-Identifier: MIT */
#include "net/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { FIRST_V4 = 0x0101 }; /* 198.18.1.1; the resolver is below it */

static const uint8_t prefix_v4[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 18};
static const uint8_t prefix_v6[] = {0xfd, 'p', 'a', 'l', 'e', 0}; /* a /48 */

int names_number(struct names *names, const char *name, uint32_t *ret)
{
	char *copy;

	for (uint32_t i = 0; i < names->len; i++)
		if (str_eq(names->items[i], name)) {
			*ret = i;
			return 0;
		}
	if (names->len == NAMES_MAX)
		return -ENOSPC;
	if (names->len == names->cap) {
		uint32_t cap = names->cap ? names->cap * 2 : 8;
		char **items = reallocarray(names->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		names->items = items;
		names->cap = cap;
	}
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	*ret = names->len;
	names->items[names->len++] = copy;
	return 0;
}

void names_address(uint32_t number, int family, struct in6_addr *ret)
{
	uint32_t at = number + (family == AF_INET ? FIRST_V4 : 1);

	*ret = (struct in6_addr){0};
	if (family == AF_INET)
		memcpy(ret->s6_addr, prefix_v4, sizeof(prefix_v4));
	else
		memcpy(ret->s6_addr, prefix_v6, sizeof(prefix_v6));
	ret->s6_addr[14] = (uint8_t)(at >> 8);
	ret->s6_addr[15] = (uint8_t)at;
}

const char *names_find(const struct names *names, const struct in6_addr *address)
{
	struct in6_addr given;
	int family = IN6_IS_ADDR_V4MAPPED(address) ? AF_INET : AF_INET6;
	uint32_t at = (uint32_t)address->s6_addr[14] << 8 | address->s6_addr[15];
	uint32_t number = at - (family == AF_INET ? FIRST_V4 : 1);

	if (number >= names->len) /* also what is below the first */
		return NULL;
	names_address(number, family, &given);
	return IN6_ARE_ADDR_EQUAL(&given, address) ? names->items[number] : NULL;
}

bool names_is_synthetic(const struct in6_addr *address)
{
	const uint8_t *bytes = address->s6_addr;

	if (memcmp(bytes, prefix_v6, sizeof(prefix_v6)) == 0)
		return true;
	return memcmp(bytes, prefix_v4, sizeof(prefix_v4) - 1) == 0 && (bytes[13] & 0xfe) == 18;
}

void names_release(struct names *names)
{
	for (uint32_t i = 0; i < names->len; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct names){0};
}
