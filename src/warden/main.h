/* SPDX-License-Identifier: MIT */
/*
 * main - pale as the warden of a sandbox that another program has built.
 *
 * `pale --warden CHANNEL JOB IN OUT ERR`, all of them descriptors: the pair to
 * the supervisor (protocol.h), the job (job.h), and what become the command's
 * 0, 1 and 2. Does what is left of the confinement, then warden_run(). Made for
 * the engines and backends; no verb, and in no manual.
 */
#pragma once

#define WARDEN_OPTION "--warden"
enum { WARDEN_FDS = 5 };

/* ARGS: the numbers; TOOL: what a job that is one of our own tools calls. Returns only when they are none: 125. */
int warden_main(int argc, char *const *args, int (*tool)(char *const *argv));
