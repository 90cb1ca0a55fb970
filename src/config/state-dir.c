/* SPDX-License-Identifier: MIT */
#include "config/state-dir.h"

#include <errno.h>

#include "base/err.h"
#include "base/private-dir.h"
#include "config/workspace.h"

int state_dir_open(const struct workspace *workspace, bool create, struct err *err)
{
	const char *path = workspace->state_dir;

	if (!path && !create)
		return -ENOENT;
	if (!path) {
		err_set(err, ERR_SYSTEM, -ENOENT,
			"there is no place for pale's state: no home is known");
		return err_hint(err, -ENOENT, "set HOME or XDG_STATE_HOME to an absolute path");
	}
	return private_dir_open(path, create, err);
}
