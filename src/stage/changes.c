/* SPDX-License-Identifier: MIT */
#include "stage/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xattr.h"
#include "stage/access.h"
#include "stage/content.h"
#include "stage/judge.h"
#include "stage/mark.h"
#include "stage/roots.h"
#include "stage/stage.h"
#include "stage/three-way.h"
#include "stage/txn-order.h"
#include "stage/upper.h"

enum { TRIES = 10 }; /* while the base is being changed */

struct reader {
	struct changes *changes;
	struct judge judge;
	struct marker *marker;
	struct relaxed relaxed;
	struct err *err;
	unsigned root;
};

static void change_release(struct change *change)
{
	free(change->path);
	free(change->moved_from);
	node_release(&change->old);
	node_release(&change->new);
}

struct changes *changes_free(struct changes *changes)
{
	for (size_t i = 0; changes && i < changes->n; i++)
		change_release(&changes->items[i]);
	if (changes) {
		free(changes->items);
		strv_release(&changes->names);
	}
	free(changes);
	return NULL;
}

int change_path_compare(const char *a, const char *b)
{
	for (; *a == *b && *a; a++)
		b++;
	if (*a == *b || !*a || !*b)
		return !!*a - !!*b;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a - (unsigned char)*b;
}

bool change_path_below(const char *prefix, const char *path)
{
	size_t len = strlen(prefix);

	return len == 0 ||
	       (strncmp(prefix, path, len) == 0 && (path[len] == '\0' || path[len] == '/'));
}

static int compare(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return change_path_compare(x->path, y->path);
}

bool change_is_new_folder(const struct change *change)
{
	return change->kind == CHANGE_ADD && change->old.type == NODE_ABSENT &&
	       change->new.type == NODE_DIR && !(change->new.mode & 0002);
}

const struct change *changes_find(const struct changes *changes, unsigned root, const char *path)
{
	struct change key = {.root = root, .path = (char *)path};

	if (changes->n == 0)
		return NULL;
	return bsearch(&key, changes->items, changes->n, sizeof(key), compare);
}

