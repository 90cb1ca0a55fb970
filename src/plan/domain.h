/* SPDX-License-Identifier: MIT */
/* domain - the rules of the Landlock domain that the command enters. */
#pragma once
#include <stdbool.h>

struct host;
struct places;
struct plan;
struct spec;

/* OP_FILES, OP_SIGNALS, OP_ABSTRACT, OP_SOCKETS, as far as spec and host allow; 0: no
 * domain. */
unsigned domain_flags(const struct spec *spec, const struct host *host);

/* The second layer behind the mounts of PLACES: reading is decided by what is
 * mounted, writing by a rule as well. FLAGS: what the domain is about. 0 or -ENOMEM. */
int domain_compile(struct plan *plan, const struct places *places, unsigned flags);
/* The only layer, where nothing is mounted: no file can be reached without a rule.
 * SCRATCH is made for temporary files. */
int domain_compile_bare(struct plan *plan, const struct places *places, const char *scratch);
