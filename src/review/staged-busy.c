/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/json-read.h"
#include "review/staged.h"
#include "session/session-place.h"
#include "session/session.h"

static bool has_stage(const char *folder, const char *session, const char *stage)
{
	_cleanup_(str_release) struct str facts = {0};
	_cleanup_(freep) char *name = NULL;
	struct json_slice object;

	if (session_facts(folder, session, &facts, NULL) < 0 ||
	    !json_slice_init(&object, str_text(&facts), facts.len))
		return false;
	name = json_get_text(object, "stage");
	return name && str_eq(name, stage);
}

int staged_busy(const struct staged *staged, const char *stage, int r, struct err *err)
{
	const char *runtime = staged->user.runtime_dir;
	_cleanup_(freep) char *folder = runtime ? session_folder(runtime, staged->workspace.root)
						: NULL;
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(fd_closep) int parent = -1;

	if (r != -EBUSY || !folder)
		return r;
	parent = session_folder_open(folder, NULL);
	if (parent < 0 || session_names(parent, &names, NULL) < 0)
		return r;
	for (size_t i = 0; i < names.len; i++) {
		const char *name = names.items[i];

		if (!session_is_living(parent, name) || !has_stage(folder, name, stage))
			continue;
		err_set(err, ERR_SYSTEM, r, "stage %s is in use by the session %s", stage, name);
		return err_hint(err, r, "`pale session stop %s` ends it; what is staged stays",
				name);
	}
	return r;
}
