/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/sys.h"
#include "files/files.h"
#include "files/grep-impl.h"
#include "files/pattern.h"
#include "files/place.h"
#include "files/reply.h"
#include "files/request.h"
#include "files/walk.h"

enum {
	MAX_DEFAULT = 1000,
	ALONE_FILES = 256, /* so few are not worth another process */
	CONTEXT_MAX = 50,
};

#define BYTES_MAX ((size_t)512 << 10) /* of what is told */

struct filter {
	struct pattern pattern;
	bool negated, by_name;
};

/* While the files are listed. */
struct listing {
	struct grep *g;
	uint32_t start;
	struct filter *filters;
	size_t filters_len;
	uint32_t dirs[WALK_DEPTH_MAX + 2]; /* of each depth; BOARD_NO_DIR: not on the board yet */
	pid_t workers[BOARD_WORKERS_MAX];
	unsigned started;
	bool full;
};

static void grep_release(struct grep *g)
{
	for (size_t i = 0; i < g->starts_len; i++)
		target_release(&g->starts[i]);
	free(g->starts);
	scan_release(&g->scan);
	board_close(&g->board);
}

static void listing_release(struct listing *l)
{
	for (size_t i = 0; i < l->filters_len; i++)
		pattern_release(&l->filters[i].pattern);
	free(l->filters);
}

static unsigned count_processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : CPU_COUNT(&set);

	return n < 1 ? 1 : n > BOARD_WORKERS_MAX ? BOARD_WORKERS_MAX : (unsigned)n;
}

/* Where no more processes can be had, fewer do it. */
static void start_workers(struct listing *l)
{
	for (unsigned i = 1; i < l->g->board.workers; i++) {
		int pidfd;
		pid_t pid = sys_fork(&pidfd);

		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			_exit(grep_work(l->g, i) < 0);
		}
		if (pid < 0)
			return;
		fd_close(pidfd);
		l->workers[l->started++] = pid;
	}
}

static int end_workers(struct listing *l)
{
	int r = 0;

	for (unsigned i = 0; i < l->started; i++) {
		int status;

		while (waitpid(l->workers[i], &status, 0) < 0)
			if (errno != EINTR)
				return -errno;
		if (status != 0)
			r = -ENOMEM;
	}
	l->started = 0;
	return r;
}

/* The last filter that matches decides; where there is one that selects, others are out. */
static bool is_wanted(const struct listing *l, const char *path, const char *name)
{
	bool wanted = true;

	for (size_t i = 0; i < l->filters_len; i++)
		wanted &= l->filters[i].negated;
	for (size_t i = 0; i < l->filters_len; i++) {
		const struct filter *filter = &l->filters[i];

		if (pattern_matches(&filter->pattern, filter->by_name ? name : path))
			wanted = !filter->negated;
	}
	return wanted;
}

static int find_dir(struct listing *l, const struct walk_entry *entry, uint32_t *ret)
{
	size_t len = (size_t)(entry->name - entry->path);
	_cleanup_(freep) char *path = NULL;
	int r;

	*ret = l->dirs[entry->depth];
	if (*ret != BOARD_NO_DIR)
		return 0;
	path = strndup(entry->path, len ? len - 1 : 0);
	r = path ? board_add_dir(&l->g->board, l->start, path, ret) : -ENOMEM;
	if (r == 0)
		l->dirs[entry->depth] = *ret;
	return r;
}

static int visit(void *data, const struct walk_entry *entry)
{
	struct listing *l = data;
	struct board *b = &l->g->board;
	uint32_t dir;
	int r;

	if (atomic_load_explicit(&b->head->stop, memory_order_relaxed))
		return -ECANCELED;
	if (entry->is_dir) {
		l->dirs[entry->depth + 1] = BOARD_NO_DIR;
		return 1;
	}
	if (entry->type != DT_REG || !is_wanted(l, entry->path, entry->name))
		return 0;
	r = find_dir(l, entry, &dir);
	if (r == 0)
		r = board_add_file(b, dir, entry->name);
	if (r == 0 && b->head->files == ALONE_FILES)
		start_workers(l);
	return r;
}

static int list_start(struct listing *l, size_t i, size_t *unread)
{
	const struct target *start = &l->g->starts[i];
	struct walk walk = {.no_ignore = l->g->request->no_ignore, .entry = visit, .data = l};
	uint32_t dir;
	int r;

	l->start = (uint32_t)i;
	if (S_ISDIR(start->st.st_mode)) {
		l->dirs[0] = BOARD_NO_DIR;
		r = walk_run(&walk, start);
		*unread += walk.unread;
		return r;
	}
	r = board_add_dir(&l->g->board, l->start, NULL, &dir);
	return r < 0 ? r : board_add_file(&l->g->board, dir, "");
}

static int list_files(struct listing *l, size_t *unread)
{
	int r = 0;

	for (size_t i = 0; i < l->g->starts_len && r == 0; i++)
		r = list_start(l, i, unread);
	board_end_list(&l->g->board);
	l->full = r == -E2BIG;
	return r == -E2BIG || r == -ECANCELED ? 0 : r;
}

static int find_starts(struct grep *g, const struct place *place, struct reply *reply)
{
	const struct strv *paths = &g->request->paths;

	g->starts = calloc(paths->len + 1, sizeof(*g->starts));
	if (!g->starts)
		return place_fail(reply, "", -ENOMEM);
	for (size_t i = 0; i < paths->len; i++) {
		struct target *start = &g->starts[g->starts_len++];

		*start = (struct target)TARGET_NONE;
		if (place_find(place, paths->items[i], start, reply) != 0)
			return 1;
		if (!S_ISDIR(start->st.st_mode) && !S_ISREG(start->st.st_mode))
			return reply_fail(reply, FILE_NOT_REGULAR, "%.800s is %s", paths->items[i],
					  place_type(start->st.st_mode));
	}
	return 0;
}

