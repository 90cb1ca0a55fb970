/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/size.h"
#include "base/sys.h"
#include "files/files.h"
#include "plan/host.h"
#include "session/fingerprint.h"
#include "session/keeper.h"
#include "session/session-place.h"
#include "session/session-proto.h"
#include "session/session.h"

enum {
	FACTS_MAX = 65536,
	ANSWER_MS = 5000,
	GONE_MS = 15000,
	PAUSE_US = 500,
	TICK_US = 4000, /* of the clock that files are dated by, about */
	TRIES = 10,
};

int (*session_tool)(char *const *argv) = files_main;

static int no_place(struct err *err)
{
	err_set(err, ERR_SYSTEM, -ENOENT, "there is no place for sessions: no home is known");
	return err_hint(err, -ENOENT, "set XDG_RUNTIME_DIR or HOME to a folder of your own");
}

int session_locate(const char *workspace, char **ret_folder, struct err *err)
{
	struct user user = {0};
	struct workspace ws = {0};
	int r = user_probe(&user, err);

	if (r == 0)
		r = workspace_find(workspace, &user, &ws, err);
	if (r == 0 && !user.runtime_dir)
		r = no_place(err);
	if (r == 0) {
		*ret_folder = session_folder(user.runtime_dir, ws.root);
		r = *ret_folder ? 0 : err_oom(err);
	}
	workspace_release(&ws);
	user_release(&user);
	return r;
}

static int choose_idle(const struct run *run, const char *asked, uint64_t *ret, struct err *err)
{
	if (!asked) {
		*ret = keeper_idle(&run->context.config);
		return 0;
	}
	if (duration_parse(asked, ret, err) < 0 || *ret == 0) {
		if (err->message[0])
			err_wrap(err, 0, "--idle");
		else
			err_set(err, ERR_USAGE, 0, "--idle: it would end at once");
		err->code = ERR_USAGE;
		return -EINVAL;
	}
	return 0;
}

/* Whatever is changed from before the first look on is another file by identity or time. */
static int prepare_once(struct run *run, const struct run_request *request,
			struct fingerprint *print, struct err *err)
{
	struct timespec since = clock_now(CLOCK_REALTIME_COARSE);
	_cleanup_(context_release) struct context before = {0};
	bool known = context_load(request->workspace, &before, NULL) == 0;
	const char *changed = NULL;
	int r = known ? fingerprint_take(&before, print, err) : 0;

	*run = (struct run){0};
	if (r == 0)
		r = run_prepare(run, request, err);
	if (r < 0)
		return r;
	if (!known || !str_eq(before.workspace.root, run->context.workspace.root))
		changed = run->context.workspace_file;
	if (!changed)
		changed = fingerprint_newer(print, since);
	if (!changed)
		changed = fingerprint_changed(print);
	return changed ? err_set(err, ERR_CONFIG, -EAGAIN, "%s has changed just now: try again",
				 changed)
		       : 0;
}

/* A file that was written a moment ago cannot be told from what it may become in the next. */
static int prepare(struct run *run, const struct run_request *request, struct fingerprint *print,
		   struct err *err)
{
	int r = prepare_once(run, request, print, err);

	for (int i = 1; r == -EAGAIN && i < TRIES; i++) {
		usleep(TICK_US);
		run_release(run);
		fingerprint_release(print);
		*err = (struct err){0};
		r = prepare_once(run, request, print, err);
	}
	return r;
}

int session_raise(struct run_request *request, const struct session_wish *wish,
		  struct str *ret_facts, struct err *err)
{
	static char *nothing[] = {"session", NULL};
	/* Neither is released: a keeper that was forked has them for good. */
	static struct run run;
	static struct site site;
	static struct fingerprint print;
	struct keeper_ask ask = {
		.name = wish->name, .lifeline = wish->lifeline, .fingerprint = &print};
	_cleanup_(freep) char *folder = NULL;
	int r = session_name_check(wish->name, err);

	if (r < 0)
		return r;
	site = (struct site){0};
	request->args = nothing;
	request->site = &site;
	request->tool = session_tool;
	if (!request->ask.stage)
		request->ask.stage = wish->name;
	r = prepare(&run, request, &print, err);
	if (r == 0)
		r = choose_idle(&run, wish->idle, &ask.idle_ms, err);
	if (r == 0 && !run.context.user.runtime_dir)
		r = no_place(err);
	if (r < 0)
		return r;
	folder = session_folder(run.context.user.runtime_dir, run.context.workspace.root);
	if (!folder)
		return err_oom(err);
	ask.folder = folder;
	r = keeper_start(&run, request, &ask, err);
	return r < 0 || !ret_facts ? r : session_facts(folder, wish->name, ret_facts, err);
}

