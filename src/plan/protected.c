/* SPDX-License-Identifier: MIT */
#include "plan/protected.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir-names.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "plan/git-dir.h"
#include "plan/walk.h"

static const char *keep_dir(struct protection *p, const char *dir)
{
	for (size_t i = p->dirs.len; i > 0; i--)
		if (str_eq(p->dirs.items[i - 1], dir))
			return p->dirs.items[i - 1];
	return strv_add(&p->dirs, dir) < 0 ? NULL : p->dirs.items[p->dirs.len - 1];
}

/* ITEM owns its text from here on, also on failure. */
static int append(struct protection *p, struct protected_path item)
{
	if (p->len == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 64;
		struct protected_path *grown = reallocarray(p->items, cap, sizeof(*grown));

		if (!grown) {
			free(item.text);
			return -ENOMEM;
		}
		p->items = grown;
		p->cap = cap;
	}
	p->items[p->len++] = item;
	return 0;
}

int protection_add(struct protection *p, const char *dir, const char *name,
		   enum protected_type type, struct file_id id, const char *link)
{
	struct protected_path item = {.dir = keep_dir(p, dir), .type = type, .id = id};
	size_t size = strlen(name) + 1;

	if (!item.dir)
		return -ENOMEM;
	for (size_t i = 0; i < p->len; i++)
		if (p->items[i].dir == item.dir && str_eq(p->items[i].name, name)) {
			/* What is read-only as a whole holds nothing to write. */
			if (p->items[i].type == PROTECTED_PARENT)
				p->items[i].type = type;
			return 0;
		}
	item.text = malloc(size + (link ? strlen(link) + 1 : 0));
	if (!item.text)
		return -ENOMEM;
	item.name = memcpy(item.text, name, size);
	item.link = link ? memcpy(item.text + size, link, strlen(link) + 1) : NULL;
	return append(p, item);
}

struct root {
	struct protection *protection;
	int fd;
	const char *path, *dir; /* the same; the latter is one of the protection's */
	struct dir_names names;
};

/* What a workspace holds is known from one listing, as a rule, and few of the names are in it.
 * The first is looked at in any case: a folder that can be listed may still not be entered. */
static int probe_name(struct root *root, const char *const *name, struct err *err)
{
	struct protection *p = root->protection;
	struct protected_path item = {.dir = root->dir, .name = *name};
	size_t before = (size_t)(name - protected_names);
	struct stat st;

	if (before > 0 && !dir_names_may_have(&root->names, *name)) {
		item.type = PROTECTED_ABSENT;
	} else if (fstatat(root->fd, *name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISLNK(st.st_mode)) {
			_cleanup_(walk_release) struct walk walk = {.protection = p};

			return walk_path(&walk, root->path, *name, err);
		}
		item.type = S_ISDIR(st.st_mode) ? PROTECTED_DIR : PROTECTED_FILE;
		item.id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	} else if (errno != ENOENT) {
		return err_sys(err, -errno, "look at %s in %s", *name, root->path);
	}
	/* As long as there are no more than those before it in the table, it is none of them. */
	return (p->len == before ? append(p, item)
				 : protection_add(p, item.dir, *name, item.type, item.id, NULL)) < 0
		       ? err_oom(err)
		       : 0;
}

static int probe_inner(struct root *root, const char *folder, const char *inner, struct err *err)
{
	_cleanup_(walk_release) struct walk walk = {.protection = root->protection};
	_cleanup_(freep) char *path = path_join(folder, inner);

	return path ? walk_path(&walk, root->path, path, err) : err_oom(err);
}

static int probe_folder(struct root *root, const struct protected_folder *folder, struct err *err)
{
	struct stat st;
	int r = 0;

	if (dir_names_may_have(&root->names, folder->name) &&
	    fstatat(root->fd, folder->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		for (const char *const *inner = folder->inner; *inner && r == 0; inner++)
			r = probe_inner(root, folder->name, *inner, err);
		return r;
	}
	if (folder->must_not_appear)
		r = protection_add(root->protection, root->path, folder->name, PROTECTED_ABSENT,
				   (struct file_id){0}, NULL);
	return r < 0 ? err_oom(err) : 0;
}

/* To be listed, or else only to be looked into. */
static int open_root(struct root *root, const char *path, struct err *err)
{
	root->path = path;
	root->dir = keep_dir(root->protection, path);
	if (!root->dir)
		return err_oom(err);
	root->fd = fd_open(path, O_RDONLY | O_DIRECTORY);
	if (root->fd >= 0) {
		dir_names_read(root->fd, &root->names);
		return 0;
	}
	root->names.is_known = false;
	root->fd = fd_open(path, O_PATH | O_DIRECTORY);
	return root->fd < 0 ? err_sys(err, -errno, "open %s", path) : 0;
}

int protection_probe(const char *workspace, const char *home, struct protection *ret,
		     struct err *err)
{
	struct protection p = {0};
	struct root root;
	int r;

	root.protection = &p;
	root.fd = -1;
	r = open_root(&root, workspace, err);
	for (const char *const *name = protected_names; *name && r == 0; name++)
		r = probe_name(&root, name, err);
	for (const struct protected_folder *f = protected_folders; f->name && r == 0; f++)
		r = probe_folder(&root, f, err);
	fd_close(root.fd);
	if (r == 0)
		r = git_dir_probe(workspace, home, &p, err);
	if (r < 0) {
		protection_release(&p);
		return r;
	}
	*ret = p;
	return 0;
}

void protection_release(struct protection *p)
{
	for (size_t i = 0; i < p->len; i++)
		free(p->items[i].text);
	free(p->items);
	strv_release(&p->dirs);
	strv_release(&p->mirrors);
	strv_release(&p->sources);
	free(p->git_common);
	*p = (struct protection){0};
}
