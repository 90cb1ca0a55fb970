/* SPDX-License-Identifier: MIT */
#include "stage/writers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "stage/roots.h"

/* No lease is to be had on what is open for writing. Who opens it while we have one waits until
 * we let go, and we are told: by a signal that ends nobody. */
int file_has_writer(int fd)
{
	if (fcntl(fd, F_SETSIG, SIGURG) < 0)
		return -errno;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN ? 1 : -errno;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return 0;
}

static bool go_to(struct writers *writers, const struct stage *stage, unsigned root)
{
	if (writers->is_open && writers->root == root)
		return writers->base >= 0;
	writers_release(writers);
	writers->is_open = true;
	writers->root = root;
	writers->base = -1;
	return root_open(stage, root, &writers->base, NULL) == 0;
}

bool writers_find(struct writers *writers, const struct stage *stage, unsigned root,
		  const char *path, ino_t ino)
{
	_cleanup_(fd_closep) int fd = -1;
	const char *name;
	int parent;

	if (!go_to(writers, stage, root))
		return false;
	parent = folder_parent(&writers->folder, writers->base, path, &name);
	if (parent >= 0)
		fd = open_file(parent, name, ino);
	return fd >= 0 && file_has_writer(fd) > 0;
}

void writers_release(struct writers *writers)
{
	folder_release(&writers->folder);
	if (writers->is_open)
		fd_close(writers->base);
	*writers = (struct writers){0};
}
