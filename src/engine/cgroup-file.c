/* SPDX-License-Identifier: MIT */
#include "engine/cgroup-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"

#define FILE_MAX 4096

int cgroup_file_write(int dir, const char *name, const char *text)
{
	_cleanup_(fd_closep) int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	/* In one piece: the kernel takes each write as a whole. */
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return -errno;
	return 0;
}

/* TEXT is FILE_MAX bytes. */
static int read_file(int dir, const char *name, char *text)
{
	_cleanup_(fd_closep) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, FILE_MAX - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return 0;
}

static int parse(const char *text, uint64_t *ret)
{
	char *end;

	if (strncmp(text, "max", 3) == 0) {
		*ret = UINT64_MAX;
		return 0;
	}
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return end == text || errno ? -EINVAL : 0;
}

int cgroup_file_number_of(int fd, uint64_t *ret)
{
	char text[64];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return parse(text, ret);
}

int cgroup_file_number(int dir, const char *name, uint64_t *ret)
{
	char text[FILE_MAX];
	int r = read_file(dir, name, text);

	return r < 0 ? r : parse(text, ret);
}

int cgroup_file_field(int dir, const char *name, const char *key, uint64_t *ret)
{
	char text[FILE_MAX];
	int r = read_file(dir, name, text);

	for (const char *line = text; r == 0 && *line;) {
		if (str_starts(line, key) && line[strlen(key)] == ' ')
			return parse(line + strlen(key) + 1, ret);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return r < 0 ? r : -ENOENT;
}
