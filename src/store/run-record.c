/* SPDX-License-Identifier: MIT */
#include "store/run-record.h"

#include <stdlib.h>

void run_record_init(struct run_record *record)
{
	*record = (struct run_record){
		.timeout_ms = UINT64_MAX,
		.cpu_ms = UINT64_MAX,
		.memory = UINT64_MAX,
		.pids = UINT64_MAX,
		.exit_code = -1,
		.usage = {USAGE_UNKNOWN, USAGE_UNKNOWN, USAGE_UNKNOWN, USAGE_UNKNOWN,
			  USAGE_NO_NETWORK},
	};
}

void run_record_release(struct run_record *record)
{
	free(record->command);
	free(record->program);
	free(record->argv_digest);
	free(record->argv);
	free(record->engine);
	free(record->mode);
	free(record->stage);
	free(record->world);
	free(record->spec_digest);
	free(record->error);
	free(record->limit);
	free(record->net_limit);
	*record = (struct run_record){0};
}

const char *run_record_state(const struct run_record *record)
{
	if (record->ended)
		return outcome_name(record->outcome);
	return record->living ? "running" : "unknown";
}
