/* SPDX-License-Identifier: MIT */
/* A volatile overlay may lose what was written when the machine stops. What was
 * synced is noted: <stage>/synced has the boot and how many runs there had been. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"
#include "stage/access.h"
#include "stage/record.h"
#include "stage/stage.h"

enum { NOTE_MAX = 256 };

int stage_sync(struct stage *stage, struct err *err)
{
	_cleanup_(str_release) struct str note = {0};
	char boot[STAGE_BOOT_MAX];
	struct stage_run *runs;
	size_t n;
	int r = stage_boot_id(boot, err);

	if (r == 0)
		r = stage_runs(stage, &runs, &n, err);
	if (r < 0)
		return r;
	stage_runs_free(runs, n);
	for (unsigned i = 0; i < stage->n_roots; i++) {
		_cleanup_(fd_closep) int path = -1, fd = -1;

		r = stage_upper(stage, i, &path, err);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		fd = openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 || syncfs(fd) < 0)
			return err_sys(err, -errno, "sync stage %s", stage->name);
	}
	if (str_appendf(&note, "%s %zu\n", boot, n) < 0)
		return err_oom(err);
	return file_replace(stage->dir_fd, "synced", note.data, note.len, 0600, err);
}

/* How many runs of the boot in BOOT were synced. */
static size_t read_note(const struct stage *stage, char boot[STAGE_BOOT_MAX])
{
	_cleanup_(fd_closep) int fd = open_file(stage->dir_fd, "synced", 0);
	_cleanup_(str_release) struct str note = {0};
	size_t len;

	boot[0] = '\0';
	if (fd < 0 || fd_read_all(fd, NOTE_MAX, &note) < 0)
		return 0;
	len = strcspn(str_text(&note), " ");
	if (len >= STAGE_BOOT_MAX || !note.data || !note.data[len])
		return 0;
	memcpy(boot, note.data, len);
	boot[len] = '\0';
	return strtoul(note.data + len, NULL, 10);
}

int stage_check_synced(const struct stage *stage, struct err *err)
{
	char boot[STAGE_BOOT_MAX], noted[STAGE_BOOT_MAX];
	struct stage_run *runs;
	size_t n, synced;
	int r = stage_boot_id(boot, err);

	if (r == 0)
		r = stage_runs(stage, &runs, &n, err);
	if (r < 0)
		return r;
	synced = read_note(stage, noted);
	for (size_t i = 0; i < n && r == 0; i++)
		if (!str_eq(runs[i].boot, boot) && i >= synced) {
			r = err_set(err, ERR_SYSTEM, -EUCLEAN,
				    "the machine was restarted before the changes of run %s were "
				    "written to the disk: they may be incomplete",
				    runs[i].id);
			err_hint(err, r, "look at them with pale diff first");
		}
	stage_runs_free(runs, n);
	return r;
}
