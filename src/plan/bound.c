/* SPDX-License-Identifier: MIT */
#include "plan/bound.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bound-sockets.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "config/ignore.h"
#include "plan/domain.h"
#include "plan/host.h"
#include "plan/layout.h"
#include "plan/op.h"
#include "plan/plan.h"
#include "policy/spec.h"

#define FOLDERS_KEPT 64 /* that were looked up */
#define RUN          "/run"

/* Where a folder of some socket's name leads. */
struct folder {
	char *name;
	char *real; /* NULL: out of reach, or where nothing is shown */
};

struct finder {
	const struct spec *spec;
	const struct host *host;
	struct site *site;
	int root;           /* the host's "/"; -1: nothing was looked at yet */
	struct strv shown;  /* folders, without links */
	struct strv bases;  /* of relative names */
	dev_t run;          /* of /run, where most sockets are, if it has a device of its own */
	bool shows_run;     /* something on that device is shown */
	size_t folders_len; /* ever kept */
	struct folder folders[FOLDERS_KEPT];
	struct ignore_found linked; /* those that have several names */
};

/* -- Where to look -------------------------------------------------------- */

static int add_shown(struct finder *f, const char *path, dev_t dev)
{
	/* With the host's root, /run is private still. */
	if (!str_eq(path, "/") && (path_covers(RUN, path) || dev == f->run))
		f->shows_run = true;
	return strv_add(&f->shown, path);
}

static int add_base(struct finder *f, const char *path)
{
	return strv_has(&f->bases, path) ? 0 : strv_add(&f->bases, path);
}

static int add_paths(struct finder *f, const struct site_path *paths, size_t len, bool bases)
{
	int r = 0;

	for (size_t i = 0; i < len && r == 0; i++) {
		if (paths[i].type != SITE_DIR)
			continue;
		r = add_shown(f, paths[i].real, paths[i].id.dev);
		if (r == 0 && bases)
			r = add_base(f, paths[i].real);
	}
	return r;
}

/* Too much is no harm here: the plan hides what it shows. */
static int find_shown(struct finder *f)
{
	const struct host *host = f->host;
	const struct site *site = f->site;
	const struct protection *p = &site->protection;
	int r = add_base(f, site->workspace);

	if (r == 0)
		r = add_base(f, site->cwd);
	if (r == 0)
		r = add_shown(f, site->workspace, site->workspace_id.dev);
	if (r == 0 && p->git_common)
		r = add_shown(f, p->git_common, p->git_common_id.dev);
	if (r == 0)
		r = add_paths(f, site->paths, site->paths_len, true);
	if (r == 0)
		r = add_paths(f, site->toolchains, site->toolchains_len, false);
	for (size_t i = 0; i < site->caches_len && r == 0; i++)
		r = add_shown(f, site->caches[i].src, 0);
	for (size_t i = 0; i < host->dirs_len && r == 0; i++)
		if (!host->dirs[i].link)
			r = add_shown(f, host->dirs[i].path, 0);
	if (r == 0 && layout_writes_root(f->spec))
		r = add_shown(f, "/", 0);
	return r;
}

static bool is_shown(const struct finder *f, const char *path)
{
	for (size_t i = 0; i < f->shown.len; i++)
		if (path_covers(f->shown.items[i], path))
			return true;
	return false;
}

static bool is_hidden(const struct finder *f, const char *path)
{
	const struct site *site = f->site;
	size_t first = site->paths_len - f->spec->paths_hidden.len;

	for (size_t i = first; i < site->paths_len; i++)
		if (site->paths[i].real && path_covers(site->paths[i].real, path))
			return true;
	for (size_t i = 0; i < site->ignored.len; i++)
		if (path_covers(site->ignored.items[i], path))
			return true;
	return false;
}

/* -- Names ---------------------------------------------------------------- */

/* What the command could not get to either, under this name. */
static bool is_out_of_reach(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ELOOP || r == -ENAMETOOLONG ||
	       r == -EINVAL;
}

