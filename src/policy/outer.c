/* SPDX-License-Identifier: MIT */
#include "policy/outer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "policy/spec-text.h"

#define TEXT_MAX (1u << 20)

static bool is_absent(const char *path)
{
	return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	       (errno == ENOENT || errno == ENOTDIR);
}

/* Nobody inside can have made it. */
static bool is_readonly(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 && fs.f_flag & ST_RDONLY;
}

const char *outer_path(void)
{
	if (!is_absent(OUTER_AT_ROOT))
		return OUTER_AT_ROOT;
	return is_absent(OUTER_IN_RUN) ? NULL : OUTER_IN_RUN;
}

int outer_read(const struct user *user, struct spec *ret, bool *ret_staged, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	const char *path = outer_path();
	int r;

	if (!path)
		return -ENOENT;
	if (!is_readonly(path))
		return err_hint(err,
				err_set(err, ERR_POLICY, -EPERM,
					"%s can be written: it is no description of a sandbox",
					path),
				"remove it");
	r = file_read(AT_FDCWD, path, TEXT_MAX, &text, err);
	if (r == 0)
		r = spec_parse(str_text(&text), NULL, user, ret, err);
	if (r == -ENOENT)
		r = -EIO;
	if (r == 0)
		*ret_staged = str_starts(str_text(&text), OUTER_STAGED);
	return r < 0 ? err_wrap(err, r, "%s", path) : 0;
}
