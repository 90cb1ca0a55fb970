/* SPDX-License-Identifier: MIT */
/* The questions of a run: what of them is nobody's to answer, and the rule that stays. */
#include "api/run-asking.h"

#include <errno.h>
#include <string.h>

#include "api/allow.h"
#include "api/asking.h"
#include "api/edit.h"
#include "api/run.h"
#include "backend/local.h"
#include "backend/run-ear.h"
#include "base/cleanup.h"
#include "policy/remedy.h"

static int write_rule(const struct run *run, const char *rule, struct allowed *ret,
		      struct edit *edit, struct err *err)
{
	_cleanup_(resolved_release) struct resolved now = {0};
	struct remedy remedy = {0};
	int r = edit_begin_user(run->context.workspace.root, true, edit, err);

	/* As the files have it: options of this run are no part of what is kept. */
	if (r == 0)
		r = spec_resolve(&edit->context.config, run->command, NULL,
				 &edit->context.workspace, &edit->context.user, &now, err);
	if (r == 0)
		r = remedy_find(&now.spec, &edit->context.user, "hosts", "connect", rule, &remedy,
				err);
	if (r == 0 && !remedy.possible)
		r = err_set(err, ERR_POLICY, -EPERM, "%s", remedy.why);
	if (r == 0)
		r = allow_rule(&edit->context, edit->layer, edit_file(edit), edit->doc,
			       run->command, &remedy, ret, err);
	if (r == 0)
		r = edit_commit(edit, err);
	remedy_release(&remedy);
	return r;
}

static void keep_rule(void *data, const char *rule, struct str *ret)
{
	_cleanup_(allowed_release) struct allowed allowed = {0};
	_cleanup_(edit_release) struct edit edit = {.dirfd = -1};
	struct err err = {0};
	int r = write_rule(data, rule, &allowed, &edit, &err);
	const char *before = r == 0 ? "pale: added to " : "pale: for this run only: ";
	const char *text = r == 0 ? edit_file(&edit) : err.message;
	int s = str_append(ret, before);

	if (s == 0)
		s = str_append_escaped(ret, text, strlen(text));
	if (s == 0 && r == 0)
		s = str_append(ret, ": ");
	if (s == 0 && r == 0)
		s = str_append_escaped(ret, str_text(&allowed.change), allowed.change.len);
	if (s == 0)
		(void)str_append_char(ret, '\n');
}

static void hold(void *data, bool held)
{
	(void)data;
	local_hold(held);
}

static void on_begin(void *data, struct loop *loop)
{
	struct run *run = data;
	const struct strv *argv = &run->plan->argv;
	/* Only a command that is registered has a sandbox that a rule can be written for. */
	const struct asking_subject subject = {.command = run->command    ? run->command
							  : argv->len > 0 ? argv->items[0]
									  : "the command",
					       .hold = hold,
					       .keep = run->command ? keep_rule : NULL,
					       .data = run};

	run->asking = asking_new(&subject, loop);
}

static void on_ask(void *data, const char *name, uint16_t port, const char *program,
		   void (*answer)(void *answer_data, bool allow), void *answer_data)
{
	const struct run *run = data;
	_cleanup_(freep) char *rule = str_printf("%s:%u", name, (unsigned)port);

	/* What a ceiling forbids is nobody's to allow here. */
	if (run->asking && rule && resolved_may_reach(&run->resolved, rule))
		asking_ask(run->asking, rule, program, answer, answer_data);
	else
		answer(answer_data, false);
}

static void on_over(void *data)
{
	struct run *run = data;

	run->asking = asking_free(run->asking);
}

void run_asks(struct run_ear *ear)
{
	ear->begins = on_begin;
	ear->ask = on_ask;
	ear->over = on_over;
}
