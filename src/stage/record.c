/* SPDX-License-Identifier: MIT */
#include "stage/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/diff.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "stage/access.h"
#include "stage/changes.h"
#include "stage/content.h"
#include "stage/judge.h"
#include "stage/roots.h"
#include "stage/stage.h"
#include "stage/txn-order.h"
#include "stage/upper.h"

enum { COMPARE_MAX = 1024 * 1024, TRIES = 10 };

struct recorder {
	struct judge judge;
	struct relaxed relaxed;
	const char *run;
	struct err *err;
	unsigned root;
	size_t files, folders;
};

static const struct stage_run *own_run(const struct recorder *recorder)
{
	const struct judge *judge = &recorder->judge;

	for (size_t i = judge->n_runs; i-- > 0;)
		if (str_eq(judge->runs[i].id, recorder->run))
			return &judge->runs[i];
	return NULL;
}

/* Who left UPPER as it is. What is older than this run is of the one that was alive then, whose
 * end nobody recorded; "": of none, as what an undo put back, or of one of several. */
static const char *run_of(const struct recorder *recorder, const struct node *upper)
{
	const struct judge *judge = &recorder->judge;
	const struct stage_run *own = own_run(recorder), *found = NULL;

	if (!own || timespec_compare(upper->ctime, own->t0) > 0)
		return recorder->run;
	for (size_t i = 0; i < judge->n_runs; i++) {
		const struct stage_run *run = &judge->runs[i];

		if (timespec_compare(run->t0, upper->ctime) >= 0 ||
		    (run->is_ended && timespec_compare(run->ended, upper->ctime) < 0))
			continue;
		if (found)
			return "";
		found = run;
	}
	return found ? found->id : "";
}

static int read_base(const struct recorder *recorder, const struct upper_entry *entry,
		     struct index_entry *record)
{
	_cleanup_(fd_closep) int fd = open_file(entry->base_dir, entry->name, entry->base->ino);
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(node_release) struct node after = {0};
	int r;

	if (fd < 0)
		return 0; /* cannot be read, or gone: known by its node alone */
	if (entry->base->size <= INDEX_COPY_MAX) {
		r = content_read(fd, INDEX_COPY_MAX, &text);
		if (r == 0)
			sha256_hex(str_text(&text), text.len, record->digest);
	} else {
		r = content_digest(fd, record->digest);
	}
	/* What was read must be what was looked at before. */
	if (r == 0)
		r = node_read(entry->base_dir, entry->name, &after);
	if (r < 0 || !node_is_same(&after, entry->base)) {
		record->digest[0] = '\0';
		record->is_conflict = r == 0;
		return 0;
	}
	if (text.len == 0 ||
	    (diff_is_binary(text.data, text.len) &&
	     !git_is_index(recorder->judge.stage->roots[recorder->root].path, entry->path)))
		return 0;
	return index_keep_copy(recorder->judge.stage, record->digest, &text, recorder->err);
}

/* A folder of both sides hides only what its entries do. */
static bool hides(const struct upper_entry *entry)
{
	return entry->upper->type != NODE_DIR || entry->base->type != NODE_DIR || entry->is_opaque;
}

/* What it hides now, or its entries do, it does since the last record. */
static struct timespec t0_since(const struct recorder *recorder, const struct upper_entry *entry)
{
	static const struct node any = {.type = NODE_WHITEOUT};

	return judge_t0(&recorder->judge, recorder->root, entry->path,
			hides(entry) ? entry->upper : &any);
}

static int record_new(struct recorder *recorder, const struct upper_entry *entry)
{
	struct index_entry record = {.root = recorder->root,
				     .path = strdup(entry->path),
				     .run = strdup(run_of(recorder, entry->upper)),
				     .upper_ino = entry->upper->ino,
				     .upper_ctime = entry->upper->ctime,
				     .is_seen = true,
				     .hides = hides(entry)};
	int r = record.path && record.run ? node_copy(&record.base, entry->base) : -ENOMEM;

	record.t0 = judge_t0(&recorder->judge, recorder->root, entry->path, entry->upper);
	record.is_conflict = judge_entry(&recorder->judge, recorder->root, entry);
	if (r == 0 && entry->base->type == NODE_FILE && !record.is_conflict &&
	    entry->base->size <= INDEX_DIGEST_MAX)
		r = read_base(recorder, entry, &record);
	if (r < 0) {
		free(record.path);
		free(record.run);
		node_release(&record.base);
		return r == -ENOMEM ? err_oom(recorder->err) : r;
	}
	return index_add(recorder->judge.index, &record) < 0 ? err_oom(recorder->err) : 0;
}

/* As far as it is cheap to tell. */
static bool differs(const struct upper_entry *entry)
{
	_cleanup_(fd_closep) int upper = -1, base = -1;

	if (entry->upper->type == NODE_WHITEOUT)
		return entry->base->type != NODE_ABSENT;
	if (entry->upper->type != entry->base->type || entry->upper->mode != entry->base->mode)
		return true;
	if (entry->upper->type == NODE_LINK)
		return !str_eq(entry->upper->target, entry->base->target);
	if (entry->upper->type != NODE_FILE || entry->upper->size != entry->base->size ||
	    entry->upper->size > COMPARE_MAX)
		return true;
	upper = open_staged_file(entry->upper_dir, entry->name, entry->upper->ino);
	base = open_file(entry->base_dir, entry->name, entry->base->ino);
	return upper < 0 || base < 0 || content_equal(upper, base) != 1;
}

static bool changes_mode(const struct recorder *recorder, const struct upper_entry *entry)
{
	return entry->upper->mode != entry->base->mode &&
	       !judge_mode_is_hosts(&recorder->judge, recorder->root, entry);
}

