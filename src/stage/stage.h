/* SPDX-License-Identifier: MIT */
/*
 * stage - captured writes that wait for review: the folder, its locks, its runs.
 *
 *     <state>/stages/NAME/
 *       stage                   what it is: "created", one "root" per host folder
 *       lock                    shared by runs, exclusive for who changes the stage
 *       mount-lock              held while somebody decides to mount or to join; in it,
 *                               where the mounts of living runs are found; see slots.h
 *       runs                    a line when a run begins, one when it has ended
 *       roots/INDEX/upper, …/work     the layers of the overlay of that root
 *
 * Everything is the user's alone, 0700. While a run lives only the kernel
 * touches the layers.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/cleanup.h"

struct err;

#define STAGE_DEFAULT "default"
enum { STAGE_NAME_MAX = 64, STAGE_RUN_MAX = 40, STAGE_BOOT_MAX = 40 };

struct stage_root {
	char *path; /* of the host, without links */
};

struct stage {
	char *name;
	char *path; /* of its folder, without links */
	int dir_fd;
	struct timespec created;
	size_t n_roots;
	struct stage_root *roots; /* 0 is the workspace; roots are only ever added */
	ino_t file_ino;           /* of the file that was read */
	struct timespec file_ctime;
	int lock_fd;       /* stage_lock(); -1: not held */
	bool is_old;       /* of a version that kept living runs elsewhere */
	int mount_lock_fd; /* -1: not open */
	bool has_mount_lock;
	int slot;      /* of our run, in the file of that lock; -1: none */
	int runs_fd;   /* of the log, for as long as we have a lock; -1: not open */
	bool is_alone; /* no other run had it when we took the lock */
	int *held;     /* what a later run needs to join ours; see live.h */
	size_t held_len;
};

/* [A-Za-z0-9._-]{1,64}, and no dot in front. */
bool stage_name_is_valid(const char *name);

/* -ENOENT, err untouched: there is none, and CREATE was not asked for. */
int stage_open(const char *state_dir, const char *name, bool create, struct stage **ret,
	       struct err *err);
struct stage *stage_free(struct stage *stage); /* NULL ok; lets go of the locks */
DEFINE_CLEANUP(struct stage *, stage_free);

/* -EBUSY: it is of an earlier version, and others have it. */
int stage_check_version(const struct stage *stage, struct err *err);
/* With the lock held exclusively: bring it up to date, if it is of an earlier version. */
int stage_modernize(struct stage *stage, struct err *err);
/* Read again what others may have added. -ENOENT, err untouched: it was removed. */
int stage_reload(struct stage *stage, struct err *err);
/* The root for the host's folder PATH, added if there is none. Under the mount lock. */
int stage_add_root(struct stage *stage, const char *path, unsigned *ret_index, struct err *err);
/* roots/INDEX, which has both layers: O_PATH | O_DIRECTORY. -ENOENT, err untouched: not
 * both of them were made. */
int stage_layers(const struct stage *stage, unsigned root, int *ret_fd, struct err *err);
/* -ENOENT, err untouched: its layers were never made, and nothing was staged. */
int stage_upper(const struct stage *stage, unsigned root, int *ret_fd, struct err *err);
/* The same, to be listed. */
int stage_read_upper(const struct stage *stage, unsigned root, int *ret_fd);
/* Make the layers of ROOT where they are missing; the upper one gets the owner and
 * mode of the folder BASE. -ENOTSUP: this filesystem can hold none. */
int stage_make_layers(struct stage *stage, unsigned root, int base, struct err *err);
/* The mode that the upper layer of ROOT was given after its base: where it has another one, a
 * command changed it. -ENODATA: not known. */
int stage_given_mode(const struct stage *stage, unsigned root);
int stage_give_mode(const struct stage *stage, unsigned root, mode_t mode);
/* Before a fresh mount: it gets the mode that its base has now, unless a command changed it. */
int stage_follow_base(struct stage *stage, unsigned root, struct err *err);
/* Before a fresh mount: a volatile overlay does not mount over the mark that an
 * earlier one left. */
int stage_clear_mark(struct stage *stage, unsigned root, struct err *err);
/* The same after a fresh mount, while there is time: the kernel only looks for it when it
 * mounts. And its own folder gives nobody any permission, its owner who wants to remove it
 * included: now it does. What fails is done by the other. */
void stage_drop_mark(struct stage *stage, unsigned root);
/* Bytes on disk in all upper layers. */
int stage_size(const struct stage *stage, uint64_t *ret_bytes, struct err *err);

/* Does not wait. The descriptor stays in the struct, until stage_unlock().
 * -EBUSY: err names the runs, or says that it is being changed. */
int stage_lock(struct stage *stage, bool exclusive, struct err *err);
/* The same; -EBUSY leaves err untouched, and looks for nobody. */
int stage_try_lock(struct stage *stage, bool exclusive, struct err *err);
void stage_unlock(struct stage *stage);

/* With the lock held. Does everything that is changed from now on, on the filesystem
 * of the stage, get a time later than T0? As a rule files get the time of the last
 * tick of the clock; Linux 6.13 gives no file an earlier time than one that it had to
 * tell exactly, and here it has to. */
bool stage_clock_is_past(const struct stage *stage, struct timespec t0);

struct stage_run {
	char id[STAGE_RUN_MAX];
	pid_t pid; /* of the supervisor */
	struct timespec t0;
	struct timespec ended;
	struct timespec synced; /* … when what it had left was written to the disk */
	bool is_ended, is_synced;
	bool is_lost; /* nobody has recorded what it left, as of one that was killed */
	char boot[STAGE_BOOT_MAX];
	char *command;
};

int stage_begin(struct stage *stage, const char *run_id, pid_t pid, struct timespec t0,
		const char *command, struct err *err);
int stage_end(struct stage *stage, const char *run_id, struct err *err);
/* Before its end: nobody records what it has left. */
int stage_note_lost(struct stage *stage, const char *run_id, struct err *err);
/* All that is staged is on the disk now. */
int stage_note_synced(struct stage *stage, struct err *err);
/* In the order in which they began; lines that are broken are passed over. */
int stage_runs(const struct stage *stage, struct stage_run **ret, size_t *ret_n, struct err *err);
void stage_runs_free(struct stage_run *runs, size_t n);
int stage_boot_id(char ret_id[STAGE_BOOT_MAX], struct err *err);

/* Names in order, ending in NULL; strv_release() frees them like an argv. */
int stage_list(const char *state_dir, char ***ret_names, struct err *err);
/* With the lock held exclusively. Nothing of it is left; free it afterwards. */
int stage_remove(struct stage *stage, struct err *err);
