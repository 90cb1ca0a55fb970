/* SPDX-License-Identifier: MIT */
#include "cli/learn-verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cli/profiles.h"
#include "cli/rehearse.h"
#include "cli/stage-verb.h"
#include "learn/hidden.h"
#include "learn/limits.h"
#include "plan/host.h"
#include "policy/trust.h"
#include "posture/posture.h"
#include "store/store.h"

static int no_such_command(const struct config *config, const char *name, struct err *err)
{
	_cleanup_(strv_release) struct strv names = {0};
	const char *near = NULL;
	int r = err_set(err, ERR_USAGE, -ENOENT, "no command '%s'", name);

	if (command_names(config, &names) == 0)
		near = str_nearest(name, (const char *const *)names.items, names.len);
	if (near)
		return err_hint(err, r, "did you mean '%s'?", near);
	return err_hint(err, r, "pale commands register %s … makes it one", name);
}

static int find_argv(struct subject *subject, const char *name, char *const *args, struct err *err)
{
	int r = 0;

	if (name) {
		r = command_find(&subject->context.config, name, &subject->command, err);
		if (r == -ENOENT)
			return no_such_command(&subject->context.config, name, err);
		if (r == 0)
			r = rehearsal_argv(&subject->command, &subject->argv, err);
		command_digest(&subject->command, subject->digest);
		return r;
	}
	for (; *args && r == 0; args++)
		r = strv_add(&subject->argv, *args);
	return r < 0 ? err_oom(err) : 0;
}

int subject_find(const char *workspace, const char *name, char *const *args, const struct ask *ask,
		 struct subject *ret, struct err *err)
{
	_cleanup_(subject_release) struct subject subject = {0};
	int r = context_load(workspace, &subject.context, err);

	if (r == 0)
		r = find_argv(&subject, name, args, err);
	if (r == 0)
		r = spec_resolve(&subject.context.config, name, ask, &subject.context.workspace,
				 &subject.context.user, &subject.resolved, err);
	if (r < 0)
		return r;
	*ret = subject;
	subject = (struct subject){0};
	return 0;
}

void subject_release(struct subject *subject)
{
	resolved_release(&subject->resolved);
	strv_release(&subject->argv);
	command_release(&subject->command);
	context_release(&subject->context);
	*subject = (struct subject){0};
}

static enum path_type look(const char *path, void *data)
{
	struct stat st;

	(void)data;
	if (stat(path, &st) < 0)
		return PATH_ABSENT;
	return S_ISDIR(st.st_mode) ? PATH_FOLDER : PATH_FILE;
}

static int add_hidden(const struct subject *subject, struct evidence *evidence, struct err *err)
{
	_cleanup_(host_release) struct host host = {0};
	_cleanup_(strv_release) struct strv shown = {0}, hidden = {0};
	const struct hidden_facts facts = {.spec = &subject->resolved.spec,
					   .user = &subject->context.user,
					   .shown = &shown,
					   .look = look};
	int r = host_probe(&host, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < host.dirs_len && r == 0; i++)
		r = strv_add(&shown, host.dirs[i].path);
	if (r == 0)
		r = hidden_find(&evidence->profile, &facts, &hidden);
	for (size_t i = 0; i < hidden.len && r == 0; i++) {
		struct violation *made;

		r = violations_add(&evidence->violations, dim_name(DIM_FILESYSTEM), "read",
				   hidden.items[i], 0, &made);
		if (r == 0 && made && !made->rule)
			made->rule = strdup("the sandbox does not show it");
	}
	return r < 0 ? err_oom(err) : 0;
}

