/* SPDX-License-Identifier: MIT */
#include "plan/mirrors.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mounts.h"
#include "base/path.h"
#include "plan/host.h"
#include "policy/spec.h"

/* What covers the workspace is no other name of something in it. */
static int add_found(struct site *site, const struct strv *found)
{
	struct stat st;
	int r = 0;

	for (size_t i = 0; i < found->len && r == 0; i++)
		if (!path_covers(found->items[i], site->workspace) &&
		    lstat(found->items[i], &st) == 0)
			r = strv_add(&site->ignored, found->items[i]);
	return r;
}

static int add_hidden(struct site *site, const struct mounts *mounts, const char *path)
{
	_cleanup_(strv_release) struct strv found = {0};
	int r = mounts_mirrors(mounts, path, &found);

	return r < 0 ? r : add_found(site, &found);
}

/* For a chroot, say: all processes of the host would be seen there, and what is the user's of them
 * and of control groups could be written. */
static int add_kernel(struct site *site, const struct mounts *mounts)
{
	_cleanup_(strv_release) struct strv found = {0};
	int r = mounts_of_kernel(mounts, &found);

	return r < 0 ? r : add_found(site, &found);
}

static int add_all_hidden(struct site *site, const struct spec *spec, const struct mounts *mounts)
{
	size_t ignored = site->ignored.len;
	int r = 0;

	for (size_t i = 0; i < ignored && r == 0; i++)
		r = add_hidden(site, mounts, site->ignored.items[i]);
	for (size_t i = site->paths_len - spec->paths_hidden.len; i < site->paths_len && r == 0;
	     i++)
		if (site->paths[i].type != SITE_ABSENT && !str_eq(site->paths[i].real, "/"))
			r = add_hidden(site, mounts, site->paths[i].real);
	for (size_t i = 0; i < array_len(site->own) && r == 0; i++)
		if (site->own[i].type != SITE_ABSENT)
			r = add_hidden(site, mounts, site->own[i].real);
	return r;
}

static int add_protected(struct protection *protection, const struct mounts *mounts)
{
	int r = 0;

	for (size_t i = 0; i < protection->len && r == 0; i++) {
		const struct protected_path *item = &protection->items[i];
		_cleanup_(freep) char *path = NULL;

		if (item->type != PROTECTED_FILE && item->type != PROTECTED_DIR)
			continue;
		path = path_join(item->dir, item->name);
		r = path ? mounts_mirrors(mounts, path, &protection->mirrors) : -1;
	}
	return r;
}

int mirrors_probe(const struct spec *spec, struct site *site, struct err *err)
{
	_cleanup_(mounts_release) struct mounts mounts = {0};
	int r;

	if (!spec_is_confined(spec) || !mounts_may_have_twins())
		return 0;
	r = mounts_read(&mounts, err);
	if (r == 0)
		r = mounts_have_twins(&mounts);
	if (r <= 0)
		return r == -ENOMEM ? err_oom(err) : r;
	return add_all_hidden(site, spec, &mounts) < 0 || add_kernel(site, &mounts) < 0 ||
			       add_protected(&site->protection, &mounts) < 0
		       ? err_oom(err)
		       : 0;
}
