/* SPDX-License-Identifier: MIT */
#include "learn/limits.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "policy/spec.h"

#define MIB    ((uint64_t)1 << 20)
#define GIB    ((uint64_t)1 << 30)
#define SECOND ((uint64_t)1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

struct step {
	uint64_t below, step;
};

static const struct step size_steps[] = {
	{256 * MIB, 16 * MIB},
	{GIB, 64 * MIB},
	{8 * GIB, 256 * MIB},
	{UINT64_MAX, GIB},
};
static const struct step time_steps[] = {
	{MINUTE, 5 * SECOND},
	{5 * MINUTE, 15 * SECOND},
	{HOUR, MINUTE},
	{UINT64_MAX, 10 * MINUTE},
};

static const struct {
	enum dim dim;
	unsigned factor;
	uint64_t floor;
	const struct step *steps;
} rules[LEARNED_LIMITS] = {
	{DIM_MEMORY, 2, 64 * MIB, size_steps},
	{DIM_CPU, 2, 5 * SECOND, time_steps},
	{DIM_TIMEOUT, 3, 10 * SECOND, time_steps},
};

const enum dim learned_limits[LEARNED_LIMITS] = {DIM_MEMORY, DIM_CPU, DIM_TIMEOUT};

static uint64_t round_up(uint64_t value, const struct step *steps)
{
	while (value >= steps->below)
		steps++;
	return (value + steps->step - 1) / steps->step * steps->step;
}

uint64_t limit_for_peak(enum dim dim, uint64_t peak)
{
	for (size_t i = 0; i < array_len(rules); i++) {
		uint64_t value;

		if (rules[i].dim != dim)
			continue;
		/* Beyond what any key can say there is nothing to limit. */
		if (peak == 0 || peak > spec_keys[dim].max / rules[i].factor / 2)
			return SPEC_UNLIMITED;
		value = peak * rules[i].factor;
		return round_up(value < rules[i].floor ? rules[i].floor : value, rules[i].steps);
	}
	BUG("a limit that is not learned");
}

unsigned limit_factor(enum dim dim)
{
	for (size_t i = 0; i < array_len(rules); i++)
		if (rules[i].dim == dim)
			return rules[i].factor;
	BUG("a limit that is not learned");
}
