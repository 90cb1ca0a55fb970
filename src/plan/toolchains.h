/* SPDX-License-Identifier: MIT */
/* toolchains - the folders of a home that programs live in, and what of them
 * is nobody's business. */
#pragma once

struct toolchain {
	const char *path;           /* relative to the home */
	const char *const *secrets; /* relative to it; NULL-terminated, or NULL */
};

extern const struct toolchain toolchains[]; /* ends in a NULL path */
