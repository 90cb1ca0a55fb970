/* SPDX-License-Identifier: MIT */
/*
 * errands - a warden without a command: it takes errands until the supervisor is gone.
 *
 * Each is launched as a single command is, and reported when it has ended. What one left
 * behind comes to the warden, and is reaped without a word. One with a keyboard gets a
 * process that looks after its terminal (holder.h).
 */
#pragma once

struct warden;

_Noreturn void errands_serve(struct warden *w, int children);
