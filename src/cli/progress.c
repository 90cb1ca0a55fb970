/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/output.h"

#define MS         1000000u
#define SHOW_AFTER (500 * MS)
#define SHOW_EVERY (100 * MS)

static volatile sig_atomic_t caught;
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction before[array_len(signals)];

static void on_signal(int number)
{
	caught = number;
}

void progress_begin(struct progress *progress, const char *doing, bool quiet)
{
	struct sigaction action = {.sa_handler = on_signal};

	*progress = (struct progress){
		.doing = doing,
		.began = clock_mono_ns(),
		.on = !quiet && isatty(STDERR_FILENO),
	};
	caught = 0;
	/* No SA_RESTART: what waits is to return. */
	for (size_t i = 0; i < array_len(signals); i++) {
		sigaction(signals[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

static void show(struct progress *progress, size_t done, size_t total, const char *path)
{
	_cleanup_(str_release) struct str out = {0};
	unsigned columns = terminal_columns(STDERR_FILENO);
	char head[64];
	size_t room, len = strlen(path);

	snprintf(head, sizeof(head), "%s %zu/%zu ", progress->doing, done, total);
	/* Names may be escaped to four times their length: a short line does for all. */
	room = columns > strlen(head) + 5 ? columns - strlen(head) - 5 : 0;
	if (len > room)
		path += len - room;
	str_appendf(&out, "\r%s", head);
	if (room > 0) {
		size_t start = out.len;

		str_append_escaped(&out, path, strlen(path));
		if (out.len > start + room)
			str_truncate(&out, start);
	}
	str_append(&out, "\033[K");
	fd_write_all(STDERR_FILENO, str_text(&out), out.len);
	progress->shown = true;
}

int progress_step(void *data, size_t done, size_t total, const char *path)
{
	struct progress *progress = data;
	uint64_t now;

	if (caught)
		return -ECANCELED;
	if (!progress->on)
		return 0;
	now = clock_mono_ns();
	if (now - progress->began >= SHOW_AFTER && now - progress->last >= SHOW_EVERY) {
		progress->last = now;
		show(progress, done, total, path ? path : "");
	}
	return 0;
}

void progress_end(struct progress *progress)
{
	static const char wipe[] = "\r\033[K";

	if (progress->shown)
		fd_write_all(STDERR_FILENO, wipe, sizeof(wipe) - 1);
	progress->shown = false;
	for (size_t i = 0; i < array_len(signals); i++)
		sigaction(signals[i], &before[i], NULL);
}

int progress_signal(void)
{
	return caught;
}

/* --- work that does not report --- */

static const char *waiting_for;
static volatile sig_atomic_t wait_shown;
static sigset_t mask_before;

static void on_alarm(int number)
{
	int before_errno = errno;

	(void)number;
	wait_shown = 1;
	fd_write_all(STDERR_FILENO, waiting_for, strlen(waiting_for));
	errno = before_errno;
}

static void set_alarm(unsigned ms)
{
	struct itimerval timer = {.it_value = {.tv_usec = (suseconds_t)ms * 1000}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

void progress_wait(const char *text)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < array_len(signals); i++)
		sigaddset(&mask, signals[i]);
	sigprocmask(SIG_BLOCK, &mask, &mask_before);
	wait_shown = 0;
	waiting_for = text;
	if (!isatty(STDERR_FILENO))
		return;
	sigaction(SIGALRM, &action, NULL);
	set_alarm(SHOW_AFTER / MS);
}

void progress_wait_end(void)
{
	static const char wipe[] = "\r\033[K";

	set_alarm(0);
	if (wait_shown)
		fd_write_all(STDERR_FILENO, wipe, sizeof(wipe) - 1);
	wait_shown = 0;
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
}
