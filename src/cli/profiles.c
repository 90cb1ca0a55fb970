/* SPDX-License-Identifier: MIT */
#include "cli/profiles.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "config/state-dir.h"

#define FOLDER "profiles"

enum { PROFILE_MAX_BYTES = 256 << 20 };

static int open_folder(const struct workspace *workspace, bool create, struct err *err)
{
	_cleanup_(fd_closep) int state = state_dir_open(workspace, create, err);
	int fd;

	if (state < 0)
		return state;
	if (create && mkdirat(state, FOLDER, 0700) < 0 && errno != EEXIST)
		return err_sys(err, -errno, "make " FOLDER " in %s", "the state");
	fd = path_open_nolink(state, FOLDER, O_RDONLY | O_DIRECTORY, 0);
	if (fd == -ENOENT && !create)
		return fd;
	return fd < 0 ? err_sys(err, fd, "open " FOLDER " in the state") : fd;
}

int profile_keep(const struct workspace *workspace, const char *name,
		 const struct evidence *evidence, struct err *err)
{
	_cleanup_(fd_closep) int folder = open_folder(workspace, true, err);
	_cleanup_(freep) char *file = str_printf("%s.json", name);
	_cleanup_(str_release) struct str text = {0};
	struct json json = {.out = &text};
	int r;

	if (folder < 0)
		return folder;
	evidence_json(evidence, &json);
	if (!file || json_finish(&json) < 0 || str_append_char(&text, '\n') < 0)
		return err_oom(err);
	r = file_replace(folder, file, text.data, text.len, 0600, err);
	return r < 0 ? err_wrap(err, r, "keep the profile") : 0;
}

int profile_find(const struct workspace *workspace, const char *name, const char *digest,
		 struct evidence *ret, struct err *err)
{
	_cleanup_(fd_closep) int folder = open_folder(workspace, false, err);
	_cleanup_(freep) char *file = str_printf("%s.json", name);
	_cleanup_(evidence_release) struct evidence evidence = {0};
	_cleanup_(str_release) struct str text = {0};
	struct err why = {0};
	int r;

	if (folder < 0)
		return folder;
	if (!file)
		return err_oom(err);
	r = file_read(folder, file, PROFILE_MAX_BYTES, &text, &why);
	if (r == -ENOENT)
		return r;
	if (r == 0)
		r = evidence_parse(str_text(&text), text.len, &evidence, &why);
	/* A broken one, or one of another version: as if there were none. */
	if (r == -EBADMSG || (r == 0 && !str_eq(evidence.digest, digest)))
		return -ENOENT;
	if (r < 0) {
		*err = why;
		return r;
	}
	*ret = evidence;
	evidence = (struct evidence){0};
	return 0;
}
