/* SPDX-License-Identifier: MIT */
/* fd - descriptors: always CLOEXEC, -1 when empty. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct str;

int fd_close(int fd); /* -1 ok; keeps errno; returns -1 */
static inline void fd_closep(int *fd)
{
	*fd = fd_close(*fd);
}

/* Close FD, for a kind of file whose last close makes its caller wait, without the
 * wait: the kernel gets it to collect. Returns -1. */
int fd_close_later(int fd);
/* open(2) with O_CLOEXEC, in one system call: open() of musl makes two. */
int fd_open(const char *path, int flags);

int fd_write_all(int fd, const void *data,
		 size_t len); /* 0 or -errno; EINTR and short writes handled */
/* SIZE bytes from AT on, less where the file ends; or -errno. */
ssize_t fd_pread_all(int fd, void *buf, size_t size, off_t at);
/* Read to the end, at most MAX bytes: -EFBIG past that. Replaces *ret_text. */
int fd_read_all(int fd, size_t max, struct str *ret_text);

/* What of FD would lead its holder out of a sandbox, as a text; NULL: nothing. OFFLINE: the
 * host's network is no part of that. */
const char *fd_way_out(int fd, bool offline);
/* A pipe for a command, which may have other ids than root and still opens /dev/stdin and its
 * like: as OTHERS may, S_IROTH or S_IWOTH. Nobody else has a name for it. */
int fd_pipe_for(mode_t others, int ret[2]);

/* Close everything from 3 on but the N of KEEP, which may be -1. */
void fds_close_others(const int *keep, size_t n);

/* What becomes the 0, 1 and 2 of a program. */
struct stdio {
	int fd[3];
	int lifeline; /* 0: none; else the run ends when its other end hangs up */
	int kept;     /* 0: none; else gets a copy of output that has a limit */
};
