/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "posture/doctor.h"
#include "posture/posture.h"

static int doctor_json(const struct finding *findings, size_t len, bool well)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_object(&json, NULL);
	json_add_bool(&json, "ok", well);
	json_begin_array(&json, "checks");
	for (size_t i = 0; i < len; i++) {
		const struct finding *at = &findings[i];

		json_begin_object(&json, NULL);
		json_add_string(&json, "group", at->group);
		json_add_string(&json, "name", at->name);
		json_add_string(&json, "state", health_name(at->health));
		json_add_bool(&json, "needed", at->needed);
		json_add_string(&json, "detail", at->detail);
		json_add_string(&json, "costs", at->costs);
		json_add_string(&json, "fix", *at->fix ? at->fix : NULL);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	return emit_json(&json);
}

static int put_note(const char *head, const char *text, struct str *out)
{
	int r = str_appendf(out, "           %s", head);

	if (r == 0)
		r = str_append_escaped(out, text, strlen(text));
	return r < 0 ? r : str_append_char(out, '\n');
}

static int put_finding(const struct finding *at, struct str *out)
{
	int r = str_appendf(out, "  %-7s  %s: ", health_name(at->health), at->name);

	for (const char *line = at->detail; r == 0; line += strcspn(line, "\n") + 1) {
		size_t len = strcspn(line, "\n");

		r = str_append_escaped(out, line, len);
		if (r == 0)
			r = str_append(out, line[len] ? "\n           " : "\n");
		if (!line[len])
			break;
	}
	if (r == 0 && at->costs)
		r = put_note(at->needed ? "costs (needed here): " : "costs: ", at->costs, out);
	if (r == 0 && *at->fix)
		r = put_note("fix: ", at->fix, out);
	return r;
}

static int doctor_text(const struct finding *findings, size_t len, bool well)
{
	_cleanup_(str_release) struct str out = {0};
	const char *group = NULL;
	int r = 0;

	for (size_t i = 0; i < len && r == 0; i++) {
		if (!str_eq(group, findings[i].group))
			r = str_appendf(&out, "%s%s\n", group ? "\n" : "", findings[i].group);
		group = findings[i].group;
		if (r == 0)
			r = put_finding(&findings[i], &out);
	}
	if (r == 0)
		r = str_append(&out, well ? "\nCommands can run here.\n"
					  : "\nSomething that commands here need is missing.\n");
	return r < 0 ? report_oom() : emit(&out);
}

int cmd_doctor(int argc, char **argv)
{
	_cleanup_(context_release) struct context context = {0};
	_cleanup_(posture_release) struct posture posture = {0};
	const struct ask ask = {0};
	struct finding findings[FINDINGS_MAX];
	struct patient patient;
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_DOCTOR, argc, argv, &args, &err);
	bool loaded, well;
	size_t len;

	if (r != 0)
		return r < 0 ? report(&err) : STATUS_OK;
	r = context_load(args.values[OPT_WORKSPACE], &context, &err);
	loaded = r == 0;
	if (r == 0)
		r = posture_probe(&context, &ask, &posture, &err);
	patient_probe(loaded ? &context : NULL, r == 0 ? &posture : NULL, &patient);
	patient.config = err;
	len = doctor_examine(&patient, findings);
	well = doctor_is_well(findings, len);
	r = args.values[OPT_JSON] ? doctor_json(findings, len, well)
				  : doctor_text(findings, len, well);
	return r == STATUS_OK && !well ? STATUS_ERROR : r;
}
