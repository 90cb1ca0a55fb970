/* SPDX-License-Identifier: MIT */
/* Commands in the background: what they printed, a signal for them, their end. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/size.h"
#include "cli/cmd-exec.h"
#include "cli/common.h"
#include "config/keys.h"
#include "result/result.h"
#include "session/session-proto.h"
#include "session/session.h"

struct job_args {
	struct session_where where;
	const char *from, *timeout;
	bool follow, json;
	int sock;
	char id[RUN_ID_SIZE];
	char half[4]; /* the first bytes of a character whose rest is still to come */
	size_t half_len;
	uint64_t gap; /* bytes that were not kept, and not spoken of yet */
	char last;    /* that was printed; 0: nothing was */
};

static struct session_buffer buffer;

static int set_option(const struct opt *opt, const char *value, void *data, struct err *err)
{
	struct job_args *args = data;

	(void)err;
	if (opt->id == OPT_DIM + DIM_TIMEOUT) {
		args->timeout = value;
		return 0;
	}
	switch (opt->id) {
	case OPT_SESSION:
		args->where.session = value;
		return 0;
	case OPT_WORKSPACE:
		args->where.workspace = value;
		return 0;
	case OPT_FROM:
		args->from = value;
		return 0;
	case OPT_FOLLOW:
		args->follow = true;
		return 0;
	case OPT_JSON:
		args->json = true;
		return 0;
	default:
		BUG("an option that nobody handles");
	}
}

static int put_number_and_id(struct str *body, uint64_t number, const char *id)
{
	int r = str_append_bytes(body, &number, sizeof(number));

	return r < 0 ? r : session_put_string(body, id);
}

/* What went wrong, where it is looked for. Returns the exit status. */
static int tell(const struct job_args *args, const struct err *err)
{
	if (!args->json)
		return report(err);
	(void)emit_error(args->id[0] ? args->id : NULL, err);
	return err->code == ERR_USAGE ? STATUS_USAGE : STATUS_ERROR;
}

/* --- output --- */

static int parse_from(const char *text, uint64_t *ret, struct err *err)
{
	char *end;

	*ret = 0;
	if (!text)
		return 0;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno)
		return err_set(err, ERR_USAGE, -EINVAL, "--from: \"%.40s\" is no offset", text);
	return 0;
}

/* How the command did, whether or not all that it printed was read. */
static void put_state(const struct session_state *state, struct json *json)
{
	json_add_string(json, "outcome",
			state->is_over ? outcome_name((enum outcome)state->outcome) : "running");
	if (state->is_over && state->exit_code >= 0)
		json_add_int(json, "exit_code", state->exit_code);
	else
		json_add_null(json, "exit_code");
	if (state->is_over && state->signal > 0)
		json_add_int(json, "signal", state->signal);
	else
		json_add_null(json, "signal");
}

/* A session of an earlier version does not tell. */
static bool take_state(const struct session_message *m, struct session_cursor *c,
		       const struct session_state **ret)
{
	static struct session_state state;

	*ret = NULL;
	if (!(m->head.flags & SESSION_STATE))
		return true;
	*ret = &state;
	return session_take(c, &state, sizeof(state)) && state.outcome >= 0 &&
	       state.outcome <= OUTCOME_ERROR;
}

/* How much of DATA there is without a character at its end whose rest is still to come. */
static size_t without_half(const char *data, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = (unsigned char)data[len - back];
		size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if ((c & 0xc0) != 0x80)
			return need > back ? len - back : len;
	}
	return len;
}

static int print_chunk_json(const struct job_args *args, const struct session_bytes *head,
			    const struct session_state *state, const struct str *text)
{
	_cleanup_(str_release) struct str out = {0};
	struct json json = {.out = &out};

	json_begin_object(&json, NULL);
	json_add_string(&json, "run", args->id);
	json_add_uint(&json, "from", head->from);
	json_add_uint(&json, "next", head->next);
	json_add_uint(&json, "total", head->total);
	json_add_uint(&json, "dropped", head->dropped);
	json_add_bool(&json, "ended", head->ended);
	if (state)
		put_state(state, &json);
	json_add_bytes(&json, "output", str_text(text), text->len);
	json_end_object(&json);
	return emit_json(&json);
}

