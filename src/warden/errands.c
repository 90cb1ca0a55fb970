/* SPDX-License-Identifier: MIT */
#include "warden/errands.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/lean.h"
#include "base/own-args.h"
#include "confine/landlock.h"
#include "plan/plan.h"
#include "warden/errand.h"
#include "warden/holder.h"
#include "warden/kin.h"
#include "warden/launch.h"
#include "warden/parcel.h"
#include "warden/protocol.h"
#include "warden/sockets.h"
#include "warden/spare.h"
#include "warden/warden.h"

enum {
	REAP_MAX = 1000,
	ORDERS_MAX = 16,             /* in one turn */
	LOOK_MS = 2,                 /* between two looks for kin that is to end */
	PAUSE_NS = 150000,           /* without work, and there is time for a spare */
	KIN_END_MS = 2000,           /* what is left then belongs to the sandbox */
	TABLE_MAX = ERRANDS_MAX + 8, /* with spares, of which some may just be ending */
};

struct running {
	uint32_t id;       /* 0: free */
	pid_t leader;      /* the errand's own process */
	pid_t child;       /* ours: the same, or the holder of its terminal */
	int pipe;          /* the holder's; -1 */
	bool ending;       /* its kin is to end with it */
	bool over;         /* it has: `word` says how */
	bool was_spare;    /* and may be one yet: nobody inside */
	int signal;        /* what its kin gets; 0: nothing more */
	uint64_t until_ns; /* its kin is looked for */
	struct holder_word word;
};

static struct running table[TABLE_MAX];
static size_t table_len; /* no living one from here on */

static bool quiet = true; /* and told so */

static struct running *find_id(uint32_t id)
{
	for (size_t i = 0; i < table_len; i++)
		if (table[i].id == id)
			return &table[i];
	return NULL;
}

static struct running *find_child(pid_t pid)
{
	for (size_t i = 0; i < table_len; i++)
		if (table[i].id && !table[i].over && table[i].child == pid)
			return &table[i];
	return NULL;
}

static struct running *find_free(void)
{
	for (size_t i = 0; i < table_len; i++)
		if (!table[i].id)
			return &table[i];
	return table_len < TABLE_MAX ? &table[table_len++] : NULL;
}

static void let_go(struct running *e)
{
	*e = (struct running){0};
	while (table_len > 0 && !table[table_len - 1].id)
		table_len--;
}

/* -- How it ends ---------------------------------------------------------- */

static void report_end(const struct warden *w, struct running *e)
{
	struct warden_report report = {.kind = WARDEN_EXITED,
				       .status = e->word.status,
				       .id = e->id,
				       .cpu_ms = e->word.cpu_ms,
				       .memory = e->word.memory,
				       .written = e->word.written};

	quiet = false; /* a spare may have been an errand, who knows since when */
	let_go(e);
	if (warden_send_report(w->job->channel, &report) < 0)
		warden_orphaned(w);
}

/* A holder that was killed could not say how its errand ended: with it. */
static void note_end(struct running *e, int status, const struct rusage *usage)
{
	e->over = true;
	e->word = holder_word_of(status, usage);
	if (e->pipe < 0)
		return;
	if (read(e->pipe, &e->word, sizeof(e->word)) != (ssize_t)sizeof(e->word)) {
		e->word = (struct holder_word){.status = SIGKILL};
		(void)kill(-e->leader, SIGKILL);
	}
	e->pipe = fd_close(e->pipe);
}

static void take_end(const struct warden *w, pid_t pid, int status, const struct rusage *usage)
{
	struct running *e = find_child(pid);

	if (!e)
		return; /* what an errand left behind */
	note_end(e, status, usage);
	if (!e->ending) {
		report_end(w, e);
		return;
	}
	e->signal = SIGKILL;
	e->until_ns = clock_mono_ns() + KIN_END_MS * 1000000ull;
}

/* Spares that have become no program. One that was stopped, but not by order, would make its
 * errand wait. */
static void reap_spares(const struct warden *w)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED | __WCLONE, &usage)) > 0)
		if (!WIFSTOPPED(status))
			take_end(w, pid, status, &usage);
		else if (!w->hushed)
			(void)kill(pid, SIGKILL);
}

/* True when more may be there: in a flood orders are looked at, too. */
static bool reap(const struct warden *w)
{
	reap_spares(w);
	for (int i = 0; i < REAP_MAX; i++) {
		struct rusage usage;
		int status;
		pid_t pid = wait4(-1, &status, WNOHANG, &usage);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return false;
		take_end(w, pid, status, &usage);
	}
	return true;
}

