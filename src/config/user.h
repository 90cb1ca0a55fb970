/* SPDX-License-Identifier: MIT */
/* user - who runs this, and where the user's own files are. */
#pragma once
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
	char *login_runtime_dir;  /* /run/user/UID/pale, where that is another one */
	struct user_place {       /* what user_resolve() found out */
		const char *path; /* one of the above */
		char *real;       /* without links */
		int error;        /* instead of that */
	} places[4];
	unsigned places_len;
};

int user_probe(struct user *ret, struct err *err);
void user_release(struct user *user);
/* The home of who is called NAME, up to LEN; NULL: nobody, or nowhere. -ENOMEM. */
int user_home_of(const char *name, size_t len, char **ret);
/* user->runtime_dir, where that takes no look at the passwd file; else NULL. */
char *runtime_dir_guess(void);

/* Find out where the links of the user's folders lead, for all who ask during a run. What was
 * known of that before is forgotten. */
void user_resolve(struct user *user);
/* path_resolve(); for one of the user's folders what is known already. */
int user_path_resolve(const struct user *user, const char *path, char **ret);
