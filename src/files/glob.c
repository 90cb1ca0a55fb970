/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "files/files.h"
#include "files/pattern.h"
#include "files/place.h"
#include "files/reply.h"
#include "files/request.h"
#include "files/walk.h"

enum { MAX_DEFAULT = 1000, FOUND_MAX = 200000 };

#define BYTES_MAX ((size_t)512 << 10) /* of the paths that are told */

struct found {
	char *path;
	struct timespec mtime;
};

struct search {
	struct pattern pattern;
	pattern_places *places; /* pattern.len of them for each depth */
	struct found *found;
	size_t len, cap;
	bool by_name;
	bool full;          /* there were more than can be kept */
	const char *prefix; /* of what is told: the folder that is searched */
};

static void search_release(struct search *s)
{
	for (size_t i = 0; i < s->len; i++)
		free(s->found[i].path);
	free(s->found);
	free(s->places);
	pattern_release(&s->pattern);
}

static int keep(struct search *s, const struct walk_entry *entry)
{
	struct found found = {0};
	struct stat st;

	if (s->len == FOUND_MAX) {
		s->full = true;
		return -ECANCELED;
	}
	if (!s->by_name) {
		if (fstatat(entry->dir, entry->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return 0; /* gone meanwhile */
		found.mtime = st.st_mtim;
	}
	if (s->len == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 256;
		struct found *grown = reallocarray(s->found, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->found = grown;
		s->cap = cap;
	}
	found.path = str_printf("%s%s", s->prefix, entry->path);
	if (!found.path)
		return -ENOMEM;
	s->found[s->len++] = found;
	return 0;
}

static int visit(void *data, const struct walk_entry *entry)
{
	struct search *s = data;
	const pattern_places *from = s->places + entry->depth * s->pattern.len;
	pattern_places *at = s->places + (entry->depth + 1) * s->pattern.len;
	int r = 0;

	pattern_step(&s->pattern, from, entry->name, at);
	if (entry->is_dir == s->pattern.only_dirs && pattern_is_match(&s->pattern, at))
		r = keep(s, entry);
	return r < 0 ? r : entry->is_dir && pattern_can_go_on(&s->pattern, at);
}

/* The newest first; of those as new, by name. */
static int compare(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->mtime.tv_sec != y->mtime.tv_sec)
		return x->mtime.tv_sec > y->mtime.tv_sec ? -1 : 1;
	if (x->mtime.tv_nsec != y->mtime.tv_nsec)
		return x->mtime.tv_nsec > y->mtime.tv_nsec ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int tell(struct search *s, uint64_t max, struct reply *reply)
{
	size_t bytes = 0, i = 0;

	/* the walk has the order of names already */
	if (!s->by_name && s->len > 1)
		qsort(s->found, s->len, sizeof(*s->found), compare);
	for (; i < s->len && i < max && bytes < BYTES_MAX; i++) {
		reply_text(reply, "entry", s->found[i].path);
		bytes += strlen(s->found[i].path);
	}
	reply_number(reply, "total", s->len);
	if (i < s->len || s->full)
		reply_number(reply, "more", 1);
	return s->len > 0 ? 0 : reply_fail(reply, FILE_NO_MATCH, "nothing matches");
}

static int search(struct search *s, const struct file_request *request, const struct target *from,
		  struct reply *reply)
{
	const char *shown = target_shown(from, request);
	_cleanup_(freep) char *prefix = str_eq(shown, ".") ? strdup("") : str_printf("%s/", shown);
	struct walk walk = {.no_ignore = request->no_ignore, .entry = visit, .data = s};
	int r;

	s->places = calloc((WALK_DEPTH_MAX + 2) * s->pattern.len, sizeof(*s->places));
	if (!s->places || !prefix)
		return place_fail(reply, "", -ENOMEM);
	s->prefix = prefix;
	s->by_name = request->by_name;
	pattern_start(&s->pattern, s->places);
	r = walk_run(&walk, from);
	if (r < 0 && r != -ECANCELED)
		return place_fail(reply, shown, r);
	if (walk.unread > 0)
		reply_number(reply, "unread", walk.unread);
	return tell(s, request->max ? request->max : MAX_DEFAULT, reply);
}

int file_do_glob(const struct file_request *request, const struct place *place, struct reply *reply)
{
	_cleanup_(target_release) struct target from = TARGET_NONE;
	_cleanup_(search_release) struct search s = {0};
	const char *path = request->paths.len == 1 ? request->paths.items[0] : "";
	const char *why = NULL;
	int r;

	r = request->pattern ? pattern_compile(request->pattern, false, &s.pattern, &why) : -EINVAL;
	if (r == -EINVAL)
		return reply_fail(reply, FILE_BAD_PATTERN, "this is no pattern: %s",
				  why ? why : "there is none");
	if (r < 0)
		return place_fail(reply, "", r);
	if (place_find(place, path, &from, reply) != 0)
		return 1;
	if (!S_ISDIR(from.st.st_mode))
		return reply_fail(reply, FILE_NOT_REGULAR, "%.800s is %s, not a folder", path,
				  place_type(from.st.st_mode));
	return search(&s, request, &from, reply);
}