int subject_profile(const struct subject *subject, struct evidence *ret, struct err *err)
{
	const struct rehearsal rehearsal = {
		.context = &subject->context,
		.spec = &subject->resolved.spec,
		.argv = subject->argv.items,
		.profile = true,
	};
	_cleanup_(evidence_release) struct evidence evidence = {0};
	int r = rehearse(&rehearsal, &evidence, err);

	if (r < 0)
		return r;
	memcpy(evidence.digest, subject->digest, sizeof(evidence.digest));
	/* Of reads nobody tells whether they failed; where the command did, they may be why. */
	if (evidence.outcome != OUTCOME_OK)
		r = add_hidden(subject, &evidence, err);
	if (r == 0 && subject->command.name && evidence_is_sound(&evidence))
		r = profile_keep(&subject->context.workspace, subject->command.name, &evidence,
				 err);
	if (r < 0)
		return r;
	*ret = evidence;
	evidence = (struct evidence){0};
	return 0;
}

int put_end(const struct evidence *evidence, struct str *out)
{
	if (evidence->outcome == OUTCOME_FAILED)
		return str_appendf(out, "exit status %d", evidence->exit_code);
	return str_append(out, outcome_name(evidence->outcome));
}

void say_refused(const struct evidence *evidence, size_t max)
{
	const struct violations *violations = &evidence->violations;

	for (size_t i = 0; i < violations->len && i < max; i++) {
		const struct violation *at = &violations->items[i];
		_cleanup_(str_release) struct str line = {0};
		int r = str_appendf(&line, "refused: %s", at->op);

		if (r == 0 && at->target)
			r = str_appendf(&line, " %s", at->target);
		if (r == 0 && at->rule)
			r = str_appendf(&line, " (%s)", at->rule);
		if (r == 0)
			say("%s", str_text(&line));
	}
	if (violations->len > max)
		say("%zu more were refused", violations->len - max);
}

int subject_stats(const struct workspace *workspace, const char *name, struct run_stats *ret,
		  struct err *err)
{
	_cleanup_(store_closep) struct store *store = NULL;
	struct store_notes notes = {0};
	int r = store_open(workspace, &store, &notes, err);

	if (notes.text[0])
		say("%s", notes.text);
	*ret = (struct run_stats){0};
	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : store_stats(store, name, ret, err);
}

int find_held(const struct context *context, dim_set *ret, struct err *err)
{
	const struct ask none = {0};
	struct posture posture = {0};
	dim_set held = 0;
	int r = posture_probe(context, &none, &posture, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < LEARNED_LIMITS; i++) {
		const struct posture_dim *at = &posture.dims[learned_limits[i]];
		dim_set bit = DIM_BIT(learned_limits[i]);

		if (!at->refused &&
		    (at->state == ENFORCED || posture.resolved.allow_degraded & bit))
			held |= bit;
	}
	posture_release(&posture);
	*ret = held;
	return 0;
}

int say_trust(const char *workspace, bool *ret_needed, struct err *err)
{
	_cleanup_(context_release) struct context context = {0};
	_cleanup_(trust_ask_release) struct trust_ask ask = {0};
	enum trust_state state;
	int r = context_load(workspace, &context, err);

	if (r == 0)
		r = trust_ask_compute(&context.config, &context.workspace, &context.user, &ask,
				      err);
	if (r == 0)
		r = trust_read(&ask, &context.workspace, &state, err);
	if (r < 0)
		return r;
	*ret_needed = state == TRUST_CHANGED || state == TRUST_NONE;
	if (*ret_needed)
		say("the file asks for more than a workspace may by itself: nothing runs here before "
		    "you agree; `pale trust` shows it, and agrees to it");
	return 0;
}

int check_place(const struct config *config, const char *name, struct err *err)
{
	const char *const paths[][4] = {{"commands", name, "cmd", NULL},
					{"commands", name, "argv", NULL},
					{"commands", name, "sandbox", NULL}};
	struct setting setting;
	char buf[ORIGIN_TEXT_MAX];
	int r;

	for (size_t i = 0; i < array_len(paths); i++) {
		if (!config_get(config, paths[i], &setting) || setting.layer == LAYER_WORKSPACE)
			continue;
		r = err_set(err, ERR_CONFIG, -EPERM,
			    "'%s' is written at %s, and pale edits the workspace's file only", name,
			    origin_text(&setting.origin, buf, sizeof(buf)));
		return err_hint(err, r, "put the lines there yourself");
	}
	return 0;
}
