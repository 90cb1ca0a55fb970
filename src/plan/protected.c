/* SPDX-License-Identifier: MIT */
#include "plan/protected.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "plan/git-dir.h"
#include "plan/walk.h"

int protection_add(struct protection *p, const char *dir, const char *name,
		   enum protected_type type, struct file_id id, const char *link)
{
	struct protected_path *item;

	for (size_t i = 0; i < p->len; i++)
		if (str_eq(p->items[i].name, name) && str_eq(p->items[i].dir, dir)) {
			/* What is read-only as a whole holds nothing to write. */
			if (p->items[i].type == PROTECTED_PARENT)
				p->items[i].type = type;
			return 0;
		}
	if (p->len == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 64;
		struct protected_path *grown = reallocarray(p->items, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		p->items = grown;
		p->cap = cap;
	}
	item = &p->items[p->len];
	*item = (struct protected_path){.dir = strdup(dir),
					.name = strdup(name),
					.type = type,
					.id = id,
					.link = link ? strdup(link) : NULL};
	if (!item->dir || !item->name || (link && !item->link)) {
		free(item->dir);
		free(item->name);
		free(item->link);
		return -ENOMEM;
	}
	p->len++;
	return 0;
}

/* One look per name: few exist. Only a link takes more. */
static int probe_name(struct protection *p, int root, const char *workspace, const char *name,
		      struct err *err)
{
	struct stat st;
	struct file_id id = {0};
	enum protected_type type = PROTECTED_ABSENT;

	if (fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISLNK(st.st_mode)) {
			_cleanup_(walk_release) struct walk walk = {.protection = p};

			return walk_path(&walk, workspace, name, err);
		}
		type = S_ISDIR(st.st_mode) ? PROTECTED_DIR : PROTECTED_FILE;
		id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	} else if (errno != ENOENT) {
		return err_sys(err, -errno, "look at %s in %s", name, workspace);
	}
	return protection_add(p, workspace, name, type, id, NULL) < 0 ? err_oom(err) : 0;
}

int protection_probe(const char *workspace, const char *home, struct protection *ret,
		     struct err *err)
{
	_cleanup_(fd_closep) int root = fd_open(workspace, O_PATH | O_DIRECTORY);
	struct protection p = {0};
	int r = 0;

	if (root < 0)
		return err_sys(err, -errno, "open %s", workspace);
	for (const char *const *name = protected_names; *name && r == 0; name++)
		r = probe_name(&p, root, workspace, *name, err);
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
	for (size_t i = 0; i < p->len; i++) {
		free(p->items[i].dir);
		free(p->items[i].name);
		free(p->items[i].link);
	}
	free(p->items);
	free(p->git_common);
	*p = (struct protection){0};
}
