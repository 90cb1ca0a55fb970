/* SPDX-License-Identifier: MIT */
#include "learn/evidence.h"

#include <string.h>

#include "base/json.h"

void evidence_release(struct evidence *evidence)
{
	free(evidence->asked);
	violations_release(&evidence->violations);
	strv_release(&evidence->changed);
	profile_release(&evidence->profile);
	*evidence = (struct evidence){0};
}

void command_digest(const struct command *command, char ret[SHA256_HEX])
{
	struct sha256 h;

	sha256_init(&h);
	sha256_add(&h, command->cmd ? "line" : "list", 4);
	if (command->cmd)
		sha256_add(&h, command->cmd, strlen(command->cmd) + 1);
	for (size_t i = 0; i < command->argv.len; i++)
		sha256_add(&h, command->argv.items[i], strlen(command->argv.items[i]) + 1);
	sha256_end_hex(&h, ret);
}

bool evidence_is_sound(const struct evidence *evidence)
{
	if (evidence->outcome == OUTCOME_OK)
		return true;
	return evidence->outcome == OUTCOME_FAILED && evidence->violations.observed &&
	       evidence->violations.len == 0;
}

void evidence_json(const struct evidence *evidence, struct json *json)
{
	json_begin_object(json, NULL);
	json_add_uint(json, "version", 1);
	json_add_string(json, "digest", evidence->digest);
	json_add_string(json, "asked", evidence->asked);
	json_begin_object(json, "result");
	json_add_string(json, "outcome", outcome_name(evidence->outcome));
	json_add_int(json, "exit_code", evidence->exit_code);
	json_add_uint(json, "duration_ms", evidence->duration_ms);
	json_begin_object(json, "usage");
	usage_json(&evidence->usage, json);
	json_end_object(json);
	violations_json(&evidence->violations, json);
	json_end_object(json);
	json_add_strv(json, "changed", &evidence->changed);
	profile_json(&evidence->profile, "profile", json);
	json_end_object(json);
}
