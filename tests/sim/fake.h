/* SPDX-License-Identifier: MIT */
/*
 * fake - hosts and sites that are made up, and plans compiled for them.
 *
 * The spec goes through spec_resolve() with an empty configuration, so options
 * are written as a user writes them. No file system and no privileges: what a
 * path is, a case says itself (`facts`).
 */
#pragma once
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "config/keys.h"
#include "plan/host.h"
#include "plan/plan.h"
#include "policy/resolve.h"

enum fake_host {
	FAKE_MERGED,   /* /bin, /lib … are links into /usr */
	FAKE_SPLIT,    /* they are folders */
	FAKE_RESOLVED, /* merged, and resolv.conf leads into /run */
	FAKE_NAMELESS, /* merged, and there is no resolv.conf */
};

struct sim {
	const char *name;
	const char *preset;      /* NULL: the default one */
	const char *options[10]; /* "paths_hidden=~/.ssh", "setenv=A=b" */
	const char *degraded[8]; /* --allow-degraded */
	const char *facts[8];    /* "file PATH", "absent PATH", "link PATH REAL"; else a folder */
	const char *ignored[4];  /* what .paleignore hides, as the site has it */
	const char *bound[4];    /* sockets that the host's processes have, as the site has them */
	/* "absent PATH", "file PATH", "dir PATH", "link PATH TEXT", "parent PATH": names that
	 * are protected; "common PATH": the repository of a linked worktree */
	const char *protected[10];
	const char *toolchains; /* below the home, separated by blanks; NULL: .cargo .local/bin */
	const char *workspace;  /* NULL: FAKE_WORKSPACE */
	const char *cwd;        /* NULL: the workspace */
	const char *home;       /* NULL: FAKE_HOME, or the superuser's; "": unknown */
	bool root;              /* started by root */
	uid_t owner;            /* of the workspace, when started by root */
	enum fake_host host;
	enum rung rung; /* of the limits */
	bool no_tmpfs_xattr;
	bool is_blind;                            /* a /proc with hidepid */
	bool no_namespaces;                       /* a host that refuses them */
	const char *bwrap;                        /* … and has this */
	int landlock_abi;                         /* 0: FAKE_ABI; -1: none */
	void (*tweak)(struct resolved *resolved); /* what no option can express */
};

#define FAKE_ABI       6
#define FAKE_HOME      "/home/ana"
#define FAKE_WORKSPACE "/home/ana/project"

static const char *const fake_env[] = {
	"PATH=/home/ana/.local/bin:/usr/bin:/bin",
	"HOME=/home/ana",
	"PWD=/elsewhere",
	"LANG=C.UTF-8",
	"LC_TIME=C",
	"TERM=xterm",
	"EDITOR=vi",
	"SSH_AUTH_SOCK=/run/user/1000/agent",
	"AWS_SECRET_ACCESS_KEY=s3cret",
	"GITHUB_TOKEN=s3cret",
	"LD_PRELOAD=/tmp/evil.so",
	"FOO_MODE=fast",
	"FOO_TOKEN=s3cret",
	"XDG_RUNTIME_DIR=/run/user/1000",
	"NOT-A-PAIR",
};

static const struct host_dir fake_merged[] = {
	{"/usr", NULL},      {"/bin", "usr/bin"},           {"/sbin", "usr/sbin"},
	{"/lib", "usr/lib"}, {"/lib64", "usr/lib64"},       {"/etc", NULL},
	{"/opt", NULL},      {"/sys/devices/system", NULL},
};

static const struct host_dir fake_split[] = {
	{"/usr", NULL}, {"/bin", NULL}, {"/sbin", NULL},
	{"/lib", NULL}, {"/etc", NULL}, {"/sys/devices/system", NULL},
};

static inline void fake_must(bool ok)
{
	if (!ok)
		abort();
}

static inline char *fake_dup(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	fake_must(!text || copy);
	return copy;
}

static inline void fake_host_init(enum fake_host kind, bool root, int landlock_abi,
				  struct host *ret)
{
	bool split = kind == FAKE_SPLIT;
	const struct host_dir *dirs = split ? fake_split : fake_merged;
	size_t len = split ? array_len(fake_split) : array_len(fake_merged);

