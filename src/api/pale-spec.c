/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/pale-impl.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "policy/lattice.h"
#include "policy/outer.h"
#include "policy/spec-text.h"

/* Left by the pale around us, where nothing inside can write. */
#define SPEC_MAX (1 << 20)
/* Nobody's path. */
#define SOME_WORKSPACE "/\001workspace"

/* What the constructors share. */
struct maker {
	struct pale_spec *spec;
	char *workspace;
	struct user user;
};

static void maker_release(struct maker *maker)
{
	pale_spec_free(maker->spec);
	free(maker->workspace);
	user_release(&maker->user);
}

static int maker_init(struct maker *maker, const char *workspace, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r = user_probe(&maker->user, err);

	if (r < 0)
		return r;
	maker->spec = calloc(1, sizeof(*maker->spec));
	if (!maker->spec)
		return err_oom(err);
	if (!workspace)
		return 0;
	fd = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? -errno : path_of_fd(fd, &maker->workspace);
	return r < 0 ? err_sys(err, r, "workspace '%s'", workspace) : 0;
}

static int maker_finish(struct maker *maker, int r, struct pale_spec **ret,
			struct pale_error *error, const struct err *err)
{
	if (r < 0)
		return give_error(error, err, r);
	*ret = take_ptr(maker->spec);
	return 0;
}

int pale_spec_new(const char *workspace, struct pale_spec **ret_spec, struct pale_error *error)
{
	_cleanup_(maker_release) struct maker maker = {0};
	struct err err = {0};
	int r = maker_init(&maker, workspace, &err);

	if (r == 0) {
		spec_init_top(&maker.spec->spec);
		maker.spec->spec.workspace = take_ptr(maker.workspace);
	}
	return maker_finish(&maker, r, ret_spec, error, &err);
}

int pale_spec_from_preset(const char *workspace, const char *preset, struct pale_spec **ret_spec,
			  struct pale_error *error)
{
	_cleanup_(maker_release) struct maker maker = {0};
	struct err err = {0};
	int r = maker_init(&maker, workspace, &err);

	if (r == 0)
		r = spec_preset(preset, maker.workspace, &maker.user, &maker.spec->spec, &err);
	return maker_finish(&maker, r, ret_spec, error, &err);
}

int pale_spec_from_toml(const char *workspace, const char *text, struct pale_spec **ret_spec,
			struct pale_error *error)
{
	_cleanup_(maker_release) struct maker maker = {0};
	struct err err = {0};
	int r = maker_init(&maker, workspace, &err);

	if (r == 0)
		r = spec_parse(text, maker.workspace, &maker.user, &maker.spec->spec, &err);
	return maker_finish(&maker, r, ret_spec, error, &err);
}

int pale_spec_copy(const struct pale_spec *spec, struct pale_spec **ret_spec,
		   struct pale_error *error)
{
	struct pale_spec *copy = calloc(1, sizeof(*copy));
	struct err err = {0};

	if (!copy || spec_copy(&copy->spec, &spec->spec) < 0) {
		free(copy);
		return give_error(error, &err, err_oom(&err));
	}
	*ret_spec = copy;
	return 0;
}

void pale_spec_free(struct pale_spec *spec)
{
	if (spec)
		spec_release(&spec->spec);
	free(spec);
}

static int find_dim(const char *key, struct err *err)
{
	const char *names[DIM_COUNT_], *near;
	int dim = dim_by_name(key);

	if (dim >= 0)
		return dim;
	for (int i = 0; i < DIM_COUNT_; i++)
		names[i] = dim_name(i);
	near = str_nearest(key, names, DIM_COUNT_);
	err_set(err, ERR_USAGE, -EINVAL, "a spec has no key '%s'", key);
	return near ? err_hint(err, -EINVAL, "did you mean '%s'?", near) : -EINVAL;
}

/* Where DIM bounds nothing. */
static int clear_dim(struct spec *spec, enum dim dim, const struct user *user, struct err *err)
{
	const struct key *key = &spec_keys[dim];
	struct strv *list = spec_list(spec, dim);
	uint64_t *limit = spec_limit(spec, dim);
	size_t last = 0;

	if (limit)
		*limit = SPEC_UNLIMITED;
	if (list)
		strv_release(list);
	if (dim == DIM_PORTS)
		spec->ports_set = false;
	if (limit || list)
		return 0;
	if (key->type == KEY_BOOL)
		return spec_set(spec, dim, dim == DIM_NESTED ? "true" : "false", false, user, err);
	while (key->choices[last + 1])
		last++;
	return spec_set(spec, dim, key->choices[last], false, user, err);
}

static int change(struct pale_spec *spec, const char *key, const char *value, bool add,
		  struct pale_error *error)
{
	_cleanup_(user_release) struct user user = {0};
	struct err err = {0};
	int dim = find_dim(key, &err), r = dim < 0 ? dim : user_probe(&user, &err);

