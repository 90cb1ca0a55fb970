/* SPDX-License-Identifier: MIT */
#include "observe/task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SMALLEST_PAGE = 4096 };

ssize_t task_read(pid_t pid, uint64_t address, void *buf, size_t size)
{
	/* What does not fit in this page is a part of its own: it may be missing. */
	size_t first = SMALLEST_PAGE - address % SMALLEST_PAGE;
	struct iovec local = {buf, size}, remote[2] = {{(void *)(uintptr_t)address, size}};
	ssize_t n;

	if (first < size) {
		remote[0].iov_len = first;
		remote[1] = (struct iovec){(void *)(uintptr_t)(address + first), size - first};
	}
	n = process_vm_readv(pid, &local, 1, remote, first < size ? 2 : 1, 0);
	return n < 0 ? -errno : n;
}

int task_read_name(pid_t pid, uint64_t address, char ret[PATH_MAX])
{
	size_t first = SMALLEST_PAGE - address % SMALLEST_PAGE;
	size_t chunk = first < 256 ? first + 256 : 256; /* most names are short */
	ssize_t n = task_read(pid, address, ret, chunk);
	char *end = n > 0 ? memchr(ret, '\0', (size_t)n) : NULL;

	if (n > 0 && !end) {
		n = task_read(pid, address, ret, PATH_MAX);
		end = n > 0 ? memchr(ret, '\0', (size_t)n) : NULL;
	}
	if (n < 0)
		return (int)n;
	return end ? (int)(end - ret) : -ENAMETOOLONG;
}

/* Takes off the last component of OUT, which has LEN bytes. */
static size_t shorten(const char *out, size_t len)
{
	while (len > 0 && out[len - 1] != '/')
		len--;
	return len > 0 ? len - 1 : 0;
}

int task_join(const char *base, const char *name, char ret[PATH_MAX])
{
	const char *const parts[] = {name[0] == '/' ? "" : base, name};
	size_t len = 0;

	for (size_t i = 0; i < 2; i++)
		for (const char *at = parts[i]; *at;) {
			size_t n;

			at += strspn(at, "/");
			n = strcspn(at, "/");
			if (n == 2 && at[0] == '.' && at[1] == '.') {
				len = shorten(ret, len);
			} else if (n > 0 && !(n == 1 && at[0] == '.')) {
				if (len + n + 2 > PATH_MAX)
					return -ENAMETOOLONG;
				ret[len++] = '/';
				memcpy(ret + len, at, n);
				len += n;
			}
			at += n;
		}
	if (len == 0)
		ret[len++] = '/';
	ret[len] = '\0';
	return 0;
}

int task_resolve(pid_t pid, int dir, const char *name, char ret[PATH_MAX])
{
	char link[64], base[PATH_MAX];
	ssize_t n;

	if (name[0] == '/')
		return task_join("/", name, ret);
	if (dir == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, dir);
	/* As the task sees it: the kernel names what lies in other mounts from their root. */
	n = readlink(link, base, sizeof(base) - 1);
	if (n < 0)
		return -errno;
	base[n] = '\0';
	return base[0] == '/' ? task_join(base, name, ret) : -ENOENT;
}
