/* SPDX-License-Identifier: MIT */
/*
 * opt - the typed option table.
 *
 * One table per verb. The parser only classifies and checks the shape; every
 * option found is handed, in order, to the verb's `set` callback as text.
 * Long options take `--name VALUE` and `--name=VALUE`, short ones `-n VALUE`
 * and `-nVALUE`, flags bundle (`-jx`). `--` ends the options. With
 * `stop_at_operand` the first operand ends them as well.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct str;

struct opt {
	const char *name;           /* long name without dashes */
	char letter;                /* short name or 0 */
	const char *metavar;        /* NULL: a flag, takes no value */
	const char *help;           /* one line, no full stop */
	int id;                     /* the verb's own */
	const char *group;          /* heading in the help, NULL: "Options" */
	const char *const *choices; /* listed after the help; NULL-terminated, or NULL */
};

struct opt_table {
	const struct opt *items;
	size_t len;
	bool stop_at_operand;
};

struct opt_args {
	char **operands; /* in argv, which is rearranged; ends with NULL */
	int len;
	int dashdash; /* index in operands where `--` stood, -1 when absent */
};

typedef int opt_set_fn(const struct opt *opt, const char *value, void *data, struct err *err);

/* ARGV[0] is the verb itself and skipped. Unknown options are
 * ERR_USAGE with a "did you mean"; unambiguous prefixes are not accepted. */
int opt_parse(const struct opt_table *table, int argc, char **argv, opt_set_fn *set, void *data,
	      struct opt_args *ret_args, struct err *err);
/* Aligned, wrapped at 80 columns, grouped. */
int opt_help(const struct opt_table *table, struct str *out);
