/* SPDX-License-Identifier: MIT */
#include "stage/three-way.h"

#include <errno.h>

#include "base/diff.h"
#include "base/err.h"
#include "base/str.h"
#include "stage/changes.h"
#include "stage/index.h"
#include "stage/merge.h"

enum { MERGE_MAX = 4 * 1024 * 1024 };

static struct merge_text text_of(const struct str *s)
{
	return (struct merge_text){.data = str_text(s), .len = s->len};
}

static bool is_text(const struct str *s)
{
	return !diff_is_binary(str_text(s), s->len);
}

/* The side that changed it wins; both, and differently: nobody. */
static bool merge_modes(mode_t base, mode_t host, mode_t staged, mode_t *ret)
{
	*ret = staged == base ? host : staged;
	return host == base || staged == base || host == staged;
}

static int merge_texts(const struct str *base, const struct str *host, const struct str *staged,
		       struct str *ret)
{
	struct merge merge;
	int r;

	if (!is_text(base) || !is_text(host) || !is_text(staged))
		return -EBUSY;
	r = merge_compute(text_of(base), text_of(host), text_of(staged), &merge);
	if (r < 0)
		return r == -EFBIG ? -EBUSY : r;
	r = merge.conflicts ? -EBUSY : merge_write(&merge, NULL, ret);
	merge_release(&merge);
	return r;
}

int change_merge(const struct stage *stage, const struct index *index, const struct change *change,
		 struct str *ret_text, mode_t *ret_mode, struct err *err)
{
	const struct index_entry *known = index_find(index, change->root, change->path);
	_cleanup_(str_release) struct str base = {0}, host = {0}, staged = {0};
	mode_t mode;
	int r;

	if (!known || known->is_conflict || known->base.type != NODE_FILE ||
	    change->old.type != NODE_FILE || change->new.type != NODE_FILE ||
	    change->old.size > MERGE_MAX || change->new.size > MERGE_MAX ||
	    !merge_modes(known->base.mode, change->old.mode, change->new.mode, &mode))
		return -EBUSY;
	r = index_read_copy(stage, known->digest, &base, err);
	if (r == -ENOENT)
		return -EBUSY;
	if (r == 0)
		r = change_read_old(stage, change, MERGE_MAX, &host, err);
	if (r == 0)
		r = change_read_new(stage, change, MERGE_MAX, &staged, err);
	if (r < 0)
		return r;
	r = merge_texts(&base, &host, &staged, ret_text);
	if (r == -ENOMEM)
		return err_oom(err);
	if (r == 0)
		*ret_mode = mode;
	return r;
}

int change_read_merged(const struct stage *stage, const struct change *change, struct str *ret_text,
		       mode_t *ret_mode, struct err *err)
{
	_cleanup_(index_freep) struct index *index = NULL;
	int r = index_load(stage, &index, err);

	return r < 0 ? r : change_merge(stage, index, change, ret_text, ret_mode, err);
}
