/* SPDX-License-Identifier: MIT */
#include "store/annotators.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/size.h"
#include "base/sys.h"
#include "config/load.h"
#include "config/owned.h"
#include "config/value.h"
#include "config/workspace.h"

#define STRAY_ROUNDS 1000

/* Why the file or folder FD, of which ST is, is not to be trusted, or NULL. */
static const char *suspicion(int fd, const struct stat *st, const struct user *user)
{
	if (st->st_uid != 0 && st->st_uid != user->uid)
		return "it belongs to somebody else";
	if (owned_is_open(fd, st, user->uid, user->gid))
		return "others can write it";
	return NULL;
}

static const char *distrust(int fd, const struct stat *st, const struct user *user,
			    const struct workspace *workspace)
{
	_cleanup_(freep) char *path = NULL;
	const char *why = suspicion(fd, st, user);

	if (why)
		return why;
	if (path_of_fd(fd, &path) < 0)
		return "where it is cannot be told";
	return path_covers(workspace->root, path) ? "it lies in the workspace" : NULL;
}

static int refuse(struct annotators *all, const char *name, const char *why)
{
	return strv_addf(&all->refused, "%s: %s", name, why);
}

static int read_settings(const struct config *config, struct annotator *annotator)
{
	const char *const when[] = {"annotators", annotator->name, "when", NULL};
	const char *const timeout[] = {"annotators", annotator->name, "timeout", NULL};
	const char *const kinds[] = {"annotators", annotator->name, "kinds", NULL};
	struct setting s;
	uint64_t ms;

	annotator->timeout_ms = ANNOTATOR_TIMEOUT_MS;
	if (config_get(config, when, &s))
		annotator->eager = str_eq(s.value->string.bytes, "eager");
	if (config_get(config, timeout, &s) &&
	    duration_parse(s.value->string.bytes, &ms, NULL) == 0)
		annotator->timeout_ms = ms < 3600000 ? (unsigned)ms : 3600000;
	return config_get(config, kinds, &s) ? toml_texts(s.value, &annotator->kinds) : 0;
}

/* PATH is taken over; NULL: built in. */
static int add(struct annotators *all, const char *name, char *path, bool eager,
	       const struct config *config)
{
	struct annotator *grown = reallocarray(all->items, all->len + 1, sizeof(*grown));

	if (!grown) {
		free(path);
		return -ENOMEM;
	}
	all->items = grown;
	grown += all->len++;
	*grown = (struct annotator){.name = strdup(name), .path = path, .eager = eager};
	return grown->name ? read_settings(config, grown) : -ENOMEM;
}

/* 0, or -ENOMEM. */
static int look_at(struct annotators *all, int dir, const char *dir_path, const char *name,
		   const struct user *user, const struct workspace *workspace,
		   const struct config *config)
{
	_cleanup_(fd_closep) int fd = path_open_nolink(dir, name, O_PATH | O_NOFOLLOW, 0);
	const char *why;
	struct stat st;
	char *path;

	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse(all, name, "it cannot be opened");
	if (S_ISLNK(st.st_mode))
		return refuse(all, name, "it is a link; put the program itself there");
	if (!S_ISREG(st.st_mode))
		return refuse(all, name, "it is no file");
	if (!(st.st_mode & S_IXUSR))
		return refuse(all, name, "it cannot be executed");
	why = distrust(fd, &st, user, workspace);
	if (why)
		return refuse(all, name, why);
	if (str_eq(name, ANNOTATOR_SOURCE))
		return refuse(all, name, "that is the name of a built-in one");
	if (all->len >= ANNOTATORS_MAX)
		return refuse(all, name, "there are too many");
	path = path_join(dir_path, name);
	return path ? add(all, name, path, false, config) : -ENOMEM;
}

static int by_name(const void *a, const void *b)
{
	const struct annotator *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int list(struct annotators *all, int fd, const char *path, const struct user *user,
		const struct workspace *workspace, const struct config *config)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3), r = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir) {
		fd_close(copy);
		return -errno;
	}
	for (struct dirent *e; r == 0 && (e = readdir(dir));)
		/* not `.`, hidden files, nor what editors leave behind */
		if (name_is_valid(e->d_name))
			r = look_at(all, fd, path, e->d_name, user, workspace, config);
	closedir(dir);
	return r;
}

/* Who can write a folder above can put another in the place of all that is below; where it
 * is sticky, only of what is his own. */
