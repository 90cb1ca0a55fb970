/* SPDX-License-Identifier: MIT */
#include "stage/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/private-dir.h"
#include "base/str.h"
#include "base/tree-remove.h"
#include "stage/access.h"
#include "stage/live.h"
#include "stage/roots.h"
#include "stage/slots.h"
#include "stage/text.h"

#define STAGES    "stages"
#define REMOVED   ".removed-" /* in it: no name of a stage */
#define HEAD      "pale-stage 2"
#define OLD_HEAD  "pale-stage 1"
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
enum { FILE_MAX = 1 << 20, READ_TRIES = 8 };

bool stage_name_is_valid(const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-";
	size_t len = strlen(name);

	return len > 0 && len <= STAGE_NAME_MAX && name[0] != '.' && strspn(name, allowed) == len;
}

static int check_name(const char *name, struct err *err)
{
	if (stage_name_is_valid(name))
		return 0;
	err_set(err, ERR_USAGE, -EINVAL, "\"%.100s\" is no name of a stage", name);
	return err_hint(err, -EINVAL,
			"letters, digits, '.', '_' and '-', at most %d, no dot in front",
			STAGE_NAME_MAX);
}

struct stage *stage_free(struct stage *stage)
{
	if (!stage)
		return NULL;
	stage_unlock(stage);
	stage_mount_unlock(stage);
	fd_close(stage->mount_lock_fd);
	for (size_t i = 0; i < stage->held_len; i++)
		fd_close(stage->held[i]);
	free(stage->held);
	for (size_t i = 0; i < stage->n_roots; i++)
		free(stage->roots[i].path);
	free(stage->roots);
	fd_close(stage->dir_fd);
	free(stage->name);
	free(stage->path);
	free(stage);
	return NULL;
}

static struct stage *stage_new(const char *name)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	if (!stage)
		return NULL;
	stage->dir_fd = stage->lock_fd = stage->mount_lock_fd = stage->slot = stage->runs_fd = -1;
	stage->name = strdup(name);
	return stage->name ? stage : stage_free(stage);
}

static int add_root(struct stage *stage, const char *path)
{
	struct stage_root *roots = reallocarray(stage->roots, stage->n_roots + 1, sizeof(*roots));

	if (!roots)
		return -ENOMEM;
	stage->roots = roots;
	roots[stage->n_roots].path = strdup(path);
	if (!roots[stage->n_roots].path)
		return -ENOMEM;
	stage->n_roots++;
	return 0;
}

/* --- the file that says what it is --- */

static int write_file(struct stage *stage, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	int r = str_appendf(&text, HEAD "\ncreated %lld.%09ld\n", (long long)stage->created.tv_sec,
			    stage->created.tv_nsec);

	for (size_t i = 0; i < stage->n_roots && r == 0; i++) {
		r = str_appendf(&text, "root %zu ", i);
		if (r == 0)
			r = stage_text_put(&text, stage->roots[i].path);
		if (r == 0)
			r = str_append_char(&text, '\n');
	}
	if (r < 0)
		return err_oom(err);
	return file_replace(stage->dir_fd, "stage", text.data, text.len, 0600, err);
}

/* 0, -EBADMSG or -ENOMEM. */
static int read_line(struct stage *stage, char *line)
{
	char *end, *path;

	if (str_starts(line, "created ")) {
		stage->created.tv_sec = strtoll(line + 8, &end, 10);
		if (*end == '.')
			stage->created.tv_nsec = strtol(end + 1, &end, 10);
		return *end ? -EBADMSG : 0;
	}
	if (!str_starts(line, "root "))
		return 0; /* of a later version */
	if (strtoull(line + 5, &path, 10) != stage->n_roots || *path++ != ' ' ||
	    !stage_text_take(path) || path[0] != '/')
		return -EBADMSG;
	return add_root(stage, path);
}

