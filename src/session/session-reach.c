/* SPDX-License-Identifier: MIT */
/* Which session is asked: found, started, replaced. */
#include "session/session-reach.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "config/workspace.h"
#include "session/session-place.h"
#include "session/session.h"

enum { OTHERS_MS = 60000, PAUSE_US = 5000 };

static int no_session(const char *name, struct err *err)
{
	err_set(err, ERR_USAGE, -ENOENT, "there is no session '%s' in this workspace", name);
	return err_hint(err, -ENOENT, "pale session start %s makes one; pale session list", name);
}

/* As a rule it is found without a look at anything else. */
static int reach_fast(const char *name, const char *workspace)
{
	_cleanup_(freep) char *runtime = runtime_dir_guess();
	_cleanup_(freep) char *root = runtime ? workspace_guess(workspace) : NULL;
	_cleanup_(freep) char *folder = root ? session_folder(runtime, root) : NULL;

	return folder ? session_connect(folder, name, NULL) : -ENOENT;
}

static int reach_slow(const char *name, const char *workspace, char **ret_folder, struct err *err)
{
	int r = session_locate(workspace, ret_folder, err);

	return r < 0 ? r : session_connect(*ret_folder, name, err);
}

int session_reach(const struct session_where *where, struct err *err)
{
	const char *name = where->session ? where->session : SESSION_DEFAULT;
	_cleanup_(freep) char *folder = NULL;
	int sock, r = session_name_check(name, err);

	if (r < 0)
		return r;
	sock = reach_fast(name, where->workspace);
	if (sock < 0)
		sock = reach_slow(name, where->workspace, &folder, err);
	return sock == -ENOENT || sock == -ECONNREFUSED ? no_session(name, err) : sock;
}

static bool is_absent(int sock)
{
	return sock == -ENOENT || sock == -ECONNREFUSED;
}

/* Somebody else starts the one in FOLDER, or it is just ending. */
static int await_other(const char *folder, struct err *err)
{
	_cleanup_(fd_closep) int parent = session_folder_open(folder, err);
	uint64_t until = clock_mono_ns() + OTHERS_MS * 1000000ull;
	int sock;

	if (parent < 0)
		return parent;
	do {
		if (clock_mono_ns() > until)
			return err_set(err, ERR_SYSTEM, -EBUSY,
				       "session '%s' is being started or ended: try again",
				       SESSION_DEFAULT);
		usleep(PAUSE_US);
		sock = session_connect(folder, SESSION_DEFAULT, err);
	} while (is_absent(sock) && session_is_living(parent, SESSION_DEFAULT));
	return sock;
}

/* The workspace's own session, started by whoever comes first. */
static int reach_or_start(const struct session_call *call, struct err *err)
{
	_cleanup_(freep) char *folder = NULL;
	struct run_request request = {.workspace = call->workspace, .ask.asks = call->asks};
	const struct session_wish wish = {.name = SESSION_DEFAULT, .lifeline = -1};
	int sock = reach_slow(SESSION_DEFAULT, call->workspace, &folder, err), r;

	for (int tries = 0; tries < 100 && is_absent(sock); tries++) {
		*err = (struct err){0};
		r = session_raise(&request, &wish, NULL, err);
		if (r < 0 && r != -EBUSY)
			return r;
		sock = r < 0 ? await_other(folder, err)
			     : session_connect(folder, SESSION_DEFAULT, err);
	}
	return sock;
}

int session_reach_first(const struct session_call *call, struct err *err)
{
	const char *name = call->session ? call->session : SESSION_DEFAULT;
	const struct session_where where = {call->session, call->workspace};
	int sock, r = session_name_check(name, err);

	if (r < 0)
		return r;
	if (call->session)
		return session_reach(&where, err);
	sock = reach_fast(name, call->workspace);
	return sock < 0 ? reach_or_start(call, err) : sock;
}

int session_reach_next(const struct session_call *call, int sock, struct err *err)
{
	struct err changed = *err;
	int r = sock < 0 ? 0 : session_stop_idle(sock, err);

	fd_close(sock);
	if (r == -EBUSY) {
		*err = changed;
		return err_hint(err, r, "commands still run in it; then: pale session stop %s",
				SESSION_DEFAULT);
	}
	if (r < 0)
		return r;
	*err = (struct err){0};
	return reach_or_start(call, err);
}
