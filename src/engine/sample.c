/* SPDX-License-Identifier: MIT */
#include "engine/sample.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

enum { TREE_MAX = 65536, SHARED_MIN = 8 << 20 /* what programs and libraries take */ };

struct pids {
	pid_t *items;
	size_t len, cap;
};

static int pids_add(struct pids *pids, pid_t pid)
{
	if (pids->len == TREE_MAX)
		return -E2BIG;
	if (pids->len == pids->cap) {
		size_t cap = pids->cap ? pids->cap * 2 : 64;
		pid_t *items = reallocarray(pids->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		pids->items = items;
		pids->cap = cap;
	}
	pids->items[pids->len++] = pid;
	return 0;
}

/* TEXT is SIZE bytes; empty when the process is gone. */
static void read_text(int dir, const char *name, char *text, size_t size)
{
	_cleanup_(fd_closep) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
}

static int add_children(int task, const char *thread, struct pids *pids)
{
	_cleanup_(fd_closep) int fd = -1;
	char name[64], buf[4096];
	long child = 0;
	ssize_t n;

	snprintf(name, sizeof(name), "%.20s/children", thread);
	fd = openat(task, name, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] >= '0' && buf[i] <= '9') {
				child = child * 10 + (buf[i] - '0');
				continue;
			}
			if (child > 0 && pids_add(pids, (pid_t)child) < 0)
				return -ENOMEM;
			child = 0;
		}
	}
	return 0;
}

/* The threads of one process, and what they started. */
static int add_threads(int proc, struct pids *pids, struct sample *sum)
{
	int task = openat(proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = task < 0 ? NULL : fdopendir(task);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		fd_close(task);
		return 0;
	}
	while (r == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		sum->pids++;
		r = add_children(task, entry->d_name, pids);
	}
	closedir(dir);
	return r;
}

/* The COUNT numbers from the FIRST word on, words counted from 0. */
static bool take_numbers(const char *text, unsigned first, unsigned count, uint64_t *ret)
{
	for (unsigned word = 0; word < first + count; word++) {
		char *end;

		text += strspn(text, " ");
		if (word >= first) {
			ret[word - first] = strtoull(text, &end, 10);
			if (end == text)
				return false;
		}
		text += strcspn(text, " ");
	}
	return true;
}

/* Of what is shared all but files, which take no memory of their own. */
static uint64_t shared_memory(int proc)
{
	static const char key[] = "\nRssShmem:"; /* at the head of a line: a name may say it, too */
	char text[4096];
	const char *line;

	read_text(proc, "status", text, sizeof(text));
	line = strstr(text, key);
	return line ? strtoull(line + strlen(key), NULL, 10) * 1024 : 0;
}

/* Whose is the memory that several share? It counts once, for who has most of it. */
static void add_memory(int proc, uint64_t page, struct sample *sum, uint64_t *shared)
{
	uint64_t pages[2], more; /* resident, and of these shared */
	char text[256];

	read_text(proc, "statm", text, sizeof(text));
	if (!take_numbers(text, 1, 2, pages))
		return;
	if (pages[0] > pages[1])
		sum->memory += (pages[0] - pages[1]) * page;
	more = pages[1] * page > SHARED_MIN && pages[1] * page > *shared ? shared_memory(proc) : 0;
	if (more > *shared)
		*shared = more;
}

static void add_cpu(int proc, uint64_t ticks_per_s, struct sample *sum)
{
	uint64_t ticks[4]; /* user and system, then those of children that were waited for */
	const char *rest;
	char text[1024];

	read_text(proc, "stat", text, sizeof(text));
	rest = strrchr(text, ')'); /* the name before it may hold anything */
	if (rest && take_numbers(rest + 1, 11, 4, ticks))
		sum->cpu_ms += (ticks[0] + ticks[1] + ticks[2] + ticks[3]) * 1000 / ticks_per_s;
}

/* One that has ended counts no more. That the first is there and cannot be seen (hidepid) must not
 * look like it. */
static int add_process(pid_t pid, struct pids *pids, struct sample *sum, uint64_t *shared)
{
	_cleanup_(fd_closep) int proc = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	proc = fd_open(path, O_RDONLY | O_DIRECTORY);
	if (proc < 0)
		return pid == pids->items[0] && kill(pid, 0) == 0 ? -EACCES : 0;
	add_memory(proc, (uint64_t)sysconf(_SC_PAGESIZE), sum, shared);
	add_cpu(proc, (uint64_t)sysconf(_SC_CLK_TCK), sum);
	return add_threads(proc, pids, sum);
}

int sample_tree(pid_t top, struct sample *ret)
{
	struct sample sum = {0};
	struct pids pids = {0};
	uint64_t shared = 0;
	int r = pids_add(&pids, top);

	for (size_t i = 0; r == 0 && i < pids.len; i++)
		r = add_process(pids.items[i], &pids, &sum, &shared);
	free(pids.items);
	sum.memory += shared;
	if (r == 0)
		*ret = sum;
	return r;
}
