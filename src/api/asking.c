/* SPDX-License-Identifier: MIT */
#include "api/asking.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "api/allow.h"
#include "api/edit.h"
#include "api/run.h"
#include "backend/local.h"
#include "backend/network.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "policy/remedy.h"

enum { LINE_MAX_ = 16, SHOWN_MAX = 60, CTRL_C = 3, CTRL_D = 4, ESCAPE = 27, DELETE = 127 };

enum verdict_kind { SAID_NO, SAID_ONCE, SAID_ALWAYS };

struct waiter {
	void (*answer)(void *data, bool allow);
	void *data;
	struct waiter *next;
};

struct question {
	char *rule; /* "NAME:PORT" */
	char *program;
	struct waiter *waiters;
	struct question *next;
};

struct asking {
	const struct run *run;
	struct loop *loop;          /* NULL: not yet, or not any more */
	struct question *questions; /* the first is on the screen */
	struct strv said_no;
	unsigned asked;
	int tty; /* -1: nothing is on the screen */
	struct termios before;
	struct loop_timer timer;
	char line[LINE_MAX_];
	size_t len;
};

static void show_next(struct asking *a);

static void print(const struct asking *a, const char *text)
{
	(void)!write(a->tty, text, strlen(text));
}

static void answer_all(struct question *q, bool allow)
{
	while (q->waiters) {
		struct waiter *w = q->waiters;

		q->waiters = w->next;
		w->answer(w->data, allow);
		free(w);
	}
	free(q->rule);
	free(q->program);
	free(q);
}

/* Only a command that is registered has a sandbox that a rule can be written for. */
static bool can_keep(const struct asking *a)
{
	return a->run->command != NULL;
}

/* -- The rule that stays ----------------------------------------------------- */