/* Half a character waits here for its rest: there it would be told again and again, as news. */
static int take_json(struct job_args *args, uint64_t asked, struct session_bytes *head,
		     const struct session_state *state, const char *data, size_t len)
{
	_cleanup_(str_release) struct str text = {0};
	bool goes_on = !head->ended && head->next == head->from + len;
	size_t whole;

	if (head->from == asked) {
		head->from -= args->half_len;
		if (str_append_bytes(&text, args->half, args->half_len) < 0)
			return report_oom();
	}
	if (str_append_bytes(&text, data, len) < 0)
		return report_oom();
	whole = goes_on ? without_half(str_text(&text), text.len) : text.len;
	args->half_len = text.len - whole;
	memcpy(args->half, str_text(&text) + whole, args->half_len);
	head->next -= args->half_len;
	str_truncate(&text, whole);
	return args->follow && goes_on && whole == 0 ? 0
						     : print_chunk_json(args, head, state, &text);
}

/* On a line of its own, as in the foreground: what is around it does not belong together. */
static int print_gap(struct job_args *args)
{
	char note[64];
	int n;

	if (args->gap == 0)
		return 0;
	n = snprintf(note, sizeof(note), "%s[pale: %llu bytes dropped]\n",
		     args->last && args->last != '\n' ? "\n" : "", (unsigned long long)args->gap);
	args->gap = 0;
	args->last = '\n';
	return fd_write_all(STDOUT_FILENO, note, (size_t)n);
}

static int print_chunk(struct job_args *args, uint64_t asked, const struct session_bytes *head,
		       const char *data, size_t len)
{
	int r = 0;

	args->gap += head->from > asked ? head->from - asked : 0;
	if (len > 0) {
		r = print_gap(args);
		args->last = data[len - 1];
	}
	if (r == 0)
		r = fd_write_all(STDOUT_FILENO, data, len);
	args->gap += head->next - (head->from + len);
	return r == 0 && head->next >= head->total ? print_gap(args) : r;
}

/* One answer; *FROM goes on to the next. 1: that was all there is now. */
static int take_chunk(struct job_args *args, uint64_t *from, struct err *err)
{
	_cleanup_(str_release) struct str body = {0};
	uint64_t asked = *from + args->half_len;
	struct session_message m;
	const struct session_state *state;
	struct session_bytes head;
	struct session_cursor c;
	size_t len;
	bool all;
	int r;

	if (put_number_and_id(&body, asked, args->id) < 0)
		return err_oom(err);
	r = session_ask(args->sock, SESSION_OUTPUT,
			SESSION_STATE | (args->follow ? SESSION_FOLLOW : 0), &body, &buffer, &m, -1,
			err);
	if (r < 0)
		return r;
	c = session_cursor(&m);
	if (m.head.kind != SESSION_BYTES || !session_take(&c, &head, sizeof(head)) ||
	    !take_state(&m, &c, &state)) {
		session_message_release(&m, &buffer);
		return err_set(err, ERR_SYSTEM, -EBADMSG, "the session's answer is none");
	}
	len = (size_t)(c.end - c.at);
	r = args->json ? take_json(args, asked, &head, state, c.at, len)
		       : print_chunk(args, asked, &head, c.at, len);
	all = head.next >= head.total && (head.ended || !args->follow);
	*from = head.next;
	session_message_release(&m, &buffer);
	if (r != 0 && !args->json)
		return err_sys(err, r, "cannot write to standard output");
	/* As JSON one answer at a time: who wants more asks with `next`. */
	return all || r != 0 || (args->json && !args->follow);
}

static int do_output(struct job_args *args, struct err *err)
{
	uint64_t from;
	int r = parse_from(args->from, &from, err);

	while (r == 0)
		r = take_chunk(args, &from, err);
	return r < 0 ? r : STATUS_OK;
}

/* --- signal --- */

