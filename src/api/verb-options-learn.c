/* SPDX-License-Identifier: MIT */
/* verb-options-learn - the options of verbs that learn policy. */
#include "api/verb-options.h"

#include "api/verb-options-impl.h"
#include "config/keys.h"

struct opt_table options_sandbox_profile(void)
{
	/* of the boundary, what a command most often lacks */
	static const enum dim dims[] = {DIM_NETWORK, DIM_HOSTS,   DIM_PORTS,
					DIM_EXPOSE,  DIM_SOCKETS, DIM_PATHS_READABLE};
	static const struct opt plain[] = {
		{"preset", 0, "NAME", "the boundary of this preset instead", OPT_PRESET, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};
	static struct opt items[array_len(plain) + array_len(dims)];
	static size_t len;

	if (len == 0) {
		for (size_t i = 0; i < array_len(dims); i++) {
			const struct key *key = &spec_keys[dims[i]];

			items[len++] = (struct opt){.name = key->option,
						    .metavar = key->metavar,
						    .help = key->help,
						    .choices = key->choices,
						    .id = OPT_DIM + dims[i]};
		}
		for (size_t i = 0; i < array_len(plain); i++)
			items[len++] = plain[i];
	}
	return (struct opt_table){items, len, false};
}

struct opt_table options_sandbox_suggest(void)
{
	static const struct opt items[] = {
		{"write", 0, NULL, "put it into the workspace's pale.toml", OPT_WRITE, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}

struct opt_table options_sandbox_tighten(void)
{
	static const struct opt items[] = {
		{"all", 0, NULL, "every command of the workspace's pale.toml", OPT_ALL, NULL},
		{"dry-run", 'n', NULL, "print what would be written", OPT_DRY_RUN, NULL},
		JSON,
		WORKSPACE,
		HELP,
	};

	return TABLE(items);
}
