/* SPDX-License-Identifier: MIT */
/* spec-digest - a spec as a number that tells nothing of it: are two the same? */
#pragma once

struct spec;

/* SHA-256 in hex, a new string; NULL: no memory. */
char *spec_digest_new(const struct spec *spec);