static const char *distrust_above(const char *path, const struct user *user)
{
	_cleanup_(freep) char *dir = strdup(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	struct stat st;

	for (; slash; slash = strrchr(dir, '/')) {
		_cleanup_(fd_closep) int fd = -1;

		*slash = '\0';
		fd = fd_open(*dir ? dir : "/", O_PATH | O_DIRECTORY);
		if (fd < 0 || fstat(fd, &st) < 0)
			return "a folder above it cannot be looked at";
		if (st.st_mode & S_ISVTX)
			st.st_mode &= ~(mode_t)(S_IWOTH | S_IWGRP);
		if (suspicion(fd, &st, user))
			return "others can write a folder above it";
	}
	return dir ? NULL : "no memory";
}

/* The folder: a descriptor, -ENOENT when there is none, or -EPERM with *ret_why. */
static int open_folder(const struct user *user, const struct workspace *workspace, char **ret_path,
		       const char **ret_why)
{
	_cleanup_(fd_closep) int config = -1, dir = -1;
	struct stat st;

	if (!user->config_dir)
		return -ENOENT;
	config = fd_open(user->config_dir, O_RDONLY | O_DIRECTORY);
	if (config < 0)
		return -errno;
	dir = path_open_nolink(config, ANNOTATORS_DIR, O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return dir;
	/* who can write the folder around it can put another in its place */
	if (fstat(config, &st) < 0)
		return -errno;
	*ret_why = distrust(config, &st, user, workspace);
	if (!*ret_why && fstat(dir, &st) < 0)
		return -errno;
	if (!*ret_why)
		*ret_why = distrust(dir, &st, user, workspace);
	if (*ret_why)
		return -EPERM;
	if (path_of_fd(dir, ret_path) < 0)
		return -ENOENT;
	*ret_why = distrust_above(*ret_path, user);
	return *ret_why ? -EPERM : take_fd(dir);
}

static bool is_known(const struct annotators *all, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < all->len; i++)
		if (str_eq(all->items[i].name, name))
			return true;
	for (size_t i = 0; i < all->refused.len; i++)
		if (str_starts(all->refused.items[i], name) && all->refused.items[i][len] == ':')
			return true;
	return false;
}

/* The user says something of one that is not there. The system may, of what not everybody has. */
static int list_absent(struct annotators *all, const struct config *config)
{
	struct setting s;
	int r = 0;

	if (!config_get_at(config, LAYER_USER, (const char *const[]){"annotators", NULL}, &s))
		return 0;
	for (const struct toml_entry *e = s.value->table.first; e && r == 0; e = e->next)
		if (!is_known(all, e->key))
			r = refuse(all, e->key, "there is no such program");
	return r;
}

int annotators_find(const struct user *user, const struct workspace *workspace,
		    const struct config *config, struct annotators *ret, struct err *err)
{
	_cleanup_(annotators_release) struct annotators all = {0};
	_cleanup_(freep) char *path = NULL;
	_cleanup_(fd_closep) int dir = -1;
	const char *why = NULL;
	int r = add(&all, ANNOTATOR_SOURCE, NULL, true, config);

	dir = open_folder(user, workspace, &path, &why);
	if (r == 0 && dir >= 0)
		r = list(&all, dir, path, user, workspace, config);
	else if (r == 0 && dir == -EPERM && why)
		r = refuse(&all, ANNOTATORS_DIR, why);
	else if (r == 0 && dir != -ENOENT)
		r = refuse(&all, ANNOTATORS_DIR, strerror(-dir));
	if (r == 0 && (dir >= 0 || dir == -ENOENT))
		r = list_absent(&all, config);
	if (r == -ENOMEM)
		return err_oom(err);
	if (r < 0)
		return err_sys(err, r, "list the annotators");
	qsort(all.items, all.len, sizeof(*all.items), by_name);
	*ret = all;
	all = (struct annotators){0};
	return 0;
}

void annotators_release(struct annotators *annotators)
{
	for (size_t i = 0; i < annotators->len; i++) {
		free(annotators->items[i].name);
		free(annotators->items[i].path);
		strv_release(&annotators->items[i].kinds);
	}
	free(annotators->items);
	strv_release(&annotators->refused);
	*annotators = (struct annotators){0};
}

bool annotator_wants(const struct annotator *annotator, const char *kind)
{
	const struct strv *kinds = &annotator->kinds;

	for (size_t i = 0; i < kinds->len; i++) {
		size_t len = strlen(kinds->items[i]);

		if (strncmp(kind, kinds->items[i], len) == 0 && (!kind[len] || kind[len] == '.'))
			return true;
	}
	return kinds->len == 0;
}

/* What left its process group comes to us, the subreaper: all children there are. */
static void end_strays(void)
{
	const struct timespec wait = {.tv_nsec = 1000000};
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	for (int round = 0; round < STRAY_ROUNDS; round++) {
		_cleanup_(fd_closep) int fd = fd_open(path, O_RDONLY);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

		if (n <= 0)
			return;
		text[n] = '\0';
		for (char *at = text, *end; *at; at = end) {
			long pid = strtol(at, &end, 10);

			if (end == at || pid <= 0)
				break;
			kill((pid_t)pid, SIGKILL);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		/* one that was killed, or its child, may take a moment to come */
		nanosleep(&wait, NULL);
	}
}

/* How it went, at the beginning of a file; the answer follows. */
struct went {
	int r, status;
	struct err err;
};

/* A process of its own, so that all children there are, are the annotator's; who was
 * our child before, through an exec, is none of its business. It outlives a Ctrl-C, for
 * as long as the annotator may take, to clean up. */
static _Noreturn void serve(struct child *child, int fd)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	_cleanup_(str_release) struct str answer = {0};
	struct went went = {0};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < array_len(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* None of the caller's descriptors; ours are close-on-exec. */
	(void)sys_close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	went.r = child_run(child, &answer, &went.err);
	went.status = child->status;
	end_strays();
	if (fd_write_all(fd, &went, sizeof(went)) < 0 ||
	    fd_write_all(fd, str_text(&answer), answer.len) < 0)
		_exit(1);
	_exit(0);
}

static int take_answer(int fd, struct child *child, struct str *ret_answer, struct err *err)
{
	struct went went;
	int r;

	if (pread(fd, &went, sizeof(went), 0) != (ssize_t)sizeof(went))
		return err_set(err, ERR_SYSTEM, -EPROTO, "nobody knows how it ended");
	if (went.r < 0) {
		*err = went.err;
		return went.r;
	}
	child->status = went.status;
	if (lseek(fd, sizeof(went), SEEK_SET) < 0)
		return err_sys(err, -errno, "read its answer");
	r = fd_read_all(fd, child->max_output, ret_answer);
	return r < 0 ? err_sys(err, r, "read its answer") : 0;
}

static int run(struct child *child, struct str *ret_answer, struct err *err)
{
	_cleanup_(fd_closep) int fd = memfd_create("answer", MFD_CLOEXEC);
	pid_t pid = fd < 0 ? -1 : fork();

	if (pid < 0)
		return err_sys(err, -errno, "fork");
	if (pid == 0)
		serve(child, fd);
	while (waitpid(pid, NULL, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, -errno, "wait");
	return take_answer(fd, child, ret_answer, err);
}

int annotator_ask(const struct annotator *annotator, const struct user *user, const char *event,
		  struct str *ret_answer, struct err *err)
{
	_cleanup_(str_release) struct str answer = {0};
	_cleanup_(strv_release) struct strv env = {0};
	char *argv[] = {annotator->name, NULL};
	struct child child = {
		.path = annotator->path,
		.argv = argv,
		.input = event,
		.cwd = "/",
		.alone = true,
		.timeout_ms = annotator->timeout_ms,
		.max_output = ANNOTATOR_ANSWER_MAX + 1,
	};
	int r = strv_add(&env, "PATH=/usr/local/bin:/usr/bin:/bin");

	if (r == 0)
		r = strv_add(&env, "LANG=C.UTF-8");
	if (r == 0 && user->home)
		r = strv_addf(&env, "HOME=%s", user->home);
	if (r < 0)
		return err_oom(err);
	child.envp = env.items;
	r = run(&child, &answer, err);
	if (r < 0)
		return r;
	if (answer.len > ANNOTATOR_ANSWER_MAX)
		return err_set(err, ERR_SYSTEM, -EFBIG, "its answer is larger than %d bytes",
			       ANNOTATOR_ANSWER_MAX);
	if (WIFSIGNALED(child.status))
		return err_set(err, ERR_SYSTEM, -EPROTO, "signal %d ended it",
			       WTERMSIG(child.status));
	if (WEXITSTATUS(child.status) != 0)
		return err_set(err, ERR_SYSTEM, -EPROTO, "it exited with %d",
			       WEXITSTATUS(child.status));
	str_release(ret_answer);
	*ret_answer = answer;
	answer = (struct str){0};
	return 0;
}