/* What was told to end by SIGKILL is looked for until it is gone. True: look again. */
static bool end_kin(const struct warden *w)
{
	bool more = false;

	for (size_t i = 0; i < table_len; i++) {
		struct running *e = &table[i];
		int n;

		if (!e->id || e->signal != SIGKILL)
			continue;
		n = kin_signal(e->leader, e->child, SIGKILL);
		if (e->over && (n <= 0 || clock_mono_ns() >= e->until_ns))
			report_end(w, e);
		else if (clock_mono_ns() >= e->until_ns)
			e->signal = 0; /* the kernel cannot end it now: its end will be heard of */
		else
			more = true;
	}
	return more;
}

static bool has_errands(void)
{
	for (size_t i = 0; i < table_len; i++)
		if (table[i].id && !table[i].was_spare)
			return true;
	return false;
}

/* Without children nobody else is inside: all that is orphaned comes to us. A spare is not
 * waited for here until it is a program. */
static void tell_quiet(const struct warden *w)
{
	struct warden_report report = {.kind = WARDEN_QUIET};

	if (quiet || has_errands() ||
	    waitid(P_ALL, 0, &(siginfo_t){0}, WNOHANG | WEXITED | WNOWAIT) == 0 || errno != ECHILD)
		return;
	quiet = true;
	if (warden_send_report(w->job->channel, &report) < 0)
		warden_orphaned(w);
}

/* -- How it begins -------------------------------------------------------- */

static int start(const struct warden *w, struct parcel *p, struct running *e, struct err *err)
{
	struct parcel_words words = {0};
	struct launch command;
	int r = parcel_open(p, &words, err);

	if (r < 0)
		return r;
	command = launch_of(p, &words);
	e->pipe = -1;
	if (command.is_tool && !w->job->tool) {
		r = err_set(err, ERR_SYSTEM, -ENOTSUP, "this sandbox has no tools");
	} else if (p->order.pty.mask && p->order.pty.interactive) {
		r = holder_start(w->job, &command, &p->order.pty, &e->leader, &e->pipe, err);
	} else {
		command.screen = p->order.pty.mask ? &p->order.pty : NULL;
		if (p->order.order.value & ERRAND_HELD)
			r = holder_start(w->job, &command, NULL, &e->leader, &e->pipe, err);
		else
			r = e->leader = launch_command(w->job, &command, err);
	}
	e->child = r;
	parcel_words_release(&words);
	return r < 0 ? r : 0;
}

static void take_errand(const struct warden *w, struct parcel *p)
{
	struct warden_report failed = {.kind = WARDEN_FAILED, .id = p->order.order.id};
	struct running *e = NULL;
	int r = 0;

	quiet = false;
	if (p->order.order.id == 0 || find_id(p->order.order.id))
		r = err_set(&failed.err, ERR_SYSTEM, -EEXIST, "an errand with this id is there");
	if (r == 0)
		e = find_free();
	if (r == 0 && !e)
		r = err_set(&failed.err, ERR_SYSTEM, -EAGAIN, "too many commands at once");
	if (r == 0) {
		e->id = p->order.order.id;
		r = start(w, p, e, &failed.err);
		if (r < 0)
			let_go(e);
	}
	for (size_t i = 0; i < p->fds_len; i++)
		fd_close(p->fds[i]);
	if (r < 0 && warden_send_report(w->job->channel, &failed) < 0)
		warden_orphaned(w);
}

/* Made when nothing else is to be done: whoever waits for the last errand is to go first. */
static struct {
	uint32_t id;
	int sock; /* -1: none is wanted */
} wanted = {.sock = -1};

static void want_spare(const struct warden *w, struct parcel *p)
{
	fd_close(wanted.sock);
	wanted.id = p->order.order.id;
	wanted.sock = p->fds_len > 0 && spare_is_worth(w->job) ? p->fds[--p->fds_len] : -1;
	while (p->fds_len > 0)
		fd_close(p->fds[--p->fds_len]);
}

/* Without one errands start as ever. */
static void make_spare(const struct warden *w)
{
	struct running *e = find_free();
	pid_t pid = e ? spare_start(w->job, wanted.id, wanted.sock) : 0;

	if (pid > 0)
		*e = (struct running){.id = wanted.id,
				      .leader = pid,
				      .child = pid,
				      .pipe = -1,
				      .was_spare = true};
	else if (e)
		let_go(e);
	wanted.sock = fd_close(wanted.sock);
}

/* -- Orders --------------------------------------------------------------- */

