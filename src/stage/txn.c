/* SPDX-License-Identifier: MIT */
#include "stage/txn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/private-dir.h"
#include "base/tree-remove.h"
#include "stage/apart.h"
#include "stage/roots.h"
#include "stage/stage.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

const char *txn_key(size_t item, char buf[24])
{
	snprintf(buf, 24, "%zu", item);
	return buf;
}

bool txn_is_shared(const struct txn *txn, const struct txn_item *item)
{
	return item->action == TXN_PUT && item->made.type == NODE_FILE &&
	       item->staged.type == NODE_FILE && item->made.ino == item->staged.ino &&
	       !txn->roots[item->root].is_apart;
}

char *stage_state_dir(const struct stage *stage)
{
	char *path = strdup(stage->path);

	for (int i = 0; path && i < 2; i++) {
		char *slash = strrchr(path, '/');

		if (slash)
			*slash = '\0';
	}
	return path;
}

int applies_open(const char *state_dir, bool create, int *ret_fd, struct err *err)
{
	_cleanup_(freep) char *path = path_join(state_dir, "applies");
	int fd;

	if (!path)
		return err_oom(err);
	fd = private_dir_open(path, create, err);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

int applies_lock(int applies_fd, int *ret_fd, struct err *err)
{
	_cleanup_(fd_closep) int fd = openat(applies_fd, "lock",
					     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : 0;

	while (r == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		if (errno != EINTR)
			r = -errno;
	if (r == -EAGAIN)
		return err_set(err, ERR_SYSTEM, -EBUSY,
			       "another pale is applying, discarding or undoing changes here");
	if (r < 0)
		return err_sys(err, r, "lock the folder of applies");
	*ret_fd = take_fd(fd);
	return 0;
}

static struct txn *txn_new(void)
{
	struct txn *txn = calloc(1, sizeof(*txn));

	if (txn)
		txn->applies_fd = txn->lock_fd = txn->dir_fd = txn->journal_fd = txn->staged_fd =
			-1;
	return txn;
}

static void item_release(struct txn_item *item)
{
	free(item->path);
	free(item->text);
	node_release(&item->old);
	node_release(&item->staged);
	node_release(&item->made);
	node_release(&item->left);
}

struct txn *txn_free(struct txn *txn)
{
	if (!txn)
		return NULL;
	for (size_t i = 0; i < txn->n_items; i++)
		item_release(&txn->items[i]);
	for (size_t i = 0; i < txn->n_dirs; i++)
		free(txn->dirs[i].path);
	for (size_t i = 0; i < txn->n_roots; i++) {
		free(txn->roots[i].path);
		fd_close(txn->roots[i].base_fd);
		fd_close(txn->roots[i].upper_fd);
		fd_close(txn->roots[i].store_fd);
	}
	for (size_t i = 0; i < txn->n_uppers; i++)
		free(txn->uppers[i].path);
	free(txn->uppers);
	free(txn->items);
	free(txn->dirs);
	free(txn->roots);
	free(txn->stage_name);
	free(txn->state_dir);
	strv_release(&txn->calm);
	strv_release(&txn->deleted);
	str_release(&txn->index);
	fd_close(txn->staged_fd);
	fd_close(txn->journal_fd);
	fd_close(txn->dir_fd);
	fd_close(txn->applies_fd);
	fd_close(txn->lock_fd);
	free(txn);
	return NULL;
}

struct txn_item *txn_add_item(struct txn *txn, unsigned root, const char *path)
{
	struct txn_item *item;

	if (txn->n_items == txn->cap_items) {
		size_t cap = txn->cap_items ? txn->cap_items * 2 : 64;
		struct txn_item *grown = reallocarray(txn->items, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		txn->items = grown;
		txn->cap_items = cap;
	}
	item = &txn->items[txn->n_items];
	*item = (struct txn_item){.root = root, .path = strdup(path)};
	if (!item->path)
		return NULL;
	txn->n_items++;
	return item;
}

struct txn_dir *txn_add_dir(struct txn *txn, unsigned root, const char *path)
{
	struct txn_dir *dir;

	if (txn->n_dirs == txn->cap_dirs) {
		size_t cap = txn->cap_dirs ? txn->cap_dirs * 2 : 64;
		struct txn_dir *grown = reallocarray(txn->dirs, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		txn->dirs = grown;
		txn->cap_dirs = cap;
	}
	dir = &txn->dirs[txn->n_dirs];
	*dir = (struct txn_dir){.root = root, .path = strdup(path)};
	if (!dir->path)
		return NULL;
	txn->n_dirs++;
	return dir;
}

size_t txn_find_item(const struct txn *txn, unsigned root, const char *path)
{
	size_t low = 0, high = txn->n_items;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct txn_item *item = &txn->items[middle];
		int order = item->root != root ? (item->root < root ? -1 : 1)
					       : change_path_compare(item->path, path);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return (size_t)-1;
}

/* Sorts by time. */
static void make_id(char id[32])
{
	struct timespec now = clock_now(CLOCK_REALTIME);
	struct tm tm;
	char date[20];

	gmtime_r(&now.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	snprintf(id, 32, "%s-%06u", date, (unsigned)(now.tv_nsec / 1000) % 1000000);
}

static int make_folder(struct txn *txn, struct err *err)
{
	if (mkdirat(txn->applies_fd, txn->id, 0700) < 0)
		return err_sys(err, -errno, "make a folder in %s/applies", txn->state_dir);
	txn->dir_fd = openat(txn->applies_fd, txn->id, DIR_FLAGS);
	if (txn->dir_fd < 0 || mkdirat(txn->dir_fd, "store", 0700) < 0 ||
	    mkdirat(txn->dir_fd, "staged", 0700) < 0)
		return err_sys(err, -errno, "make a folder in %s/applies", txn->state_dir);
	txn->staged_fd = openat(txn->dir_fd, "staged", DIR_FLAGS);
	txn->journal_fd = openat(txn->dir_fd, "journal",
				 O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
				 0600);
	if (txn->staged_fd < 0 || txn->journal_fd < 0)
		return err_sys(err, -errno, "make a journal in %s/applies", txn->state_dir);
	return 0;
}

int txn_begin(struct stage *stage, bool is_discard, struct txn **ret, struct err *err)
{
	_cleanup_(txn_freep) struct txn *txn = txn_new();
	int r;

	if (!txn)
		return err_oom(err);
	txn->is_discard = is_discard;
	txn->stage = stage;
	txn->stage_name = strdup(stage->name);
	txn->state_dir = stage_state_dir(stage);
	if (!txn->stage_name || !txn->state_dir)
		return err_oom(err);
	r = applies_open(txn->state_dir, true, &txn->applies_fd, err);
	if (r == 0)
		r = applies_lock(txn->applies_fd, &txn->lock_fd, err);
	if (r < 0)
		return r;
	/* First of all: whoever finds it, and no folder, knows that nothing was done. */
	make_id(txn->id);
	r = txn_set_pending(txn, true, err);
	if (r < 0)
		return r;
	r = make_folder(txn, err);
	if (r < 0) {
		if (r != -EEXIST)
			tree_remove(txn->applies_fd, txn->id);
		txn_set_pending(txn, false, NULL);
		return r;
	}
	*ret = take_ptr(txn);
	return 0;
}

/* A folder in the root can be exchanged by whoever owns the root. Only one that is ours
 * alone and has nothing but items in it is a store. */
static int check_store(int fd)
{
	_cleanup_(strv_release) struct strv names = {0};
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	r = dir_names(fd, &names);
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.len; i++) {
		const char *name = names.items[i] + (names.items[i][0] == '.');

		if (name[strspn(name, "0123456789")])
			return -EPERM;
	}
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

int txn_open_store(const struct txn *txn, const struct txn_root *root)
{
	_cleanup_(fd_closep) int fd = -1;
	char name[48];
	int r;

	if (!root->is_apart) {
		fd = openat(txn->dir_fd, "store", DIR_FLAGS);
		return fd < 0 ? -errno : take_fd(fd);
	}
	snprintf(name, sizeof(name), ".pale-%s", txn->id);
	fd = openat(root->base_fd, name, DIR_FLAGS);
	if (fd < 0)
		return -errno;
	r = check_store(fd);
	return r < 0 ? r : take_fd(fd);
}

static bool is_needed(const struct txn *txn, size_t root)
{
	for (size_t i = 0; i < txn->n_items; i++)
		if (txn->items[i].root == root)
			return true;
	return false;
}

static int open_root(struct txn *txn, size_t i, struct err *err)
{
	struct txn_root *root = &txn->roots[i];
	bool is_new = root->base.type == NODE_ABSENT;
	_cleanup_(node_release) struct node now = {0};
	int r = root_open_path(root->path, &root->base_fd, err);

	if (r < 0)
		return r;
	r = stage_upper(txn->stage, (unsigned)i, &root->upper_fd, err);
	if (r == -ENOENT)
		err_sys(err, r, "open the layers of %s", root->path);
	if (r < 0)
		return r;
	r = node_read(root->base_fd, "", &now);
	if (r < 0)
		return err_sys(err, r, "look at %s", root->path);
	if (is_new) {
		_cleanup_(fd_closep) int store = openat(txn->dir_fd, "store", DIR_FLAGS);

		root->base = now;
		root->is_apart = store >= 0 && folders_are_apart(store, root->base_fd);
	} else if (now.ino != root->base.ino) {
		return err_set(err, ERR_SYSTEM, -ESTALE, "%s is another folder by now", root->path);
	}
	root->store_fd = r = txn_open_store(txn, root);
	/* Without it nothing more can be done, and nothing is lost by saying so later. */
	if (r < 0 && !root->is_apart)
		return err_sys(err, r, "open the store of %s", txn->id);
	return 0;
}

int txn_open_roots(struct txn *txn, struct stage *stage, struct err *err)
{
	int r = 0;

	txn->stage = stage;
	if (!txn->roots) {
		txn->roots = calloc(stage->n_roots ? stage->n_roots : 1, sizeof(*txn->roots));
		if (!txn->roots)
			return err_oom(err);
		for (; txn->n_roots < stage->n_roots; txn->n_roots++) {
			struct txn_root *root = &txn->roots[txn->n_roots];

			root->base_fd = root->upper_fd = root->store_fd = -1;
			root->path = strdup(stage->roots[txn->n_roots].path);
			if (!root->path)
				return err_oom(err);
		}
	}
	for (size_t i = 0; i < txn->n_roots && r == 0; i++)
		if (txn->roots[i].base_fd < 0 && is_needed(txn, i))
			r = i < stage->n_roots
				    ? open_root(txn, i, err)
				    : err_set(err, ERR_SYSTEM, -ESTALE,
					      "stage %s has no root %zu any more", stage->name, i);
	return r;
}

void txn_restore_uppers(struct txn *txn)
{
	for (size_t i = 0; i < txn->n_uppers; i++) {
		const struct txn_upper *upper = &txn->uppers[i];
		_cleanup_(fd_closep) int fd = -1;

		if (upper->root >= txn->n_roots || txn->roots[upper->root].upper_fd < 0)
			continue;
		fd = path_open_nolink(txn->roots[upper->root].upper_fd,
				      *upper->path ? upper->path : ".", O_PATH | O_DIRECTORY, 0);
		if (fd >= 0)
			fd_chmod(fd, upper->mode);
	}
}

int txn_sync(struct txn *txn, struct err *err)
{
	for (size_t i = 0; i < txn->n_roots; i++) {
		const struct txn_root *root = &txn->roots[i];

		if (root->is_apart && root->store_fd >= 0 && syncfs(root->store_fd) < 0)
			return err_sys(err, -errno, "sync %s", root->path);
	}
	if (syncfs(txn->dir_fd) < 0)
		return err_sys(err, -errno, "sync %s/applies", txn->state_dir);
	return 0;
}

/* A link, which is there as a whole or not at all. */
int txn_set_pending(struct txn *txn, bool pending, struct err *err)
{
	if (!pending) {
		if (unlinkat(txn->applies_fd, "pending", 0) < 0 && errno != ENOENT)
			return err_sys(err, -errno, "remove %s/applies/pending", txn->state_dir);
		return 0;
	}
	if (symlinkat(txn->id, txn->applies_fd, "pending") == 0)
		return 0;
	if (errno == EEXIST)
		return err_set(err, ERR_SYSTEM, -EBUSY,
			       "an apply that was interrupted has to be ended first");
	return err_sys(err, -errno, "write %s/applies/pending", txn->state_dir);
}

int txn_remove(struct txn *txn, struct err *err)
{
	int r = tree_remove(txn->applies_fd, txn->id);

	if (r < 0 && r != -ENOENT)
		return err_sys(err, r, "remove %s/applies/%s", txn->state_dir, txn->id);
	return txn_set_pending(txn, false, err);
}

int txn_load(const char *state_dir, int applies_fd, int lock_fd, const char *id, struct txn **ret,
	     struct err *err)
{
	_cleanup_(txn_freep) struct txn *txn = txn_new();
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(fd_closep) int fd = -1;
	int r;

	if (!txn) {
		fd_close(lock_fd);
		return err_oom(err);
	}
	txn->lock_fd = lock_fd;
	txn->state_dir = strdup(state_dir);
	if (!txn->state_dir)
		return err_oom(err);
	snprintf(txn->id, sizeof(txn->id), "%s", id);
	txn->applies_fd = fcntl(applies_fd, F_DUPFD_CLOEXEC, 0);
	if (txn->applies_fd < 0)
		return err_sys(err, -errno, "copy a descriptor");
	txn->dir_fd = openat(applies_fd, id, DIR_FLAGS);
	if (txn->dir_fd < 0)
		return errno == ENOENT ? -ENOENT : err_sys(err, -errno, "open the apply %s", id);
	fd = open_file(txn->dir_fd, "journal", 0);
	r = fd < 0 ? fd : fd_read_all(fd, (size_t)1 << 32, &text);
	if (r < 0)
		return r == -ENOENT ? r : err_sys(err, r, "read the journal of %s", id);
	r = txn_parse(txn, str_text(&text), text.len);
	if (r == -EBADMSG)
		return -ENOENT;
	if (r < 0)
		return err_sys(err, r, "read the journal of %s", id);
	txn->staged_fd = openat(txn->dir_fd, "staged", DIR_FLAGS);
	txn->journal_fd = openat(txn->dir_fd, "journal",
				 O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (txn->staged_fd < 0 || txn->journal_fd < 0)
		return err_sys(err, -errno, "open the apply %s", id);
	if (txn->journal_len < text.len && ftruncate(txn->journal_fd, (off_t)txn->journal_len) < 0)
		return err_sys(err, -errno, "cut the journal of %s", id);
	*ret = take_ptr(txn);
	return 0;
}
