/* SPDX-License-Identifier: MIT */
#include "plan/rung.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"

#define CGROUP_MOUNT "/sys/fs/cgroup"
#define TEXT_MAX     (64 * 1024)

static const char *const names[] = {
	[RUNG_WATCHDOG] = "a watchdog of the supervisor",
	[RUNG_CGROUP1] = "cgroup v1",
	[RUNG_SYSTEMD] = "cgroup v2 in a systemd scope",
	[RUNG_CGROUP2] = "cgroup v2",
};

const char *rung_name(enum rung rung)
{
	return names[rung];
}

void cgroup_site_release(struct cgroup_site *site)
{
	for (size_t i = 0; i < CG_DIRS; i++)
		free(site->dirs[i]);
	*site = (struct cgroup_site){0};
}

/* Is WORD one of the LIST, with commas between them, up to END? */
static bool is_in_list(const char *list, const char *end, const char *word)
{
	size_t len = strlen(word);

	for (const char *item = list;; item++) {
		const char *from = item;

		while (item < end && *item != ',')
			item++;
		if ((size_t)(item - from) == len && memcmp(from, word, len) == 0)
			return true;
		if (item == end)
			return false;
	}
}

/* "NUMBER:CONTROLLER,…:PATH"; v2 has a line without a controller. */
struct line {
	const char *list, *list_end, *path, *end;
};

/* Take the next one off TEXT. */
static bool next_line(const char **text, struct line *ret)
{
	while (**text) {
		const char *end = strchrnul(*text, '\n');
		const char *list = memchr(*text, ':', (size_t)(end - *text));
		const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;

		*text = end + (*end == '\n');
		if (path) {
			*ret = (struct line){list + 1, path, path + 1, end};
			return true;
		}
	}
	return false;
}

/* NULL: there is no memory, or a ".." in it. Such a path lies outside of what this cgroup
 * namespace shows. */
static char *path_of(const struct line *line)
{
	_cleanup_(freep) char *path = strndup(line->path, (size_t)(line->end - line->path));

	return path && !strstr(path, "/..") ? take_ptr(path) : NULL;
}

static char *find_v2_path(const char *text)
{
	struct line line;

	while (next_line(&text, &line))
		if (line.list == line.list_end)
			return path_of(&line);
	return NULL;
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (; *text; text += strspn(text, " \n")) {
		size_t n = strcspn(text, " \n");

		if (n == len && strncmp(text, word, n) == 0)
			return true;
		text += n;
	}
	return false;
}

static bool file_has_words(const char *dir, const char *name)
{
	_cleanup_(freep) char *path = path_join(dir, name);
	_cleanup_(fd_closep) int fd = path ? fd_open(path, O_RDONLY) : -1;
	_cleanup_(str_release) struct str text = {0};

	return fd >= 0 && fd_read_all(fd, TEXT_MAX, &text) == 0 &&
	       has_word(str_text(&text), "memory") && has_word(str_text(&text), "pids");
}

/* May we make a cgroup in DIR, with both controllers, and move into it? */
static bool is_usable(const char *dir, const char *controllers)
{
	_cleanup_(freep) char *procs = path_join(dir, "cgroup.procs");

	return procs && access(dir, W_OK) == 0 && access(procs, W_OK) == 0 &&
	       file_has_words(dir, controllers);
}

/* The nearest folder above that hands both controllers down: our own holds
 * processes, and then it cannot. */
static int find_v2(const char *mount, const char *own, bool in_scope, struct cgroup_site *ret)
{
	_cleanup_(freep) char *dir = str_printf("%s%s", mount, str_eq(own, "/") ? "" : own);
	size_t top = strlen(mount);

	if (!dir)
		return -ENOMEM;
	if (in_scope && is_usable(dir, "cgroup.controllers")) {
		ret->rung = RUNG_SYSTEMD;
		ret->dirs[0] = take_ptr(dir);
		return 0;
	}
	for (;;) {
		char *slash;

		if (is_usable(dir, "cgroup.subtree_control")) {
			ret->rung = RUNG_CGROUP2;
			ret->dirs[0] = take_ptr(dir);
			return 0;
		}
		slash = strrchr(dir, '/');
		if (!slash || (size_t)(slash - dir) < top)
			return 0;
		*slash = '\0';
	}
}

