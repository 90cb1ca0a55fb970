/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "api/pale-impl.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json-read.h"

#define PLAN_MS 30000 /* nobody waits longer for a plan */

struct pale_plan {
	struct answer answer;
	struct dimension {
		char *key, *by;
		enum pale_state state;
	} * items;
	size_t len;
	char *world;
	uint64_t ceiling;
};

static enum pale_state state_of(const char *name)
{
	if (str_eq(name, "enforced"))
		return PALE_ENFORCED;
	return str_eq(name, "degraded") ? PALE_DEGRADED : PALE_UNENFORCED;
}

static int add_dimension(struct pale_plan *plan, struct json_slice key, struct json_slice value)
{
	struct dimension *items = reallocarray(plan->items, plan->len + 1, sizeof(*items)), *item;
	_cleanup_(freep) char *state = NULL;
	struct json_slice member;

	if (!items)
		return -ENOMEM;
	plan->items = items;
	item = &items[plan->len++];
	*item = (struct dimension){.key = json_get_string(key)};
	if (json_get(value, "by", &member))
		item->by = json_get_string(member);
	if (json_get(value, "state", &member))
		state = json_get_string(member);
	item->state = state_of(state);
	return item->key && item->by && state ? 0 : -ENOMEM;
}

static int read_plan(struct pale_plan *plan)
{
	const struct str *json = &plan->answer.json;
	struct json_slice root, group, key, value;
	size_t cursor = 0;
	int r = 0;

	if (!json_slice_init(&root, str_text(json), json->len) ||
	    !json_get(root, "grade", &group) || !json_get(group, "ceiling", &value) ||
	    !json_get_uint(value, &plan->ceiling) || !json_get(group, "world", &value))
		return -EPROTO;
	plan->world = json_get_string(value);
	if (!json_get(root, "enforced", &group))
		return -EPROTO;
	while (r == 0 && json_next(group, &cursor, &key, &value))
		r = add_dimension(plan, key, value);
	return r == 0 && !plan->world ? -ENOMEM : r;
}

static int ask(const struct pale_context *context, const struct spec *spec,
	       const struct pale_request *request, struct pale_plan *plan, struct err *err)
{
	struct started job = STARTED_NONE;
	int r = launch(context, spec, request, true, &job, err);

	if (r < 0)
		return r;
	r = started_wait(&job, &plan->answer, PLAN_MS, NULL);
	started_release(&job, &plan->answer);
	if (r < 0)
		return err_sys(err, r, "wait for %s", context->program);
	if (answer_error(&plan->answer, err))
		return -err->errnum;
	r = read_plan(plan);
	if (r == -EPROTO)
		return err_set(err, ERR_SYSTEM, r, "%s gave no plan", context->program);
	return r < 0 ? err_oom(err) : 0;
}

int pale_plan_new(struct pale_context *context, const struct pale_spec *spec,
		  const struct pale_request *request, struct pale_plan **ret_plan,
		  struct pale_error *error)
{
	struct pale_plan *plan = calloc(1, sizeof(*plan));
	struct pale_request asked;
	struct err err = {0};
	int r = plan ? request_read(request, &asked, &err) : err_oom(&err);

	for (int i = 0; i < 3; i++)
		asked.fds[i] = -1;
	if (r == 0)
		r = ask(context, &spec->spec, &asked, plan, &err);
	if (r < 0) {
		pale_plan_free(plan);
		return give_error(error, &err, r);
	}
	*ret_plan = plan;
	return 0;
}

void pale_plan_free(struct pale_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->len; i++) {
		free(plan->items[i].key);
		free(plan->items[i].by);
	}
	free(plan->items);
	free(plan->world);
	answer_release(&plan->answer);
	free(plan);
}

size_t pale_plan_len(const struct pale_plan *plan)
{
	return plan->len;
}

const char *pale_plan_dimension(const struct pale_plan *plan, size_t index)
{
	return index < plan->len ? plan->items[index].key : NULL;
}

enum pale_state pale_plan_state(const struct pale_plan *plan, size_t index)
{
	return index < plan->len ? plan->items[index].state : PALE_UNENFORCED;
}

const char *pale_plan_by(const struct pale_plan *plan, size_t index)
{
	return index < plan->len ? plan->items[index].by : NULL;
}

const char *pale_plan_world(const struct pale_plan *plan)
{
	return plan->world;
}

unsigned pale_plan_ceiling(const struct pale_plan *plan)
{
	return (unsigned)plan->ceiling;
}

const char *pale_plan_json(const struct pale_plan *plan)
{
	return str_text(&plan->answer.json);
}
