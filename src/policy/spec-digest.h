/* SPDX-License-Identifier: MIT */
/* spec-digest - a spec as a number that tells nothing of it: are two the same? */
#pragma once
#include "base/hash.h"

struct spec;

/* Of what it allows, without its limits: two runs with the same digest were under the
 * same boundary. */
void spec_digest(const struct spec *spec, char hex[SHA256_HEX]);
