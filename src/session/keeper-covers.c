/* SPDX-License-Identifier: MIT */
/* See plan/covers.h: also when the host makes what .paleignore matches, or credentials in a toolchain,
 * that is seen. So before each command it is looked whether every cover still lies where it should. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "plan/ignored.h"
#include "session/keeper-impl.h"

static struct file_id id_of(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return (struct file_id){0};
	return (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
}

static bool is_same(struct file_id a, struct file_id b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

static int check_list(const struct keeper *k, const struct strv *paths, struct err *err)
{
	for (size_t i = 0; i < paths->len; i++)
		if (!covers_hide(&k->site->covers, paths->items[i]))
			return err_set(err, ERR_POLICY, -ESTALE,
				       "what is to be hidden has changed since session '%s' was "
				       "started: %s came or was replaced",
				       k->place.name, paths->items[i]);
	return 0;
}

/* Those of paths_hidden are the last that were looked up. */
static int check_rules(const struct keeper *k, struct err *err)
{
	size_t n = k->run->resolved.spec.paths_hidden.len;

	for (size_t i = k->site->paths_len - n; i < k->site->paths_len; i++) {
		const struct site_path *was = &k->site->paths[i];
		_cleanup_(freep) char *real = NULL;
		struct file_id now = {0};

		if (path_resolve(was->path, &real) == 0)
			now = id_of(real);
		if (now.ino != 0 && (was->type == SITE_ABSENT || !is_same(now, was->id)))
			return err_set(err, ERR_POLICY, -ESTALE,
				       "what is to be hidden has changed since session '%s' was "
				       "started: %s came or was replaced",
				       k->place.name, was->path);
	}
	return 0;
}

/* As it was done for the plan: files may match .paleignore that were not there, and what is hidden
 * may have got another name. */
static int check_ignored(const struct keeper *k, struct err *err)
{
	struct site now = *k->site;
	int r;

	now.ignored = (struct strv){0};
	r = ignored_probe(&k->run->resolved.spec, &now, err);
	if (r == 0)
		r = check_list(k, &now.ignored, err);
	strv_release(&now.ignored);
	return r;
}

int keeper_covers_check(const struct keeper *k, struct err *err)
{
	const struct spec *spec = &k->run->resolved.spec;
	bool has_list = fingerprint_has_ignore(&k->fingerprint);
	int r;

	if (!spec_is_confined(spec))
		return 0;
	r = check_rules(k, err);
	if (r == 0)
		r = check_list(k, &k->site->covers.paths, err);
	return r == 0 && (has_list || spec->paths_hidden.len > 0) ? check_ignored(k, err) : r;
}
