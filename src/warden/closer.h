/* SPDX-License-Identifier: MIT */
/*
 * closer - ends a run that has no pid namespace, whatever the run does.
 *
 * A process that waits for the supervisor to hang up, and then kills everybody in the
 * Landlock domain around the run, the warden too. That is one call, which no process
 * escapes by making the next one. The warden could make it as well; but in a flood
 * it has used up its share of the processors, and waits for its turn for seconds.
 */
#pragma once

struct err;
struct warden_job;

/* Start it for JOB; the caller has entered its domain (landlock_enclose()), and no signal
 * reaches it but SIGKILL and SIGSTOP. The job's scratch folder goes, too, if the
 * supervisor is no more. */
int closer_start(const struct warden_job *job, struct err *err);