static int signal_number(const char *text, struct err *err)
{
	static const struct {
		const char *name;
		int number;
	} known[] = {
		{"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT}, {"KILL", SIGKILL},
		{"TERM", SIGTERM}, {"USR1", SIGUSR1},   {"USR2", SIGUSR2}, {"STOP", SIGSTOP},
		{"CONT", SIGCONT}, {"TSTP", SIGTSTP},   {"ABRT", SIGABRT}, {"ALRM", SIGALRM},
		{"PIPE", SIGPIPE}, {"WINCH", SIGWINCH},
	};
	const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
	char *end;
	long n = strtol(text, &end, 10);

	if (*text && !*end && n >= 1 && n <= 64)
		return (int)n;
	for (size_t i = 0; i < array_len(known); i++)
		if (strcasecmp(known[i].name, name) == 0)
			return known[i].number;
	return err_set(err, ERR_USAGE, -EINVAL, "\"%.40s\" is no signal", text);
}

static int do_signal(struct job_args *args, const char *text, struct err *err)
{
	_cleanup_(str_release) struct str body = {0};
	struct session_message m;
	int r = signal_number(text, err);

	if (r < 0)
		return r;
	if (put_number_and_id(&body, (uint64_t)r, args->id) < 0)
		return err_oom(err);
	r = session_ask(args->sock, SESSION_SIGNAL, 0, &body, &buffer, &m, -1, err);
	if (r == 0)
		session_message_release(&m, &buffer);
	return r < 0 ? r : STATUS_OK;
}

/* --- wait --- */

static int parse_timeout(const char *text, int *ret, struct err *err)
{
	uint64_t ms;

	*ret = -1;
	if (!text)
		return 0;
	if (duration_parse(text, &ms, err) < 0) {
		err_wrap(err, 0, "--timeout");
		err->code = ERR_USAGE;
		return -EINVAL;
	}
	*ret = ms > INT_MAX ? INT_MAX : (int)ms;
	return 0;
}

static int report_answer(const struct job_args *args, const struct session_answer *answer)
{
	_cleanup_(str_release) struct str out = {0};

	for (size_t i = 0; i < answer->notes.len && !args->json; i++)
		report(&answer->notes.items[i]);
	if (args->json && str_append_bytes(&out, answer->json.data, answer->json.len) == 0 &&
	    str_append_char(&out, '\n') == 0 && emit(&out) != 0)
		return STATUS_ERROR;
	return answer->status;
}

static int do_wait(struct job_args *args, struct err *err)
{
	_cleanup_(session_answer_release) struct session_answer answer = {0};
	_cleanup_(str_release) struct str body = {0};
	struct session_message m;
	int timeout, r = parse_timeout(args->timeout, &timeout, err);

	if (r < 0)
		return r;
	if (session_put_string(&body, args->id) < 0)
		return err_oom(err);
	r = session_ask(args->sock, SESSION_WAIT, 0, &body, &buffer, &m, timeout, err);
	if (r == -ETIMEDOUT && !err->message[0]) {
		err_set(err, ERR_SYSTEM, r, "command %s still runs", args->id);
		(void)tell(args, err);
		return EXIT_TIMEOUT;
	}
	if (r < 0)
		return r;
	r = session_take_result(&m, &answer);
	session_message_release(&m, &buffer);
	if (r < 0)
		return err_sys(err, r, "the session's answer");
	return report_answer(args, &answer);
}

int cmd_job(enum verb_id id, int argc, char **argv)
{
	struct job_args args = {.sock = -1};
	struct opt_args operands;
	struct err err = {0};
	int r = verb_parse(id, argc, argv, set_option, &args, &operands, &err);

	if (r > 0)
		return 0;
	if (r == 0) {
		args.sock = session_find_job(&args.where, operands.operands[0], args.id, &err);
		r = args.sock < 0 ? args.sock : 0;
	}
	if (r == 0 && id == VERB_OUTPUT)
		r = do_output(&args, &err);
	else if (r == 0 && id == VERB_SIGNAL)
		r = do_signal(&args, operands.operands[1], &err);
	else if (r == 0)
		r = do_wait(&args, &err);
	fd_close(args.sock);
	if (r >= 0)
		return r;
	args.json = args.json || asks_json(argc, argv);
	r = tell(&args, &err);
	return id == VERB_WAIT ? run_error_status(&err) : r;
}
