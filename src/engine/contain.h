/* SPDX-License-Identifier: MIT */
/* contain - what the cloned child does, from first to last. */
#pragma once

struct plan;
struct stdio;
struct terminal;

/* CHANNEL: the warden's end of the pair. Does not return: it becomes the
 * warden, or reports what failed and exits. */
_Noreturn void contain(const struct plan *plan, int channel, const struct stdio *stdio,
		       const struct terminal *terminal);
