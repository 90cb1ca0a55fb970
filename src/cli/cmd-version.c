/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"

int cmd_version(int argc, char **argv)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out};
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_VERSION, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r < 0)
		return report(&err);
	if (args.values[OPT_JSON]) {
		json_begin_object(&json, NULL);
		json_add_string(&json, "version", PALE_VERSION);
		json_end_object(&json);
		return emit_json(&json);
	}
	return str_append(&out, "pale " PALE_VERSION "\n") < 0 ? report_oom() : emit(&out);
}
