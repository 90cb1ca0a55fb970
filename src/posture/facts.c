/* SPDX-License-Identifier: MIT */
#include "posture/facts.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"

#define FACT_MAX (256 * 1024)

static bool read_text(const char *root, const char *name, struct str *ret)
{
	char path[PATH_MAX];
	_cleanup_(fd_closep) int fd = -1;

	snprintf(path, sizeof(path), "%s%s", root, name);
	fd = fd_open(path, O_RDONLY | O_NOCTTY);
	return fd >= 0 && fd_read_all(fd, FACT_MAX, ret) == 0;
}

static bool exists(const char *root, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, name);
	return access(path, F_OK) == 0;
}

static long read_number(const char *root, const char *name)
{
	_cleanup_(str_release) struct str text = {0};

	return read_text(root, name, &text) ? strtol(str_text(&text), NULL, 10) : -1;
}

/* The first line, cut to SIZE. */
static void read_line(const char *root, const char *name, char *buf, size_t size)
{
	_cleanup_(str_release) struct str text = {0};

	buf[0] = '\0';
	if (read_text(root, name, &text))
		snprintf(buf, size, "%.*s", (int)strcspn(str_text(&text), "\n"), str_text(&text));
}

/* Is WORD one of the words of TEXT, which blanks, commas and lines part? */
static bool has_word(const char *text, const char *word)
{
	static const char gaps[] = " \t\n,";
	size_t len = strlen(word);

	for (text += strspn(text, gaps); *text; text += strspn(text, gaps)) {
		size_t n = strcspn(text, gaps);

		if (n == len && strncmp(text, word, n) == 0)
			return true;
		text += n;
	}
	return false;
}

/* The value of "NAME:\tVALUE" in /proc/self/status. */
static unsigned long long status_field(const char *status, const char *name, int base)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static void read_status(const char *root, struct facts *facts)
{
	_cleanup_(str_release) struct str text = {0};
	const char *status;

	if (!read_text(root, "/proc/self/status", &text))
		return;
	status = str_text(&text);
	facts->has_seccomp = strstr(status, "\nSeccomp:") != NULL;
	facts->is_filtered = status_field(status, "\nSeccomp:", 10) == 2;
	facts->may_admin = status_field(status, "\nCapEff:", 16) >> CAP_SYS_ADMIN & 1;
}

