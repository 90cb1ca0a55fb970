/* SPDX-License-Identifier: MIT */
/*
 * A spec, a host and a site that are made up; the plan as text, or the error,
 * must be the one in golden/. And the JSON form must say the same.
 */
#include <jansson.h>

#include "base/json.h"
#include "sim/cases.h"
#include "sim/golden.h"
#include "tests/tap.h"

static void describe_error(const struct err *err, struct str *out)
{
	fake_must(str_appendf(out, "error       %s, %s\n%s\n", err_code_name(err->code),
			      strerrorname_np(err->errnum), err->message) == 0);
	if (err->hint[0])
		fake_must(str_appendf(out, "hint: %s\n", err->hint) == 0);
}

static bool same_text(const json_t *object, const char *key, const char *want)
{
	return str_eq(json_string_value(json_object_get(object, key)), want);
}

static bool same_operation(const json_t *json, const struct op *op)
{
	json_int_t size = json_integer_value(json_object_get(json, "size"));
	json_int_t mode = json_integer_value(json_object_get(json, "mode"));

	return same_text(json, "op", op_name(op->kind)) && same_text(json, "dst", op->dst) &&
	       same_text(json, "src", op->src) && (uint64_t)size == op->size &&
	       (mode_t)mode == op->mode && json_is_array(json_object_get(json, "flags"));
}

static bool same_verdicts(const json_t *json, const struct plan *plan)
{
	if (json_object_size(json) != plan->verdicts_len)
		return false;
	for (size_t i = 0; i < plan->verdicts_len; i++) {
		const struct verdict *v = &plan->verdicts[i];
		const json_t *item = json_object_get(json, v->dimension);

		if (!same_text(item, "state", enforcement_name(v->state)) ||
		    !same_text(item, "by", v->by))
			return false;
	}
	return true;
}

static void check_json(const char *name, const struct plan *plan)
{
	_cleanup_(str_release) struct str text = {0};
	struct json json = {.out = &text};
	json_t *root, *operations, *grade;
	bool same;

	plan_json(plan, &json);
	fake_must(json_finish(&json) == 0);
	root = json_loads(str_text(&text), JSON_REJECT_DUPLICATES, NULL);
	operations = json_object_get(root, "operations");
	grade = json_object_get(root, "grade");
	same = json_is_array(operations) && json_array_size(operations) == plan->ops_len;
	for (size_t i = 0; same && i < plan->ops_len; i++)
		same = same_operation(json_array_get(operations, i), &plan->ops[i]);
	tap_ok(same && same_verdicts(json_object_get(root, "enforced"), plan) &&
		       same_text(root, "cwd", plan->cwd) &&
		       same_text(grade, "world", plan->world) &&
		       json_array_size(json_object_get(root, "argv")) == plan->argv.len,
	       "%s: the JSON form says the same", name);
	json_decref(root);
}

static void check_case(const struct sim *sim)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;
	_cleanup_(str_release) struct str text = {0};
	struct err err = {0};

	if (fake_compile(sim, &plan, &err) < 0)
		describe_error(&err, &text);
	else
		fake_must(plan_print(plan, &text) == 0);
	golden_check(sim->name, &text);
	if (plan)
		check_json(sim->name, plan);
}

static void check_cases(const struct sim *cases, size_t len)
{
	for (size_t i = 0; i < len; i++)
		check_case(&cases[i]);
}

#define CHECK(cases) check_cases(cases, array_len(cases))

int main(void)
{
	CHECK(cases_presets);
	CHECK(cases_filesystem);
	CHECK(cases_rules);
	CHECK(cases_sites);
	CHECK(cases_environment);
	CHECK(cases_refused);
	CHECK(cases_network);
	CHECK(cases_landlock);
	CHECK(cases_protected);
	CHECK(cases_staged);
	return tap_done();
}