static void count(struct recorder *recorder, const struct upper_entry *entry)
{
	bool both = entry->upper->type == NODE_DIR && entry->base->type == NODE_DIR;

	if (both)
		recorder->folders += changes_mode(recorder, entry);
	else if (entry->upper->type == NODE_DIR ||
		 (entry->upper->type == NODE_WHITEOUT && entry->base->type == NODE_DIR))
		recorder->folders++;
	else
		recorder->files += differs(entry);
}

static int take_entry(void *data, const struct upper_entry *entry)
{
	struct recorder *recorder = data;
	struct index_entry *known = index_find(recorder->judge.index, recorder->root, entry->path);
	const char *run;

	count(recorder, entry);
	if (!known && !entry->path[0] && !changes_mode(recorder, entry))
		return 0; /* a run that changed nothing leaves no index */
	if (!known)
		return record_new(recorder, entry);
	known->is_seen = true;
	known->hides = hides(entry);
	if (!known->t0.tv_sec)
		known->t0 = t0_since(recorder, entry);
	if (known->upper_ino == entry->upper->ino &&
	    timespec_compare(known->upper_ctime, entry->upper->ctime) == 0)
		return 0;
	/* Whiteouts are links to one node. */
	if (known->upper_ino == entry->upper->ino && entry->upper->type == NODE_WHITEOUT)
		return 0;
	known->upper_ino = entry->upper->ino;
	known->upper_ctime = entry->upper->ctime;
	run = run_of(recorder, entry->upper);
	if (!*run)
		return 0; /* whose it was before */
	free(known->run);
	known->run = strdup(run);
	return known->run ? 0 : err_oom(recorder->err);
}

static int take_gone(void *data, const struct upper_gone *gone)
{
	struct recorder *recorder = data;

	if (gone->base->type == NODE_DIR)
		recorder->folders++;
	else
		recorder->files++;
	return 0;
}

static int record_root(struct recorder *recorder)
{
	struct upper_visitor visitor = {.entry = take_entry, .gone = take_gone, .data = recorder};
	const struct stage *stage = recorder->judge.stage;
	_cleanup_(fd_closep) int upper = -1, base = -1;
	int r = root_open_both(stage, recorder->root, &upper, &base, recorder->err);

	if (r == 0)
		return 0;
	if (r > 0)
		r = upper_walk(upper, base, &visitor, &recorder->relaxed, recorder->err);
	if (r == -ENOMEM)
		err_oom(recorder->err);
	if (upper >= 0)
		relaxed_restore(&recorder->relaxed, upper);
	return r;
}

/* Two runs can end at once. */
static int lock(const struct stage *stage, struct err *err)
{
	int fd = openat(stage->dir_fd, "index.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			0600);
	int r = fd < 0 ? -errno : 0;

	while (r == 0 && flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			r = -errno;
	if (r < 0) {
		fd_close(fd);
		return err_sys(err, r, "lock the index of stage %s", stage->name);
	}
	return fd;
}

/* The index is sorted. Folders are left where something was made and removed again. */
static void forget_empty(struct index *index)
{
	for (size_t i = 0; i < index->n; i++) {
		struct index_entry *entry = &index->items[i], *next = entry + 1;

		if (!entry->hides && (i + 1 == index->n || next->root != entry->root ||
				      !change_path_below(entry->path, next->path)))
			entry->t0 = (struct timespec){0};
	}
}

static int record(struct stage *stage, const char *run_id, struct stage_summary *ret,
		  struct err *err)
{
	struct recorder recorder = {.run = run_id, .err = err};
	struct index *index;
	struct timespec now;
	int r = judge_init(&recorder.judge, stage, err);

	if (r < 0)
		return r;
	now = clock_now(CLOCK_REALTIME);
	index = recorder.judge.index;
	for (size_t i = 0; i < stage->n_roots && r == 0; i++) {
		recorder.root = (unsigned)i;
		r = record_root(&recorder);
	}
	if (r == 0) {
		for (size_t i = 0; i < index->n; i++)
			if (!index->items[i].is_seen)
				index_drop(index, &index->items[i]);
		index_sort(index);
		forget_empty(index);
		index->since = now;
		r = index_save(stage, index, err);
	}
	if (r == 0)
		ret->n_changes = recorder.files ? recorder.files : recorder.folders;
	judge_release(&recorder.judge);
	return r;
}

/* An empty layer that looks like its base. */
static bool is_bare(const struct stage *stage, unsigned root)
{
	_cleanup_(fd_closep) int upper = -1;
	struct stat st, base;
	int r = stage_read_upper(stage, root, &upper);

	if (r < 0)
		return r == -ENOENT;
	return fstat(upper, &st) == 0 && lstat(stage->roots[root].path, &base) == 0 &&
	       st.st_mode == base.st_mode && upper_mark(upper) == UPPER_PLAIN &&
	       dir_is_empty(upper);
}

/* As most runs leave it: then there is nothing to be compared, nor kept. */
static bool is_bare_stage(const struct stage *stage)
{
	for (unsigned i = 0; i < stage->n_roots; i++)
		if (!is_bare(stage, i))
			return false;
	return faccessat(stage->dir_fd, "index", F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

int stage_record(struct stage *stage, const char *run_id, struct stage_summary *ret,
		 struct err *err)
{
	_cleanup_(fd_closep) int held = -1;
	struct err failed = {0};
	int r = -EAGAIN;

	if (is_bare_stage(stage)) {
		ret->n_changes = 0;
		return 0;
	}
	held = lock(stage, err);
	if (held < 0)
		return held;
	/* The user may be changing the base at this moment. */
	for (int try = 0; try < TRIES && r == -EAGAIN; try++)
		r = record(stage, run_id, ret, &failed);
	if (r < 0 && err)
		*err = failed;
	return r;
}
