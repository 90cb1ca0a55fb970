/* SPDX-License-Identifier: MIT */
#include "engine/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "plan/plan.h"
#include "warden/protocol.h"

enum {
	/* A pipe or terminal that is ready takes so much without blocking. */
	WRITE_MAX = 4096,
	SPLICE_MAX = 1 << 20,
	/* Of one relay in one turn, so that nothing else has to wait. */
	ROUNDS_MAX = 32,
	/* What can lie in a pipe or a terminal when the run has ended. A straggler
	 * that goes on writing gets no further. */
	REST_MAX = 1 << 20,
	LOOK_MS = 200,
};

static void turn(struct streams *s);
static void hang_up(struct streams *s);

static int refuse_way_out(const struct plan *plan, int number, int fd, struct err *err)
{
	const char *what = fd_way_out(fd, plan_is_offline(plan));

	if (!what)
		return 0;
	err_set(err, ERR_USAGE, -EPERM, "descriptor %d is %s: it would lead out of the sandbox",
		number, what);
	return err_hint(err, -EPERM, "redirect it from or to a file, a pipe or /dev/null");
}

/* 0, 1 and 2 must be taken, or a descriptor of ours would become the
 * command's stdin. */
static int check_stdio(struct streams *s, const struct plan *plan, struct stat st[3],
		       struct err *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		int r;

		if (fcntl(fd, F_GETFD) < 0 || fstat(s->outer.fd[fd], &st[fd]) < 0)
			return err_sys(err, -errno, "descriptor %d", fd);
		r = refuse_way_out(plan, fd, s->outer.fd[fd], err);
		if (r < 0)
			return r;
		if (S_ISCHR(st[fd].st_mode) && pty_probe(&s->terminal.like, fd, s->outer.fd[fd]))
			s->in_use = true;
	}
	return 0;
}

int streams_check(const struct plan *plan, int number, int fd, struct err *err)
{
	struct termios modes;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(err, -errno, "descriptor %d", number);
	if (S_ISCHR(st.st_mode) && tcgetattr(fd, &modes) == 0)
		return err_set(err, ERR_USAGE, -ENOTTY, "descriptor %d is a terminal", number);
	return refuse_way_out(plan, number, fd, err);
}

static void relay_init(struct streams *s, struct relay *r, int source, int sink, uint64_t limit)
{
	r->source = source;
	r->sink = sink;
	r->active = true;
	r->owner = s;
	pump_init(&r->pump, limit);
	s->in_use = true;
}

