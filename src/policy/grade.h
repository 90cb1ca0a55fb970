/* SPDX-License-Identifier: MIT */
/* grade - how far a run reaches, in one word and one number. */
#pragma once
#include "policy/spec.h"

enum world { WORLD_SEALED, WORLD_PINHOLE, WORLD_SCOPED, WORLD_BROAD, WORLD_OPEN };

struct grade {
	enum world world;
	unsigned ceiling; /* 2, 4, 7 or 8 */
};

/* Dimensions in WEAK (degraded or unenforced) count as their loosest value. */
struct grade spec_grade(const struct spec *spec, dim_set weak);
const char *world_name(enum world world);
