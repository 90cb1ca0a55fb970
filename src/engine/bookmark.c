/* SPDX-License-Identifier: MIT */
#include "engine/bookmark.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

void bookmark_open(struct bookmark *b, int outer)
{
	int flags = fcntl(outer, F_GETFL), mode = flags & O_ACCMODE;
	off_t at = flags < 0 || mode == O_WRONLY ? -1 : lseek(outer, 0, SEEK_CUR);
	char path[32];
	int own;

	if (at < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", outer);
	own = fd_open(path, mode | O_NOCTTY | O_NONBLOCK);
	if (own >= 0 &&
	    (lseek(own, at, SEEK_SET) != at || fcntl(own, F_SETFL, flags & O_APPEND) < 0))
		own = fd_close(own);
	*b = (struct bookmark){.outer = outer, .own = own < 0 ? -1 : own, .at = at};
}

/* Past its end nothing can have been read. */
static off_t read_up_to(const struct bookmark *b)
{
	off_t to = lseek(b->own, 0, SEEK_CUR);
	struct stat st;

	if (to < 0 || fstat(b->own, &st) < 0)
		return b->at;
	return st.st_size > 0 && to > st.st_size ? st.st_size : to;
}

void bookmark_close(struct bookmark *b)
{
	off_t to;

	if (b->own < 0)
		return;
	to = read_up_to(b);
	/* Others may have gone on to read meanwhile. */
	if (to > b->at && lseek(b->outer, 0, SEEK_CUR) == b->at)
		(void)lseek(b->outer, to, SEEK_SET);
	b->own = fd_close(b->own);
}
