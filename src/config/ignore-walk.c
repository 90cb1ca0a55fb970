/* SPDX-License-Identifier: MIT */
/*
 * What is hidden is looked for by a walk through the workspace. Folders that
 * wait are kept by name, not by descriptor, so that depth costs nothing; each
 * is opened beneath the one that was read last, or beneath the workspace.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/sys.h"
#include "config/ignore.h"

#define BUFFER_SIZE ((size_t)64 << 10)

struct entry {
	int dir;
	const char *path; /* relative to the workspace */
	const char *name; /* its last component */
	unsigned type;    /* DT_*, known */
};

enum { WALK_ENTER, WALK_PASS };

struct walk {
	int workspace;
	const struct ignore *ignore; /* NULL where no rule is asked */
	struct ignore_found *found;
	int (*visit)(struct walk *w, const struct entry *e, struct err *err); /* WALK_* */
	bool hide_closed; /* what cannot be entered is hidden */
	struct strv waiting;
	int dir; /* the folder that is being read, or was last */
	struct str at;
	char *buffer;
};

static void walk_release(struct walk *w)
{
	fd_close(w->dir);
	strv_release(&w->waiting);
	str_release(&w->at);
	free(w->buffer);
}

static int add_path(struct ignore_found *found, struct strv *list, const char *path,
		    struct err *err)
{
	if (found->paths.len + found->links.len >= IGNORE_PATHS_MAX)
		return err_hint(err,
				err_set(err, ERR_CONFIG, -E2BIG,
					"more than %d paths of the workspace are to be hidden",
					IGNORE_PATHS_MAX),
				"ignore whole folders instead, in " IGNORE_FILE
				": each path becomes a mount");
	return strv_add(list, path) < 0 ? err_oom(err) : 0;
}

