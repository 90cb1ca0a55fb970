/* SPDX-License-Identifier: MIT */
#include "files/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "config/ignore.h"
#include "files/place.h"

enum { PIECE = 65536 };

/* The rules of one folder. */
struct rules {
	struct ignore ignore;
	size_t base;        /* where a path relative to that folder begins in the walk's */
	const char *prefix; /* … or what comes before the walk's paths, from that folder on */
	const struct rules *up;
};

struct item {
	size_t name; /* in the folder's names */
	unsigned char type;
};

struct folder {
	struct str names;
	struct item *items;
	size_t len, cap;
	bool has_ignore;
};

struct state {
	struct walk *walk;
	struct str path;
	char *piece;
};

static void folder_release(struct folder *folder)
{
	str_release(&folder->names);
	free(folder->items);
}

static int add_item(struct folder *folder, int dir, const struct sys_dirent *d)
{
	const char *name = d->name;
	unsigned char type = d->type;

	if (str_eq(name, ".") || str_eq(name, "..") || str_eq(name, ".git"))
		return 0;
	if (type == DT_UNKNOWN) {
		struct stat st;

		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return 0;
		type = (unsigned char)IFTODT(st.st_mode);
	}
	if (folder->len == folder->cap) {
		size_t cap = folder->cap ? folder->cap * 2 : 64;
		struct item *grown = reallocarray(folder->items, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		folder->items = grown;
		folder->cap = cap;
	}
	folder->has_ignore |= type == DT_REG && str_eq(name, ".gitignore");
	folder->items[folder->len++] = (struct item){folder->names.len, type};
	return str_append_bytes(&folder->names, name, strlen(name) + 1);
}

static int compare(const void *a, const void *b, void *names)
{
	return strcmp((char *)names + ((const struct item *)a)->name,
		      (char *)names + ((const struct item *)b)->name);
}

/* Merge sort: few comparisons, and folders are often in order already. */
static void sort_items(struct item *items, struct item *spare, size_t len, char *names)
{
	size_t half = len / 2, a = 0, b = half;

	if (len < 2)
		return;
	sort_items(items, spare, half, names);
	sort_items(items + half, spare, len - half, names);
	if (compare(&items[half - 1], &items[half], names) <= 0)
		return;
	memcpy(spare, items, half * sizeof(*items));
	for (size_t i = 0; a < half; i++)
		items[i] = b < len && compare(&items[b], &spare[a], names) < 0 ? items[b++]
									       : spare[a++];
}

static int read_folder(struct state *s, int dir, struct folder *ret)
{
	_cleanup_(freep) struct item *spare = NULL;

	for (;;) {
		int n = sys_getdents(dir, s->piece, PIECE);
		int r = 0;

		if (n < 0)
			return n;
		if (n == 0)
			break;
		for (int at = 0; at < n && r == 0;) {
			const struct sys_dirent *d = (const void *)(s->piece + at);

			r = add_item(ret, dir, d);
			at += d->len;
		}
		if (r < 0)
			return r;
	}
	if (ret->len < 2)
		return 0;
	spare = reallocarray(NULL, ret->len, sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	sort_items(ret->items, spare, ret->len, ret->names.data);
	return 0;
}

/* What cannot be read excludes nothing. */
static int load_rules(int dir, const char *name, struct ignore *ret)
{
	_cleanup_(fd_closep) int fd = path_open_nolink(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY,
						       0);
	_cleanup_(str_release) struct str text = {0};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fd_read_all(fd, IGNORE_SIZE_MAX, &text) < 0)
		return 0;
	return ignore_parse_loosely(str_text(&text), text.len, ret);
}

/* The innermost list that says something decides. */
static bool is_excluded(const struct rules *rules, const char *path, const char *name, bool is_dir)
{
	for (; rules; rules = rules->up) {
		_cleanup_(freep) char *longer = NULL;
		const char *whole = path + rules->base, *end = name;
		int verdict;

		if (rules->ignore.len == 0)
			continue;
		if (rules->prefix) {
			longer = str_printf("%s%s", rules->prefix, path);
			if (!longer)
				return false;
			whole = longer;
			end = longer + strlen(longer) - strlen(name);
		}
		verdict = ignore_judge_entry(&rules->ignore, whole, end, is_dir);
		if (verdict != 0)
			return verdict > 0;
	}
	return false;
}

static int walk_folder(struct state *s, int dir, const struct rules *above, unsigned depth);

static int enter(struct state *s, int dir, const char *name, const struct rules *rules,
		 unsigned depth)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	if (depth == WALK_DEPTH_MAX) {
		s->walk->unread++;
		return 0;
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return -errno;
	if (fd < 0) {
		s->walk->unread++;
		return 0;
	}
	r = str_append_char(&s->path, '/');
	return r < 0 ? r : walk_folder(s, fd, rules, depth + 1);
}

static int visit(struct state *s, int dir, const char *name, unsigned char type,
		 const struct rules *rules, unsigned depth)
{
	struct walk_entry entry = {.dir = dir, .depth = depth, .type = type};
	size_t len = s->path.len;
	int r = str_append(&s->path, name);

	if (r < 0)
		return r;
	entry.path = s->path.data;
	entry.name = s->path.data + len;
	entry.is_dir = type == DT_DIR;
	if (!s->walk->no_ignore && is_excluded(rules, entry.path, entry.name, entry.is_dir))
		r = 0;
	else
		r = s->walk->entry(s->walk->data, &entry);
	if (r > 0 && entry.is_dir)
		r = enter(s, dir, name, rules, depth);
	str_truncate(&s->path, len);
	return r < 0 ? r : 0;
}

static int walk_folder(struct state *s, int dir, const struct rules *above, unsigned depth)
{
	_cleanup_(folder_release) struct folder folder = {0};
	struct rules own = {.base = s->path.len, .up = above};
	int r = read_folder(s, dir, &folder);

	if (r == -EACCES || r == -EPERM || r == -ENOENT) {
		s->walk->unread++;
		return 0;
	}
	if (r == 0 && folder.has_ignore && !s->walk->no_ignore)
		r = load_rules(dir, ".gitignore", &own.ignore);
	for (size_t i = 0; i < folder.len && r == 0; i++)
		r = visit(s, dir, folder.names.data + folder.items[i].name, folder.items[i].type,
			  own.ignore.len > 0 ? &own : above, depth);
	ignore_release(&own.ignore);
	return r;
}

/* The rules of the root, of the folders between it and where the walk begins, and of the
 * repository. REST is that way, and *UP the innermost so far. */
static int walk_below(struct state *s, const struct target *from, int dir, const char *rest,
		      const struct rules *up)
{
	struct rules own = {.up = up};
	_cleanup_(freep) char *prefix = NULL;
	_cleanup_(freep) char *name = NULL;
	_cleanup_(fd_closep) int next = -1;
	size_t len = strcspn(rest, "/");
	int r;

	if (!*rest) {
		next = place_reopen(from->fd, O_RDONLY | O_DIRECTORY);
		return next < 0 ? next : walk_folder(s, next, up, 0);
	}
	prefix = str_printf("%s/", rest);
	name = strndup(rest, len);
	if (!prefix || !name)
		return -ENOMEM;
	own.prefix = prefix;
	r = load_rules(dir, ".gitignore", &own.ignore);
	next = r < 0 ? -1 : path_open_nolink(dir, name, O_PATH | O_DIRECTORY, 0);
	if (r == 0)
		r = walk_below(s, from, next, rest + len + strspn(rest + len, "/"), &own);
	ignore_release(&own.ignore);
	return r;
}

int walk_run(struct walk *walk, const struct target *from)
{
	struct state s = {.walk = walk, .piece = malloc(PIECE)};
	struct rules repository = {0};
	_cleanup_(freep) char *prefix = NULL;
	const struct place_root *root = from->root;
	const char *rest = "";
	int r = s.piece && str_append(&s.path, "") == 0 ? 0 : -ENOMEM;

	if (root && root->is_dir && !walk->no_ignore) {
		rest = from->path + strlen(root->path);
		rest += strspn(rest, "/");
		prefix = *rest ? str_printf("%s/", rest) : NULL;
		repository.prefix = prefix;
		if (r == 0)
			r = load_rules(root->fd, ".git/info/exclude", &repository.ignore);
	}
	if (r == 0)
		r = walk_below(&s, from, root ? root->fd : -1, rest, &repository);
	ignore_release(&repository.ignore);
	str_release(&s.path);
	free(s.piece);
	return r;
}
