/* SPDX-License-Identifier: MIT */
/*
 * session-place - where a session is found: its folder, its lock, its socket.
 *
 *     <runtime>/<workspace>/NAME/
 *       lock       locked for as long as the keeper lives: that alone says that it does
 *       socket     where it is asked
 *       session    what it is, as JSON
 *       out/RUN    what a command in the background printed; RUN.json: how it ended
 *
 * All of it is the user's alone, 0700, and hidden from every confined command. Whoever has
 * the lock may do with the folder what he likes; without it nothing in it is changed.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct str;
struct strv;
struct user;

#define SESSION_DEFAULT "default"
#define SESSION_LOCK    "lock"
#define SESSION_SOCKET  "socket"
#define SESSION_FILE    "session"
#define SESSION_OUT     "out"
enum { SESSION_NAME_MAX = 64 };

struct session_place {
	int parent; /* the workspace's folder */
	int dir;
	int lock;
	char name[SESSION_NAME_MAX + 1];
};
#define SESSION_PLACE_NONE                                                                         \
	{                                                                                          \
		.parent = -1, .dir = -1, .lock = -1                                                \
	}

/* [A-Za-z0-9][A-Za-z0-9._-]{0,63} */
bool session_name_is_valid(const char *name);
int session_name_check(const char *name, struct err *err);
/* The folder of all sessions of a workspace: a new string, or NULL. */
char *session_folder(const char *runtime_dir, const char *root);

/* Make the folder NAME in FOLDER, or empty what a dead session left, and lock it. -EBUSY:
 * a session of that name lives. */
int session_place_take(const char *folder, const char *name, struct session_place *ret,
		       struct err *err);
/* Remove it, which is locked; what is not there any more is no error. Closes all. */
void session_place_remove(struct session_place *place);
void session_place_close(struct session_place *place);

/* Does the session in the folder NAME of PARENT live? */
bool session_is_living(int parent, const char *name);
/* Remove what is left of it, unless it lives: whether it was removed. */
bool session_sweep(int parent, const char *name);
/* Names in PARENT, sorted. What else is there is passed over. */
int session_names(int parent, struct strv *ret, struct err *err);
/* A descriptor of FOLDER, or -errno; -ENOENT, err untouched: there is none. */
int session_folder_open(const char *folder, struct err *err);

/* A socket that a keeper of the same user listens at the other end of; -ENOENT or
 * -ECONNREFUSED, err untouched: nobody does. */
int session_connect(const char *folder, const char *name, struct err *err);
/* Listen in PLACE. A descriptor, or -errno. */
int session_listen(const struct session_place *place, struct err *err);
