/* SPDX-License-Identifier: MIT */
/*
 * bound - sockets of the host's processes that lie where a sandbox shows its files.
 *
 * A network namespace does not cover sockets that have a path, nor does a read-only mount:
 * whoever sees the file can connect. So those that somebody is bound to are looked up when a
 * sandbox is made, and the plan hides what the spec does not name in `sockets`. A socket that
 * nobody holds any more is a file like others. Where Landlock knows such sockets (OP_SOCKETS)
 * nobody has to be looked for.
 */
#pragma once

struct err;
struct host;
struct site;
struct spec;

#define BOUND_MAX 4096 /* each becomes a mount */

/* Fills SITE->bound; everything else of it is there, caches included. A list that the kernel
 * does not give is an error: nobody knows then what would be in reach. */
int bound_probe(const struct spec *spec, const struct host *host, struct site *site,
		struct err *err);
