/* SPDX-License-Identifier: MIT */
/* network - what a sandbox with a private network reaches all the same, and what it is told of names. */
#pragma once
#include "base/str.h"

struct compiler;
struct err;
struct json;
struct plan;

/* Fill plan->net, once the namespaces are chosen. -ENOTSUP: there is no file that could tell the
 * command whom to ask for names. */
int network_compile(struct compiler *c, struct err *err);
/* The verdicts of the limits on it. 0 or -ENOMEM. */
int network_judge_limits(struct compiler *c);
/* What holds the dimension, for the verdict. */
const char *network_by(const struct compiler *c);
void network_release(struct plan *plan);

/* What stands in /etc/resolv.conf and /etc/hosts inside. */
extern const char network_resolv_conf[], network_hosts[];

/* What is reached, of a plan that is brokered. */
int network_print(const struct plan *plan, struct str *out);
void network_json(const struct plan *plan, struct json *json);