static int find_v1(const char *mount, const char *text, struct cgroup_site *ret)
{
	static const char *const controllers[CG_DIRS] = {
		[CG_MEMORY] = "memory", [CG_PIDS] = "pids", [CG_CPU] = "cpuacct"};
	bool found[CG_DIRS] = {false};
	struct line line;

	while (next_line(&text, &line))
		for (size_t i = 0; i < CG_DIRS; i++) {
			_cleanup_(freep) char *own = NULL, *dir = NULL;

			if (found[i] || !is_in_list(line.list, line.list_end, controllers[i]))
				continue;
			found[i] = true;
			own = path_of(&line);
			if (!own)
				continue;
			dir = str_printf("%s/%s%s", mount, controllers[i],
					 str_eq(own, "/") ? "" : own);
			if (!dir)
				return -ENOMEM;
			if (access(dir, W_OK) == 0)
				ret->dirs[i] = take_ptr(dir);
		}
	if (ret->dirs[CG_MEMORY] && ret->dirs[CG_PIDS])
		ret->rung = RUNG_CGROUP1;
	else
		cgroup_site_release(ret);
	return 0;
}

int cgroup_site_find(const char *mount, bool v2, const char *text, uid_t uid, bool in_scope,
		     struct cgroup_site *ret, struct err *err)
{
	_cleanup_(freep) char *own = v2 ? find_v2_path(text) : NULL;
	struct cgroup_site site = {0};
	int r = 0;

	if (own)
		r = find_v2(mount, own, in_scope, &site);
	else if (!v2 && uid == 0)
		r = find_v1(mount, text, &site);
	if (r < 0) {
		cgroup_site_release(&site);
		return err_oom(err);
	}
	*ret = site;
	return 0;
}

/* Who asks a manager for a scope must find one: nothing is dialled here. */
static bool has_systemd(uid_t uid)
{
	_cleanup_(freep) char *manager = str_printf("/run/user/%u/systemd/private", uid);

	return manager && access(SYSTEMD_RUN, X_OK) == 0 &&
	       access(uid == 0 ? "/run/systemd/private" : manager, F_OK) == 0;
}

bool rung_sees_processes(void)
{
	return access("/proc/1/stat", R_OK) == 0 && access("/proc/thread-self/children", R_OK) == 0;
}

static int probe(uid_t uid, struct cgroup_site *ret, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(fd_closep) int fd = -1;
	struct statfs fs;
	bool v2, in_scope = getenv(IN_SCOPE) != NULL;
	int r;

	*ret = (struct cgroup_site){0};
	if (statfs(CGROUP_MOUNT, &fs) < 0)
		return 0;
	v2 = fs.f_type == CGROUP2_SUPER_MAGIC;
	if (!v2 && uid != 0)
		return 0;
	fd = fd_open("/proc/self/cgroup", O_RDONLY);
	if (fd < 0 || fd_read_all(fd, TEXT_MAX, &text) < 0)
		return 0;
	r = cgroup_site_find(CGROUP_MOUNT, v2, str_text(&text), uid, in_scope, ret, err);
	if (r == 0 && v2 && ret->rung == RUNG_WATCHDOG && !in_scope && has_systemd(uid))
		ret->rung = RUNG_SYSTEMD;
	return r;
}

int cgroup_site_probe(uid_t uid, struct cgroup_site *ret, struct err *err)
{
	int r = probe(uid, ret, err);

	if (r == 0 && ret->rung == RUNG_WATCHDOG)
		ret->is_blind = !rung_sees_processes();
	return r;
}