static int make_filters(struct listing *l, const struct strv *globs, struct reply *reply)
{
	l->filters = calloc(globs->len + 1, sizeof(*l->filters));
	if (!l->filters)
		return place_fail(reply, "", -ENOMEM);
	for (size_t i = 0; i < globs->len; i++) {
		struct filter *filter = &l->filters[l->filters_len++];
		const char *text = globs->items[i], *why = NULL;
		int r;

		filter->negated = text[0] == '!';
		text += filter->negated;
		filter->by_name = !strchr(text, '/');
		r = pattern_compile(text, false, &filter->pattern, &why);
		if (r == -EINVAL)
			return reply_fail(reply, FILE_BAD_PATTERN, "--glob: this is no pattern: %s",
					  why);
		if (r < 0)
			return place_fail(reply, "", r);
	}
	return 0;
}

static void tell_path(const struct grep *g, uint32_t number, struct reply *reply)
{
	const struct board_file *file = &g->board.files[number];
	const struct board_dir *dir = &g->board.dirs[file->dir];
	const char *shown = target_shown(&g->starts[dir->start], g->request);
	const char *below = dir->path == BOARD_NO_DIR ? "" : g->board.text + dir->path;
	const char *name = g->board.text + file->name;
	bool here = str_eq(shown, ".");
	_cleanup_(freep) char *path = str_printf("%s%s%s%s%s", here ? "" : shown,
						 here || !*name ? "" : "/", below,
						 *below ? "/" : "", name);

	reply_text(reply, "file", path ? path : "?");
}

/* Up to ROOM lines that match, and those around them. */
static uint64_t tell_lines(const char *fields, size_t len, uint64_t room, struct reply *reply)
{
	struct reply_reader reader;
	struct reply_field field;
	uint64_t told = 0;

	reply_begin_fields(&reader, fields, len);
	while (reader.at < reader.end && reply->fields.len < BYTES_MAX &&
	       reply_next(&reader, &field) > 0) {
		const char *kind = memchr(field.value, ' ', field.len);

		kind = kind ? memchr(kind + 1, ' ', (size_t)(field.value + field.len - kind - 1))
			    : NULL;
		if (kind && kind[1] == 'm' && told++ == room)
			return room;
		reply_bytes(reply, "line", field.value, field.len);
	}
	return told;
}

static int tell(struct grep *g, const struct listing *l, size_t unread, struct reply *reply)
{
	const struct board *b = &g->board;
	uint32_t full_at = board_full_at(b);
	struct board_cursor cursor = {0};
	const struct board_record *record;
	uint64_t told = 0;
	bool more = l->full || atomic_load(&b->head->stop);
	const char *fields;

	while ((record = board_next(b, &cursor, &fields))) {
		if (record->file >= full_at || told == g->max || reply->fields.len >= BYTES_MAX) {
			more = true;
			break;
		}
		tell_path(g, record->file, reply);
		more |= record->matches > g->max - told;
		told += tell_lines(fields, record->len, g->max - told, reply);
	}
	reply_number(reply, "matched", told);
	reply_number(reply, "files", atomic_load(&b->head->searched));
	reply_number(reply, "binary", atomic_load(&b->head->binary));
	unread += atomic_load(&b->head->unread);
	if (unread > 0)
		reply_number(reply, "unread", unread);
	if (more || full_at != UINT32_MAX)
		reply_number(reply, "more", 1);
	return told > 0 ? 0 : reply_fail(reply, FILE_NO_MATCH, "no line matches");
}

static int search(struct grep *g, struct listing *l, struct reply *reply)
{
	size_t unread = 0;
	int r = board_open(&g->board, count_processors()), ended;

	if (r < 0)
		return place_fail(reply, "", r);
	g->board.enough_matches = g->max;
	g->board.enough_bytes = BYTES_MAX;
	r = list_files(l, &unread);
	if (r == 0)
		r = grep_work(g, 0);
	ended = end_workers(l);
	if (r < 0 || ended < 0)
		return place_fail(reply, "the search", r < 0 ? r : ended);
	return tell(g, l, unread, reply);
}

int file_do_grep(const struct file_request *request, const struct place *place, struct reply *reply)
{
	_cleanup_(grep_release) struct grep g = {.request = request,
						 .max = request->max ? request->max : MAX_DEFAULT};
	_cleanup_(listing_release) struct listing l = {.g = &g};
	const char *why = NULL;
	int r = -EINVAL;

	if (request->context > CONTEXT_MAX)
		return reply_fail(reply, FILE_BAD_PATTERN, "more than %d lines of context",
				  CONTEXT_MAX);
	if (request->pattern && strlen(request->pattern) <= FILE_PATTERN_MAX)
		r = scan_init(&g.scan, request->pattern, request->fixed, request->ignore_case,
			      &why);
	if (r == -EINVAL)
		return reply_fail(reply, FILE_BAD_PATTERN, "this is no pattern: %s",
				  why ? why : "it is too long");
	if (r < 0)
		return place_fail(reply, "", r);
	if (make_filters(&l, &request->globs, reply) != 0 || find_starts(&g, place, reply) != 0)
		return 1;
	return search(&g, &l, reply);
}