static struct change *add(struct reader *reader, const char *path, enum change_kind kind,
			  const struct node *old, const struct node *new)
{
	struct changes *changes = reader->changes;
	struct change *change;

	if (changes->n == changes->cap) {
		size_t cap = changes->cap ? changes->cap * 2 : 64;
		struct change *grown = reallocarray(changes->items, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		changes->items = grown;
		changes->cap = cap;
	}
	change = &changes->items[changes->n];
	*change = (struct change){
		.root = reader->root, .path = strdup(path), .kind = kind, .why = ""};
	if (!change->path || node_copy(&change->old, old) < 0 ||
	    (new &&node_copy(&change->new, new) < 0)) {
		change_release(change);
		return NULL;
	}
	changes->n++;
	change->flags = marker_judge(reader->marker, reader->root, path, &change->new,
				     &change->why);
	return change;
}

/* 1: two regular files with the same bytes, or two links with one target. */
static int is_equal(const struct upper_entry *entry)
{
	_cleanup_(fd_closep) int upper = -1, base = -1;
	int r;

	if (entry->upper->type == NODE_LINK)
		return str_eq(entry->upper->target, entry->base->target);
	if (entry->upper->type != NODE_FILE)
		return 1;
	if (entry->upper->size != entry->base->size)
		return 0;
	upper = open_staged_file(entry->upper_dir, entry->name, entry->upper->ino);
	base = open_file(entry->base_dir, entry->name, entry->base->ino);
	if (upper < 0 || base < 0)
		return 0; /* cannot be read: counts as changed */
	r = content_equal(upper, base);
	return r < 0 ? 0 : r;
}

static void mark_type(struct change *change, const struct upper_entry *entry)
{
	struct node *new = &change->new;
	mode_t special = new->type == NODE_DIR ? 0 : new->mode & 06000;
	bool privileged = false;

	new->is_plain = new->type == NODE_FILE &&content_is_plain(entry->upper_dir, entry->name) &&
			!new->is_marked;
	if (new->type == NODE_FILE && !new->is_plain) {
		_cleanup_(fd_closep) int fd = open_staged_file(entry->upper_dir, entry->name,
							       new->ino);

		privileged = fd >= 0 && xattr_has_privileged(fd) > 0;
	}
	if (special || privileged) {
		change->flags |= CHANGE_IS_STRIPPED;
		change->why = special ? "applied without its set-id bits"
				      : "applied without its privileges";
	}
	if (new->type == NODE_SOCKET || new->type == NODE_DEVICE || entry->is_too_deep) {
		change->flags |= CHANGE_IS_UNSUPPORTED;
		change->why = new->type == NODE_SOCKET   ? "a socket"
			      : new->type == NODE_DEVICE ? "a device"
							 : "too deep a folder";
	}
}

static int set_run(struct reader *reader, struct change *change)
{
	const struct index_entry *known = index_find(reader->judge.index, change->root,
						     change->path);
	struct strv *names = &reader->changes->names;
	int r;

	if (!known || !known->run || !known->run[0])
		return 0;
	for (size_t i = names->len; i > 0 && !change->run; i--)
		if (str_eq(names->items[i - 1], known->run))
			change->run = names->items[i - 1];
	if (change->run)
		return 0;
	r = strv_add(names, known->run);
	if (r == 0)
		change->run = names->items[names->len - 1];
	return r;
}

/* Nothing of a repository is merged: its files have no lines. */
static bool merges(const struct judge *judge, struct change *change)
{
	_cleanup_(str_release) struct str text = {0};
	const struct stage *stage = judge->stage;
	struct err ignored = {0};

	if (git_inside(stage->roots[change->root].path, change->path) ||
	    change_merge(stage, judge->index, change, &text, &change->merged_mode, &ignored) < 0)
		return false;
	change->merged_mode &= 01777;
	change->merged_size = text.len;
	return true;
}

static void mark_conflict(struct reader *reader, struct change *change)
{
	change->flags |= CHANGE_IS_CONFLICT;
	change->why = change->old.type == NODE_ABSENT ? "deleted on the host meanwhile"
						      : "changed on the host meanwhile";
	if (merges(&reader->judge, change))
		change->flags |= CHANGE_MERGES;
}

static int take_folder(struct reader *reader, const struct upper_entry *entry)
{
	const struct node *upper = entry->upper, *base = entry->base;
	bool conflict = judge_entry(&reader->judge, reader->root, entry);
	struct change *change;

	if (upper->mode == base->mode || judge_mode_is_hosts(&reader->judge, reader->root, entry))
		if (!entry->is_too_deep && !(conflict && entry->is_opaque))
			return 0;
	change = add(reader, entry->path, CHANGE_MODE, base, upper);
	if (!change)
		return err_oom(reader->err);
	change->is_opaque = entry->is_opaque;
	mark_type(change, entry);
	if (conflict)
		mark_conflict(reader, change);
	return set_run(reader, change) < 0 ? err_oom(reader->err) : 0;
}

static enum change_kind kind_of(const struct upper_entry *entry, bool *ret_same)
{
	const struct node *upper = entry->upper, *base = entry->base;

	*ret_same = false;
	if (base->type == NODE_ABSENT)
		return CHANGE_ADD;
	if (base->type != upper->type)
		return CHANGE_TYPE;
	if (!is_equal(entry))
		return CHANGE_MODIFY;
	*ret_same = upper->mode == base->mode || upper->type == NODE_LINK;
	return CHANGE_MODE;
}

static int take_entry(void *data, const struct upper_entry *entry)
{
	struct reader *reader = data;
	const struct node *upper = entry->upper;
	struct change *change;
	enum change_kind kind;
	bool same;

	if (upper->type == NODE_DIR && entry->base->type == NODE_DIR)
		return take_folder(reader, entry);
	if (upper->type == NODE_WHITEOUT) {
		kind = CHANGE_DELETE;
		same = entry->base->type == NODE_ABSENT;
	} else {
		kind = kind_of(entry, &same);
	}
	change = add(reader, entry->path, kind, entry->base, kind == CHANGE_DELETE ? NULL : upper);
	if (!change)
		return err_oom(reader->err);
	change->is_opaque = entry->is_opaque;
	mark_type(change, entry);
	if (same)
		change->flags |= CHANGE_IS_SAME;
	if (judge_entry(&reader->judge, reader->root, entry)) {
		if (same)
			change->flags |= CHANGE_DROPS;
		else
			mark_conflict(reader, change);
	}
	return set_run(reader, change) < 0 ? err_oom(reader->err) : 0;
}

static int take_gone(void *data, const struct upper_gone *gone)
{
	struct reader *reader = data;
	struct change *change = add(reader, gone->path, CHANGE_DELETE, gone->base, NULL);
	struct timespec t0;

	if (!change)
		return err_oom(reader->err);
	t0 = judge_t0(&reader->judge, reader->root, gone->by, gone->by_node);
	if (gone->is_unreadable) {
		change->flags |= CHANGE_IS_UNSUPPORTED;
		change->why = "a folder that cannot be listed";
	} else if (judge_gone(gone->base, t0)) {
		mark_conflict(reader, change);
	}
	return set_run(reader, change) < 0 ? err_oom(reader->err) : 0;
}

/* A folder that cannot be listed was told twice. */
static void sort(struct changes *changes)
{
	size_t kept = 0;

	if (changes->n < 2)
		return;
	qsort(changes->items, changes->n, sizeof(*changes->items), compare);
	for (size_t i = 1; i < changes->n; i++) {
		struct change *last = &changes->items[kept], *next = &changes->items[i];

		if (compare(last, next) != 0) {
			changes->items[++kept] = *next;
			continue;
		}
		if (last->old.ino == 0) {
			struct change swapped = *last;

			*last = *next;
			*next = swapped;
		}
		last->flags |= next->flags;
		last->why = next->why;
		change_release(next);
	}
	changes->n = kept + 1;
}

/* In a folder that the host put there meanwhile, everything is new, however old. */
static void spread_conflicts(struct changes *changes)
{
	const struct change *top = NULL;

	for (size_t i = 0; i < changes->n; i++) {
		struct change *change = &changes->items[i];

		if (top &&
		    (top->root != change->root || !change_path_below(top->path, change->path)))
			top = NULL;
		if (top && change->old.type != NODE_ABSENT &&
		    !(change->flags & CHANGE_IS_CONFLICT)) {
			change->flags |= CHANGE_IS_CONFLICT;
			change->why = top->why;
		}
		if (!top && change->flags & CHANGE_IS_CONFLICT && change->old.type == NODE_DIR &&
		    (change->new.type != NODE_DIR || change->is_opaque))
			top = change;
	}
}

/* Is there something at PATH once all is applied? */
static bool lies_beside(const struct stage *stage, const struct changes *changes, unsigned root,
			const char *path)
{
	const struct change *change = changes_find(changes, root, path);
	_cleanup_(fd_closep) int base = -1, fd = -1;

	if (change)
		return change->new.type != NODE_ABSENT;
	if (root_open(stage, root, &base, NULL) < 0)
		return true;
	fd = path_open_nolink(base, path, O_PATH, 0);
	return fd >= 0;
}

/* A repository by what lies beside each other: git reads its configuration when somebody enters
 * the folder. */
static int mark_bare(const struct stage *stage, struct changes *changes)
{
	for (size_t i = 0; i < changes->n; i++) {
		struct change *change = &changes->items[i];
		const char *slash = strrchr(change->path, '/');
		int above = slash ? (int)(slash + 1 - change->path) : 0;
		bool is_config = str_eq(change->path + above, "config");
		_cleanup_(freep) char *other = NULL;

		if ((!is_config && !str_eq(change->path + above, "HEAD")) ||
		    change->new.type == NODE_ABSENT || change->new.type == NODE_DIR ||
		    change->flags &(CHANGE_RUNS_LATER | CHANGE_IS_SAME) ||
		    (!is_config && change->old.type != NODE_ABSENT) ||
		    git_inside(stage->roots[change->root].path, change->path))
			continue;
		other = str_printf("%.*s%s", above, change->path, is_config ? "HEAD" : "config");
		if (!other)
			return -ENOMEM;
		if (!lies_beside(stage, changes, change->root, other))
			continue;
		change->flags |= CHANGE_RUNS_LATER;
		if (!*change->why)
			change->why = "git may execute what the configuration names";
	}
	return 0;
}

static int read_root(struct reader *reader)
{
	struct upper_visitor visitor = {.entry = take_entry, .gone = take_gone, .data = reader};
	const struct stage *stage = reader->judge.stage;
	_cleanup_(fd_closep) int upper = -1, base = -1;
	int r = root_open_both(stage, reader->root, &upper, &base, reader->err);

	if (r == 0)
		return 0;
	if (r > 0)
		r = upper_walk(upper, base, &visitor, &reader->relaxed, reader->err);
	if (r == -ENOMEM)
		err_oom(reader->err);
	if (upper >= 0)
		relaxed_restore(&reader->relaxed, upper);
	return r;
}

static int read_once(struct stage *stage, struct changes **ret, struct err *err)
{
	_cleanup_(changes_freep) struct changes *changes = calloc(1, sizeof(*changes));
	_cleanup_(marker_freep) struct marker *marker = NULL;
	struct reader reader = {.changes = changes, .err = err};
	int r;

	if (!changes)
		return err_oom(err);
	r = marker_new(stage, &marker, err);
	if (r == 0)
		r = judge_init(&reader.judge, stage, err);
	if (r < 0)
		return r;
	reader.marker = marker;
	for (size_t i = 0; i < stage->n_roots && r == 0; i++) {
		reader.root = (unsigned)i;
		r = read_root(&reader);
	}
	judge_release(&reader.judge);
	if (r < 0)
		return r;
	sort(changes);
	spread_conflicts(changes);
	if (mark_bare(stage, changes) < 0)
		return err_oom(err);
	*ret = take_ptr(changes);
	return 0;
}

int changes_read(struct stage *stage, struct changes **ret, struct err *err)
{
	struct err failed = {0};
	int r = -EAGAIN;

	for (int try = 0; try < TRIES && r == -EAGAIN; try++)
		r = read_once(stage, ret, &failed);
	if (r < 0 && err)
		*err = failed;
	return r;
}

static int open_on_host(int dirfd, const char *path, ino_t ino)
{
	const char *name;
	_cleanup_(fd_closep) int parent = open_parent(dirfd, path, &name);

	return parent < 0 ? parent : open_file(parent, name, ino);
}

/* Also where the command closed the folder or the file. */
static int open_in_upper(int dirfd, const char *path, ino_t ino)
{
	struct relaxed relaxed = {0};
	const char *name;
	int parent = relaxed_search_parent(&relaxed, dirfd, path, &name);
	int fd = parent < 0 ? parent : open_staged_file(parent, name, ino);

	relaxed_restore(&relaxed, dirfd);
	return fd;
}

static int open_side(int dirfd, const char *path, const struct node *node, bool staged, int *ret_fd,
		     struct err *err)
{
	int fd;

	if (node->type != NODE_FILE)
		return err_set(err, ERR_SYSTEM, -EINVAL, "%s is %s, not a file", path,
			       node_type_name(node->type));
	fd = (staged ? open_in_upper : open_on_host)(dirfd, path, node->ino);
	if (fd < 0)
		return err_sys(err, fd, "open %s", path);
	*ret_fd = fd;
	return 0;
}

int change_open_old(const struct stage *stage, const struct change *change, int *ret_fd,
		    struct err *err)
{
	_cleanup_(fd_closep) int base = -1;
	int r = root_open(stage, change->root, &base, err);

	return r < 0 ? r : open_side(base, change->path, &change->old, false, ret_fd, err);
}

int change_open_new(const struct stage *stage, const struct change *change, int *ret_fd,
		    struct err *err)
{
	_cleanup_(fd_closep) int upper = -1;
	int r = stage_upper(stage, change->root, &upper, err);

	if (r == -ENOENT)
		return err_sys(err, r, "open %s", change->path);
	return r < 0 ? r : open_side(upper, change->path, &change->new, true, ret_fd, err);
}

typedef int open_fn(const struct stage *stage, const struct change *change, int *ret_fd,
		    struct err *err);

static int read_side(open_fn *open_one, const struct stage *stage, const struct change *change,
		     const struct node *node, size_t max, struct str *ret, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	if (node->type == NODE_LINK) {
		str_truncate(ret, 0);
		return str_append(ret, node->target) < 0 ? err_oom(err) : 0;
	}
	r = open_one(stage, change, &fd, err);
	if (r < 0)
		return r;
	r = node->size > max ? -EFBIG : content_read(fd, max, ret);
	if (r == -EFBIG)
		return err_set(err, ERR_SYSTEM, r, "%s is larger than %zu bytes", change->path,
			       max);
	return r < 0 ? err_sys(err, r, "read %s", change->path) : 0;
}

int change_read_old(const struct stage *stage, const struct change *change, size_t max,
		    struct str *ret, struct err *err)
{
	return read_side(change_open_old, stage, change, &change->old, max, ret, err);
}

int change_read_new(const struct stage *stage, const struct change *change, size_t max,
		    struct str *ret, struct err *err)
{
	return read_side(change_open_new, stage, change, &change->new, max, ret, err);
}

int change_read_base(const struct stage *stage, const struct change *change, struct str *ret,
		     struct err *err)
{
	_cleanup_(index_freep) struct index *index = NULL;
	const struct index_entry *known;
	int r = index_load(stage, &index, err);

	if (r < 0)
		return r;
	known = index_find(index, change->root, change->path);
	if (known && !known->is_conflict && known->base.type == NODE_ABSENT)
		return 1;
	return known ? index_read_copy(stage, known->digest, ret, err) : -ENOENT;
}
