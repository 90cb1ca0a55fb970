/* SPDX-License-Identifier: MIT */
#include "observe/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/plan.h"

static bool is_readonly(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_flags & ST_RDONLY;
}

/* To write to a device or a pipe changes nothing in the filesystem. */
static bool is_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

/* The last one of two at the same place; one that makes its place read-only shows the same
 * files as before. */
static bool is_nearer(const struct op *op, const struct op *nearest, bool shown)
{
	if (shown && op->kind == OP_READONLY)
		return false;
	return !nearest || strlen(op->dst) >= strlen(nearest->dst);
}

/* The mount of the plan that PATH is in, or at; SHOWN: the one whose files are seen there. */
static const struct op *find_mount(const struct plan *plan, const char *path, bool shown)
{
	const struct op *nearest = NULL;

	for (size_t i = 0; i < plan->ops_len; i++) {
		const struct op *op = &plan->ops[i];

		if (op->kind >= OP_PIVOT || op->kind == OP_AUX || op->kind == OP_SYMLINK ||
		    op->kind == OP_NOTE || !op->dst || !path_covers(op->dst, path))
			continue;
		if (is_nearer(op, nearest, shown))
			nearest = op;
	}
	return nearest;
}

/* A read-only part, or a pin: it can be neither removed nor replaced. */
static bool is_mounted_over(const struct plan *plan, const char *path)
{
	const struct op *op = find_mount(plan, path, false);

	return op && str_eq(op->dst, path);
}

static int open_parent(const struct scene *scene, const char *path)
{
	char parent[PATH_MAX];
	size_t len = (size_t)(strrchr(path, '/') - path);

	snprintf(parent, sizeof(parent), "%.*s", (int)len, path);
	return path_open_in_root(scene->root, len ? parent : "/", O_PATH | O_DIRECTORY, 0);
}

static enum verdict_kind judge_present(const struct scene *scene, const char *path, int fd,
				       enum name_use use)
{
	_cleanup_(fd_closep) int parent = -1;

	switch (use) {
	case NAME_CHANGES:
	case NAME_OPENED:
		if (!is_file(fd) || !is_readonly(fd))
			return VERDICT_FINE;
		parent = open_parent(scene, path);
		return parent >= 0 && !is_readonly(parent) ? VERDICT_PROTECTED : VERDICT_READONLY;
	case NAME_GOES:
	case NAME_TAKEN:
		parent = open_parent(scene, path);
		if (parent >= 0 && is_readonly(parent))
			return VERDICT_READONLY;
		return is_mounted_over(scene->plan, path) ? VERDICT_PROTECTED : VERDICT_FINE;
	case NAME_MADE: /* is there already */
	case NAME_REACHED:
	case NAME_USED:
		break;
	}
	return VERDICT_FINE;
}

static enum verdict_kind judge_absent(const struct scene *scene, const char *path,
				      enum name_use use)
{
	_cleanup_(fd_closep) int parent = open_parent(scene, path);

	if (parent < 0 && parent != -ENOENT && parent != -ENOTDIR)
		return VERDICT_FINE;
	if (parent >= 0 && (use == NAME_MADE || use == NAME_OPENED || use == NAME_TAKEN))
		return is_readonly(parent) ? VERDICT_READONLY : VERDICT_FINE;
	/* It may have been there when it was attempted. */
	if (use == NAME_GOES || use == NAME_TAKEN)
		return VERDICT_FINE;
	return plan_is_private_at(scene->plan, path) ? VERDICT_MISSING : VERDICT_FINE;
}

/* Without mounts of our own: what do the rules of Landlock say of where it really is? */
static enum verdict_kind judge_by_rules(const struct plan *plan, const char *real)
{
	enum verdict_kind verdict = VERDICT_HIDDEN;

	for (size_t i = 0; i < plan->ops_len; i++) {
		const struct op *op = &plan->ops[i];

		if (op->kind != OP_ALLOW || !path_covers(op->dst, real))
			continue;
		if (!(op->flags & OP_RDONLY))
			return VERDICT_FINE;
		verdict = VERDICT_READONLY;
	}
	return verdict;
}

static enum verdict_kind judge_bare(const struct scene *scene, const char *path, int fd,
				    enum name_use use)
{
	_cleanup_(fd_closep) int parent = -1;
	_cleanup_(freep) char *real = NULL;
	bool itself = fd >= 0 && (use == NAME_CHANGES || use == NAME_OPENED);

