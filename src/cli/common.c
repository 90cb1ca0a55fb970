/* SPDX-License-Identifier: MIT */
#include "cli/common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "api/run.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"

void stdio_ensure(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			/* The lowest free number, so this is FD itself. */
			if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) < 0)
				_exit(125);
}

static int print_help(enum verb_id id, bool family, struct err *err)
{
	_cleanup_(str_release) struct str out = {0};
	int r = family ? help_family(verbs[id], &out) : help_verb(verbs[id], &out);

	if (r < 0)
		return err_oom(err);
	r = fd_write_all(1, out.data, out.len);
	return r < 0 ? err_sys(err, r, "cannot write to standard output") : 1;
}

/* FAMILY: its word alone was given, and VERB is the first of it. */
static int check_operands(const struct verb *verb, const struct opt_args *args, bool family,
			  struct err *err)
{
	int word = (int)strcspn(verb->name, " ");
	int r;

	if (args->len < verb->min && family) {
		r = err_set(err, ERR_USAGE, -EINVAL, "%.*s: a verb is missing", word, verb->name);
		return err_hint(err, r, "pale help %.*s lists its verbs", word, verb->name);
	}
	if (args->len < verb->min)
		r = err_set(err, ERR_USAGE, -EINVAL, "%s: an operand is missing", verb->name);
	else if (verb->max != VERB_ANY && args->len > verb->max)
		r = err_set(err, ERR_USAGE, -EINVAL, "%s: unexpected operand '%s'", verb->name,
			    args->operands[verb->max]);
	else
		return 0;
	return err_hint(err, r, "usage: pale %s [OPTIONS]%s%s", verb->name,
			*verb->operands ? " " : "", verb->operands);
}

struct catch
{
	opt_set_fn *set;
	void *data;
	bool help;
};

static int catch_help(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct catch *catch = data;

	if (opt->id == OPT_HELP) {
		catch->help = true;
		return 0;
	}
	return catch->set(opt, value, catch->data, err);
}

int verb_parse(enum verb_id id, int argc, char **argv, opt_set_fn *set, void *data,
	       struct opt_args *ret_args, struct err *err)
{
	const struct verb *verb = verbs[id];
	struct opt_table table = verb->options();
	struct catch catch = {set, data, false};
	bool family = strchr(verb->name, ' ') && str_starts(verb->name, argv[0]);
	int r = opt_parse(&table, argc, argv, catch_help, &catch, ret_args, err);

	if (r < 0)
		return r;
	if (catch.help)
		/* "pale commands --help" is about the whole family. */
		return print_help(id, family, err);
	/* Operands move to the front of argv, so what follows the last is stale. */
	ret_args->operands[ret_args->len] = NULL;
	return check_operands(verb, ret_args, family, err);
}

/* The word that follows PREFIX (of LEN bytes and a blank) in each verb. */
static size_t next_words(const char *prefix, size_t len, char (*words)[32])
{
	size_t n = 0;

	for (int i = 0; i < VERB_COUNT_; i++) {
		const char *name = verbs[i]->name;

		if (len > 0 && (strncmp(name, prefix, len) != 0 || name[len] != ' '))
			continue;
		name += len > 0 ? len + 1 : 0;
		snprintf(words[n++], sizeof(*words), "%.*s", (int)strcspn(name, " "), name);
	}
	return n;
}

static bool verb_is_known(const char *name)
{
	for (int i = 0; i < VERB_COUNT_; i++)
		if (str_eq(verbs[i]->name, name))
			return true;
	return false;
}

int verb_unknown(int argc, char **argv, struct err *err)
{
	char words[VERB_COUNT_][32];
	const char *list[VERB_COUNT_];
	const char *first = argv[0], *word = argv[0], *near;
	size_t n = argc > 1 ? next_words(first, strlen(first), words) : 0;
	int r;

	if (n == 0 && argc > 1 && verb_is_known(first)) {
		r = err_set(err, ERR_USAGE, -EINVAL, "unknown verb '%s %s'", first, argv[1]);
		return err_hint(err, r, "pale help %s explains it", first);
	}
	if (n > 0)
		word = argv[1];
	else
		n = next_words("", 0, words);
	for (size_t i = 0; i < n; i++)
		list[i] = words[i];
	near = str_nearest(word, list, n);
	r = err_set(err, ERR_USAGE, -EINVAL, "unknown verb '%s%s%s'", word == first ? "" : first,
		    word == first ? "" : " ", word);
	if (near)
		return err_hint(err, r, "did you mean '%s%s%s'?", word == first ? "" : first,
				word == first ? "" : " ", near);
	if (word != first)
		return err_hint(err, r, "pale help %s lists its verbs", first);
	if (*first == '-')
		return err_hint(err, r, "options come after the verb; pale help lists the verbs");
	return err_hint(err, r, "pale help lists the verbs; a program runs by: pale run -- %s",
			first);
}