	*ret = (struct host){.uid = root ? 0 : 1000, .gid = root ? 0 : 1000};
	ret->landlock_abi = landlock_abi < 0 ? 0 : landlock_abi ? landlock_abi : FAKE_ABI;
	ret->dirs = calloc(len, sizeof(*ret->dirs));
	fake_must(ret->dirs);
	for (; ret->dirs_len < len; ret->dirs_len++) {
		ret->dirs[ret->dirs_len].path = dirs[ret->dirs_len].path;
		ret->dirs[ret->dirs_len].link = fake_dup(dirs[ret->dirs_len].link);
	}
	ret->resolv_conf = fake_dup(kind == FAKE_RESOLVED ? "/run/systemd/resolve/stub-resolv.conf"
				    : kind == FAKE_NAMELESS ? NULL
							    : "/etc/resolv.conf");
	ret->hosts = fake_dup("/etc/hosts");
	if (kind == FAKE_RESOLVED)
		fake_must(strv_add(&ret->files, "/run/systemd/resolve/stub-resolv.conf") == 0);
}

/* What FACTS say of PATH; by default it is a folder under its own name. */
static inline struct site_path fake_path(const char *const *facts, size_t n, const char *path)
{
	struct site_path at = {.path = fake_dup(path), .real = fake_dup(path), .type = SITE_DIR};

	for (size_t i = 0; i < n && facts[i]; i++) {
		const char *name = strchr(facts[i], ' ') + 1;
		size_t len = strcspn(name, " ");

		if (strlen(path) != len || strncmp(path, name, len) != 0)
			continue;
		at.has_secrets = str_starts(facts[i], "secret ");
		at.type = str_starts(facts[i], "file ")     ? SITE_FILE
			  : str_starts(facts[i], "socket ") ? SITE_SOCKET
							    : SITE_DIR;
		if (!at.has_secrets && at.type == SITE_DIR) {
			free(at.real);
			at.real = name[len] ? fake_dup(name + len + 1) : NULL;
		}
		if (str_starts(facts[i], "absent "))
			at.type = SITE_ABSENT;
	}
	return at;
}

static inline void fake_add(struct site_path **paths, size_t *len, struct site_path item)
{
	*paths = reallocarray(*paths, *len + 1, sizeof(item));
	fake_must(*paths);
	(*paths)[(*len)++] = item;
}

static inline void fake_site_paths(const struct sim *sim, const struct strv *rules,
				   struct site *site)
{
	for (size_t i = 0; i < rules->len; i++)
		fake_add(&site->paths, &site->paths_len,
			 fake_path(sim->facts, array_len(sim->facts), rules->items[i]));
}

static inline void fake_toolchains(const struct sim *sim, struct site *site)
{
	const char *next = sim->toolchains ? sim->toolchains : ".cargo .local/bin";

	while (site->home && *next) {
		size_t len = strcspn(next, " ");
		_cleanup_(freep) char *name = strndup(next, len);
		_cleanup_(freep) char *path = name ? path_join(site->home, name) : NULL;

		fake_must(path);
		fake_add(&site->toolchains, &site->toolchains_len,
			 fake_path(sim->facts, array_len(sim->facts), path));
		next += len + (next[len] == ' ');
	}
}

static inline const char *fake_home(const struct sim *sim)
{
	if (sim->home)
		return *sim->home ? sim->home : NULL;
	return sim->root ? "/root" : FAKE_HOME;
}

static inline void fake_protected(const char *fact, struct protection *p)
{
	static const char *const types[] = {
		[PROTECTED_ABSENT] = "absent ", [PROTECTED_FILE] = "file ",
		[PROTECTED_DIR] = "dir ",       [PROTECTED_LINK] = "link ",
		[PROTECTED_PARENT] = "parent ",
	};
	const char *name = strchr(fact, ' ') + 1;
	_cleanup_(freep) char *path = strndup(name, strcspn(name, " "));
	const char *link = strchr(name, ' ');
	char *slash;

	fake_must(path);
	if (str_starts(fact, "common ")) {
		p->git_common = fake_dup(path);
		return;
	}
	slash = strrchr(path, '/');
	*slash = '\0';
	for (size_t i = 0; i < array_len(types); i++)
		if (str_starts(fact, types[i]))
			fake_must(protection_add(p, path, slash + 1, (enum protected_type)i,
						 (struct file_id){.ino = i != PROTECTED_ABSENT},
						 link ? link + 1 : NULL) == 0);
}