/* Descriptor NUMBER of the command becomes a pipe to us. */
static int carry_output(struct streams *s, int number, uint64_t limit, struct err *err)
{
	int pair[2], r = fd_pipe_for(S_IWOTH, pair);

	if (r < 0)
		return err_sys(err, r, "make a pipe for the output");
	(void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
	s->inner.fd[number] = pair[1];
	relay_init(s, &s->relays[number - STDOUT_FILENO], pair[0], s->outer.fd[number], limit);
	s->relays[number - STDOUT_FILENO].is_plain = limit == UINT64_MAX; /* not looked at */
	return 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* From a pipe that it has an end of, a command could take what others write there, for as long
 * as it runs. In a file that is appended to it could write over what others wrote: whoever has it
 * can take the flag off, and cut it. */
static bool is_others(const struct streams *s, const struct stat *st, int number)
{
	return S_ISFIFO(st->st_mode) ||
	       (S_ISREG(st->st_mode) && fcntl(s->outer.fd[number], F_GETFL) & O_APPEND);
}

static bool is_carried(const struct streams *s, const struct plan *plan, const struct stat st[3],
		       int number)
{
	return !(s->terminal.like.mask & 1u << number) &&
	       (plan->max_output != UINT64_MAX ||
		(plan->confined && is_others(s, &st[number], number)));
}

/* Where both lead to one file, one pipe keeps the order of what is written. */
static int carry_outputs(struct streams *s, const struct plan *plan, const struct stat st[3],
			 struct err *err)
{
	bool out = is_carried(s, plan, st, STDOUT_FILENO);
	bool both = out && same_file(&st[STDOUT_FILENO], &st[STDERR_FILENO]);
	int r = 0;

	if (out)
		r = carry_output(s, STDOUT_FILENO, plan->max_output, err);
	if (r == 0 && both)
		s->inner.fd[STDERR_FILENO] = s->inner.fd[STDOUT_FILENO];
	else if (r == 0 && is_carried(s, plan, st, STDERR_FILENO))
		r = carry_output(s, STDERR_FILENO, plan->max_output, err);
	return r;
}

/* Whoever is not confined can write to it by other ways. */
static int part_input(struct streams *s, const struct plan *plan, const struct stat *st,
		      struct err *err)
{
	int r;

	if (plan->confined && S_ISREG(st->st_mode)) {
		bookmark_open(&s->bookmark, s->outer.fd[STDIN_FILENO]);
		if (s->bookmark.own >= 0)
			s->inner.fd[STDIN_FILENO] = s->bookmark.own;
	}
	if (!plan->confined || !S_ISFIFO(st->st_mode))
		return 0;
	r = inlet_open(&s->inlet, s->outer.fd[STDIN_FILENO], err);
	s->inner.fd[STDIN_FILENO] = s->inlet.reader;
	s->in_use = true;
	return r;
}

int streams_init(struct streams *s, const struct plan *plan, const struct stdio *stdio,
		 struct err *err)
{
	struct stat st[3];
	int r;

	*s = (struct streams){.outer = *stdio,
			      .inner = *stdio,
			      .inlet = INLET_NONE,
			      .bookmark = BOOKMARK_NONE,
			      .channel = -1};
	terminal_init(&s->terminal);
	for (int i = 0; i < RELAY_COUNT_; i++)
		s->relays[i].source = s->relays[i].sink = -1;
	r = check_stdio(s, plan, st, err);
	if (r == 0 && s->terminal.like.mask)
		pump_init(&s->relays[RELAY_SCREEN].pump, plan->max_output);
	if (r == 0)
		r = carry_outputs(s, plan, st, err);
	return r < 0 ? r : part_input(s, plan, &st[STDIN_FILENO], err);
}

/* Descriptors that we share with others may block: ask first. */
static bool is_ready(int fd, short events)
{
	struct pollfd pfd = {.fd = fd, .events = events};

	return poll(&pfd, 1, 0) > 0;
}

static bool is_keyboard(const struct relay *r)
{
	return r == &r->owner->relays[RELAY_KEYBOARD];
}

static bool is_output(const struct relay *r)
{
	return !is_keyboard(r);
}

static void close_source(struct relay *r)
{
	if (r->source_on)
		loop_remove(r->owner->loop, r->source);
	r->source_on = false;
	r->source = fd_close(r->source);
	pump_end(&r->pump, r == &r->owner->relays[RELAY_SCREEN] ? "\r\n" : "\n");
}

static void close_sink(struct relay *r)
{
	if (r->sink < 0)
		return;
	loop_remove(r->owner->loop, r->sink);
	/* Ours, but for the caller's stdout and stderr. */
	if (r >= &r->owner->relays[RELAY_SCREEN])
		fd_close(r->sink);
	r->sink = -1;
}

static void close_relay(struct relay *r)
{
	if (!r->active)
		return;
	close_source(r);
	close_sink(r);
	r->active = false;
}

/* Nobody is there any more who would read it. */
static void break_relay(struct relay *r)
{
	if (r >= &r->owner->relays[RELAY_SCREEN] && !r->owner->ending)
		hang_up(r->owner);
	else
		close_relay(r); /* the command gets SIGPIPE, as from the reader itself */
}

static void look_later(struct streams *s)
{
	s->foreground = false;
	s->look.at_ns = clock_mono_ns() + LOOK_MS * 1000000ull;
}

/* The source has nothing more to give. */
static void at_end_of(struct relay *r)
{
	if (is_output(r))
		close_source(r);
	else if (!terminal_is_foreground(&r->owner->terminal))
		look_later(r->owner);
	else
		hang_up(r->owner);
}

/* From pipe to pipe without a look at it. */
static void pass_on(struct relay *r)
{
	const char *data;
	ssize_t n = r->is_plain && r->source >= 0 && r->sink >= 0 && !r->owner->ending &&
		    pump_peek(&r->pump, &data) == 0;

	for (int i = 0; n > 0 && i < ROUNDS_MAX; i++)
		n = splice(r->source, NULL, r->sink, NULL, SPLICE_MAX,
			   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
}

static void fill(struct relay *r)
{
	char buf[PUMP_CHUNK];
	size_t room;

	pass_on(r);
	for (int i = 0; i < ROUNDS_MAX && r->source >= 0 && (room = pump_room(&r->pump)); i++) {
		ssize_t n;

		if (r->owner->ending && r->left < room)
			room = (size_t)r->left;
		if (!is_ready(r->source, POLLIN))
			n = -1, errno = EAGAIN;
		else
			n = read(r->source, buf, room);
		if (n > 0) {
			pump_put(&r->pump, buf, (size_t)n);
			r->left -= r->owner->ending ? (uint64_t)n : 0;
		} else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			if (r->owner->ending && errno == EAGAIN)
				close_source(r);
			return;
		} else {
			at_end_of(r);
			return;
		}
	}
}

/* A copy for later; where there is no room for it, there is none. */
static void keep(struct relay *r, const char *data, size_t len)
{
	int *kept = &r->owner->outer.kept;

	if (*kept > 0 && r->pump.limited && is_output(r) && fd_write_all(*kept, data, len) < 0)
		*kept = 0;
}

static void flush(struct relay *r)
{
	const char *data;
	size_t len;

	for (int i = 0; i < ROUNDS_MAX * 4 && r->sink >= 0 && (len = pump_peek(&r->pump, &data));
	     i++) {
		ssize_t n;

		if (!is_ready(r->sink, POLLOUT))
			return;
		n = write(r->sink, data, len < WRITE_MAX ? len : WRITE_MAX);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			break_relay(r);
		if (n <= 0)
			return;
		keep(r, data, (size_t)n);
		pump_take(&r->pump, (size_t)n);
	}
}

static void on_source(void *data, short revents)
{
	struct relay *r = data;

	(void)revents;
	turn(r->owner);
}

static void on_sink(void *data, short revents)
{
	struct relay *r = data;

	if (revents & (POLLERR | POLLHUP | POLLNVAL) && r->sink >= 0) {
		if (is_keyboard(r))
			close_relay(r);
		else
			break_relay(r);
	}
	turn(r->owner);
}

/* Tell the loop what this relay waits for. */
static void await(struct relay *r)
{
	const char *data;
	bool held = r->owner->held;
	bool wants = !held && r->source >= 0 && pump_room(&r->pump) > 0 &&
		     (is_output(r) || r->owner->foreground);
	short events = !held && pump_peek(&r->pump, &data) > 0 ? POLLOUT : 0;

	if (wants && !r->source_on)
		loop_add(r->owner->loop, r->source, POLLIN, on_source, r);
	else if (!wants && r->source_on)
		loop_remove(r->owner->loop, r->source);
	r->source_on = wants;
	if (r->sink >= 0 && events != r->sink_events)
		loop_set_events(r->owner->loop, r->sink, events);
	r->sink_events = events;
}

static bool is_idle(const struct relay *r)
{
	const char *data;

	return !r->active || r->sink < 0 || (r->source < 0 && pump_peek(&r->pump, &data) == 0);
}

static void turn(struct streams *s)
{
	bool idle = true;

	if (s->held) {
		for (int i = 0; i < RELAY_COUNT_; i++)
			if (s->relays[i].active)
				await(&s->relays[i]);
		return;
	}
	for (int i = 0; i < RELAY_COUNT_; i++) {
		struct relay *r = &s->relays[i];

		if (r->active && (is_output(r) || s->foreground))
			fill(r);
		if (r->active)
			flush(r);
		if (r->active)
			await(r);
		idle = idle && is_idle(r);
	}
	if (s->ending && idle)
		s->loop->done = true;
}

static void relay_start(struct relay *r)
{
	r->sink_events = 0;
	loop_add(r->owner->loop, r->sink, 0, on_sink, r);
	await(r);
}

static void on_look(void *data, short revents)
{
	struct streams *s = data;

	(void)revents;
	if (s->terminal.master >= 0)
		streams_resume(s);
}

/* Only after the clone: the command is to find these as they were. */
static void take_signals(const struct streams *s)
{
	sigset_t set;

	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	if (!s->terminal.like.interactive)
		return;
	/* Instead of being stopped we look where we are. */
	sigemptyset(&set);
	sigaddset(&set, SIGTTIN);
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void close_inner(struct streams *s)
{
	int *inner = s->inner.fd, *outer = s->outer.fd;

	if (inner[2] != outer[2] && inner[2] != inner[1])
		fd_close(inner[2]);
	if (inner[1] != outer[1])
		fd_close(inner[1]);
	s->inner = s->outer;
}

void streams_start(struct streams *s, struct loop *loop, int channel)
{
	s->loop = loop;
	s->channel = channel;
	if (!s->in_use)
		return;
	close_inner(s);
	take_signals(s);
	s->look = (struct loop_timer){.at_ns = LOOP_NEVER, .fn = on_look, .data = s};
	loop_add_timer(loop, &s->look);
	inlet_start(&s->inlet, loop);
	for (int i = 0; i < RELAY_COUNT_; i++)
		if (s->relays[i].active)
			relay_start(&s->relays[i]);
}

void streams_attach(struct streams *s, int master)
{
	struct terminal *t = &s->terminal;
	struct relay *screen = &s->relays[RELAY_SCREEN], *keyboard = &s->relays[RELAY_KEYBOARD];
	int source, sink;

	if (t->master >= 0 || master < 0 || !t->like.mask || s->ending) {
		fd_close(master);
		return;
	}
	(void)fcntl(master, F_SETFL, O_NONBLOCK);
	t->master = master;
	terminal_reopen(t, &s->outer);
	source = fcntl(master, F_DUPFD_CLOEXEC, 3);
	sink = fcntl(t->out, F_DUPFD_CLOEXEC, 3);
	screen->source = source;
	screen->sink = sink;
	screen->owner = s;
	screen->active = true;
	relay_start(screen);
	if (t->like.interactive) {
		source = fcntl(t->in, F_DUPFD_CLOEXEC, 3);
		sink = fcntl(master, F_DUPFD_CLOEXEC, 3);
		relay_init(s, keyboard, source, sink, PUMP_UNLIMITED);
		relay_start(keyboard);
	}
	streams_resume(s);
}

/* The caller's terminal is gone, and so is the command's. The kernel tells the
 * leader of the session, which is the warden; the command hears of it from us. */
static void hang_up(struct streams *s)
{
	close_relay(&s->relays[RELAY_SCREEN]);
	close_relay(&s->relays[RELAY_KEYBOARD]);
	s->terminal.master = fd_close(s->terminal.master);
	warden_send_order(s->channel, WARDEN_SIGNAL, SIGHUP);
	warden_send_order(s->channel, WARDEN_SIGNAL, SIGCONT);
}

void streams_suspend(struct streams *s)
{
	terminal_leave(&s->terminal);
}

void streams_resume(struct streams *s)
{
	struct terminal *t = &s->terminal;

	if (t->master < 0 || s->held)
		return;
	terminal_resize(t);
	if (!t->like.interactive)
		return;
	s->look.at_ns = LOOP_NEVER;
	s->foreground = terminal_enter(t);
	if (!s->foreground)
		look_later(s);
	turn(s);
}

void streams_hold(struct streams *s, bool held)
{
	if (!s->in_use || !s->loop || s->ending)
		return;
	s->held = held;
	if (held)
		terminal_leave(&s->terminal);
	else
		streams_resume(s);
	turn(s);
}

bool streams_end(struct streams *s)
{
	if (!s->in_use || !s->loop)
		return true;
	s->held = false;
	/* What was typed and not read is nobody's. */
	close_relay(&s->relays[RELAY_KEYBOARD]);
	inlet_close(&s->inlet);
	s->ending = true;
	for (int i = 0; i < RELAY_COUNT_; i++)
		s->relays[i].left = REST_MAX;
	turn(s);
	return s->loop->done;
}

uint64_t streams_release(struct streams *s)
{
	uint64_t dropped = 0;

	bookmark_close(&s->bookmark);
	if (!s->in_use)
		return 0;
	terminal_release(&s->terminal);
	inlet_close(&s->inlet);
	close_inner(s);
	for (int i = 0; i < RELAY_COUNT_; i++) {
		struct relay *r = &s->relays[i];

		dropped += r->pump.dropped;
		fd_close(r->source);
		if (i >= RELAY_SCREEN)
			fd_close(r->sink);
		pump_release(&r->pump);
	}
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	s->in_use = false;
	return dropped;
}