	if (use == NAME_REACHED || (fd >= 0 && use == NAME_MADE) ||
	    (fd < 0 && (use == NAME_CHANGES || use == NAME_GOES)))
		return VERDICT_FINE;
	if (!itself)
		parent = open_parent(scene, path);
	if ((!itself && parent < 0) || path_of_fd(itself ? fd : parent, &real) < 0)
		return VERDICT_FINE;
	return judge_by_rules(scene->plan, real);
}

/* What is made of the asking process, or of nothing, is no place. */
static bool is_elsewhere(const char *path)
{
	return path_covers("/proc/self", path) || path_covers("/proc/thread-self", path) ||
	       path_covers("/dev/fd", path) || str_starts(path, "/dev/std") ||
	       (str_starts(path, "/proc/") && path[6] >= '0' && path[6] <= '9');
}

enum verdict_kind scene_judge(const struct scene *scene, const char *path, enum name_use use,
			      bool no_follow)
{
	_cleanup_(fd_closep) int fd = -1;
	const struct op *hidden;
	bool itself = no_follow || use == NAME_GOES || use == NAME_TAKEN || use == NAME_MADE;

	if (use == NAME_USED || scene->root < 0 || path[0] != '/' || is_elsewhere(path))
		return VERDICT_FINE;
	hidden = find_mount(scene->plan, path, false);
	if (hidden && hidden->kind == OP_HIDE)
		return VERDICT_HIDDEN;
	fd = path_open_in_root(scene->root, path, O_PATH | (itself ? O_NOFOLLOW : 0), 0);
	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
		return VERDICT_FINE;
	if (scene->plan->engine == ENGINE_LANDLOCK)
		return judge_bare(scene, path, fd, use);
	return fd >= 0 ? judge_present(scene, path, fd, use) : judge_absent(scene, path, use);
}

bool scene_has(const struct scene *scene, const char *path)
{
	_cleanup_(fd_closep) int fd = path_open_in_root(scene->root, path, O_PATH, 0);

	return fd >= 0;
}

bool plan_is_private_at(const struct plan *plan, const char *path)
{
	const struct op *op = find_mount(plan, path, true);

	return op && (op->kind == OP_ROOT || op->kind == OP_TMPFS || op->kind == OP_PRIVATE ||
		      op->kind == OP_HIDE);
}

/* -- The host's side ----------------------------------------------------- */

static bool is_remote(const char *type, size_t len)
{
	static const char *const types[] = {"nfs", "nfs4", "cifs", "smb3",  "smbfs", "ceph",
					    "afs", "9p",   "coda", "ncpfs", "autofs"};

	if (len >= 4 && strncmp(type, "fuse", 4) == 0)
		return true;
	for (size_t i = 0; i < array_len(types); i++)
		if (strlen(types[i]) == len && strncmp(types[i], type, len) == 0)
			return true;
	return false;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* In mountinfo a blank, a tab, a newline and a backslash are three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) &&
		    is_octal(text[3])) {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* Is LINE of mountinfo ("36 35 98:0 / /mnt rw … - type source …") the mount of PATH, or one
 * above? Its mount point's length, else 0. */
static size_t mount_covers(const char *line, const char *path)
{
	char point[PATH_MAX];
	size_t len;

	for (int i = 0; i < 4; i++) {
		line += strcspn(line, " \n");
		line += *line == ' ';
	}
	len = strcspn(line, " \n");
	if (len == 0 || len >= sizeof(point))
		return 0;
	memcpy(point, line, len);
	point[len] = '\0';
	unescape(point);
	len = strlen(point);
	return path_covers(point, path) ? len : 0;
}

bool host_has(const char *path, const char *mountinfo)
{
	size_t longest = 0;
	bool remote = false;
	struct stat st;

	for (const char *line = mountinfo; *line;) {
		size_t n = strcspn(line, "\n"), covers = mount_covers(line, path);
		const char *type = memmem(line, n, " - ", 3);

		if (covers >= longest && covers > 0 && type) {
			longest = covers;
			remote = is_remote(type + 3, strcspn(type + 3, " \n"));
		}
		line += n + (line[n] == '\n');
	}
	return longest > 0 && !remote &&
	       fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0;
}
