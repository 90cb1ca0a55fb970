/* SPDX-License-Identifier: MIT */
/* layout - which part of the filesystem is where inside, as mount operations. */
#pragma once

struct err;
struct host;
struct plan;
struct site;
struct spec;

/* Append the operations from the new root up to its pivot. */
int layout_compile(struct plan *plan, const struct spec *spec, const struct host *host,
		   const struct site *site, struct err *err);