int session_facts(const char *folder, const char *name, struct str *ret, struct err *err)
{
	_cleanup_(freep) char *file = str_printf("%s/" SESSION_FILE, name);
	_cleanup_(fd_closep) int parent = session_folder_open(folder, err);
	int r;

	if (!file)
		return err_oom(err);
	if (parent < 0)
		return parent;
	r = file_read(parent, file, FACTS_MAX, ret, err);
	while (r == 0 && ret->len > 0 && ret->data[ret->len - 1] == '\n')
		str_truncate(ret, ret->len - 1);
	return r;
}

/* One answer, in bounded time. */
static int ask_stop(int sock, bool if_idle, struct err *err)
{
	static struct session_buffer buffer;
	struct session_message m;
	struct pollfd pfd = {.fd = sock, .events = POLLIN};
	struct session_cursor c;
	int r = session_send(sock, SESSION_STOP, if_idle ? SESSION_IF_IDLE : 0, NULL, NULL, 0, 0);

	if (r < 0 && r != -EPIPE && r != -ECONNRESET) /* it may have said why before */
		return r;
	if (poll(&pfd, 1, ANSWER_MS) <= 0)
		return -ETIMEDOUT;
	r = session_receive(sock, &buffer, &m, MSG_DONTWAIT);
	/* Who is refused before the request was read hears of that first, then why. */
	if (r == -ECONNRESET)
		r = session_receive(sock, &buffer, &m, MSG_DONTWAIT);
	if (r < 0)
		return r == -EPIPE ? 0 : r;
	c = session_cursor(&m);
	if (m.head.kind == SESSION_ERROR && session_take_failure(&c, err))
		r = err->errnum ? -err->errnum : -EBUSY;
	session_message_release(&m, &buffer);
	return r;
}

/* The process that listens at the other end of SOCK. The lock says that it lives, and the
 * kernel which one it is: no number that somebody wrote down. */
static int open_keeper(int sock, int parent, const char *name)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	_cleanup_(fd_closep) int pidfd = -1;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
		return -1;
	pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	return pidfd >= 0 && session_is_living(parent, name) ? take_fd(pidfd) : -1;
}

static bool await_end(int parent, const char *name, unsigned ms)
{
	uint64_t until = clock_mono_ns() + ms * 1000000ull;

	while (session_is_living(parent, name)) {
		if (clock_mono_ns() > until)
			return false;
		usleep(PAUSE_US);
	}
	return true;
}

static bool await_process(int pidfd, unsigned ms)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	return pidfd < 0 || poll(&ended, 1, (int)ms) > 0;
}

/* R: of being asked. It has a while to clean up; then it has not. Where its process is known, it is
 * not asked for by name, which another session may have by now. */
static int see_off(int pidfd, int parent, const char *name, int r, struct err *err)
{
	if ((r < 0 || !await_process(pidfd, GONE_MS)) && pidfd >= 0)
		(void)sys_pidfd_send_signal(pidfd, SIGKILL);
	if (pidfd >= 0 ? !await_process(pidfd, ANSWER_MS) : !await_end(parent, name, ANSWER_MS))
		return err_set(err, ERR_SYSTEM, -ETIMEDOUT, "session '%s' does not end", name);
	(void)session_sweep(parent, name);
	return 0;
}

/* No other process is waited for: another session may have the name by now. */
int session_stop_idle(int sock, struct err *err)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);
	_cleanup_(fd_closep) int pidfd = -1;
	int r;

	(void)getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	r = ask_stop(sock, true, err);
	if (r == -EBUSY || (r == 0 && await_process(pidfd, GONE_MS)))
		return r;
	return err_set(err, ERR_SYSTEM, -ETIMEDOUT, "the session does not end");
}

int session_stop(const char *folder, const char *name, struct err *err)
{
	_cleanup_(fd_closep) int parent = session_folder_open(folder, err);
	_cleanup_(fd_closep) int sock = -1;
	_cleanup_(fd_closep) int pidfd = -1;
	uint64_t until = clock_mono_ns() + ANSWER_MS * 1000000ull;

	if (parent < 0)
		return parent;
	if (!session_is_living(parent, name))
		return session_sweep(parent, name) ? 0 : -ENOENT;
	/* While that fails it does not stand yet, or no more. */
	while ((sock = session_connect(folder, name, err)) == -ENOENT || sock == -ECONNREFUSED) {
		if (!session_is_living(parent, name))
			return session_sweep(parent, name), 0;
		if (clock_mono_ns() > until)
			return err_set(err, ERR_SYSTEM, -EBUSY,
				       "session '%s' is being started or ended: try again", name);
		usleep(PAUSE_US);
	}
	if (sock < 0)
		return sock;
	pidfd = open_keeper(sock, parent, name);
	return see_off(pidfd, parent, name, ask_stop(sock, false, err), err);
}