/* PATH as it is below DIR, or NULL. */
static const char *below(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	if (len == 0)
		return path;
	return strncmp(dir, path, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

/* "/." asks for the right to enter it as well. */
static int open_folder(struct walk *w, const char *path, struct err *err)
{
	const char *rest = w->dir >= 0 ? below(str_text(&w->at), path) : NULL;
	_cleanup_(freep) char *name = path_join(rest ? rest : *path ? path : ".", ".");
	int fd;

	if (!name)
		return err_oom(err);
	fd = path_open_nolink(rest ? w->dir : w->workspace, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd == -ENOENT || (fd == -EACCES && !w->hide_closed))
		return 0;
	if (fd == -EACCES && *path)
		return add_path(w->found, &w->found->paths, path, err);
	if (fd < 0)
		return err_sys(err, fd, "look for hidden files in %s",
			       *path ? path : "the workspace");
	fd_close(w->dir);
	w->dir = fd;
	str_truncate(&w->at, 0);
	return str_append(&w->at, path) < 0 ? err_oom(err) : 1;
}

static int take_entry(struct walk *w, const struct sys_dirent *d, struct err *err)
{
	size_t len = w->at.len;
	struct entry e = {.dir = w->dir, .type = d->type};
	struct stat st;
	int r;

	if (str_eq(d->name, ".") || str_eq(d->name, ".."))
		return 0;
	if (e.type == DT_UNKNOWN) {
		if (fstatat(w->dir, d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return errno == ENOENT ? 0 : err_sys(err, -errno, "stat %s", d->name);
		e.type = IFTODT(st.st_mode);
	}
	if ((len && str_append_char(&w->at, '/') < 0) || str_append(&w->at, d->name) < 0)
		return err_oom(err);
	e.path = w->at.data;
	e.name = w->at.data + (len ? len + 1 : 0);
	r = w->visit(w, &e, err);
	if (r == WALK_ENTER && e.type == DT_DIR && strv_add(&w->waiting, e.path) < 0)
		r = err_oom(err);
	str_truncate(&w->at, len);
	return r < 0 ? r : 0;
}

static int read_folder(struct walk *w, struct err *err)
{
	int n, r = 0;

	while (r == 0) {
		n = sys_getdents(w->dir, w->buffer, BUFFER_SIZE);
		if (n <= 0)
			return n < 0 && n != -ENOENT ? err_sys(err, n, "read %s", str_text(&w->at))
						     : 0;
		for (int i = 0; i < n && r == 0;) {
			const struct sys_dirent *d = (const void *)(w->buffer + i);

			r = take_entry(w, d, err);
			i += d->len;
		}
	}
	return r;
}

/* Visit all that is below the folder PATH of the workspace; "" is itself. */
static int walk_run(struct walk *w, const char *path, struct err *err)
{
	int r = 0;

	w->dir = -1;
	w->buffer = malloc(BUFFER_SIZE);
	if (!w->buffer || strv_add(&w->waiting, path) < 0 || str_append(&w->at, "") < 0)
		r = err_oom(err);
	while (r == 0 && w->waiting.len > 0) {
		_cleanup_(freep) char *next = w->waiting.items[--w->waiting.len];

		w->waiting.items[w->waiting.len] = NULL;
		r = open_folder(w, next, err);
		if (r > 0)
			r = read_folder(w, err);
	}
	walk_release(w);
	return r;
}

int ignore_note_file(struct ignore_found *found, const struct stat *st)
{
	if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
		return 0;
	if (found->shared_len == found->shared_cap) {
		size_t cap = found->shared_cap ? found->shared_cap * 2 : 32;
		struct ignore_shared *grown = reallocarray(found->shared, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		found->shared = grown;
		found->shared_cap = cap;
	}
	found->shared[found->shared_len++] = (struct ignore_shared){
		.id = {.dev = st->st_dev, .ino = st->st_ino}};
	return 0;
}

/* Everything in here is hidden: note what has names elsewhere. */
static int visit_hidden(struct walk *w, const struct entry *e, struct err *err)
{
	struct stat st;

	if (e->type == DT_DIR || e->type == DT_LNK)
		return WALK_ENTER;
	if (fstatat(e->dir, e->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? WALK_PASS : err_sys(err, -errno, "stat %s", e->path);
	return ignore_note_file(w->found, &st) < 0 ? err_oom(err) : WALK_PASS;
}

/* Many links lead to one folder, and rules name folders of folders: each is walked but once. */
static int note_folders(int workspace, struct ignore_found *found, struct err *err)
{
	int r = 0;

	paths_fold(&found->folders);
	for (size_t i = 0; i < found->folders.len && r == 0; i++) {
		struct walk inner = {.workspace = workspace, .found = found, .visit = visit_hidden};

		r = walk_run(&inner, found->folders.items[i], err);
	}
	return r;
}

static int add_folder(struct ignore_found *found, const char *path, struct err *err)
{
	return strv_add(&found->folders, path) < 0 ? err_oom(err) : 0;
}

static int visit_all(struct walk *w, const struct entry *e, struct err *err)
{
	struct strv *list = e->type == DT_LNK ? &w->found->links : &w->found->paths;
	int r;

	if (!ignore_hides_entry(w->ignore, e->path, e->name, e->type == DT_DIR))
		return WALK_ENTER;
	r = add_path(w->found, list, e->path, err);
	if (r == 0)
		r = e->type == DT_DIR ? add_folder(w->found, e->path, err)
				      : visit_hidden(w, e, err);
	return r < 0 ? r : WALK_PASS;
}

int ignore_collect(int workspace, const struct ignore *ignore, struct ignore_found *found,
		   struct err *err)
{
	struct walk w = {.workspace = workspace,
			 .ignore = ignore,
			 .found = found,
			 .visit = visit_all,
			 .hide_closed = true};

	return ignore->len ? walk_run(&w, "", err) : 0;
}

int ignore_collect_path(int workspace, const char *path, struct ignore_found *found,
			struct err *err)
{
	_cleanup_(fd_closep) int fd = path_open_nolink(workspace, path, O_PATH | O_NOFOLLOW, 0);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, fd < 0 ? fd : -errno, "look at %s", path);
	r = add_path(found, &found->paths, path, err);
	if (r == 0 && S_ISDIR(st.st_mode))
		return add_folder(found, path, err);
	if (r == 0 && ignore_note_file(found, &st) < 0)
		r = err_oom(err);
	return r;
}

static int compare_shared(const void *a, const void *b)
{
	const struct ignore_shared *x = a, *y = b;

	if (x->id.dev != y->id.dev)
		return x->id.dev < y->id.dev ? -1 : 1;
	return x->id.ino < y->id.ino ? -1 : x->id.ino > y->id.ino;
}

/* Sort, each once. How many of its names were met says nothing: one can be met
 * twice, through a link. */
static void settle_shared(struct ignore_found *found)
{
	struct ignore_shared *shared = found->shared;
	size_t kept = 0;

	if (found->shared_len)
		qsort(shared, found->shared_len, sizeof(*shared), compare_shared);
	for (size_t i = 0; i < found->shared_len;) {
		struct ignore_shared one = shared[i++];

		while (i < found->shared_len && compare_shared(&one, &shared[i]) == 0)
			i++;
		shared[kept++] = one;
	}
	found->shared_len = kept;
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(a, *(char *const *)b);
}

static bool is_found(const struct ignore_found *found, size_t known, const char *path)
{
	return known && bsearch(path, found->paths.items, known, sizeof(char *), compare_text);
}

struct alias_walk {
	struct walk walk;
	size_t known; /* paths before this walk: sorted */
};

static int visit_aliases(struct walk *w, const struct entry *e, struct err *err)
{
	const struct alias_walk *aliases = (const struct alias_walk *)w;
	struct ignore_found *found = w->found;
	struct ignore_shared key;
	struct stat st;

	if (e->type == DT_LNK || is_found(found, aliases->known, e->path))
		return WALK_PASS;
	if (e->type == DT_DIR)
		return WALK_ENTER;
	if (fstatat(e->dir, e->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? WALK_PASS : err_sys(err, -errno, "stat %s", e->path);
	key.id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	if (st.st_nlink > 1 && bsearch(&key, found->shared, found->shared_len,
				       sizeof(*found->shared), compare_shared)) {
		int r = add_path(found, &found->paths, e->path, err);

		return r < 0 ? r : WALK_PASS;
	}
	return WALK_PASS;
}

int ignore_collect_aliases(int workspace, struct ignore_found *found, struct err *err)
{
	struct alias_walk w = {.walk = {.workspace = workspace,
					.found = found,
					.visit = visit_aliases,
					.hide_closed = true}};
	int r = note_folders(workspace, found, err);

	if (r < 0)
		return r;
	paths_fold(&found->paths);
	settle_shared(found);
	if (found->shared_len == 0)
		return 0;
	w.known = found->paths.len;
	return walk_run(&w.walk, "", err);
}

void ignore_found_release(struct ignore_found *found)
{
	strv_release(&found->paths);
	strv_release(&found->links);
	strv_release(&found->folders);
	free(found->shared);
	*found = (struct ignore_found){0};
}
