/* SPDX-License-Identifier: MIT */
/* layout - which part of the filesystem is where inside, as mount operations. */
#pragma once
#include <stdbool.h>

struct err;
struct host;
struct plan;
struct site;
struct spec;

/* May the command write everywhere? */
bool layout_writes_root(const struct spec *spec);
/* Append the operations from the new root up to its pivot, and choose the
 * folder that the command starts in. */
int layout_compile(struct plan *plan, const struct spec *spec, const struct host *host,
		   const struct site *site, struct err *err);
