/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir-names.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sha-blocks.h"
#include "config/caches.h"
#include "config/workspace.h"
#include "plan/host.h"
#include "plan/ignored.h"
#include "plan/mirrors.h"
#include "plan/toolchains.h"
#include "policy/outer.h"
#include "policy/spec.h"

/* Whether a rule may lead through links. What hides may lead anywhere. What opens
 * may not lead out of the workspace, or a cloned link would open what it points
 * at; nor through a link that somebody like the command could have made. */
enum follow { FOLLOW_ANYWHERE, FOLLOW_WITH_CARE };

static int probe_fd(int fd, struct site_path *ret, struct err *err)
{
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return err_sys(err, -errno, "stat %s", ret->path);
	r = path_of_fd(fd, &ret->real);
	if (r < 0)
		return err_sys(err, r, "name of %s", ret->path);
	ret->type = S_ISDIR(st.st_mode) ? SITE_DIR : S_ISSOCK(st.st_mode) ? SITE_SOCKET : SITE_FILE;
	ret->id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

static bool is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR;
}

static int open_in_workspace(const char *workspace, const char *path, struct err *err)
{
	_cleanup_(fd_closep) int base = fd_open(workspace, O_PATH | O_DIRECTORY);
	const char *relative = path + strlen(workspace);
	int fd;

	if (base < 0)
		return err_sys(err, -errno, "open %s", workspace);
	relative += *relative == '/';
	fd = path_open_beneath(base, *relative ? relative : ".", O_PATH, 0);
	if (fd != -EXDEV)
		return fd;
	return err_hint(
		err, err_set(err, ERR_POLICY, fd, "%s leads out of the workspace by a link", path),
		"name the path that it leads to; outside of the workspace that takes trust");
}

/* The links that PATH leads through, each by the real name of its folder. */
static int collect_links(const char *path, struct strv *ret)
{
	_cleanup_(freep) char *part = strdup(path);
	int r = part ? 0 : -ENOMEM;

	for (char *slash = part; slash && r == 0;) {
		struct stat st;
		char *name = slash + 1;

		slash = strchr(name, '/');
		if (slash)
			*slash = '\0';
		if (lstat(part, &st) < 0) {
			if (!is_absent(-errno) && errno != EACCES)
				r = -errno;
		} else if (S_ISLNK(st.st_mode)) {
			_cleanup_(freep) char *folder = NULL;

			name[-1] = '\0';
			folder = realpath(*part ? part : "/", NULL);
			name[-1] = '/';
			r = folder ? strv_take(ret, path_join(folder, name)) : 0;
		}
		if (slash)
			*slash = '/';
	}
	return r;
}

/* The system's own links, such as /var/run: root's, and near the root. */
static bool is_system_link(const char *path)
{
	unsigned depth = 0;
	struct stat st;

	for (const char *p = path; *p; p++)
		depth += *p == '/';
	return depth <= 2 && lstat(path, &st) == 0 && st.st_uid == 0;
}

static int check_links(const char *path, struct err *err)
{
	_cleanup_(strv_release) struct strv links = {0};

	int r = collect_links(path, &links);

	if (r < 0)
		return err_sys(err, r, "look up %s", path);
	for (size_t i = 0; i < links.len; i++)
		if (!is_system_link(links.items[i]))
			return err_hint(err,
					err_set(err, ERR_POLICY, -ELOOP,
						"%s leads through the link %s", path,
						links.items[i]),
					"name the path that it leads to: links can be moved");
	return 0;
}

static int open_anywhere(const char *path, enum follow follow, struct err *err)
{
	_cleanup_(fd_closep) int root = fd_open("/", O_PATH | O_DIRECTORY);
	int r = follow == FOLLOW_WITH_CARE ? check_links(path, err) : 0;

	if (r < 0)
		return r;
	if (root < 0)
		return err_sys(err, -errno, "open /");
	return path_open_in_root(root, path[1] ? path + 1 : ".", O_PATH, 0);
}

/* RET->path is set. A path that is absent is no error here: the plan decides
 * what its rule is worth then. What is to be hidden and out of the caller's
 * reach anyway counts as absent. */
