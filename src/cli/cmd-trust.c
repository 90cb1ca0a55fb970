/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "policy/trust.h"

static const char *state_text(enum trust_state state)
{
	static const char *const texts[] = {
		[TRUST_NOT_NEEDED] = "This workspace asks for nothing beyond the built-in ceiling.",
		[TRUST_GIVEN] = "This is trusted.",
		[TRUST_CHANGED] = "This is not trusted: it has changed since you agreed.",
		[TRUST_NONE] = "This is not trusted.",
	};

	return texts[state];
}

static int put_item(const struct trust_item *item, const char *file, struct str *out)
{
	int r = str_append(out, "  ");

	if (r == 0)
		r = str_append_escaped(out, file, strlen(file));
	if (r == 0)
		r = str_appendf(out, ":%u: ", item->line);
	if (r == 0)
		r = str_append_escaped(out, item->text, strlen(item->text));
	if (r == 0 && item->why)
		r = str_append(out, "\n      ");
	if (r == 0 && item->why)
		r = str_append_escaped(out, item->why, strlen(item->why));
	return r < 0 ? r : str_append_char(out, '\n');
}

static int put_ask(const struct context *context, const struct trust_ask *ask, struct str *out)
{
	int r = 0;

	if (ask->len > 0)
		r = str_append(out, "Beyond the built-in ceiling, this workspace asks for:\n");
	for (size_t i = 0; r == 0 && i < ask->len; i++)
		r = put_item(&ask->items[i], context->workspace_file, out);
	return r;
}

static int show_json(const struct context *context, const struct trust_ask *ask,
		     enum trust_state state)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out, .pretty = true};

	json_begin_object(&json, NULL);
	json_add_string(&json, "workspace", context->workspace.root);
	json_add_string(&json, "state", trust_state_name(state));
	json_begin_array(&json, "asks");
	for (size_t i = 0; i < ask->len; i++) {
		json_begin_object(&json, NULL);
		json_add_string(&json, "text", ask->items[i].text);
		json_add_string(&json, "why", ask->items[i].why);
		json_add_string(&json, "file", context->workspace_file);
		json_add_uint(&json, "line", ask->items[i].line);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	return emit_json(&json);
}

static int show(const struct context *context, const struct trust_ask *ask, enum trust_state state)
{
	_cleanup_(str_release) struct str out = {0};

	if (put_ask(context, ask, &out) < 0 || str_appendf(&out, "%s\n", state_text(state)) < 0)
		return report_oom();
	return emit(&out);
}

static int say(const char *text)
{
	return fd_write_all(STDOUT_FILENO, text, strlen(text)) < 0 ? STATUS_ERROR : STATUS_OK;
}

static int give(const struct context *context, const struct trust_ask *ask, enum trust_state state,
		bool yes, struct err *err)
{
	_cleanup_(str_release) struct str out = {0};
	int r;

	if (state == TRUST_NOT_NEEDED || state == TRUST_GIVEN)
		return show(context, ask, state);
	if (put_ask(context, ask, &out) < 0)
		return report_oom();
	fd_write_all(STDOUT_FILENO, str_text(&out), out.len);
	if (!yes && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) {
		r = err_set(err, ERR_USAGE, -EPERM, "trust: there is no terminal to ask on");
		err_hint(err, r, "read the values above; pale trust --yes agrees to them");
		return report(err);
	}
	if (!yes && !ask_yes("Trust exactly these values? [y/N] ")) {
		err_set(err, ERR_TRUST, -EPERM, "not trusted; nothing was changed");
		return report(err);
	}
	r = trust_give(ask, &context->workspace, err);
	return r < 0 ? report(err) : say("Trusted, until one of these values changes.\n");
}

static int check_args(const struct args *args, struct err *err)
{
	bool revoke = args->values[OPT_REVOKE], looks = args->values[OPT_SHOW];

	if (args->values[OPT_JSON] && !looks)
		return err_set(err, ERR_USAGE, -EINVAL, "trust: --json goes with --show");
	if (revoke + looks + (args->values[OPT_YES] != NULL) > 1)
		return err_set(err, ERR_USAGE, -EINVAL,
			       "trust: --show, --revoke and --yes exclude each other");
	return 0;
}

int cmd_trust(int argc, char **argv)
{
	_cleanup_(context_release) struct context context = {0};
	_cleanup_(trust_ask_release) struct trust_ask ask = {0};
	enum trust_state state = TRUST_NONE;
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_TRUST, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = check_args(&args, &err);
	if (r == 0)
		r = context_load(args.values[OPT_WORKSPACE], &context, &err);
	if (r == 0 && args.values[OPT_REVOKE])
		return trust_revoke(&context.workspace, &err) < 0
			       ? report(&err)
			       : say("This workspace is no longer trusted with anything.\n");
	if (r == 0)
		r = trust_ask_compute(&context.config, &context.workspace, &context.user, &ask,
				      &err);
	if (r == 0)
		r = trust_read(&ask, &context.workspace, &state, &err);
	if (r < 0)
		return report(&err);
	if (args.values[OPT_JSON])
		return show_json(&context, &ask, state);
	if (args.values[OPT_SHOW])
		return show(&context, &ask, state);
	return give(&context, &ask, state, args.values[OPT_YES] != NULL, &err);
}
