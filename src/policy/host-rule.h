/* SPDX-License-Identifier: MIT */
/*
 * host-rule - "*.example.org:80,443", "10.0.0.0/8:5432", "[::1]:6379".
 *
 * Parsing expands a rule into canonical ones of a single port: lower case, no
 * trailing dot, IDN as punycode only, addresses in their shortest form with
 * host bits cleared, port 443 when none is given. `*` is a whole leftmost
 * label and stands for one or more labels.
 */
#pragma once
#include <stdbool.h>

struct err;
struct strv;

int host_rule_parse(const char *text, struct strv *ret_rules, struct err *err);
/* Does every name or address of canonical rule NARROW fall under WIDE? */
bool host_rule_covers(const char *wide, const char *narrow);
