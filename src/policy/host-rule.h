/* SPDX-License-Identifier: MIT */
/*
 * host-rule - "*.example.org:80,443", "10.0.0.0/8:5432", "[fd00::/8]:6379".
 *
 * Parsing expands a rule into canonical ones of a single port: lower case, no
 * trailing dot, IDN as punycode only, addresses in their shortest form with
 * host bits cleared, port 443 when none is given. `*` is a whole leftmost
 * label and stands for one or more labels.
 *
 * An IPv4 address inside IPv6 (::ffff:1.2.3.4) becomes the IPv4 address: who
 * enforces a rule has to unmap what is connected to in the same way.
 */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct strv;

/* Append the canonical rules of TEXT to *ret_rules, which stays as it was on
 * failure (-EINVAL, ERR_CONFIG). A rule that is there already is not repeated. */
int host_rule_parse(const char *text, struct strv *ret_rules, struct err *err);
/* The same without a look at what is there: for long lists, which are sorted afterwards. */
int host_rule_append(const char *text, struct strv *ret_rules, struct err *err);
/* Does every name or address of canonical rule NARROW fall under WIDE, at the
 * same port? Two rules are either disjoint or one covers the other. */
bool host_rule_covers(const char *wide, const char *narrow);
/* Does canonical RULE allow a canonical name, or an address (IPv4 as ::ffff:a.b.c.d), at PORT
 * or (0) at the one that it has? */
bool host_rule_allows_name(const char *rule, const char *name, uint16_t port);
bool host_rule_allows_address(const char *rule, const struct in6_addr *address, uint16_t port);

#define HOST_NAME_SIZE 254
/* LEN bytes of a name as somebody spelled it, as rules have it: lower case, no trailing dot.
 * False: no name of a host. */
bool host_name_canonical(const char *text, size_t len, char ret[HOST_NAME_SIZE]);

/* "localhost" or "localhost:22", however it is spelled: the host's loopback. What follows the name,
 * "" or ":22"; NULL: it is something else. */
const char *host_rule_loopback(const char *rule);

#define HOST_ADDRESS_MAX 46
/* RFC 5952, IPv4 for what is mapped. The C libraries do not agree on the shortest form, and
 * what one of our programs stores the other one reads. */
void host_address_print(const struct in6_addr *address, char ret[HOST_ADDRESS_MAX]);
