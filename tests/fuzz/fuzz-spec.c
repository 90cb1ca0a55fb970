/* SPDX-License-Identifier: MIT */
/* fuzz-spec - bytes make three specs, for which the laws of the order hold; the
 * same bytes as a host rule have a canonical form that is its own. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "policy/host-rule.h"
#include "tests/unit/policy/lattice-laws.h"
#include "tests/unit/policy/spec-gen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_specs(const uint8_t *data, size_t size)
{
	static const uint8_t none[1];
	struct gen g = {.data = size ? data : none, .len = size};
	dim_set weak = DIM_BIT(gen_below(&g, DIM_COUNT_));
	struct spec specs[3];
	struct tally tally = {0};
	const char *broken;

	gen_spec(&g, &specs[0]);
	if (gen_below(&g, 2))
		gen_near(&g, &specs[0], &specs[1]);
	else
		gen_spec(&g, &specs[1]);
	if (gen_below(&g, 2))
		gen_near(&g, &specs[1], &specs[2]);
	else
		gen_spec(&g, &specs[2]);
	broken = lattice_laws(&specs[0], &specs[1], &specs[2], weak, &tally);
	if (broken) {
		fprintf(stderr, "broken law: %s\n", broken);
		abort();
	}
	for (size_t i = 0; i < 3; i++)
		spec_release(&specs[i]);
}

static void check_host_rule(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *text = strndup((const char *)data, size);
	_cleanup_(strv_release) struct strv rules = {0}, again = {0};

	if (!text || host_rule_parse(text, &rules, NULL) < 0)
		return;
	if (rules.len == 0)
		abort();
	for (size_t i = 0; i < rules.len; i++) {
		if (host_rule_parse(rules.items[i], &again, NULL) < 0)
			abort();
		if (!host_rule_covers(rules.items[i], rules.items[i]))
			abort();
	}
	if (!strv_eq(&rules, &again))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_specs(data, size);
	check_host_rule(data, size);
	return 0;
}
