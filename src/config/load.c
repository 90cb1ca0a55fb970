/* SPDX-License-Identifier: MIT */
#include "config/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "config/check.h"
#include "config/owned.h"

/* A file to be loaded, opened by its folder: the full name can be longer than
 * the kernel takes at once. */
struct source {
	const char *path;
	enum layer layer;
	int dirfd;
	const char *name;
	char shown[ORIGIN_TEXT_MAX]; /* the path in messages */
};

static void source_close(struct source *s)
{
	s->dirfd = fd_close(s->dirfd);
}

static int hint_chown(struct err *err, int r, const char *what, const char *path)
{
	char before[64];

	snprintf(before, sizeof(before), "review %s, then: chown %u ", what, (unsigned)geteuid());
	return err_hint_word(err, r, before, path, "");
}

/* Who can write the folder can put another file in the place of ours, or take it away. Where it
 * is sticky, only one of his own. A workspace is what it is. */
static int check_folder(const struct source *s, const char *dir, bool missing, struct err *err)
{
	struct stat st;
	bool foreign;

	if (s->layer == LAYER_WORKSPACE)
		return 0;
	if (fstat(s->dirfd, &st) < 0)
		return err_sys(err, -errno, "stat %s", dir);
	foreign = st.st_uid != 0 && st.st_uid != geteuid();
	if (foreign ? missing
		    : (st.st_mode & S_ISVTX) || !owned_is_open(s->dirfd, &st, geteuid(), getegid()))
		return 0;
	err_set(err, ERR_CONFIG, -EPERM, "others can replace what is in %s", dir);
	if (foreign)
		return hint_chown(err, -EPERM, "what is in it", dir);
	return err_hint_word(err, -EPERM, "review what is in it, then: chmod go-w ", dir, "");
}

/* 1: open; 0: the file or its folder does not exist. */
static int source_open(struct source *s, struct err *err)
{
	_cleanup_(freep) char *dir = NULL;
	const char *slash = strrchr(s->path, '/');
	struct stat st;
	int r = lstat(s->path, &st) < 0 ? -errno : 0;
	bool missing = r == -ENOENT;

	if (missing && s->layer == LAYER_WORKSPACE)
		return 0;
	origin_text(&(struct origin){.file = s->path}, s->shown, sizeof(s->shown));
	if (r < 0 && r != -ENAMETOOLONG && !missing)
		return err_sys(err, r, "open %s", s->shown);
	s->name = slash ? slash + 1 : s->path;
	dir = slash ? strndup(s->path, slash == s->path ? 1 : (size_t)(slash - s->path))
		    : strdup(".");
	if (!dir)
		return err_oom(err);
	s->dirfd = fd_open(dir, O_PATH | O_DIRECTORY);
	if (s->dirfd < 0)
		return errno == ENOENT ? 0
				       : err_sys(err, -errno, "open the folder of %s", s->shown);
	r = check_folder(s, dir, missing, err);
	return r < 0 ? r : !missing;
}

static bool owner_is_fine(const struct source *s, const struct stat *st)
{
	struct stat dir;

	if (st->st_uid == 0 || st->st_uid == geteuid())
		return true;
	return s->layer == LAYER_WORKSPACE && geteuid() == 0 && fstat(s->dirfd, &dir) == 0 &&
	       dir.st_uid == st->st_uid;
}

static int check_owner(const struct source *s, int fd, const struct stat *st, struct err *err)
{
	if (!owner_is_fine(s, st)) {
		err_set(err, ERR_CONFIG, -EPERM,
			"%s belongs to uid %u, which is neither root nor you", s->shown,
			(unsigned)st->st_uid);
		return hint_chown(err, -EPERM, "the file", s->path);
	}
	if (owned_is_open(fd, st, geteuid(), getegid())) {
		err_set(err, ERR_CONFIG, -EPERM, "%s can be written by others", s->shown);
		return err_hint_word(err, -EPERM, "review the file, then: chmod go-w ", s->path,
				     "");
	}
	return 0;
}

