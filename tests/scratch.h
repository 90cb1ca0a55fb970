/* SPDX-License-Identifier: MIT */
/*
 * scratch - a folder for one test, made and entered at its beginning and
 * removed, however deep, at its end.
 */
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_path[4096];

static inline void scratch_enter(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(scratch_path, sizeof(scratch_path), "%s/pale-test-XXXXXX",
		 base && base[0] ? base : "/tmp");
	if (!mkdtemp(scratch_path) || chdir(scratch_path) < 0) {
		perror(scratch_path);
		exit(1);
	}
}

/* By descriptor, since names may be longer than PATH_MAX. */
static inline void scratch_remove(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, e->d_name, 0) < 0)
			scratch_remove(fd, e->d_name);
	}
	if (dir)
		closedir(dir);
	unlinkat(dirfd, name, AT_REMOVEDIR);
}

static inline void scratch_leave(void)
{
	if (chdir("/") < 0)
		perror("/");
	scratch_remove(AT_FDCWD, scratch_path);
}

static inline void scratch_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		perror(path);
		exit(1);
	}
	close(fd);
}