static int probe_path(const char *workspace, enum follow follow, struct site_path *ret,
		      struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;

	if (follow == FOLLOW_WITH_CARE && path_covers(workspace, ret->path))
		fd = open_in_workspace(workspace, ret->path, err);
	else
		fd = open_anywhere(ret->path, follow, err);
	if (is_absent(fd) || (fd == -EACCES && follow == FOLLOW_ANYWHERE))
		return 0;
	if (fd == -EXDEV || (fd == -ELOOP && follow == FOLLOW_WITH_CARE))
		return fd;
	if (fd < 0)
		return err_sys(err, fd, "open %s", ret->path);
	return probe_fd(fd, ret, err);
}

static int add_path(struct site_path **paths, size_t *len, const char *path, const char *workspace,
		    enum follow follow, struct err *err)
{
	struct site_path item = {.path = strdup(path)};
	struct site_path *grown;
	int r;

	if (!item.path)
		return err_oom(err);
	r = probe_path(workspace, follow, &item, err);
	if (r == 0) {
		grown = reallocarray(*paths, *len + 1, sizeof(**paths));
		if (grown) {
			*paths = grown;
			grown[(*len)++] = item;
			return 0;
		}
		r = err_oom(err);
	}
	free(item.path);
	free(item.real);
	return r;
}