/* The Nth word of a LINE, from 0 on, in BUF; "" when there is none. */
static const char *nth_word(const char *line, unsigned n, char *buf, size_t size)
{
	size_t len;

	for (; n > 0; n--) {
		line += strcspn(line, " \t\n");
		line += strspn(line, " \t");
	}
	len = strcspn(line, " \t\n");
	snprintf(buf, size, "%.*s", (int)len, line);
	return buf;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

/* In a chroot no mount is at /, unless one was put there on purpose. */
static void read_mounts(const char *root, struct facts *facts)
{
	_cleanup_(str_release) struct str text = {0};
	char point[PATH_MAX];

	if (!read_text(root, "/proc/self/mountinfo", &text))
		return;
	facts->is_chrooted = true;
	for (const char *line = str_text(&text); *line; line = next_line(line))
		if (str_eq(nth_word(line, 4, point, sizeof(point)), "/"))
			facts->is_chrooted = false;
}

/* A line of /proc/cgroups: name, hierarchy, number, enabled. */
static bool is_enabled(const char *text, const char *controller)
{
	char word[32];

	for (const char *line = text; *line; line = next_line(line))
		if (str_eq(nth_word(line, 0, word, sizeof(word)), controller))
			return str_eq(nth_word(line, 3, word, sizeof(word)), "1");
	return false;
}

static void read_cgroup(const char *root, struct facts *facts)
{
	_cleanup_(str_release) struct str text = {0};

	if (read_text(root, "/sys/fs/cgroup/cgroup.controllers", &text)) {
		facts->cgroup = CGROUP_V2;
		facts->has_memory = has_word(str_text(&text), "memory");
		facts->has_pids = has_word(str_text(&text), "pids");
		return;
	}
	if (exists(root, "/sys/fs/cgroup/memory") || exists(root, "/sys/fs/cgroup/pids") ||
	    exists(root, "/sys/fs/cgroup/cpu"))
		facts->cgroup = CGROUP_V1;
	if (read_text(root, "/proc/cgroups", &text)) {
		facts->has_memory = is_enabled(str_text(&text), "memory");
		facts->has_pids = is_enabled(str_text(&text), "pids");
	}
}

static void read_systemd(const char *root, uid_t uid, struct facts *facts)
{
	_cleanup_(str_release) struct str text = {0};
	char path[160];

	facts->has_systemd = exists(root, "/run/systemd/system");
	snprintf(path, sizeof(path), "/run/user/%u/systemd/private", uid);
	facts->has_manager = exists(root, uid == 0 ? "/run/systemd/private" : path);
	snprintf(path, sizeof(path),
		 "/sys/fs/cgroup/user.slice/user-%u.slice/user@%u.service/cgroup.controllers", uid,
		 uid);
	facts->has_delegation = uid == 0 || (read_text(root, path, &text) &&
					     has_word(str_text(&text), "memory") &&
					     has_word(str_text(&text), "pids"));
}

void facts_read(const char *root, uid_t uid, struct facts *ret)
{
	_cleanup_(str_release) struct str filesystems = {0};
	struct facts facts = {0};
	char label[128], *dot;

	read_line(root, "/proc/sys/kernel/osrelease", facts.kernel, sizeof(facts.kernel));
	facts.major = (unsigned)strtoul(facts.kernel, &dot, 10);
	facts.minor = *dot == '.' ? (unsigned)strtoul(dot + 1, NULL, 10) : 0;
	facts.max_userns = read_number(root, "/proc/sys/user/max_user_namespaces");
	facts.userns_clone = read_number(root, "/proc/sys/kernel/unprivileged_userns_clone");
	facts.apparmor_userns = read_number(
		root, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	read_line(root, "/proc/self/attr/current", label, sizeof(label));
	facts.apparmor_named = label[0] && !str_starts(label, "unconfined");
	read_status(root, &facts);
	read_mounts(root, &facts);
	if (read_text(root, "/proc/filesystems", &filesystems))
		facts.has_overlay = has_word(str_text(&filesystems), "overlay");
	read_cgroup(root, &facts);
	read_systemd(root, uid, &facts);
	read_line(root, "/sys/kernel/security/lsm", facts.lsm, sizeof(facts.lsm));
	*ret = facts;
}

enum promise facts_userns(const struct facts *facts, const char **ret_why)
{
	enum promise promise = PROMISE_REFUSED;

	if (facts->max_userns == 0)
		*ret_why = "user.max_user_namespaces is 0";
	else if (facts->is_chrooted)
		*ret_why = "this is a chroot, and the kernel allows none there";
	else if (facts->userns_clone == 0 && !facts->may_admin)
		*ret_why = "kernel.unprivileged_userns_clone is 0";
	else if (facts->apparmor_userns > 0 && !facts->may_admin && !facts->apparmor_named)
		*ret_why = "kernel.apparmor_restrict_unprivileged_userns is 1";
	else
		promise = PROMISE_LIKELY;
	if (promise == PROMISE_REFUSED)
		return promise;
	if (facts->is_filtered) {
		*ret_why = "a seccomp filter is in force, and a container's refuses them";
		return PROMISE_DOUBTFUL;
	}
	*ret_why = "no setting forbids them";
	return PROMISE_LIKELY;
}

const char *promise_name(enum promise promise)
{
	static const char *const names[] = {
		[PROMISE_LIKELY] = "likely",
		[PROMISE_DOUBTFUL] = "doubtful",
		[PROMISE_REFUSED] = "refused",
	};

	return names[promise];
}