/* Absolute, without ".", ".." and empty names: if it leads through no link, it is real. */
static bool is_plain(const char *path)
{
	while (*path == '/') {
		size_t len = strcspn(++path, "/");

		if (len == 0 || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += len;
	}
	return true;
}

/* *RET stays NULL where the command cannot get. */
static int resolve_folder(const struct finder *f, const char *name, char **ret)
{
	_cleanup_(fd_closep) int fd = -ELOOP;
	int r;

	if (is_plain(name))
		fd = path_open_nolink(f->root, name + 1, O_PATH | O_DIRECTORY, 0);
	if (fd >= 0) {
		*ret = strdup(name);
		return *ret ? 0 : -ENOMEM;
	}
	if (fd == -ELOOP)
		fd = path_open_anywhere(f->root, name, O_PATH | O_DIRECTORY);
	r = fd < 0 ? fd : path_of_fd(fd, ret);
	return is_out_of_reach(r) ? 0 : r;
}

/* NAME of LEN bytes; many sockets share a folder. */
static int look_up(struct finder *f, const char *name, size_t len, const struct folder **ret,
		   struct err *err)
{
	size_t kept = f->folders_len < FOLDERS_KEPT ? f->folders_len : FOLDERS_KEPT;
	struct folder *folder = f->folders;
	int r;

	for (size_t i = 0; i < kept; i++, folder++)
		if (strncmp(folder->name, name, len) == 0 && folder->name[len] == '\0') {
			*ret = folder;
			return 0;
		}
	folder = &f->folders[f->folders_len % FOLDERS_KEPT];
	free(folder->real);
	free(folder->name);
	*folder = (struct folder){.name = strndup(name, len)};
	r = folder->name ? resolve_folder(f, len ? folder->name : "/", &folder->real) : -ENOMEM;
	if (r < 0)
		return err_sys(err, r, "look for sockets in %.*s", (int)len, name);
	f->folders_len++;
	if (folder->real && !is_shown(f, folder->real)) {
		free(folder->real);
		folder->real = NULL;
	}
	*ret = folder;
	return 0;
}

static int add_found(struct finder *f, const char *path, const struct stat *st, struct err *err)
{
	if (f->site->bound.len == BOUND_MAX)
		return err_hint(err,
				err_set(err, ERR_UNSUPPORTED, -E2BIG,
					"more than %d sockets of the host lie in folders that are "
					"shown",
					BOUND_MAX),
				"hide a folder that holds many of them: --hide DIR");
	if (ignore_note_file(&f->linked, st) < 0 || strv_add(&f->site->bound, path) < 0)
		return err_oom(err);
	return 0;
}

/* PATH is a name of SOCKET, if it leads to the file that this is bound to. */
static int try_name(struct finder *f, const struct bound_socket *socket, const char *path,
		    struct err *err)
{
	const char *slash = strrchr(path, '/');
	const struct folder *folder = NULL;
	_cleanup_(freep) char *real = NULL;
	struct stat st;
	int r = look_up(f, path, (size_t)(slash - path), &folder, err);

	if (r < 0 || !folder->real)
		return r;
	real = path_join(folder->real, slash + 1);
	if (!real)
		return err_oom(err);
	if (lstat(real, &st) < 0)
		return is_out_of_reach(-errno) ? 0 : err_sys(err, -errno, "look at %s", real);
	if (!S_ISSOCK(st.st_mode) || (socket->ino != 0 && socket->ino != (uint32_t)st.st_ino) ||
	    is_hidden(f, real))
		return 0;
	return add_found(f, real, &st, err);
}

/* Before the first socket is judged. */
static int look_around(struct finder *f, struct err *err)
{
	struct stat root, run;

	f->root = fd_open("/", O_PATH | O_DIRECTORY);
	if (f->root < 0 || fstat(f->root, &root) < 0)
		return err_sys(err, -errno, "open /");
	if (lstat(RUN, &run) == 0 && run.st_dev != root.st_dev)
		f->run = run.st_dev;
	return find_shown(f) < 0 ? err_oom(err) : 0;
}

static int take(void *data, const struct bound_socket *socket, struct err *err)
{
	const char *name = socket->name;
	struct finder *f = data;
	int r = f->root < 0 ? look_around(f, err) : 0;

	if (r < 0)
		return r;
	if (f->run != 0 && socket->dev == f->run && !f->shows_run)
		return 0;
	/* What is too long for an address is bound as /proc/self/fd/N/NAME. */
	if (str_starts(name, "/proc/"))
		name = path_basename(name);
	if (name[0] == '/')
		return try_name(f, socket, name, err);
	for (size_t i = 0; i < f->bases.len && r == 0; i++) {
		_cleanup_(freep) char *path = path_join(f->bases.items[i], name);

		r = path ? try_name(f, socket, path, err) : err_oom(err);
	}
	return r;
}

/* -- All of it ------------------------------------------------------------ */

/* A further name of the same file, in the workspace, leads to the same server. */
static int add_aliases(struct finder *f, struct err *err)
{
	const char *workspace = f->site->workspace;
	_cleanup_(fd_closep) int fd = -1;
	int r;

	if (f->linked.shared_len == 0)
		return 0;
	fd = fd_open(workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(err, -errno, "open %s", workspace);
	r = ignore_collect_aliases(fd, &f->linked, err);
	for (size_t i = 0; i < f->linked.paths.len && r == 0; i++)
		if (strv_take(&f->site->bound, path_join(workspace, f->linked.paths.items[i])) < 0)
			r = err_oom(err);
	return r;
}

static void finder_release(struct finder *f)
{
	for (size_t i = 0; i < FOLDERS_KEPT; i++) {
		free(f->folders[i].name);
		free(f->folders[i].real);
	}
	strv_release(&f->shown);
	strv_release(&f->bases);
	ignore_found_release(&f->linked);
	fd_close(f->root);
}

int bound_probe(const struct spec *spec, const struct host *host, struct site *site,
		struct err *err)
{
	_cleanup_(finder_release) struct finder f = {
		.spec = spec, .host = host, .site = site, .root = -1};
	int r;

	if (!spec_is_confined(spec) || domain_flags(spec, host) & OP_SOCKETS)
		return 0; /* Landlock closes them all, those that are made later, too */
	r = bound_sockets_list(take, &f, err);
	if (r == 0)
		r = add_aliases(&f, err);
	strv_sort_unique(&site->bound);
	return r;
}
