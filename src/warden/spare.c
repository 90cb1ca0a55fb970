/* SPDX-License-Identifier: MIT */
#include "warden/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "confine/landlock.h"
#include "warden/exec.h"
#include "warden/launch.h"
#include "warden/parcel.h"
#include "warden/protocol.h"
#include "warden/warden.h"

enum { CHANNEL_MIN = 16 };

bool spare_is_worth(const struct warden_job *job)
{
	return job->observed && job->owns_pidns;
}

/* Signals are not blocked while it waits: one that is sent to it does its work now, and not
 * to the errand. */
static int prepare(struct warden_job *job, struct landlock *own, uint32_t id, struct err *err)
{
	int r = 0;

	/* What the errand brings is put on low numbers, and an error is still to be told. */
	job->channel = fcntl(job->channel, F_DUPFD_CLOEXEC, CHANNEL_MIN);
	if (job->channel < 0)
		return err_sys(err, -errno, "keep the channel");
	if (job->landlock) {
		r = landlock_copy(job->landlock, own, err);
		job->landlock = own;
	}
	return r < 0 ? r : launch_prepare_ahead(job, id, err);
}

static int await(int sock, struct parcel *p)
{
	int r;

	do
		r = parcel_receive(sock, p, 0);
	while (r == -EAGAIN); /* a signal that does nothing */
	return r == 0 && p->order.order.kind != WARDEN_ERRAND ? -EPIPE : r;
}

/* Without the word nobody is there who would know of the errand. */
static void await_word(int sock)
{
	char word;
	ssize_t n;

	do
		n = recv(sock, &word, sizeof(word), 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		_exit(1);
}

static void become(const struct warden_job *job, int sock, struct parcel *p, struct err *err)
{
	struct parcel_words words;
	struct launch command;

	if (parcel_open(p, &words, err) < 0)
		return;
	command = launch_of(p, &words);
	if (launch_prepare_rest(job, &command, err) < 0)
		return;
	await_word(sock);
	exec_error(exec_program(command.argv, command.env), command.argv[0], err);
}

_Noreturn static void live(const struct warden_job *whose, uint32_t id, int sock)
{
	static struct parcel parcel;
	struct warden_report failed = {.kind = WARDEN_FAILED, .id = id};
	struct warden_job job = *whose;
	struct landlock own;

	/* The supervisor sees nothing but its end. */
	if (prepare(&job, &own, id, &failed.err) < 0 || await(sock, &parcel) < 0)
		_exit(1);
	become(&job, sock, &parcel, &failed.err);
	(void)warden_send_report(job.channel, &failed);
	_exit(1);
}

pid_t spare_start(const struct warden_job *job, uint32_t id, int sock)
{
	long pid = syscall(SYS_clone, (long)SPARE_SIGNAL, NULL, NULL, NULL, NULL);

	if (pid == 0)
		live(job, id, sock);
	return pid < 0 ? -errno : (pid_t)pid;
}