static int write_rule(const struct asking *a, const char *rule, struct allowed *ret,
		      struct edit *edit, struct err *err)
{
	const struct run *run = a->run;
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

static void keep_rule(const struct asking *a, const char *rule)
{
	_cleanup_(allowed_release) struct allowed allowed = {0};
	_cleanup_(edit_release) struct edit edit = {.dirfd = -1};
	_cleanup_(str_release) struct str out = {0};
	struct err err = {0};
	int r = write_rule(a, rule, &allowed, &edit, &err);

	if (r == 0)
		r = str_append(&out, "pale: added to ");
	else
		(void)str_appendf(&out, "pale: for this run only: ");
	if (r == 0)
		r = str_append_escaped(&out, edit_file(&edit), strlen(edit_file(&edit)));
	if (r == 0)
		r = str_append(&out, ": ");
	if (r == 0)
		(void)str_append_escaped(&out, str_text(&allowed.change), allowed.change.len);
	else
		(void)str_append_escaped(&out, err.message, strlen(err.message));
	if (str_append_char(&out, '\n') == 0)
		print(a, str_text(&out));
}

/* -- The screen -------------------------------------------------------------- */

/* The terminal is given back as it was, but for what follows on the same screen. */
static void leave_screen(struct asking *a)
{
	if (a->tty < 0)
		return;
	loop_remove(a->loop, a->tty);
	a->timer.at_ns = LOOP_NEVER;
	(void)tcsetattr(a->tty, TCSAFLUSH, &a->before);
	a->tty = fd_close(a->tty);
	local_hold(false);
}

static void finish(struct asking *a, enum verdict_kind verdict)
{
	static const char *const words[] = {"no\n", "once\n", "always\n"};
	struct question *q = a->questions;

	while (a->len > 0) {
		a->len--;
		print(a, "\b \b");
	}
	print(a, words[verdict]);
	if (verdict == SAID_ALWAYS)
		keep_rule(a, q->rule);
	if (verdict == SAID_NO)
		(void)strv_add(&a->said_no, q->rule);
	leave_screen(a);
	a->questions = q->next;
	answer_all(q, verdict != SAID_NO);
	show_next(a);
}

static void on_late(void *data, short revents)
{
	(void)revents;
	finish(data, SAID_NO);
}

static bool is_word(const struct asking *a, const char *word)
{
	return a->len > 0 && (a->len == 1 || a->len == strlen(word)) &&
	       strncmp(a->line, word, a->len) == 0;
}

static void take_line(struct asking *a)
{
	if (is_word(a, "no"))
		finish(a, SAID_NO);
	else if (is_word(a, "once"))
		finish(a, SAID_ONCE);
	else if (is_word(a, "always") && can_keep(a))
		finish(a, SAID_ALWAYS);
	else {
		a->len = 0;
		print(a, can_keep(a) ? "\n  o, a or n? " : "\n  o or n? ");
	}
}

/* Enter is needed: what was typed for the command is no answer. */
static void take_key(struct asking *a, char c)
{
	char echo[2] = {c, '\0'};

	if (c == '\n' || c == '\r') {
		take_line(a);
	} else if (c == CTRL_C || c == CTRL_D || c == ESCAPE) {
		finish(a, SAID_NO);
	} else if (c == DELETE || c == '\b') {
		if (a->len > 0)
			print(a, "\b \b");
		a->len -= a->len > 0;
	} else if (c >= ' ' && c < DELETE && a->len < LINE_MAX_ - 1) {
		a->line[a->len++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
		print(a, echo);
	}
}

static void on_key(void *data, short revents)
{
	struct asking *a = data;
	char c;
	ssize_t n;

	if (!(revents & POLLIN)) {
		finish(a, SAID_NO);
		return;
	}
	/* One at a time: what comes after the answer may be for the next question. */
	n = read(a->tty, &c, 1);
	if (n == 1)
		take_key(a, c);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		finish(a, SAID_NO);
}

static int open_tty(void)
{
	int fd = fd_open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0 && tcgetpgrp(fd) != getpgrp())
		return fd_close(fd); /* in the background */
	return fd;
}

static int put_shown(struct str *out, const char *text)
{
	size_t len = strlen(text);
	int r = len > SHOWN_MAX ? str_append(out, "...") : 0;

	if (r < 0)
		return r;
	return len > SHOWN_MAX ? str_append_escaped(out, text + len - SHOWN_MAX, SHOWN_MAX)
			       : str_append_escaped(out, text, len);
}

static const char *command_name(const struct run *run)
{
	return run->command              ? run->command
	       : run->plan->argv.len > 0 ? run->plan->argv.items[0]
					 : "the command";
}

static void print_question(const struct asking *a, const struct question *q)
{
	_cleanup_(str_release) struct str out = {0};
	/* Whatever colour the command has left, hidden text among them. */
	int r = str_append(&out, "\033[0m\npale: ");

	if (r == 0)
		r = put_shown(&out, command_name(a->run));
	if (r == 0)
		r = str_append(&out, " wants to reach ");
	if (r == 0)
		r = str_append_escaped(&out, q->rule, strlen(q->rule));
	if (r == 0 && q->program) {
		r = str_append(&out, " (");
		if (r == 0)
			r = put_shown(&out, q->program);
		if (r == 0)
			r = str_append_char(&out, ')');
	}
	if (r == 0)
		r = str_append(&out,
			       can_keep(a) ? "\n  [o]nce, [a]lways, [n]o? " : "\n  [o]nce, [n]o? ");
	print(a, r < 0 ? "pale: may it connect? " : str_text(&out));
}

static bool enter_screen(struct asking *a)
{
	struct termios modes;

	a->tty = open_tty();
	if (a->tty < 0)
		return false;
	local_hold(true);
	if (tcgetattr(a->tty, &a->before) < 0 || loop_add(a->loop, a->tty, POLLIN, on_key, a) < 0) {
		local_hold(false);
		a->tty = fd_close(a->tty);
		return false;
	}
	modes = a->before;
	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	/* What was typed before the question is no answer to it. */
	(void)tcsetattr(a->tty, TCSAFLUSH, &modes);
	a->len = 0;
	a->timer.at_ns = clock_mono_ns() + ASKING_MS * 1000000ull;
	return true;
}

static void show_next(struct asking *a)
{
	while (a->questions && a->loop && a->tty < 0) {
		struct question *q = a->questions;

		if (enter_screen(a)) {
			print_question(a, q);
			return;
		}
		a->questions = q->next;
		answer_all(q, false);
	}
}

/* -- Questions --------------------------------------------------------------- */

static struct question *find(const struct asking *a, const char *rule)
{
	for (struct question *q = a->questions; q; q = q->next)
		if (str_eq(q->rule, rule))
			return q;
	return NULL;
}

static struct question *add(struct asking *a, const char *rule, const char *program)
{
	struct question **at = &a->questions, *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->rule = strdup(rule);
	q->program = program ? strdup(program) : NULL;
	if (!q->rule || (program && !q->program)) {
		answer_all(q, false);
		return NULL;
	}
	while (*at)
		at = &(*at)->next;
	*at = q;
	a->asked++;
	return q;
}

static void on_ask(void *data, const char *name, uint16_t port, const char *program,
		   void (*answer)(void *answer_data, bool allow), void *answer_data)
{
	struct asking *a = ((struct run *)data)->asking;
	_cleanup_(freep) char *rule = str_printf("%s:%u", name, (unsigned)port);
	struct question *q = rule ? find(a, rule) : NULL;
	struct waiter *w = NULL;

	/* What a ceiling forbids is nobody's to allow here. */
	if (!q && rule && a->loop && a->asked < ASKING_MAX && !strv_has(&a->said_no, rule) &&
	    resolved_may_reach(&a->run->resolved, rule))
		q = add(a, rule, program);
	if (q)
		w = malloc(sizeof(*w));
	if (!w) {
		answer(answer_data, false);
		return;
	}
	*w = (struct waiter){answer, answer_data, q->waiters};
	q->waiters = w;
	show_next(a);
}

static void on_begin(void *data, struct loop *loop)
{
	struct asking *a = ((struct run *)data)->asking;

	a->loop = loop;
	a->timer = (struct loop_timer){.at_ns = LOOP_NEVER, .fn = on_late, .data = a};
	loop_add_timer(loop, &a->timer);
}

static void on_over(void *data)
{
	struct asking *a = ((struct run *)data)->asking;

	if (!a->loop)
		return;
	if (a->tty >= 0) {
		print(a, "\n");
		leave_screen(a);
	}
	loop_remove_timer(a->loop, &a->timer);
	a->loop = NULL;
	while (a->questions) {
		struct question *q = a->questions;

		a->questions = q->next;
		answer_all(q, false);
	}
}

int run_asking_new(struct run *run, struct network_ear *ear)
{
	struct asking *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->run = run;
	a->tty = -1;
	run->asking = a;
	ear->ask = on_ask;
	ear->begins = on_begin;
	ear->over = on_over;
	return 0;
}

struct asking *asking_free(struct asking *a)
{
	if (!a)
		return NULL;
	strv_release(&a->said_no);
	free(a);
	return NULL;
}
