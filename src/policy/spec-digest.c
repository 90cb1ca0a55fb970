/* SPDX-License-Identifier: MIT */
#include "policy/spec-digest.h"

#include <string.h>

#include "policy/spec.h"

static void add_number(struct sha256 *hash, uint64_t number)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(number >> 8 * i);
	sha256_add(hash, bytes, sizeof(bytes));
}

/* With their NULs and their number: no two lists look alike. */
static void add_list(struct sha256 *hash, const struct strv *list)
{
	add_number(hash, list->len);
	for (size_t i = 0; i < list->len; i++)
		sha256_add(hash, list->items[i], strlen(list->items[i]) + 1);
}

/* Not by way of text: that would cost a run more than all the rest of its history. */
void spec_digest(const struct spec *spec, char hex[SHA256_HEX])
{
	const uint64_t choices[] = {spec->network,   spec->filesystem, spec->processes, spec->env,
				    spec->ephemeral, spec->nested,     spec->ports_set};
	struct sha256 hash;

	sha256_init(&hash);
	sha256_add(&hash, spec->workspace ? spec->workspace : "",
		   spec->workspace ? strlen(spec->workspace) + 1 : 1);
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		add_number(&hash, choices[i]);
	for (int dim = 0; dim < DIM_COUNT_; dim++) {
		const struct strv *list = spec_list_const(spec, (enum dim)dim);

		if (list)
			add_list(&hash, list);
	}
	sha256_end_hex(&hash, hex);
}