static int refuse_broken(const struct stage *stage, struct err *err)
{
	err_set(err, ERR_SYSTEM, -EBADMSG, "stage %s: %s/stage is damaged", stage->name,
		stage->path);
	return err_hint_word(err, -EBADMSG,
			     "what was written is in roots, beside it; to give it up: rm -rf ",
			     stage->path, "");
}

/* Of a root that the file does not name: its end was lost. */
static bool has_more_layers(const struct stage *stage)
{
	char name[32];

	snprintf(name, sizeof(name), "roots/%zu", stage->n_roots);
	return faccessat(stage->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int parse_file(struct stage *stage, struct str *text, struct err *err)
{
	char *line, *next = NULL;
	int r = 0;

	for (size_t i = 0; i < stage->n_roots; i++)
		free(stage->roots[i].path);
	stage->n_roots = 0;
	stage->created = (struct timespec){0};
	stage->is_old = str_starts(str_text(text), OLD_HEAD "\n");
	if ((!stage->is_old && !str_starts(str_text(text), HEAD "\n")) ||
	    strlen(text->data) != text->len || text->data[text->len - 1] != '\n')
		return refuse_broken(stage, err);
	strtok_r(text->data, "\n", &next);
	while (r == 0 && (line = strtok_r(NULL, "\n", &next)))
		r = read_line(stage, line);
	if (r == -ENOMEM)
		return err_oom(err);
	return r < 0 || !stage->created.tv_sec || has_more_layers(stage) ? refuse_broken(stage, err)
									 : 0;
}

static bool is_same_file(const struct stage *stage)
{
	struct stat st;

	return fstatat(stage->dir_fd, "stage", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_ino == stage->file_ino && st.st_ctim.tv_sec == stage->file_ctime.tv_sec &&
	       st.st_ctim.tv_nsec == stage->file_ctime.tv_nsec;
}

/* -ENOENT, err untouched. */
static int read_once(struct stage *stage, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;
	int r;

	fd = openat(stage->dir_fd, "stage",
		    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, -errno, "open the stage's file");
	if (!S_ISREG(st.st_mode))
		return refuse_broken(stage, err);
	r = fd_read_all(fd, FILE_MAX, &text);
	if (r < 0)
		return err_sys(err, r, "read the stage's file");
	stage->file_ino = st.st_ino;
	stage->file_ctime = st.st_ctim;
	return parse_file(stage, &text, err);
}

/* What does not fit the layers may have been replaced meanwhile, by a run that adds some. */
static int read_file(struct stage *stage, struct err *err)
{
	struct err failed = {0};
	int r;

	for (int tries = 0; tries < READ_TRIES; tries++) {
		failed = (struct err){0};
		r = read_once(stage, &failed);
		if (r != -EBADMSG || is_same_file(stage))
			break;
	}
	if (r < 0 && failed.message[0])
		*err = failed;
	return r;
}

/* It is only ever replaced as a whole. */
int stage_reload(struct stage *stage, struct err *err)
{
	struct stat st;

	if (fstatat(stage->dir_fd, "stage", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -ENOENT : err_sys(err, -errno, "stat the stage's file");
	return st.st_ino == stage->file_ino && st.st_ctim.tv_sec == stage->file_ctime.tv_sec &&
			       st.st_ctim.tv_nsec == stage->file_ctime.tv_nsec
		       ? 0
		       : read_file(stage, err);
}

int stage_check_version(const struct stage *stage, struct err *err)
{
	if (!stage->is_old)
		return 0;
	err_set(err, ERR_SYSTEM, -EBUSY, "stage %s is in use by an earlier version of pale",
		stage->name);
	return err_hint(err, -EBUSY, "wait until its runs have ended, or use another --stage");
}

/* That had a folder with a file for each living run. Each run had the stage's lock, too, which is
 * ours alone now: what is left there was killed. */
static int bury_old(struct stage *stage, struct err *err)
{
	int fd = openat(stage->dir_fd, "live", DIR_FLAGS), r = 0;
	const struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, -errno, "open the folder live");
	dir = fdopendir(fd);
	if (!dir) {
		fd_close(fd);
		return err_oom(err);
	}
	while (r == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		r = stage_end(stage, entry->d_name, err);
		if (r == 0 && unlinkat(fd, entry->d_name, 0) < 0)
			r = err_sys(err, -errno, "remove live/%s", entry->d_name);
	}
	closedir(dir);
	if (r == 0 && unlinkat(stage->dir_fd, "live", AT_REMOVEDIR) < 0)
		r = err_sys(err, -errno, "remove the folder live");
	return r;
}

int stage_modernize(struct stage *stage, struct err *err)
{
	int r;

	if (!stage->is_old)
		return 0;
	r = bury_old(stage, err);
	if (r == 0)
		r = write_file(stage, err);
	return r < 0 ? r : read_file(stage, err);
}

/* --- the folder --- */

/* NAME in DIR, a folder of ours. -ENOENT, err untouched. */
static int open_dir(int dir, const char *name, bool create, uid_t uid, struct err *err)
{
	struct stat st;
	int fd = openat(dir, name, DIR_FLAGS);

	if (fd < 0 && errno == ENOENT && create) {
		if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
			return err_sys(err, -errno, "make the folder %s", name);
		fd = openat(dir, name, DIR_FLAGS);
	}
	if (fd < 0)
		return errno == ENOENT ? -ENOENT : err_sys(err, -errno, "open the folder %s", name);
	if (fstat(fd, &st) < 0 || st.st_uid != uid || st.st_mode & (S_IWGRP | S_IWOTH)) {
		fd_close(fd);
		return err_set(err, ERR_SYSTEM, -EPERM, "the folder %s is not yours alone", name);
	}
	return fd;
}

/* Who comes while it is made finds a folder without that file: under the mount
 * lock there is none. */
static int make_file(struct stage *stage, struct err *err)
{
	int r = slots_open(stage, err);

	if (r < 0)
		return r;
	if (flock(stage->mount_lock_fd, LOCK_EX) < 0)
		return err_sys(err, -errno, "lock stage %s", stage->name);
	stage->has_mount_lock = true;
	r = read_file(stage, err);
	if (r != -ENOENT)
		return r;
	/* Its removal did not come to its end, or somebody else lost the file. */
	if (has_more_layers(stage))
		return refuse_broken(stage, err);
	if (mkdirat(stage->dir_fd, "roots", 0700) < 0 && errno != EEXIST)
		return err_sys(err, -errno, "make the stage's folder roots");
	stage->created = clock_now(CLOCK_REALTIME);
	r = write_file(stage, err);
	return r < 0 ? r : read_file(stage, err);
}

static int fill(struct stage *stage, int stages, bool create, uid_t uid, struct err *err)
{
	int r;

	stage->dir_fd = open_dir(stages, stage->name, create, uid, err);
	if (stage->dir_fd < 0)
		return stage->dir_fd;
	r = path_of_fd(stage->dir_fd, &stage->path);
	if (r < 0)
		return err_sys(err, r, "find stage %s", stage->name);
	r = read_file(stage, err);
	if (r != -ENOENT || !create)
		return r;
	r = make_file(stage, err);
	stage_mount_unlock(stage);
	return r;
}

int stage_open(const char *state_dir, const char *name, bool create, struct stage **ret,
	       struct err *err)
{
	_cleanup_(fd_closep) int state = -1;
	_cleanup_(fd_closep) int stages = -1;
	_cleanup_(stage_freep) struct stage *stage = stage_new(name);
	uid_t uid = geteuid();
	int r = check_name(name, err);

	if (!stage)
		return err_oom(err);
	if (r < 0)
		return r;
	/* As a rule all is there. */
	state = private_dir_open(state_dir, false, err);
	if (state == -ENOENT && create)
		state = private_dir_open(state_dir, true, err);
	if (state < 0)
		return state;
	stages = open_dir(state, STAGES, create, uid, err);
	if (stages < 0)
		return stages;
	r = fill(stage, stages, create, uid, err);
	if (r < 0)
		return r;
	*ret = take_ptr(stage);
	return 0;
}

/* What overlaps root I. That stays one of the stage, since an undo may need it. */
static int refuse_root(const struct stage *stage, unsigned i, const char *path, struct err *err)
{
	bool empty = root_holds_nothing(stage, i);

	err_set(err, ERR_POLICY, -EEXIST,
		"stage %s %s writes in %s, and %s cannot have some of its own", stage->name,
		empty ? "is for" : "holds", stage->roots[i].path, path);
	if (empty)
		return err_hint(err, -EEXIST,
				"use another --stage, or pale stages rm %s once it is empty: an "
				"undo there is not possible then",
				stage->name);
	return err_hint(err, -EEXIST, "pale apply or pale discard them first, or use --stage");
}

int stage_add_root(struct stage *stage, const char *path, unsigned *ret_index, struct err *err)
{
	int r;

	for (size_t i = 0; i < stage->n_roots; i++)
		if (str_eq(stage->roots[i].path, path)) {
			*ret_index = (unsigned)i;
			return 0;
		}
	/* The workspace is laid over what holds it; nothing else is. */
	for (size_t i = 0; i < stage->n_roots; i++)
		if (path_covers(stage->roots[i].path, path) ||
		    (i > 0 && path_covers(path, stage->roots[i].path)))
			return refuse_root(stage, (unsigned)i, path, err);
	if (add_root(stage, path) < 0)
		return err_oom(err);
	r = write_file(stage, err);
	if (r == 0)
		*ret_index = (unsigned)stage->n_roots - 1;
	return r;
}

/* --- the lock --- */

static int open_lock(struct stage *stage, struct err *err)
{
	if (stage->lock_fd < 0)
		stage->lock_fd = openat(stage->dir_fd, "lock",
					O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return stage->lock_fd < 0 ? err_sys(err, -errno, "open the lock of stage %s", stage->name)
				  : 0;
}

/* The pids of the runs that have no end, in words. */
static int name_users(const struct stage *stage, struct str *out)
{
	struct stage_run *runs;
	size_t n, named = 0;
	int r = stage_runs(stage, &runs, &n, NULL);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == 0; i++)
		if (!runs[i].is_ended && (kill(runs[i].pid, 0) == 0 || errno == EPERM))
			r = str_appendf(out, "%s%d", named++ ? ", " : "", runs[i].pid);
	stage_runs_free(runs, n);
	return r;
}

static int refuse_busy(struct stage *stage, bool exclusive, struct err *err)
{
	_cleanup_(str_release) struct str pids = {0};

	stage->lock_fd = fd_close(stage->lock_fd);
	if (exclusive)
		(void)name_users(stage, &pids);
	if (pids.len == 0) {
		err_set(err, ERR_SYSTEM, -EBUSY, "stage %s is being changed by another pale",
			stage->name);
		return err_hint(err, -EBUSY, "wait until it has ended");
	}
	err_set(err, ERR_SYSTEM, -EBUSY, "stage %s is in use by the run of process %s", stage->name,
		str_text(&pids));
	return err_hint(err, -EBUSY, "wait until it has ended, or end it");
}

int stage_try_lock(struct stage *stage, bool exclusive, struct err *err)
{
	int r = open_lock(stage, err);

	if (r < 0)
		return r;
	if (flock(stage->lock_fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY
					    : err_sys(err, -errno, "lock stage %s", stage->name);
	return exclusive ? stage_settle(stage, err) : 0;
}

int stage_lock(struct stage *stage, bool exclusive, struct err *err)
{
	int r = stage_try_lock(stage, exclusive, err);

	return r == -EBUSY ? refuse_busy(stage, exclusive, err) : r;
}

/* Explicitly: a process that was just cloned may have a copy still. */
void stage_unlock(struct stage *stage)
{
	if (stage->lock_fd >= 0)
		(void)flock(stage->lock_fd, LOCK_UN);
	stage->lock_fd = fd_close(stage->lock_fd);
	stage->runs_fd = fd_close(stage->runs_fd);
}

/* Changed, looked at, and changed again within one tick. */
bool stage_clock_is_past(const struct stage *stage, struct timespec t0)
{
	struct stat st;

	if (futimens(stage->lock_fd, NULL) < 0 || fstat(stage->lock_fd, &st) < 0 ||
	    futimens(stage->lock_fd, NULL) < 0 || fstat(stage->lock_fd, &st) < 0)
		return false;
	return st.st_ctim.tv_sec > t0.tv_sec ||
	       (st.st_ctim.tv_sec == t0.tv_sec && st.st_ctim.tv_nsec > t0.tv_nsec);
}

/* --- all of them --- */

int stage_list(const char *state_dir, char ***ret_names, struct err *err)
{
	_cleanup_(fd_closep) int state = private_dir_open(state_dir, false, err);
	struct strv names = {0};
	struct dirent *entry;
	int fd = state, r = 0;
	DIR *dir = NULL;

	if (state >= 0)
		fd = open_dir(state, STAGES, false, geteuid(), err);
	if (fd < 0 && fd != -ENOENT)
		return fd;
	if (fd >= 0) {
		dir = fdopendir(fd);
		if (!dir) {
			fd_close(fd);
			return err_oom(err);
		}
	}
	while (dir && r == 0 && (entry = readdir(dir)))
		if (stage_name_is_valid(entry->d_name))
			r = strv_add(&names, entry->d_name);
	if (dir)
		closedir(dir);
	strv_sort_unique(&names);
	if (r == 0 && !names.items)
		names.items = calloc(1, sizeof(*names.items));
	if (r < 0 || !names.items) {
		strv_release(&names);
		return err_oom(err);
	}
	*ret_names = names.items;
	return 0;
}

/* What is left of others, whose removal was interrupted: nobody has the lock of the folder. */
static void sweep_removed(int stages)
{
	_cleanup_(fd_closep) int fd = openat(stages, ".", DIR_FLAGS);
	_cleanup_(strv_release) struct strv names = {0};

	if (fd < 0 || dir_names(fd, &names) < 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		_cleanup_(fd_closep) int left = str_starts(names.items[i], REMOVED)
							? openat(stages, names.items[i], DIR_FLAGS)
							: -1;

		if (left >= 0 && flock(left, LOCK_EX | LOCK_NB) == 0)
			(void)tree_remove(stages, names.items[i]);
	}
}

int stage_remove(struct stage *stage, struct err *err)
{
	_cleanup_(freep) char *parent = strndup(stage->path,
						(size_t)(strrchr(stage->path, '/') - stage->path));
	_cleanup_(fd_closep) int dir = parent ? open(parent, DIR_FLAGS) : -1;
	char aside[64];
	struct stat st;
	int r = 0;

	if (!parent)
		return err_oom(err);
	if (dir < 0 || fstat(stage->dir_fd, &st) < 0)
		return err_sys(err, -errno, "open %s", parent);
	(void)flock(stage->dir_fd, LOCK_EX | LOCK_NB);
	snprintf(aside, sizeof(aside), REMOVED "%llu", (unsigned long long)st.st_ino);
	/* First what says that it is one: half of a stage is none. Then its name, since the rest
	 * may take long, and be interrupted. */
	if ((unlinkat(stage->dir_fd, "stage", 0) < 0 && errno != ENOENT) ||
	    renameat(dir, stage->name, dir, aside) < 0)
		r = -errno;
	if (r == 0)
		r = tree_remove(dir, aside);
	if (r == 0)
		sweep_removed(dir);
	return r < 0 ? err_sys(err, r, "remove stage %s", stage->name) : 0;
}
