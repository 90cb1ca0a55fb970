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
#include <stdbool.h>

struct err;
struct strv;

/* Append the canonical rules of TEXT to *ret_rules, which stays as it was on
 * failure (-EINVAL, ERR_CONFIG). A rule that is there already is not repeated. */
int host_rule_parse(const char *text, struct strv *ret_rules, struct err *err);
/* Does every name or address of canonical rule NARROW fall under WIDE, at the
 * same port? Two rules are either disjoint or one covers the other. */
bool host_rule_covers(const char *wide, const char *narrow);
