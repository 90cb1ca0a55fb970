/* SPDX-License-Identifier: MIT */
/*
 * workspace - which folder a run is about, whose it is, and where the user's
 * own files are.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;

struct user {
	uid_t uid;
	gid_t gid;
	char *name;        /* from the passwd file; NULL when unknown */
	char *home;        /* $HOME when absolute, else pw_home; "/" counts as unknown: NULL */
	char *pw_home;     /* from the passwd file; NULL when unknown */
	char *config_dir;  /* $XDG_CONFIG_HOME/pale, or .config/pale in pw_home, else in home */
	char *state_dir;   /* $XDG_STATE_HOME/pale, or .local/state/pale there; NULL when unknown */
	char *runtime_dir; /* $XDG_RUNTIME_DIR/pale or /run/user/UID/pale, where that folder is
			    * the user's alone; else run in state_dir; NULL when unknown */
	char *login_runtime_dir; /* /run/user/UID/pale, where that is another one */
};

struct workspace {
	char *root;      /* absolute, symlink-free */
	char *cwd;       /* the caller's, absolute; root when that lies outside */
	char *state_dir; /* <user's state_dir>/<basename>-<6 hex>; NULL when unknown */
};

int user_probe(struct user *ret, struct err *err);
void user_release(struct user *user);
/* user->runtime_dir, where that takes no look at the passwd file; else NULL. */
char *runtime_dir_guess(void);

/* From ASKED (--workspace) or by walking up from the cwd: the first folder
 * with a pale.toml or a .git, else the cwd itself. Where it lies below another one with rules
 * (a pale.toml, or a .git and a .paleignore) that one is taken, unless pale remembers the inner
 * one: it was asked for by name once. Never a folder
 * that holds the user's home, a system directory or /tmp as a whole: those are
 * refused with a hint, and passed over when merely a .git was found there, or a
 * pale.toml of someone else (anybody can put one into /tmp). */
int workspace_find(const char *asked, const struct user *user, struct workspace *ret,
		   struct err *err);
void workspace_release(struct workspace *workspace);
/* The same by names alone, without a look at whether it could be one: a new string, or NULL.
 * For who asks for what somebody made there after a real look. */
char *workspace_guess(const char *asked);
/* BASE/<basename>-<6 hex of the path's digest>: a new string, or NULL. */
char *state_name(const char *base, const char *path);
/* The same with so many DIGITS of the path's SHA-256. */
char *name_by_path(const char *base, const char *path, int digits);
