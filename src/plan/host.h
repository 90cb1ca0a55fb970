/* SPDX-License-Identifier: MIT */
/*
 * host - what this machine can enforce, and what a sandbox is assembled from.
 *
 * Facts only, so that tests can make one up. Probing is a handful of cheap
 * system calls; what would be dear to probe (do user namespaces really work?)
 * is found out by the run itself, which fails closed.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/path.h"
#include "base/str.h"
#include "config/git-identity.h"
#include "plan/covers.h"
#include "plan/rung.h"
#include "plan/protected.h"

struct err;
struct user;
struct workspace;
struct spec;

enum {
	LANDLOCK_REFER_ABI = 2, /* files can be moved between folders in a domain */
	LANDLOCK_TRUNCATE_ABI = 3,
	LANDLOCK_SIGNAL_ABI = 6, /* signals and abstract sockets can be kept inside one */
	LANDLOCK_SOCKET_ABI = 9, /* … and sockets that have a path */
};

#define MACHINE_ID      "/etc/machine-id"
#define DBUS_MACHINE_ID "/var/lib/dbus/machine-id"

struct host {
	uid_t uid;
	gid_t gid;
	bool has_groups;          /* further ones than its own */
	int landlock_abi;         /* 0: none */
	const struct spec *outer; /* of the sandbox that we are in; NULL: none. Borrowed */
	const char *outer_path;   /* where that is described */
	bool outer_staged;        /* what is written in it waits for review outside */
	bool no_idmap;            /* a filesystem that is needed cannot be id-mapped: a run tried */
	bool no_namespaces;       /* not allowed here: a run tried, or a probe */
	bool has_machine_id;      /* a file of its own: it names this machine */
	bool no_tmpfs_xattr;      /* an overlay on a tmpfs cannot remove folders */
	struct cgroup_site cgroup;
	char *bwrap; /* a bubblewrap that works, or NULL; looked for only without namespaces */
	/* The system directories that exist: a folder, or a link with its target. */
	struct host_dir {
		const char *path;
		char *link; /* NULL: a real folder */
	} * dirs;
	size_t dirs_len;
	struct strv
		files; /* further files that the name service needs, e.g. where resolv.conf leads */
	char *resolv_conf, *hosts; /* where /etc/resolv.conf and /etc/hosts are; NULL: nowhere */
	bool resolv_conf_dangles;  /* a link to what is not there */
};

int host_probe(struct host *ret, struct err *err);
void host_release(struct host *host);

enum site_type { SITE_ABSENT, SITE_DIR, SITE_FILE, SITE_SOCKET };

/* What is at a path that the spec names. */
struct site_path {
	char *path; /* as in the spec */
	char *real; /* symlink-free; NULL when absent */
	enum site_type type;
	struct file_id id;
	bool has_secrets; /* a toolchain with credentials in it */
};

/* Where the run takes place. */
struct site {
	char *workspace;
	uid_t workspace_uid;
	gid_t workspace_gid;
	struct file_id workspace_id;
	char *cwd;
	char *home;                   /* as it is called; NULL: unknown */
	char *home_real;              /* without links; like home when it does not exist */
	char *user_name;              /* NULL: unknown */
	struct site_path *toolchains; /* those that exist */
	size_t toolchains_len;
	struct site_path *paths; /* one for each path that the spec names */
	size_t paths_len;
	struct strv ignored;     /* hidden as well, without links: .paleignore, aliases */
	struct covers covers;    /* of a sandbox that stays */
	struct strv bound;       /* sockets of the host's processes, without links (plan/bound.h) */
	struct site_path own[5]; /* the user's configuration and state of pale, and where its
				  * sessions are reached: the last two */
	struct strv own_links;   /* the links that lead there */
	struct site_cache {
		char *dst;               /* where the command expects it, without links */
		char *src;               /* where it is kept */
		bool is_absent, is_file; /* what is at dst on the host; neither: a folder */
	} * caches;
	size_t caches_len;
	struct protection protection; /* names in the workspace that the host acts on */
	char *scratch;                /* a name for temporary files that nobody has yet */
	struct git_identity git;      /* who the user is to git */
	struct strv env;              /* the caller's environment */
};

/* Looks up every path of SPEC, and what .paleignore hides. A rule inside the workspace that leads out of
 * it by a link is -EXDEV. */
int site_probe(const struct spec *spec, const struct user *user, const char *cwd, char *const *env,
	       struct site *ret, struct err *err);
/* Where the caches of SPEC are kept. Nothing is made. */
int site_add_caches(struct site *site, const struct spec *spec, const struct workspace *workspace,
		    struct err *err);
void site_release(struct site *site);
/* The N-th place of the sessions' folders when it is not there yet and SPEC may show where it
 * will be: whoever makes it later would make it for all to see. Else NULL. */
enum { SITE_RUNTIMES = 2 };
const char *site_shows_runtime(const struct site *site, const struct spec *spec, size_t n);
