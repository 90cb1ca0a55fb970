/* SPDX-License-Identifier: MIT */
#include "api/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "config/check.h"

#define LOCK_TRIES   250
#define LOCK_WAIT_NS 20000000L

static int open_workspace(const char *root, struct err *err)
{
	_cleanup_(fd_closep) int top = fd_open("/", O_PATH | O_DIRECTORY);
	int fd;

	if (top < 0)
		return err_sys(err, -errno, "open /");
	/* In steps where need be: the name can be longer than PATH_MAX. */
	fd = path_open_beneath(top, root[1] ? root + 1 : ".", O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? err_sys(err, fd, "open %s", root) : fd;
}

/* Not for ever: a confined command can hold this lock as well. */
static int lock_folder(int fd, struct err *err)
{
	const struct timespec wait = {.tv_nsec = LOCK_WAIT_NS};

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(err, -errno, "lock the folder of pale.toml");
		nanosleep(&wait, NULL);
	}
	err_set(err, ERR_SYSTEM, -EBUSY, "the folder of pale.toml is locked by another process");
	return err_hint(err, -EBUSY, "fuser or lsof on that folder names it");
}

/* An unread document is empty. */
static int read_doc(struct edit *edit, bool reload, struct err *err)
{
	struct str *text = &edit->before;
	struct err why = {0};
	struct stat st;
	int r;

	if (!reload) {
		edit->existed = fstatat(edit->dirfd, edit->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
		return edit_restart(edit, "", 0, err);
	}
	r = file_read(edit->dirfd, edit->name, CONFIG_MAX_BYTES, text, &why);

	edit->existed = r != -ENOENT;
	edit->was_read = true;
	if (r < 0 && r != -ENOENT) {
		*err = why;
		return r;
	}
	return edit_restart(edit, str_text(text), text->len, err);
}

static int find_workspace(const char *asked, struct edit *edit, struct err *err)
{
	struct context *context = &edit->context;
	int r = user_probe(&context->user, err);

	if (r == 0)
		r = workspace_find(asked, &context->user, &context->workspace, err);
	if (r < 0)
		return r;
	edit->name = WORKSPACE_CONFIG;
	edit->dirfd = open_workspace(context->workspace.root, err);
	if (edit->dirfd < 0)
		return edit->dirfd;
	context->workspace_file = path_join(context->workspace.root, WORKSPACE_CONFIG);
	return context->workspace_file ? lock_folder(edit->dirfd, err) : err_oom(err);
}

int edit_begin(const char *asked, bool reload, struct edit *ret, struct err *err)
{
	_cleanup_(edit_release) struct edit edit = {.layer = LAYER_WORKSPACE, .dirfd = -1};
	int r = find_workspace(asked, &edit, err);

	if (r == 0 && reload) {
		struct context loaded;

		r = context_load(edit.context.workspace.root, &loaded, err);
		if (r < 0)
			return r;
		context_release(&edit.context);
		edit.context = loaded;
	}
	if (r == 0)
		r = read_doc(&edit, reload, err);
	if (r < 0)
		return r;
	*ret = edit;
	edit = (struct edit){.dirfd = -1};
	return 0;
}

/* The user's own file may be kept elsewhere, or a home be reached by a link: what is missing is
 * made behind it. */
static int open_user_dir(struct edit *edit, const struct user *user, bool make, struct err *err)
{
	_cleanup_(fd_closep) int top = fd_open("/", O_PATH | O_DIRECTORY), made = -1;
	_cleanup_(freep) char *path = NULL, *dir = NULL;
	int r;

	if (!user->config_dir)
		return err_set(err, ERR_CONFIG, -EINVAL, "your home is not known");
	if (top < 0)
		return err_sys(err, -errno, "open /");
	path = path_join(user->config_dir, WORKSPACE_CONFIG);
	r = path ? path_resolve(path, &edit->real) : -ENOMEM;
	if (r < 0)
		return err_sys(err, r, "look up the folder %s", user->config_dir);
	edit->name = path_basename(edit->real);
	dir = strndup(edit->real, (size_t)(edit->name - edit->real));
	if (!dir)
		return err_oom(err);
	if (make) {
		made = path_mkdir_beneath(top, dir + 1, 0700);
		if (made < 0)
			return err_sys(err, made, "make %s", dir);
	}
	r = fd_open(dir, O_RDONLY | O_DIRECTORY);
	if (r >= 0 || (errno == ENOENT && !make))
		return r >= 0 ? r : -ENOENT;
	return err_sys(err, -errno, "open %s", dir);
}

int edit_begin_user(const char *asked, bool make, struct edit *ret, struct err *err)
{
	_cleanup_(edit_release) struct edit edit = {.layer = LAYER_USER, .dirfd = -1};
	_cleanup_(user_release) struct user user = {0};
	int r = user_probe(&user, err);

	if (r < 0)
		return r;
	r = open_user_dir(&edit, &user, make, err);
	if (r >= 0) {
		edit.dirfd = r;
		r = lock_folder(edit.dirfd, err);
	}
	if (r == 0 || r == -ENOENT)
		r = context_load(asked, &edit.context, err);
	if (r == 0)
		r = edit.dirfd < 0 ? edit_restart(&edit, "", 0, err) : read_doc(&edit, true, err);
	if (r < 0)
		return r;
	*ret = edit;
	edit = (struct edit){.dirfd = -1};
	return 0;
}

const char *edit_file(const struct edit *edit)
{
	return edit->layer == LAYER_USER ? edit->context.user_file : edit->context.workspace_file;
}

int edit_restart(struct edit *edit, const char *text, size_t len, struct err *err)
{
	struct toml *doc;
	struct toml_pos pos = {0};
	int r = toml_parse(text, len, &doc, &pos, err);

	if (r < 0)
		return err_wrap(err, r, "%s:%u:%u", edit_file(edit), pos.line, pos.column);
	toml_free(edit->doc);
	edit->doc = doc;
	return 0;
}

static const struct toml_value *command_value(const struct edit *edit, const char *name,
					      const char *key)
{
	const struct toml_value *value = toml_get(toml_root(edit->doc), "commands");

	value = value ? toml_get(value, name) : NULL;
	return value && key ? toml_get(value, key) : value;
}

bool edit_has_command(const struct edit *edit, const char *name)
{
	return command_value(edit, name, NULL) != NULL;
}

int edit_command(struct edit *edit, const char *name, const char *key, const char *value,
		 struct err *err)
{
	const char *const path[] = {"commands", name, key};
	const struct toml_value *old = command_value(edit, name, key);
	int r = 0;

	/* A table of dimensions gives way as a whole. */
	if (old && (!value || old->type == TOML_TABLE))
		r = toml_unset(edit->doc, path, array_len(path), err);
	if (r == 0 && value)
		r = toml_set(edit->doc, path, array_len(path), value, err);
	return r;
}

int edit_check(const struct edit *edit, struct err *err)
{
	return config_check(edit->doc, edit_file(edit), edit->layer, err);
}

/* Somebody may have saved it while a question stood: what he wrote is not ours to replace. */
static int check_same(const struct edit *edit, struct err *err)
{
	_cleanup_(str_release) struct str now = {0};
	struct err why = {0};
	int r;

	if (!edit->was_read)
		return 0;
	r = file_read(edit->dirfd, edit->name, CONFIG_MAX_BYTES, &now, &why);
	if (r < 0 && r != -ENOENT) {
		*err = why;
		return r;
	}
	if (edit->existed == (r == 0) && now.len == edit->before.len &&
	    memcmp(str_text(&now), str_text(&edit->before), now.len) == 0)
		return 0;
	err_set(err, ERR_CONFIG, -ESTALE, "%s has changed meanwhile; nothing was written",
		edit_file(edit));
	return err_hint(err, -ESTALE, "look at it, and do that again");
}

int edit_commit(const struct edit *edit, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	int r = edit_check(edit, err);

	if (r == 0)
		r = check_same(edit, err);
	if (r < 0)
		return r;
	if (toml_print(edit->doc, &text) < 0)
		return err_oom(err);
	if (text.len > CONFIG_MAX_BYTES)
		return err_set(err, ERR_CONFIG, -EFBIG, "%s would be larger than %d bytes",
			       edit_file(edit), CONFIG_MAX_BYTES);
	r = file_replace(edit->dirfd, edit->name, str_text(&text), text.len,
			 edit->layer == LAYER_USER ? 0600 : 0644, err);
	if (r == 0 && !edit->existed && edit->layer == LAYER_WORKSPACE)
		r = file_stays(edit->dirfd, edit->name, err);
	return r;
}

void edit_release(struct edit *edit)
{
	context_release(&edit->context);
	edit->doc = toml_free(edit->doc);
	str_release(&edit->before);
	free(edit->real);
	edit->real = NULL;
	edit->dirfd = fd_close(edit->dirfd);
}
