/* SPDX-License-Identifier: MIT */
/* spec-digest - a spec as a number that tells nothing of it: are two the same? */
#pragma once

struct spec;

/* Of what it allows, without its limits: two runs with the same digest were under the same
 * boundary. SHA-256 in hex, a new string; NULL: no memory. */
char *spec_digest_new(const struct spec *spec);