	if (r == 0 && add && !spec_list(&spec->spec, dim))
		r = err_set(&err, ERR_USAGE, -EINVAL, "%s is no list", key);
	else if (r == 0 && !value && add)
		r = err_set(&err, ERR_USAGE, -EINVAL, "%s: there is nothing to add", key);
	else if (r == 0 && !value)
		r = clear_dim(&spec->spec, dim, &user, &err);
	else if (r == 0)
		r = spec_set(&spec->spec, dim, value, add, &user, &err);
	return r < 0 ? give_error(error, &err, r) : 0;
}

int pale_spec_set(struct pale_spec *spec, const char *key, const char *value,
		  struct pale_error *error)
{
	return change(spec, key, value, false, error);
}

int pale_spec_add(struct pale_spec *spec, const char *key, const char *item,
		  struct pale_error *error)
{
	return change(spec, key, item, true, error);
}

/* TEXT is handed over, never as NULL. */
static int give_text(struct str *text, int r, char **ret, struct pale_error *error,
		     const struct err *err)
{
	struct err oom;

	if (r == 0 && str_append(text, "") < 0) {
		r = err_oom(&oom);
		err = &oom;
	}
	if (r < 0) {
		str_release(text);
		return give_error(error, err, r);
	}
	*ret = text->data;
	return 0;
}

int pale_spec_get(const struct pale_spec *spec, const char *key, char **ret_text,
		  struct pale_error *error)
{
	struct str text = {0};
	struct err err = {0};
	int r = find_dim(key, &err);

	if (r >= 0)
		r = spec_print_dim(&spec->spec, (enum dim)r, &text) < 0 ? err_oom(&err) : 0;
	return give_text(&text, r, ret_text, error, &err);
}

int pale_spec_text(const struct pale_spec *spec, char **ret_text, struct pale_error *error)
{
	struct str text = {0};
	struct err err = {0};
	int r = spec_print(&spec->spec, &text, &err);

	return give_text(&text, r, ret_text, error, &err);
}

int pale_spec_is_active(const struct pale_spec *spec)
{
	return spec_is_confined(&spec->spec) || spec->spec.timeout != SPEC_UNLIMITED;
}

/* SPEC, of which only the workspace may be another: without one it means that of
 * BESIDE, and if neither has one, both mean the same, whichever it will be. Owns
 * nothing. */
static struct spec bound(const struct spec *spec, const struct spec *beside)
{
	struct spec view = *spec;

	if (!view.workspace)
		view.workspace = beside->workspace ? beside->workspace : (char *)SOME_WORKSPACE;
	return view;
}

int pale_spec_leq(const struct pale_spec *a, const struct pale_spec *b)
{
	struct spec x = bound(&a->spec, &b->spec), y = bound(&b->spec, &a->spec);

	return spec_leq(&x, &y);
}

static int meet_specs(const struct spec *a, const struct spec *b, struct spec *ret, struct err *err)
{
	struct spec x = bound(a, b), y = bound(b, a);
	int r = spec_meet(&x, &y, ret, err);

	/* The level stands for the workspace then: no list names it. */
	if (r == 0 && !a->workspace && !b->workspace) {
		free(ret->workspace);
		ret->workspace = NULL;
	}
	return r;
}

int pale_spec_meet(const struct pale_spec *a, const struct pale_spec *b,
		   struct pale_spec **ret_spec, struct pale_error *error)
{
	struct pale_spec *meet = calloc(1, sizeof(*meet));
	struct err err = {0};
	int r = meet ? meet_specs(&a->spec, &b->spec, &meet->spec, &err) : err_oom(&err);

	if (r < 0) {
		free(meet);
		return give_error(error, &err, r);
	}
	*ret_spec = meet;
	return 0;
}

int current_spec_read(struct spec *ret, struct err *err)
{
	_cleanup_(user_release) struct user user = {0};
	int r = user_probe(&user, err);
	bool staged;

	return r < 0 ? r : outer_read(&user, ret, &staged, err);
}

int pale_spec_current(struct pale_spec **ret_spec, struct pale_error *error)
{
	struct pale_spec *spec = calloc(1, sizeof(*spec));
	struct err err = {0};
	int r = spec ? current_spec_read(&spec->spec, &err) : err_oom(&err);

	if (r == -ENOENT)
		err_set(&err, ERR_SYSTEM, r, "this process is not inside a sandbox of pale's");
	if (r < 0) {
		free(spec);
		return give_error(error, &err, r);
	}
	*ret_spec = spec;
	return 0;
}

int spec_effective(const struct spec *spec, struct spec *ret, struct err *err)
{
	_cleanup_(spec_release) struct spec current = {0};
	int r = current_spec_read(&current, err);

	if (r == -ENOENT)
		return spec_copy(ret, spec) < 0 ? err_oom(err) : 0;
	return r < 0 ? r : meet_specs(spec, &current, ret, err);
}