static inline void fake_site_init(const struct sim *sim, const struct spec *spec, struct site *ret)
{
	*ret = (struct site){0};
	ret->workspace = fake_dup(spec->workspace);
	ret->workspace_uid = ret->workspace_gid = sim->root ? sim->owner : 1000;
	ret->cwd = fake_dup(sim->cwd ? sim->cwd : spec->workspace);
	ret->home = fake_dup(fake_home(sim));
	ret->home_real = fake_dup(fake_home(sim));
	ret->user_name = fake_dup(sim->root ? "root" : "ana");
	ret->scratch = fake_dup("/tmp/pale-1000-0123456789abcdef");
	for (size_t i = 0; i < array_len(fake_env); i++)
		fake_must(strv_add(&ret->env, fake_env[i]) == 0);
	fake_site_paths(sim, &spec->paths_readable, ret);
	fake_site_paths(sim, &spec->paths_writable, ret);
	fake_site_paths(sim, &spec->sockets, ret);
	fake_site_paths(sim, &spec->paths_hidden, ret);
	for (size_t i = 0; i < array_len(sim->ignored) && sim->ignored[i]; i++)
		fake_must(strv_add(&ret->ignored, sim->ignored[i]) == 0);
	for (size_t i = 0; i < array_len(sim->bound) && sim->bound[i]; i++)
		fake_must(strv_add(&ret->bound, sim->bound[i]) == 0);
	fake_toolchains(sim, ret);
	ret->caches = calloc(spec->caches.len + 1, sizeof(*ret->caches));
	fake_must(ret->caches);
	for (; ret->caches_len < spec->caches.len; ret->caches_len++) {
		ret->caches[ret->caches_len].dst = fake_dup(spec->caches.items[ret->caches_len]);
		ret->caches[ret->caches_len].src = fake_dup("/state/caches/one");
	}
	for (size_t i = 0; i < array_len(sim->protected) && sim->protected[i]; i++)
		fake_protected(sim->protected[i], &ret -> protection);
}

static inline int fake_resolve(const struct sim *sim, struct resolved *ret, struct err *err)
{
	struct ask_item items[array_len(sim->options)];
	struct ask ask = {.preset = sim->preset, .items = items};
	struct workspace workspace = {0};
	struct user user = {.home = fake_dup(fake_home(sim))};
	struct config config = {0};
	int r;

	workspace.root = fake_dup(sim->workspace ? sim->workspace : FAKE_WORKSPACE);
	workspace.cwd = fake_dup(sim->cwd ? sim->cwd : workspace.root);
	for (size_t i = 0; i < array_len(sim->options) && sim->options[i]; i++) {
		const char *text = strchr(sim->options[i], '=') + 1;
		_cleanup_(freep) char *name = strndup(sim->options[i],
						      (size_t)(text - sim->options[i] - 1));
		int dim = dim_by_name(name);

		if (str_eq(name, "setenv"))
			fake_must(strv_add(&ask.env_set, text) == 0);
		else if (str_eq(name, "mode"))
			ask.mode = text;
		else if (str_eq(name, "engine"))
			ask.engine = text;
		else
			fake_must(dim >= 0);
		if (dim >= 0)
			items[ask.len++] = (struct ask_item){.dim = (enum dim)dim, .text = text};
	}
	for (size_t i = 0; i < array_len(sim->degraded) && sim->degraded[i]; i++)
		fake_must(strv_add(&ask.allow_degraded, sim->degraded[i]) == 0);
	r = spec_resolve(&config, NULL, &ask, &workspace, &user, ret, err);
	if (r == 0 && sim->tweak)
		sim->tweak(ret);
	strv_release(&ask.env_set);
	strv_release(&ask.allow_degraded);
	workspace_release(&workspace);
	user_release(&user);
	return r;
}

/* 0 and a plan, or what stopped it. */
static inline int fake_compile(const struct sim *sim, struct plan **ret, struct err *err)
{
	static char arg0[] = "make", arg1[] = "check";
	char *argv[] = {arg0, arg1, NULL};
	struct resolved resolved = {0};
	struct host host = {0};
	struct site site = {0};
	int r = fake_resolve(sim, &resolved, err);

	if (r < 0)
		return r;
	fake_host_init(sim->host, sim->root, sim->landlock_abi, &host);
	host.cgroup = (struct cgroup_site){.rung = sim->rung,
					   .dirs = {sim->rung ? strdup("/cgroup") : NULL},
					   .is_blind = sim->is_blind};
	host.no_tmpfs_xattr = sim->no_tmpfs_xattr;
	host.no_namespaces = sim->no_namespaces;
	host.bwrap = fake_dup(sim->bwrap);
	fake_site_init(sim, &resolved.spec, &site);
	r = plan_compile(&resolved, &host, &site, argv, ret, err);
	site_release(&site);
	host_release(&host);
	resolved_release(&resolved);
	return r;
}
