/* SPDX-License-Identifier: MIT */
/*
 * serve - one process, one loop: the client, the workers, signals, the configuration.
 *
 * When the client closes our input, calls get a moment to end, and are ended then. When
 * it reads no more, or a signal comes, they are ended at once.
 */
#include "mcp/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/check-child.h"
#include "api/context.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "mcp/server.h"
#include "mcp/tools.h"

#define MS 1000000ull

enum {
	GRACE_MS = 1000, /* for calls, when the input has ended */
	END_MS = 6000,   /* for workers that were told to end */
	FLUSH_MS = 1000, /* for answers that nobody takes */
	READ_SIZE = 65536,
	FD_IN = 0,
	FD_OUT,
	FD_SIGNAL,
	FD_CONFIG,
	FD_COUNT,
};

struct loop_state {
	struct server *server;
	struct context *context;
	const struct serve *serve;
	int signals, watch;
	struct stat seen[LAYER_COUNT_]; /* the configuration files */
	bool in_ended, out_broken, told;
	uint64_t end_ns; /* when the phase that we are in is over; 0: none */
};

/* --- the configuration --- */

static const char *config_path(const struct context *context, int layer)
{
	switch ((enum layer)layer) {
	case LAYER_SYSTEM:
		return SYSTEM_CONFIG;
	case LAYER_USER:
		return context->user_file;
	case LAYER_WORKSPACE:
		return context->workspace_file;
	case LAYER_COUNT_:
		break;
	}
	return NULL;
}