/* 1: the text is read; 0: there is no such file. */
static int source_read(const struct source *s, struct str *ret_text, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat name, st;
	int r;

	if (fstatat(s->dirfd, s->name, &name, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(err, -errno, "open %s", s->shown);
	fd = file_open_regular(s->dirfd, s->name, &st, err);
	if (fd < 0) {
		if (fd == -ENOENT && S_ISLNK(name.st_mode))
			return err_set(err, ERR_CONFIG, fd, "%s is a symbolic link to nothing",
				       s->shown);
		if (err && fd != -ENOMEM)
			err->code = ERR_CONFIG;
		return err_wrap(err, fd, "%s", s->shown);
	}
	if (s->layer == LAYER_WORKSPACE &&
	    (S_ISLNK(name.st_mode) || name.st_ino != st.st_ino || name.st_dev != st.st_dev)) {
		err_set(err, ERR_CONFIG, -ELOOP, "%s is a symbolic link", s->shown);
		return err_hint(err, -ELOOP, "put the file itself there");
	}
	r = check_owner(s, fd, &st, err);
	if (r < 0)
		return r;
	r = fd_read_all(fd, CONFIG_MAX_BYTES, ret_text);
	if (r == -EFBIG)
		return err_set(err, ERR_CONFIG, r, "%s is larger than %d bytes", s->shown,
			       CONFIG_MAX_BYTES);
	return r < 0 ? err_sys(err, r, "read %s", s->shown) : 1;
}

static int file_load(const char *path, enum layer layer, struct config_file *ret, struct err *err)
{
	_cleanup_(source_close) struct source source = {.path = path, .layer = layer, .dirfd = -1};
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(toml_freep) struct toml *doc = NULL;
	struct toml_pos pos = {0};
	int r;

	r = source_open(&source, err);
	if (r > 0)
		r = source_read(&source, &text, err);
	if (r <= 0)
		return r;
	r = toml_parse(str_text(&text), text.len, &doc, &pos, err);
	if (r == -EINVAL)
		return position_error(path, pos, r, err);
	if (r < 0)
		return err_wrap(err, r, "%s", source.shown);
	r = config_check(doc, path, layer, err);
	if (r < 0)
		return r;
	ret->path = strdup(path);
	if (!ret->path)
		return err_oom(err);
	ret->doc = take_ptr(doc);
	return 0;
}

int config_load(const char *system_file, const char *user_file, const char *workspace_file,
		struct config *ret, struct err *err)
{
	const char *const paths[LAYER_COUNT_] = {
		[LAYER_SYSTEM] = system_file,
		[LAYER_USER] = user_file,
		[LAYER_WORKSPACE] = workspace_file,
	};
	_cleanup_(config_release) struct config config = {0};

	for (int layer = 0; layer < LAYER_COUNT_; layer++) {
		int r = paths[layer] ? file_load(paths[layer], layer, &config.files[layer], err)
				     : 0;

		if (r < 0)
			return r;
	}
	*ret = config;
	config = (struct config){0};
	return 0;
}

int config_check_file(const char *path, enum layer layer, struct err *err)
{
	_cleanup_(config_release) struct config config = {0};
	int r = file_load(path, layer, &config.files[layer], err);

	if (r < 0)
		return r;
	if (!config.files[layer].path)
		return err_set(err, ERR_CONFIG, -ENOENT, "%s: there is no such file", path);
	return 0;
}

void config_release(struct config *config)
{
	for (int layer = 0; layer < LAYER_COUNT_; layer++) {
		free(config->files[layer].path);
		toml_free(config->files[layer].doc);
	}
	*config = (struct config){0};
}

bool config_get_at(const struct config *config, enum layer layer, const char *const *path,
		   struct setting *ret)
{
	const struct config_file *file = &config->files[layer];
	const struct toml_value *value = file->doc ? toml_root(file->doc) : NULL;

	for (; value && *path; path++)
		value = toml_get(value, *path);
	if (!value)
		return false;
	*ret = (struct setting){
		.value = value,
		.origin = {.file = file->path, .line = value->pos.line},
		.layer = layer,
	};
	return true;
}

bool config_get(const struct config *config, const char *const *path, struct setting *ret)
{
	for (int layer = LAYER_COUNT_ - 1; layer >= 0; layer--)
		if (config_get_at(config, layer, path, ret))
			return true;
	return false;
}

int config_names(const struct config *config, const char *const *path, struct strv *ret)
{
	for (int layer = 0; layer < LAYER_COUNT_; layer++) {
		struct setting s;
		int r = 0;

		if (!config_get_at(config, layer, path, &s) || s.value->type != TOML_TABLE)
			continue;
		for (const struct toml_entry *e = s.value->table.first; e && r == 0; e = e->next)
			r = strv_add(ret, e->key);
		if (r < 0)
			return r;
	}
	strv_sort_unique(ret);
	return 0;
}

const char *origin_text(const struct origin *origin, char *buf, size_t size)
{
	const char *file = origin->file, *dots = "";
	size_t len = strlen(file), room = size > 32 ? size - 32 : 0;

	if (len > room) {
		file += len - room;
		dots = "...";
	}
	if (origin->line)
		snprintf(buf, size, "%s%s:%u", dots, file, origin->line);
	else
		snprintf(buf, size, "%s%s", dots, file);
	return buf;
}

int position_error(const char *file, struct toml_pos pos, int r, struct err *err)
{
	struct origin origin = {.file = file, .line = pos.line};
	char buf[ORIGIN_TEXT_MAX];

	return err_wrap(err, r, "%s:%u", origin_text(&origin, buf, sizeof(buf)), pos.column);
}

int setting_error(const struct setting *setting, int r, struct err *err)
{
	return position_error(setting->origin.file, setting->value->pos, r, err);
}