static int keep_value(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct args *args = data;

	(void)err;
	args->values[opt->id] = value ? value : "";
	return 0;
}

int args_parse(enum verb_id id, int argc, char **argv, struct args *ret, struct err *err)
{
	struct args args = {0};
	struct opt_args operands;
	int r = verb_parse(id, argc, argv, keep_value, &args, &operands, err);

	if (r != 0)
		return r;
	args.operands = operands.operands;
	args.len = operands.len;
	args.dashdash = operands.dashdash;
	*ret = args;
	return 0;
}

int verb_begin(enum verb_id id, int argc, char **argv, struct args *ret_args,
	       struct context *ret_context, struct err *err)
{
	int r = args_parse(id, argc, argv, ret_args, err);

	return r != 0 ? r : context_load(ret_args->values[OPT_WORKSPACE], ret_context, err);
}

/* Several lines stay several lines; what could confuse a terminal is escaped,
 * since messages quote file names and the text of configuration files. */
/* Only lists that pale made itself have lines: anything else may quote a file. */
static void put_lines(struct str *out, const char *text, const char *indent, bool has_lines)
{
	while (*text) {
		size_t len = has_lines ? strcspn(text, "\n") : strlen(text);

		str_append_escaped(out, text, len);
		str_append_char(out, '\n');
		text += len + (text[len] == '\n');
		if (*text)
			str_append(out, indent);
	}
}

bool terminal_has_colour(int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(fd) && !(no_color && *no_color) && term && !str_eq(term, "dumb");
}

int report(const struct err *err)
{
	bool color = terminal_has_colour(2);
	_cleanup_(str_release) struct str out = {0};

	str_append(&out, color ? "\033[31mpale:\033[0m " : "pale: ");
	put_lines(&out, *err->message ? err->message : strerror(err->errnum), "  ",
		  err->code == ERR_TRUST);
	if (*err->hint) {
		str_append(&out, color ? "  \033[2mhint:\033[0m " : "  hint: ");
		put_lines(&out, err->hint, "        ", false);
	}
	fd_write_all(2, str_text(&out), out.len);
	return err->code == ERR_USAGE ? STATUS_USAGE : STATUS_ERROR;
}

int report_oom(void)
{
	struct err err;

	err_oom(&err);
	return report(&err);
}

int emit(const struct str *out)
{
	struct err err;
	int r = fd_write_all(1, str_text(out), out->len);

	if (r == 0)
		return STATUS_OK;
	err_sys(&err, r, "cannot write to standard output");
	return report(&err);
}

int emit_json(struct json *json)
{
	if (json_finish(json) < 0 || str_append_char(json->out, '\n') < 0)
		return report_oom();
	return emit(json->out);
}

int emit_error(const char *run, const struct err *err)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out};

	json_begin_object(&json, NULL);
	json_add_string(&json, "run", run);
	run_error_json(err, &json);
	json_end_object(&json);
	return emit_json(&json);
}

bool ask_yes(const char *question)
{
	char answer[16];
	ssize_t n;

	fd_write_all(STDERR_FILENO, question, strlen(question));
	n = read(STDIN_FILENO, answer, sizeof(answer) - 1);
	answer[n > 0 ? n : 0] = '\0';
	answer[strcspn(answer, "\r\n")] = '\0';
	return str_eq(answer, "y") || str_eq(answer, "Y") || str_eq(answer, "yes");
}

bool asks_json(int argc, char **argv)
{
	for (int i = 1; i < argc && !str_eq(argv[i], "--"); i++)
		if (str_eq(argv[i], "-j") || str_eq(argv[i], "--json"))
			return true;
	return false;
}

int put_pale(struct str *out, const char *verb, const char *workspace, const char *stage)
{
	int r = str_appendf(out, "pale %s", verb);

	if (r == 0 && workspace)
		r = str_append(out, " --workspace ");
	if (r == 0 && workspace)
		r = str_append_word(out, workspace);
	if (r == 0 && stage && !str_eq(stage, "default"))
		r = str_appendf(out, " --stage %s", stage);
	return r;
}