static void look(const struct context *context, struct stat seen[LAYER_COUNT_])
{
	for (int i = 0; i < LAYER_COUNT_; i++) {
		const char *path = config_path(context, i);

		if (!path || stat(path, &seen[i]) < 0)
			seen[i] = (struct stat){0};
	}
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Folders: files are replaced as a whole, and may not be there yet. */
static void watch_folders(struct loop_state *state)
{
	state->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	for (int i = 0; i < LAYER_COUNT_ && state->watch >= 0; i++) {
		const char *path = config_path(state->context, i);
		const char *slash = path ? strrchr(path, '/') : NULL;
		char folder[PATH_MAX];

		if (!slash || slash == path || (size_t)(slash - path) >= sizeof(folder))
			continue;
		memcpy(folder, path, (size_t)(slash - path));
		folder[slash - path] = '\0';
		(void)inotify_add_watch(state->watch, folder,
					IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
						IN_ATTRIB | IN_ONLYDIR);
	}
}

/* A configuration that is in error changes nothing: calls will say so themselves. */
static void check_config(struct loop_state *state)
{
	struct stat now[LAYER_COUNT_];
	struct context context = {0};
	bool same = true;

	look(state->context, now);
	for (int i = 0; i < LAYER_COUNT_; i++)
		same = same && is_same(&now[i], &state->seen[i]);
	if (same)
		return;
	memcpy(state->seen, now, sizeof(now));
	if (context_load(state->serve->workspace, &context, NULL) == 0)
		server_reconfigure(state->server, tools_exposed(&context.config));
	context_release(&context);
}

/* A workspace is written to all the time; only one name matters. */
static bool names_config(const char *buf, size_t len)
{
	for (size_t at = 0; at + sizeof(struct inotify_event) <= len;) {
		const struct inotify_event *event = (const void *)(buf + at);

		if (event->mask & IN_Q_OVERFLOW || (event->len && str_eq(event->name, "pale.toml")))
			return true;
		at += sizeof(*event) + event->len;
	}
	return false;
}

static void take_changes(struct loop_state *state)
{
	char buf[16384] __attribute__((aligned(8)));
	bool ours = false;
	ssize_t n;

	while ((n = read(state->watch, buf, sizeof(buf))) > 0)
		ours = ours || names_config(buf, (size_t)n);
	if (ours)
		check_config(state);
}

/* --- the client --- */

static void take_input(struct loop_state *state)
{
	static char buf[READ_SIZE];
	ssize_t n;

	/* Not every change is told by its folder: a link may lead anywhere. */
	check_config(state);
	n = read(STDIN_FILENO, buf, sizeof(buf));

	if (n > 0) {
		(void)server_feed(state->server, buf, (size_t)n);
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		server_feed_end(state->server);
		state->in_ended = true;
	}
}

/* Never blocks: what poll() calls writable takes PIPE_BUF bytes, and a socket is asked. */
static ssize_t put_some(const char *bytes, size_t len)
{
	ssize_t n = send(STDOUT_FILENO, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n >= 0 || errno != ENOTSOCK)
		return n;
	return write(STDOUT_FILENO, bytes, len > PIPE_BUF ? PIPE_BUF : len);
}

static void put_output(struct loop_state *state)
{
	struct pollfd fd = {.fd = STDOUT_FILENO, .events = POLLOUT};
	size_t len;
	const char *bytes;

	for (;;) {
		ssize_t n;

		bytes = server_output(state->server, &len);
		if (len == 0 || state->out_broken || poll(&fd, 1, 0) <= 0)
			return;
		n = put_some(bytes, len);
		if (n > 0)
			server_sent(state->server, (size_t)n);
		else if (n == 0 || (errno != EINTR && errno != EAGAIN))
			state->out_broken = true;
		else if (errno == EAGAIN)
			return;
	}
}

/* --- the loop --- */

static int wait_ms(const struct loop_state *state, uint64_t now)
{
	uint64_t due = server_due(state->server, now);

	if (state->end_ns > 0 && state->end_ns < due)
		due = state->end_ns;
	if (due == UINT64_MAX)
		return -1;
	return due <= now ? 0 : (int)((due - now + MS - 1) / MS);
}

static int wait_for(struct loop_state *state)
{
	static struct pollfd fds[FD_COUNT + SERVER_FDS];
	size_t pending;
	bool reads = !state->in_ended && !state->told && server_wants_input(state->server);

	(void)server_output(state->server, &pending);
	fds[FD_IN] = (struct pollfd){.fd = state->in_ended ? -1 : STDIN_FILENO,
				     .events = reads ? POLLIN : POLLRDHUP};
	fds[FD_OUT] = (struct pollfd){.fd = state->out_broken ? -1 : STDOUT_FILENO,
				      .events = pending ? POLLOUT : 0};
	fds[FD_SIGNAL] = (struct pollfd){.fd = state->signals, .events = POLLIN};
	fds[FD_CONFIG] = (struct pollfd){.fd = state->watch, .events = POLLIN};
	if (poll(fds, FD_COUNT + server_fds(state->server, fds + FD_COUNT),
		 wait_ms(state, clock_mono_ns())) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[FD_OUT].revents & (POLLERR | POLLNVAL))
		state->out_broken = true;
	if (fds[FD_SIGNAL].revents)
		state->told = true;
	if (fds[FD_CONFIG].revents)
		take_changes(state);
	if (fds[FD_IN].revents && reads)
		take_input(state);
	else if (fds[FD_IN].revents)
		state->in_ended = true; /* it takes no answers, and is gone */
	return 0;
}

/* Until the client goes. */
static int serve_client(struct loop_state *state)
{
	int r = 0;

	while (r == 0 && !state->told && !state->out_broken) {
		uint64_t now = clock_mono_ns();
		size_t pending;

		r = server_turn(state->server, now);
		put_output(state);
		(void)server_output(state->server, &pending);
		if (state->in_ended && state->end_ns == 0)
			state->end_ns = now + GRACE_MS * MS;
		if (state->in_ended &&
		    (now >= state->end_ns || (server_calls(state->server) == 0 && pending == 0)))
			break;
		if (r == 0)
			r = wait_for(state);
	}
	return r;
}

/* Workers first, then what is left to say. */
static void wind_up(struct loop_state *state)
{
	uint64_t now = clock_mono_ns();
	struct pollfd fds[SERVER_FDS + 1];
	size_t len;

	state->end_ns = now + END_MS * MS;
	while (server_works(state->server) && now < state->end_ns) {
		server_end_calls(state->server, now);
		len = server_fds(state->server, fds);
		(void)poll(fds, len, wait_ms(state, now));
		now = clock_mono_ns();
		if (server_turn(state->server, now) < 0)
			break;
	}
	state->end_ns = now + FLUSH_MS * MS;
	for (;;) {
		put_output(state);
		(void)server_output(state->server, &len);
		now = clock_mono_ns();
		if (len == 0 || state->out_broken || now >= state->end_ns)
			return;
		fds[0] = (struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT};
		(void)poll(fds, 1, wait_ms(state, now));
	}
}

/* --- beginning --- */

static int open_signals(struct loop_state *state, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	/* A parent that ignored it has us inherit that, and no child could be waited for. */
	(void)sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	(void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, -errno, "sigprocmask");
	state->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return state->signals < 0 ? err_sys(err, -errno, "signalfd") : 0;
}

static const char *text_setting(const struct config *config, const char *table, const char *key,
				const char *otherwise)
{
	const char *const path[] = {table, key, NULL};
	struct setting setting;

	return config_get(config, path, &setting) ? setting.value->string.bytes : otherwise;
}

static bool has_history(const struct config *config)
{
	static const char *const path[] = {"history", "enabled", NULL};
	struct setting setting;

	return !config_get(config, path, &setting) || setting.value->boolean;
}

static int run(struct loop_state *state, const char *program, struct err *err)
{
	const struct serve *serve = state->serve;
	const struct config *config = &state->context->config;
	const char *mode = serve->mode ? serve->mode
				       : text_setting(config, "sandbox", "mode", "direct");
	struct server_setup setup = {
		.program = program,
		.workspace = state->context->workspace.root,
		.session = &serve->boundary,
		.staged = str_eq(mode, "staged"),
		.place = &state->context->workspace,
		.has_history = has_history(config),
		.preset = text_setting(config, "sandbox", "preset", "workspace"),
		.exposed = tools_exposed(config),
	};
	int r;

	state->server = server_new(&setup);
	if (!state->server)
		return err_oom(err);
	watch_folders(state);
	r = serve_client(state);
	if (r == 0)
		wind_up(state);
	server_clean(state->server);
	return r < 0 ? err_sys(err, r, "mcp") : 0;
}

/* What changes while it is read is another file then. */
static int load(const struct serve *serve, struct stat seen[LAYER_COUNT_], struct context *ret,
		struct err *err)
{
	_cleanup_(context_release) struct context before = {0};
	int r = context_load(serve->workspace, &before, err);

	if (r < 0)
		return r;
	look(&before, seen);
	return context_load(serve->workspace, ret, err);
}

int mcp_serve(const struct serve *serve, struct err *err)
{
	_cleanup_(context_release) struct context context = {0};
	struct loop_state state = {.context = &context, .serve = serve, .signals = -1, .watch = -1};
	_cleanup_(freep) char *program = NULL;
	int r = check_program(&program, err);

	if (r == 0)
		r = load(serve, state.seen, &context, err);
	if (r == 0)
		r = open_signals(&state, err);
	if (r == 0)
		r = run(&state, program, err);
	server_free(state.server);
	fd_close(state.signals);
	fd_close(state.watch);
	return r;
}