static void obey(struct warden *w, const struct warden_order *order)
{
	struct warden_report heard = {.kind = WARDEN_HEARD, .id = order->id};
	struct running *e = order->id ? find_id(order->id) : NULL;

	if (order->value < 0 || order->value >= NSIG)
		return;
	if (order->kind == WARDEN_SIGNAL_ALL) {
		if (order->value == SIGSTOP || order->value == SIGCONT)
			w->hushed = order->value == SIGSTOP;
		warden_signal_all(w, order->value);
	}
	if (order->kind == WARDEN_MORE_SOCKETS && sockets_send_more(w->job->channel) < 0)
		warden_orphaned(w);
	if (!e)
		return; /* it ended meanwhile */
	if (order->kind == WARDEN_SIGNAL && !e->over)
		(void)kill(-e->leader, order->value);
	if (order->kind != WARDEN_SIGNAL_KIN)
		return;
	e->ending = true;
	if (e->child != e->leader && !e->over)
		(void)kill(e->child, HOLDER_END);
	e->signal = order->value;
	e->until_ns = clock_mono_ns() + KIN_END_MS * 1000000ull;
	if (order->value == SIGKILL) { /* until none is left */
		if (warden_send_report(w->job->channel, &heard) < 0)
			warden_orphaned(w);
		return;
	}
	(void)kin_signal(e->leader, e->child, order->value);
	/* A stopped process acts on it only when it goes on. */
	(void)kin_signal(e->leader, e->child, SIGCONT);
}

static void take_orders(struct warden *w)
{
	static struct parcel parcel;

	for (int i = 0; i < ORDERS_MAX; i++) {
		int r = parcel_receive(w->job->channel, &parcel, MSG_DONTWAIT);

		if (r == -EAGAIN)
			return;
		/* A supervisor that speaks otherwise is none of ours. */
		if (r < 0)
			warden_orphaned(w);
		if (parcel.order.order.kind == WARDEN_ERRAND)
			take_errand(w, &parcel);
		else if (parcel.order.order.kind == WARDEN_SPARE)
			want_spare(w, &parcel);
		else
			obey(w, &parcel.order.order);
	}
}

/* What the keeper ignores, commands would. */
static void reset_signals(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			(void)sigaction(sig, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

/* What is needed of the job, where the heap is not: that goes, with the plan and all that
 * it was made from. */
static void settle_down(struct warden *w)
{
	static char scratch[PATH_MAX];
	static struct landlock landlock;
	static struct warden_job job;
	static struct op observed;

	job = *w->job;
	job.argv = job.env = NULL;
	if (job.landlock) {
		landlock = *job.landlock;
		job.landlock = &landlock;
	}
	if (job.observed) {
		observed = (struct op){.kind = job.observed->kind, .flags = job.observed->flags};
		job.observed = &observed;
	}
	if (job.scratch && strlen(job.scratch) < sizeof(scratch))
		job.scratch = memcpy(scratch, job.scratch, strlen(job.scratch) + 1);
	w->job = &job;
	warden_forget_environment();
	own_args_forget();
	lean_forget_heap();
}

/* For ever: then with as little memory as can be. */
static int await(const struct warden *w, struct pollfd fds[2], int ms)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int n;

	if (wanted.sock >= 0 && ms < 0) {
		n = ppoll(fds, 2, &pause, NULL);
		if (n == 0)
			make_spare(w);
		return n;
	}
	n = poll(fds, 2, ms < 0 ? LEAN_AFTER_MS : ms);
	return n == 0 && ms < 0 ? lean_poll(fds, 2, -1) : n;
}

_Noreturn void errands_serve(struct warden *w, int children)
{
	struct warden_report ready = {.kind = WARDEN_STARTING};
	struct pollfd fds[2] = {{.fd = children, .events = POLLIN},
				{.fd = w->job->channel, .events = POLLIN}};
	bool more = false, looks = false;

	reset_signals();
	settle_down(w);
	if (launch_keep_limits(&ready.err) < 0)
		ready.kind = WARDEN_FAILED;
	if (warden_send_report(w->job->channel, &ready) < 0 || ready.kind == WARDEN_FAILED)
		warden_orphaned(w);
	for (;;) {
		struct signalfd_siginfo info;

		if (await(w, fds, more ? 0 : looks ? LOOK_MS : -1) < 0 && errno != EINTR)
			warden_end(w, -1);
		if (read(children, &info, sizeof(info)) < 0 && errno != EAGAIN && errno != EINTR)
			warden_end(w, -1);
		more = reap(w);
		if (fds[1].revents)
			take_orders(w);
		looks = end_kin(w);
		tell_quiet(w);
	}
}
