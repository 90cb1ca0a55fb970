/* SPDX-License-Identifier: MIT */
#include "api/asking.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/str.h"

/* DEAF_MS: who has just been shown a question has not read it. */
enum { DEAF_MS = 300 };
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
	struct asking_subject subject;
	struct loop *loop;
	struct question *questions; /* the first is on the screen */
	struct strv said_no;
	unsigned asked;
	int tty; /* -1: nothing is on the screen */
	struct termios before;
	struct loop_timer timer;
	uint64_t listens_at_ns;
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

static bool can_keep(const struct asking *a)
{
	return a->subject.keep != NULL;
}

static void keep_rule(const struct asking *a, const char *rule)
{
	_cleanup_(str_release) struct str said = {0};

	a->subject.keep(a->subject.data, rule, &said);
	print(a, str_text(&said));
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
	a->subject.hold(a->subject.data, false);
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
	if (n == 1 && c != CTRL_C && clock_mono_ns() < a->listens_at_ns)
		return; /* it was on its way to something else */
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

bool asking_is_possible(void)
{
	_cleanup_(fd_closep) int fd = open_tty();

	return fd >= 0;
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

/* A file's name, chosen by who asks: nothing in it can pass for a part of the question. */
static int put_program(struct str *out, const char *program)
{
	size_t len = strnlen(program, SHOWN_MAX);
	int r = 0;

	for (size_t i = 0; i < len && r == 0; i++) {
		char c = program[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || (c && strchr("._+-", c));

		r = str_append_char(out, plain ? c : '?');
	}
	return r;
}

/* Whatever the command has left of the screen, the question is seen: an escape sequence that it
 * did not end is cancelled; then attributes, letters, margins, wrapping and cursor are as usual
 * again, and so are the colours themselves. */
static const char *clean_slate(void)
{
	const char *term = getenv("TERM");

	if (term && str_eq(term, "dumb"))
		return "\n";
	return "\030\033\\\033[?2026l\033[4i\033[0m\033(B\017\033[4l\033[?6l\033[?69l"
	       "\0337\033[r\0338\033[?7h\033[?25h\033]104\007\033]110\007\033]111\007\n";
}

static void print_question(const struct asking *a, const struct question *q)
{
	_cleanup_(str_release) struct str out = {0};
	int r = str_append(&out, clean_slate());

	if (r == 0)
		r = str_append(&out, "pale: ");
	if (r == 0)
		r = put_shown(&out, a->subject.command);
	if (r == 0)
		r = str_append(&out, " wants to reach ");
	if (r == 0)
		r = str_append_escaped(&out, q->rule, strlen(q->rule));
	if (r == 0 && q->program) {
		r = str_append(&out, " (");
		if (r == 0)
			r = put_program(&out, q->program);
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
	a->subject.hold(a->subject.data, true);
	if (tcgetattr(a->tty, &a->before) < 0 || loop_add(a->loop, a->tty, POLLIN, on_key, a) < 0) {
		a->subject.hold(a->subject.data, false);
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
	a->listens_at_ns = clock_mono_ns() + DEAF_MS * 1000000ull;
	a->timer.at_ns = clock_mono_ns() + ASKING_MS * 1000000ull;
	return true;
}

static void show_next(struct asking *a)
{
	while (a->questions && a->tty < 0) {
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

void asking_ask(struct asking *a, const char *rule, const char *program,
		void (*answer)(void *answer_data, bool allow), void *answer_data)
{
	struct question *q = find(a, rule);
	struct waiter *w = NULL;

	if (!q && a->asked < ASKING_MAX && !strv_has(&a->said_no, rule))
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

struct asking *asking_new(const struct asking_subject *subject, struct loop *loop)
{
	struct asking *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->subject = *subject;
	a->tty = -1;
	a->loop = loop;
	a->timer = (struct loop_timer){.at_ns = LOOP_NEVER, .fn = on_late, .data = a};
	loop_add_timer(loop, &a->timer);
	return a;
}

struct asking *asking_free(struct asking *a)
{
	if (!a)
		return NULL;
	if (a->tty >= 0) {
		print(a, "\n");
		leave_screen(a);
	}
	loop_remove_timer(a->loop, &a->timer);
	while (a->questions) {
		struct question *q = a->questions;

		a->questions = q->next;
		answer_all(q, false);
	}
	strv_release(&a->said_no);
	free(a);
	return NULL;
}