static int add_rules(struct site *site, const struct strv *rules, enum follow follow,
		     struct err *err)
{
	for (size_t i = 0; i < rules->len; i++) {
		int r = add_path(&site->paths, &site->paths_len, rules->items[i], site->workspace,
				 follow, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* There is no link on the way to OWN. 1: it is one itself. */
static int probe_plain(struct site_path *own, struct err *err)
{
	struct stat st;

	if (lstat(own->path, &st) == 0) {
		if (S_ISLNK(st.st_mode))
			return 1;
		own->type = S_ISDIR(st.st_mode) ? SITE_DIR : SITE_FILE;
		own->id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	} else if (!is_absent(-errno) && errno != EACCES) {
		return err_sys(err, -errno, "look at %s", own->path);
	}
	own->real = strdup(own->path);
	return own->real ? 0 : err_oom(err);
}

/* One of those that were looked at, that PATH is a name in. */
static const struct site_path *own_folder(const struct site *site, const char *path)
{
	size_t len = path_folder_len(path, strlen(path));

	for (size_t i = 0; i < array_len(site->own); i++)
		if (site->own[i].real && path_compare_part(path, len, site->own[i].path) == 0)
			return &site->own[i];
	return NULL;
}

/* One of pale's own paths, or where it would be made. Where no link is in it, as usual, there
 * is nothing to follow. */
static int probe_own(struct site *site, const struct user *user, struct site_path *own,
		     struct err *err)
{
	const struct site_path *folder = own_folder(site, own->path);
	_cleanup_(freep) char *real = NULL;
	int r = 1;

	if (folder && str_eq(folder->real, folder->path)) {
		if (folder->type == SITE_ABSENT) {
			own->real = strdup(own->path);
			return own->real ? 0 : err_oom(err);
		}
		r = probe_plain(own, err);
	}
	if (r <= 0)
		return r;
	r = user_path_resolve(user, own->path, &real);
	if (r < 0)
		return err_sys(err, r, "look up %s", own->path);
	r = str_eq(real, own->path) ? probe_plain(own, err) : 1;
	if (r <= 0)
		return r;
	r = collect_links(own->path, &site->own_links);
	if (r < 0)
		return err_sys(err, r, "look up %s", own->path);
	r = probe_path(site->workspace, FOLLOW_ANYWHERE, own, err);
	if (r == 0 && !own->real)
		own->real = take_ptr(real);
	return r;
}

/* Where policy comes from: hidden from every command, whatever else it sees. */
static int add_own(struct site *site, const struct user *user, struct err *err)
{
	_cleanup_(freep) char *file = user->config_dir ? path_join(user->config_dir, "pale.toml")
						       : NULL;
	const char *const paths[] = {user->config_dir, user->state_dir, file,
				     user->login_runtime_dir, user->runtime_dir};
	int r = 0;

	for (size_t i = 0; i < array_len(paths) && r == 0; i++) {
		if (!paths[i])
			continue;
		site->own[i].path = strdup(paths[i]);
		if (!site->own[i].path)
			return err_oom(err);
		r = probe_own(site, user, &site->own[i], err);
	}
	return r;
}

/* ~/.cargo as a link to ~/.ssh is no toolchain. */
static void drop_disguised(struct site *site)
{
	struct site_path *last = &site->toolchains[site->toolchains_len - 1];

	if (last->real &&
	    (str_eq(last->real, last->path) || !path_covers(site->home_real, last->real)))
		return;
	free(last->path);
	free(last->real);
	site->toolchains_len--;
}

static bool has_secrets(int home, const struct toolchain *toolchain)
{
	for (size_t i = 0; toolchain->secrets && toolchain->secrets[i]; i++) {
		char name[256];
		struct stat st;

		snprintf(name, sizeof(name), "%s/%s", toolchain->path, toolchain->secrets[i]);
		if (fstatat(home, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

static int add_toolchains(struct site *site, struct err *err)
{
	_cleanup_(fd_closep) int home = -1;
	struct dir_names names;

	if (!site->home)
		return 0;
	names.is_known = false;
	home = path_open_named(site->home, O_RDONLY | O_DIRECTORY, &site->home_real);
	if (home >= 0)
		dir_names_read(home, &names);
	else if (!is_absent(home)) /* it can be entered, perhaps */
		home = path_open_named(site->home, O_PATH | O_DIRECTORY, &site->home_real);
	if (is_absent(home) || home == -EACCES) {
		site->home_real = strdup(site->home);
		return site->home_real ? 0 : err_oom(err);
	}
	if (home < 0)
		return err_sys(err, home, "look up %s", site->home);
	for (const struct toolchain *t = toolchains; t->path; t++) {
		_cleanup_(freep) char *path = NULL;
		struct stat st;
		int r;

		if (!dir_names_may_have(&names, t->path) || fstatat(home, t->path, &st, 0) < 0 ||
		    !S_ISDIR(st.st_mode))
			continue;
		path = path_join(site->home_real, t->path);
		if (!path)
			return err_oom(err);
		r = add_path(&site->toolchains, &site->toolchains_len, path, site->workspace,
			     FOLLOW_ANYWHERE, err);
		if (r < 0)
			return r;
		site->toolchains[site->toolchains_len - 1].has_secrets = has_secrets(home, t);
		drop_disguised(site);
	}
	return 0;
}

/* In /tmp, because whoever the command is can get there. */
static int name_scratch(struct site *site, uid_t uid, struct err *err)
{
	uint8_t chance[8];
	char hex[2 * sizeof(chance) + 1];

	if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
		return err_sys(err, -errno, "getrandom");
	sha_blocks_hex(chance, sizeof(chance), hex);
	site->scratch = str_printf("/tmp/pale-%u-%s", uid, hex);
	return site->scratch ? 0 : err_oom(err);
}

/* The workspace, whose it is, and who the user is. */
static int fill_names(struct site *site, const struct spec *spec, const struct user *user,
		      const char *cwd, char *const *env, struct err *err)
{
	struct stat st;

	site->workspace = strdup(spec->workspace);
	site->cwd = strdup(cwd);
	site->home = user->home ? strdup(user->home) : NULL;
	site->user_name = user->name ? strdup(user->name) : NULL;
	if (!site->workspace || !site->cwd || (user->home && !site->home) ||
	    (user->name && !site->user_name))
		return err_oom(err);
	if (lstat(site->workspace, &st) < 0)
		return err_sys(err, -errno, "stat %s", site->workspace);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, -ENOTDIR, "%s is no folder any more",
			       site->workspace);
	site->workspace_uid = st.st_uid;
	site->workspace_gid = st.st_gid;
	site->workspace_id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	for (; *env; env++)
		if (strv_add(&site->env, *env) < 0)
			return err_oom(err);
	return git_identity_read(user, &site->git) < 0 ? err_oom(err) : 0;
}

static int fill(struct site *site, const struct spec *spec, const struct user *user,
		const char *cwd, char *const *env, struct err *err)
{
	int r = fill_names(site, spec, user, cwd, env, err);

	if (r == 0)
		r = add_rules(site, &spec->paths_readable, FOLLOW_WITH_CARE, err);
	if (r == 0)
		r = add_rules(site, &spec->paths_writable, FOLLOW_WITH_CARE, err);
	if (r == 0)
		r = add_rules(site, &spec->sockets, FOLLOW_WITH_CARE, err);
	if (r == 0)
		r = add_rules(site, &spec->paths_hidden, FOLLOW_ANYWHERE, err);
	if (r == 0)
		r = ignored_probe(spec, site, err);
	if (r == 0)
		r = add_own(site, user, err);
	if (r == 0)
		r = add_toolchains(site, err);
	if (r == 0)
		r = name_scratch(site, user->uid, err);
	return r;
}

int site_probe(const struct spec *spec, const struct user *user, const char *cwd, char *const *env,
	       struct site *ret, struct err *err)
{
	struct site site = {0};
	int r = fill(&site, spec, user, cwd, env, err);

	if (r == 0 && spec->filesystem != FILESYSTEM_NONE)
		r = protection_probe(site.workspace, user->home, &site.protection, err);
	if (r == 0)
		r = mirrors_probe(spec, &site, err);
	if (r == 0 && site.ignored.len > 0 && outer_path())
		ignored_forget_covered(&site);
	if (r < 0) {
		site_release(&site);
		return r;
	}
	*ret = site;
	return 0;
}

const char *site_shows_runtime(const struct site *site, const struct spec *spec, size_t n)
{
	const struct site_path *own = &site->own[array_len(site->own) - SITE_RUNTIMES + n];

	if (!own->real || own->type != SITE_ABSENT || !spec_is_confined(spec))
		return NULL;
	if (spec->filesystem == FILESYSTEM_UNRESTRICTED)
		return own->path;
	for (size_t i = 0; i < site->paths_len; i++)
		if (site->paths[i].real && path_covers(site->paths[i].real, own->real))
			return own->path;
	return NULL;
}

static int add_cache(const struct workspace *workspace, const char *path, struct site_cache *ret,
		     struct err *err)
{
	_cleanup_(freep) char *dir = cache_dir(workspace, path);
	struct stat st;

	if (!dir && !workspace->state_dir)
		return err_set(err, ERR_SYSTEM, -ENOENT, "no place to keep the cache %s", path);
	if (!dir)
		return err_oom(err);
	if (path_resolve(path, &ret->dst) < 0 || path_resolve(dir, &ret->src) < 0)
		return err_set(err, ERR_SYSTEM, -ENOENT, "cannot find out where %s leads", path);
	/* Links of a home are its owner's; those of a project lead where it wants. */
	if (path_covers(workspace->root, path) && !str_eq(path, ret->dst))
		return err_hint(err,
				err_set(err, ERR_POLICY, -ELOOP,
					"cache %s leads through a link to %s", path, ret->dst),
				"name the folder itself");
	ret->is_absent = lstat(ret->dst, &st) < 0;
	ret->is_file = !ret->is_absent && !S_ISDIR(st.st_mode);
	return 0;
}

int site_add_caches(struct site *site, const struct spec *spec, const struct workspace *workspace,
		    struct err *err)
{
	int r = 0;

	if (spec->caches.len == 0)
		return 0;
	site->caches = calloc(spec->caches.len, sizeof(*site->caches));
	if (!site->caches)
		return err_oom(err);
	for (; site->caches_len < spec->caches.len && r == 0; site->caches_len++)
		r = add_cache(workspace, spec->caches.items[site->caches_len],
			      &site->caches[site->caches_len], err);
	return r;
}

static void release_caches(struct site *site)
{
	for (size_t i = 0; i < site->caches_len; i++) {
		free(site->caches[i].dst);
		free(site->caches[i].src);
	}
	free(site->caches);
}

static void release_names(struct site_path *paths, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		free(paths[i].path);
		free(paths[i].real);
	}
}

static void release_paths(struct site_path *paths, size_t len)
{
	release_names(paths, len);
	free(paths);
}

void site_release(struct site *site)
{
	free(site->workspace);
	free(site->cwd);
	free(site->home);
	free(site->home_real);
	free(site->user_name);
	free(site->scratch);
	release_paths(site->toolchains, site->toolchains_len);
	release_paths(site->paths, site->paths_len);
	strv_release(&site->ignored);
	covers_release(&site->covers);
	strv_release(&site->bound);
	release_names(site->own, array_len(site->own));
	strv_release(&site->own_links);
	protection_release(&site->protection);
	git_identity_release(&site->git);
	release_caches(site);
	strv_release(&site->env);
	*site = (struct site){0};
}
