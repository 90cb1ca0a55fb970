/* SPDX-License-Identifier: MIT */
/* What git executes outside of a sandbox is protected inside, and what that is stands in git's
 * configurations. When the user changes one while a session stands (`git config core.hooksPath`), it is
 * looked whether something is obeyed now that commands can write. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "plan/host.h"
#include "plan/plan.h"
#include "session/keeper-impl.h"

enum { PROBES_MAX = 3 };

static void forget(struct keeper_sources *s)
{
	for (size_t i = 0; i < s->len; i++)
		free(s->files[i].path);
	free(s->files);
	*s = (struct keeper_sources){0};
}

/* As they are before they are read. */
static int look(struct keeper_sources *s, const struct strv *paths)
{
	struct keeper_sources now = {.files = calloc(paths->len + 1, sizeof(*now.files))};

	if (!now.files)
		return -ENOMEM;
	for (; now.len < paths->len; now.len++) {
		struct fingerprint_file *file = &now.files[now.len];

		file->path = strdup(paths->items[now.len]);
		if (!file->path) {
			forget(&now);
			return -ENOMEM;
		}
		fingerprint_look(file);
	}
	forget(s);
	*s = now;
	return 0;
}

static bool are_same(const struct keeper_sources *s)
{
	for (size_t i = 0; i < s->len; i++)
		if (!fingerprint_is_same(&s->files[i]))
			return false;
	return s->files;
}

static bool are_of(const struct keeper_sources *s, const struct strv *paths)
{
	for (size_t i = 0; i < s->len && i < paths->len; i++)
		if (!str_eq(s->files[i].path, paths->items[i]))
			return false;
	return s->len == paths->len;
}

/* Can a command of K's write there at all? */
static bool is_within_reach(const struct keeper *k, const char *dir)
{
	const struct strv *writable = &k->run->resolved.spec.paths_writable;
	const char *common = k->site->protection.git_common;

	for (size_t i = 0; i < writable->len; i++)
		if (path_covers(writable->items[i], dir))
			return true;
	return path_covers(k->site->workspace, dir) || (common && path_covers(common, dir));
}

static bool is_known(const struct protection *known, const struct protected_path *item)
{
	for (size_t i = 0; i < known->len; i++) {
		const struct protected_path *at = &known->items[i];

		if (str_eq(at->dir, item->dir) && str_eq(at->name, item->name))
			return at->type != PROTECTED_PARENT || item->type == PROTECTED_PARENT;
	}
	return false;
}

static int compare(const struct keeper *k, const struct protection *now, struct err *err)
{
	for (size_t i = 0; i < now->len; i++) {
		const struct protected_path *item = &now->items[i];

		if (is_within_reach(k, item->dir) && !is_known(&k->site->protection, item))
			return err_set(err, ERR_POLICY, -ESTALE,
				       "what git executes has changed since session '%s' was "
				       "started: %s/%s",
				       k->place.name, item->dir, item->name);
	}
	return 0;
}

/* What is read now may include others, which are to be looked at before they are read, too. */
static int probe(struct keeper *k, struct protection *ret, struct err *err)
{
	const struct strv *sources = &k->site->protection.sources;

	for (int i = 0; i < PROBES_MAX; i++) {
		int r = look(&k->sources, sources) < 0 ? err_oom(err) : 0;

		protection_release(ret);
		if (r == 0)
			r = protection_probe(k->site->workspace, k->run->context.user.home, ret,
					     err);
		if (r < 0 || are_of(&k->sources, &ret->sources))
			return r;
		sources = &ret->sources;
	}
	forget(&k->sources);
	return 0;
}

int keeper_protected_check(struct keeper *k, struct err *err)
{
	struct protection now = {0};
	int r;

	if (k->run->plan->guards_len == 0 || are_same(&k->sources))
		return 0;
	r = probe(k, &now, err);
	if (r == 0)
		r = compare(k, &now, err);
	protection_release(&now);
	if (r < 0)
		forget(&k->sources); /* the next one asks again */
	return r;
}
