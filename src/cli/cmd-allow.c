/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/allow.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "api/edit.h"
#include "cli/stage-verb.h"
#include "cli/why.h"
#include "policy/outer.h"

struct order {
	const char *run; /* NULL: the last */
	size_t number;   /* 0: the only one */
	bool user, dry, yes;
	const char *workspace;
};

/* Not the beginning of an id: so few digits begin the ids of all runs for years. */
static bool is_number(const char *text, size_t *ret)
{
	size_t len = strlen(text), n = 0;

	if (len == 0 || len > 2 || text[0] == '0' || strspn(text, "0123456789") != len)
		return false;
	for (; *text; text++)
		n = n * 10 + (size_t)(*text - '0');
	*ret = n;
	return true;
}

static int read_order(const struct args *args, struct order *ret, struct err *err)
{
	struct order order = {
		.user = args->values[OPT_USER],
		.dry = args->values[OPT_DRY_RUN],
		.yes = args->values[OPT_YES],
		.workspace = args->values[OPT_WORKSPACE],
	};
	int at = 0, r;

	if (order.user == (args->values[OPT_PROJECT] != NULL)) {
		r = err_set(err, ERR_USAGE, -EINVAL,
			    order.user ? "allow: either --project or --user"
				       : "allow: say where: --project or --user");
		return err_hint(err, r,
				"--project writes the workspace's pale.toml, --user your own");
	}
	if (at < args->len && !is_number(args->operands[at], &order.number))
		order.run = args->operands[at++];
	if (at < args->len && order.number == 0 && !is_number(args->operands[at], &order.number))
		return err_set(err, ERR_USAGE, -EINVAL, "allow: '%s' is no number of `pale why`",
			       args->operands[at]);
	if (order.number > 0)
		at++;
	if (at < args->len)
		return err_set(err, ERR_USAGE, -EINVAL, "allow: unexpected operand '%s'",
			       args->operands[at]);
	*ret = order;
	return 0;
}

static int choose(const struct order *order, const struct why *why, const struct cause **ret,
		  struct err *err)
{
	const struct explanation *explanation = &why->explanation;
	size_t number = order->number ? order->number : 1;
	int r;

	if (explanation->len == 0)
		return err_set(err, ERR_USAGE, -ENOENT, "run %s: nothing was refused%s",
			       why->record.id, explanation->observed ? "" : ", as far as is known");
	if (number > explanation->len || (!order->number && explanation->len > 1)) {
		r = err_set(err, ERR_USAGE, -EINVAL,
			    order->number ? "run %s: there is no number %zu"
					  : "run %s: which one of %zu?",
			    why->record.id, order->number ? number : explanation->len);
		return err_hint(err, r, "pale why %s numbers them", why->record.id);
	}
	*ret = &explanation->causes[number - 1];
	return 0;
}

/* A rule needs a key and a command to belong to. */
static int check_cause(const struct why *why, const struct cause *cause, struct err *err)
{
	const struct remedy *remedy = &cause->remedy;
	int r;

	if (why->config_err.message[0]) {
		*err = why->config_err;
		return -EINVAL;
	}
	if (!why->record.command) {
		r = err_set(err, ERR_USAGE, -EINVAL,
			    "run %s was no registered command: there is no sandbox to change",
			    why->record.id);
		if (!cause->fix)
			return r;
		return str_starts(cause->fix, "pale ")
			       ? err_hint(err, r, "%s", cause->fix)
			       : err_hint(err, r, "pale run %s …", cause->fix);
	}
	if (remedy->allowed && cause->fix) {
		r = err_set(err, ERR_POLICY, -EPERM,
			    "the policy as it is now allows it, and that run was held tighter (it "
			    "wanted to %.500s)",
			    cause->what);
		return err_hint(err, r, "pale run %s", why->record.command);
	}
	if (!remedy->possible)
		return err_set(err, ERR_POLICY, -EPERM,
			       "not to be allowed: %s (it wanted to %.500s)", remedy->why,
			       cause->what);
	if (!remedy->value) {
		r = err_set(err, ERR_POLICY, -EPERM, "no key of a pale.toml allows it: %s",
			    cause->what);
		return err_hint(err, r, "pale run %s …", remedy->option);
	}
	return 0;
}

