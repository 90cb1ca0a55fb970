/* SPDX-License-Identifier: MIT */
/* common-ask - the options that say what a sandbox is to be, for every verb that takes them. */
#pragma once
#include <stdbool.h>

#include "config/keys.h"

struct ask;
struct context;
struct err;
struct opt;

/* Is OPT one of them? */
bool ask_takes(const struct opt *opt);
/* One dimension more; the value is borrowed. */
int ask_add(struct ask *ask, enum dim dim, const char *value, struct err *err);
/* WORKSPACE: where --workspace goes. */
int ask_set(struct ask *ask, const char **workspace, const struct opt *opt, const char *value,
	    struct err *err);
/* Once all were seen. */
int ask_check(struct ask *ask, struct err *err);
/* Say which paths of --hide and --read are not there: such a rule does nothing. */
void ask_report_absent(const struct ask *ask, const struct context *context);
void ask_release(struct ask *ask);
