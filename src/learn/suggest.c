/* SPDX-License-Identifier: MIT */
#include "learn/suggest.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "config/value.h"
#include "config/workspace.h"
#include "learn/limits.h"
#include "learn/suggest-impl.h"
#include "learn/tighten.h"
#include "observe/profile.h"
#include "policy/sensitive.h"

#define WRITES (PROFILE_WRITE | PROFILE_CREATE | PROFILE_REMOVE)
#define READS  (PROFILE_READ | PROFILE_EXECUTE)

int work_say(struct work *w, enum dim dim, const char *fmt, ...)
{
	_cleanup_(str_release) struct str text = {0};
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = str_vappendf(&text, fmt, ap);
	va_end(ap);
	if (r < 0)
		return r;
	free(w->why[dim]);
	w->why[dim] = take_ptr(text.data);
	return 0;
}

static bool is_forbidden(const char *path, void *data)
{
	const struct work *w = data;
	const char *workspace = w->in->asked->workspace;

	if (path_covers(workspace, path))
		return false;
	return path_covers(path, workspace) || path_is_sensitive(path, w->in->user, NULL);
}

static bool is_utf8(const char *text)
{
	size_t n;

	for (uint32_t c; *text; text += n) {
		n = str_utf8_next(text, strlen(text), &c);
		if (n == 0)
			return false;
	}
	return true;
}

bool path_is_nameable(const char *path)
{
	_cleanup_(freep) char *meant = NULL;

	return is_utf8(path) && path_rule_expand(path, "/", "/", NULL, &meant, NULL) == 0 &&
	       str_eq(meant, path);
}

/* The folder around what no rule can name stands for it. */
static enum path_type look(const char *path, void *data)
{
	const struct work *w = data;

	if (!path_is_nameable(path))
		return PATH_ABSENT;
	return w->in->look(path, w->in->data);
}

int work_group(struct work *w, const char *floor, size_t files_max, const struct strv *paths,
	       struct strv *ret)
{
	const struct grouping grouping = {
		.floor = floor,
		.rules_max = RULES_MAX,
		.files_max = files_max,
		.look = look,
		.is_forbidden = is_forbidden,
		.data = w,
	};

	return group_paths(&grouping, paths, ret, &w->forbidden);
}

static bool is_covered(const struct strv *rules, const char *path)
{
	for (size_t i = 0; i < rules->len; i++)
		if (path_covers(rules->items[i], path))
			return true;
	return false;
}

/* Which of our lists is it about? What is in none was scratch, or was refused. */
static int sort_path(struct work *w, const struct profile_path *item)
{
	const struct spec *asked = w->in->asked;
	const char *path = item->path, *home = w->in->user->home;
	bool writable = is_covered(&asked->paths_writable, path);
	int r = 0;

	if (path[0] != '/' || is_covered(&asked->paths_hidden, path))
		return 0;
	if (path_covers(asked->workspace, path))
		return item->what & WRITES ? strv_add(&w->ws_written, path) : 0;
	if (writable || is_covered(&asked->paths_readable, path)) {
		if (writable && item->what & WRITES)
			r = strv_add(&w->written, path);
		if (r == 0 && item->what & READS)
			r = strv_add(&w->read, path);
		return r;
	}
	if (is_covered(&asked->caches, path) ||
	    (home && path_covers(home, path) && item->what & WRITES))
		r = strv_add(&w->home, path);
	return r;
}

static int sort_paths(struct work *w)
{
	const struct profile *profile = w->in->profile;
	int r = 0;

	for (size_t i = 0; i < profile->paths_len && r == 0; i++)
		r = sort_path(w, &profile->paths[i]);
	return r;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int suggest_limits(struct work *w)
{
	const struct suggest_input *in = w->in;
	const struct run_stats none = {0}, *stats = in->stats ? in->stats : &none;
	const uint64_t peaks[LEARNED_LIMITS] = {
		larger(in->used.memory_peak, stats->memory_peak),
		larger(in->used.cpu_ms, stats->cpu_ms_peak),
		larger(in->used.duration_ms, stats->duration_ms_longest),
	};
	int r = 0;

	for (size_t i = 0; i < LEARNED_LIMITS && r == 0; i++) {
		_cleanup_(str_release) struct str peak = {0};
		enum dim dim = learned_limits[i];
		uint64_t *limit = spec_limit(w->spec, dim), learned = limit_for_peak(dim, peaks[i]);

		if (learned >= *limit)
			continue;
		if (*limit == SPEC_UNLIMITED && !(in->held & DIM_BIT(dim))) {
			r = strv_addf(&w->notes, "no limit of %s: this machine cannot hold one",
				      dim_name(dim));
			continue;
		}
		*limit = learned;
		r = peak_put(dim, peaks[i], &peak);
		if (r == 0)
			r = work_say(w, dim, "at least %u x the %s of %s", limit_factor(dim),
				     dim == DIM_TIMEOUT ? "longest run" : "peak", str_text(&peak));
	}
	return r;
}

static int note_forbidden(struct work *w)
{
	int r = 0;

	for (size_t i = 0; i < w->forbidden.len && r == 0; i++) {
		const char *why = "it holds the workspace";

		(void)path_is_sensitive(w->forbidden.items[i], w->in->user, &why);
		r = strv_addf(&w->notes, "%s was used, and no rule is learned for it: %s",
			      w->forbidden.items[i], why);
	}
	return r;
}

static int note_dropped(struct work *w)
{
	unsigned long long dropped = w->in->profile->dropped;

	if (dropped == 0)
		return 0;
	return strv_addf(&w->notes, "the profile is incomplete: %llu things did not fit", dropped);
}

static int build(struct work *w)
{
	int r = sort_paths(w);

	if (r == 0)
		r = suggest_filesystem(w);
	if (r == 0)
		r = suggest_outside(w);
	if (r == 0)
		r = suggest_caches(w);
	if (r == 0)
		r = suggest_network(w);
	if (r == 0)
		r = suggest_limits(w);
	if (r == 0 && w->spec->processes != PROCESSES_ISOLATED) {
		w->spec->processes = PROCESSES_ISOLATED;
		r = work_say(w, DIM_PROCESSES, "the host's processes stay out of sight");
	}
	if (r == 0)
		r = note_forbidden(w);
	return r < 0 ? r : note_dropped(w);
}

static void work_release(struct work *w)
{
	for (int dim = 0; dim < DIM_COUNT_; dim++)
		free(w->why[dim]);
	free(w->hosts);
	strv_release(&w->notes);
	strv_release(&w->forbidden);
	strv_release(&w->ws_written);
	strv_release(&w->written);
	strv_release(&w->read);
	strv_release(&w->home);
}

int suggest(const struct suggest_input *input, struct suggestion *ret, struct err *err)
{
	_cleanup_(suggestion_release) struct suggestion out = {0};
	_cleanup_(work_release) struct work w = {.in = input, .spec = &out.spec};
	int r;

	spec_init_bottom(&out.spec);
	r = spec_copy(&out.spec, input->asked);
	if (r == 0)
		r = build(&w);
	if (r == 0)
		r = suggestion_fill(&w, &out);
	if (r < 0)
		return r == -EILSEQ ? err_set(err, ERR_CONFIG, r,
					      "it used a path that is not UTF-8, which TOML "
					      "cannot hold")
				    : err_oom(err);
	out.has_wider = w.has_wider;
	out.notes = w.notes;
	w.notes = (struct strv){0};
	*ret = out;
	out = (struct suggestion){0};
	return 0;
}