/* Only what pale put together itself has lines: a path may hold the end of one. */
static int put_escaped(struct str *out, const char *before, const char *text, bool has_lines)
{
	int r = str_append(out, before);

	while (r == 0 && *text) {
		size_t len = has_lines ? strcspn(text, "\n") : strlen(text);

		r = str_append_escaped(out, text, len);
		if (r == 0)
			r = str_append_char(out, '\n');
		text += len + (text[len] == '\n');
		if (r == 0 && *text)
			r = str_append(out, "  ");
	}
	return r;
}

static bool needs_trust(const struct allowed *allowed)
{
	return allowed->trust == TRUST_NONE || allowed->trust == TRUST_CHANGED;
}

static int show(const struct edit *edit, const struct cause *cause, const struct allowed *allowed,
		const char *command)
{
	_cleanup_(str_release) struct str out = {0};
	int r = put_escaped(&out, "refused: ", cause->what, false);

	if (r == 0)
		r = put_escaped(&out, "in ", edit_file(edit), false);
	if (r == 0)
		r = put_escaped(&out, "  ", str_text(&allowed->change), true);
	if (r == 0)
		r = put_escaped(&out, "opens: ", cause->remedy.opens, false);
	if (r == 0 && edit->layer == LAYER_USER)
		r = str_appendf(&out, "for the command '%s' of every workspace\n", command);
	if (r == 0 && needs_trust(allowed))
		r = put_escaped(&out, "needs `pale trust` afterwards, for:\n  ",
				str_text(&allowed->asks), true);
	if (r < 0)
		return -ENOMEM;
	return fd_write_all(STDOUT_FILENO, str_text(&out), out.len);
}

static int agree(bool yes, struct err *err)
{
	int r;

	if (yes)
		return 0;
	if (!(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) {
		r = err_set(err, ERR_USAGE, -EPERM, "allow: there is no terminal to ask on");
		return err_hint(err, r, "read what it opens above; --yes agrees to it");
	}
	return ask_yes("Allow it? [y/N] ")
		       ? 0
		       : err_set(err, ERR_POLICY, -EPERM, "not allowed; nothing was changed");
}

static int do_allow(const struct order *order, struct err *err)
{
	_cleanup_(why_release) struct why why = {0};
	_cleanup_(edit_release) struct edit edit = {.dirfd = -1};
	_cleanup_(allowed_release) struct allowed allowed = {0};
	const struct cause *cause = NULL;
	int r = outer_path() ? err_set(err, ERR_POLICY, -EPERM,
				       "allow: nothing is allowed from inside of a sandbox")
			     : why_load(order->workspace, order->run, &why, err);

	if (r == 0)
		r = choose(order, &why, &cause, err);
	if (r == 0)
		r = check_cause(&why, cause, err);
	if (r == 0)
		r = order->user ? edit_begin_user(order->workspace, !order->dry, &edit, err)
				: edit_begin(order->workspace, true, &edit, err);
	if (r == 0)
		r = allow_rule(&edit.context, edit.layer, edit_file(&edit), edit.doc,
			       why.record.command, &cause->remedy, &allowed, err);
	if (r < 0)
		return r;
	r = show(&edit, cause, &allowed, why.record.command);
	if (r < 0)
		return err_sys(err, r, "cannot write to standard output");
	if (order->dry)
		return 0;
	r = agree(order->yes, err);
	if (r == 0)
		r = edit_commit(&edit, err);
	if (r == 0 && needs_trust(&allowed))
		say("written; next: pale trust");
	else if (r == 0)
		say("written; next: pale run %s", why.record.command);
	return r;
}

int cmd_allow(int argc, char **argv)
{
	struct args args;
	struct order order = {0};
	struct err err = {0};
	int r = args_parse(VERB_ALLOW, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = read_order(&args, &order, &err);
	if (r == 0)
		r = do_allow(&order, &err);
	return r < 0 ? report(&err) : STATUS_OK;
}
