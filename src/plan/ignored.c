/* SPDX-License-Identifier: MIT */
#include "plan/ignored.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "config/ignore.h"
#include "plan/host.h"
#include "policy/spec.h"

struct prober {
	struct site *site;
	int workspace;
	struct ignore_found found;
};

/* Hide the symlink-free PATH, of type ST, under every name that it has. */
static int add_real(struct prober *p, const char *path, const struct stat *st, struct err *err)
{
	const char *workspace = p->site->workspace;

	if (path_covers(workspace, path) && !str_eq(workspace, path))
		return ignore_collect_path(p->workspace, path + strlen(workspace) + 1, &p->found,
					   err);
	if (strv_add(&p->site->ignored, path) < 0 || ignore_note_file(&p->found, st) < 0)
		return err_oom(err);
	return 0;
}

/* A file that paths_hidden names can have other names, and so can what is in a
 * folder. Outside of the workspace only the former is looked at. */
static int add_hidden_rules(struct prober *p, const struct spec *spec, struct err *err)
{
	size_t first = p->site->paths_len - spec->paths_hidden.len;

	for (size_t i = first; i < p->site->paths_len; i++) {
		const struct site_path *at = &p->site->paths[i];
		struct stat st;
		int r;

		if (at->type == SITE_ABSENT || path_covers(at->real, p->site->workspace))
			continue;
		if (lstat(at->real, &st) < 0) {
			if (errno == ENOENT || errno == ENOTDIR)
				continue; /* gone meanwhile */
			return err_sys(err, -errno, "stat %s", at->real);
		}
		r = add_real(p, at->real, &st, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* They are the sandbox's own, and no link of a workspace takes /dev/null away. */
static bool is_kernel_path(const char *path)
{
	return path_covers("/proc", path) || path_covers("/dev", path) || path_covers("/sys", path);
}

/* A link keeps its name, and what it leads to is hidden. */
static int add_target(struct prober *p, const char *link, struct err *err)
{
	const char *slash = strrchr(link, '/');
	_cleanup_(freep) char *folder = slash ? strndup(link, (size_t)(slash - link)) : strdup(".");
	_cleanup_(freep) char *real = NULL;
	_cleanup_(fd_closep) int dir = -1;
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;
	int r;

	if (!folder)
		return err_oom(err);
	dir = path_open_nolink(p->workspace, folder, O_PATH | O_DIRECTORY, 0);
	if (dir < 0)
		return err_sys(err, dir, "open %s", folder);
	fd = path_open_anywhere(dir, slash ? slash + 1 : link, O_PATH);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES)
		return 0;
	r = fd < 0 ? fd : path_of_fd(fd, &real);
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r < 0)
		return err_hint(err, err_sys(err, r, "hide what the link %s leads to", link),
				"remove the link, or except it in " IGNORE_FILE ": !/%s", link);
	if (path_covers(real, p->site->workspace))
		return err_hint(err,
				err_set(err, ERR_CONFIG, -EINVAL,
					"the link %s is hidden and leads to %s, where the "
					"workspace is",
					link, real),
				"remove the link, or except it in " IGNORE_FILE ": !/%s", link);
	if (is_kernel_path(real) && !path_covers(p->site->workspace, real))
		return 0;
	return add_real(p, real, &st, err);
}

static int collect(struct prober *p, const struct spec *spec, const struct ignore *ignore,
		   struct err *err)
{
	struct site *site = p->site;
	int r = ignore_collect(p->workspace, ignore, &p->found, err);

	for (size_t i = 0; i < p->found.links.len && r == 0; i++)
		r = add_target(p, p->found.links.items[i], err);
	if (r == 0)
		r = add_hidden_rules(p, spec, err);
	if (r == 0)
		r = ignore_collect_aliases(p->workspace, &p->found, err);
	for (size_t i = 0; i < p->found.paths.len && r == 0; i++)
		if (strv_take(&site->ignored, path_join(site->workspace, p->found.paths.items[i])) <
		    0)
			r = err_oom(err);
	return r;
}

int ignored_probe(const struct spec *spec, struct site *site, struct err *err)
{
	_cleanup_(ignore_release) struct ignore ignore = {0};
	struct prober p = {.site = site, .workspace = -1};
	int r;

	if (!spec_is_confined(spec))
		return 0;
	r = ignore_load(site->workspace, &ignore, err);
	if (r < 0 || (ignore.len == 0 && spec->paths_hidden.len == 0))
		return r < 0 ? r : 0;
	p.workspace = fd_open(site->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	if (p.workspace < 0)
		return err_sys(err, -errno, "open %s", site->workspace);
	r = collect(&p, spec, &ignore, err);
	fd_close(p.workspace);
	ignore_found_release(&p.found);
	return r;
}

/* Nobody can read it, and nobody inside can change that. */
static bool is_covered(const char *path)
{
	struct statvfs fs;
	struct stat st;

	return lstat(path, &st) == 0 && (st.st_mode & 07777) == 0 && statvfs(path, &fs) == 0 &&
	       fs.f_flag & ST_RDONLY;
}

void ignored_forget_covered(struct site *site)
{
	struct strv *paths = &site->ignored;
	size_t kept = 0;

	for (size_t i = 0; i < paths->len; i++) {
		char *path = paths->items[i];

		paths->items[i] = NULL;
		if (is_covered(path))
			free(path);
		else
			paths->items[kept++] = path;
	}
	paths->len = kept;
}
