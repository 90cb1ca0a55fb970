/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/sys.h"
#include "config/state-dir.h"
#include "posture/doctor.h"
#include "posture/posture.h"

/* Called with nothing to do, a call that is there finds fault with that. */
static bool has_call(long number)
{
	return syscall(number, 0, NULL, NULL, 0) >= 0 || (errno != ENOSYS && errno != EPERM);
}

static bool has_pidfd(void)
{
	_cleanup_(fd_closep) int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return fd >= 0;
}

static const char *find_program(const char *const *places)
{
	for (; *places; places++)
		if (access(*places, X_OK) == 0)
			return *places;
	return NULL;
}

static const char *find_installer(void)
{
	static const struct {
		const char *program, *line;
	} known[] = {
		{"/usr/bin/apt-get", "apt-get install"},
		{"/usr/bin/dnf", "dnf install"},
		{"/usr/bin/pacman", "pacman -S"},
		{"/usr/bin/zypper", "zypper install"},
		{"/sbin/apk", "apk add"},
	};

	for (size_t i = 0; i < array_len(known); i++)
		if (access(known[i].program, X_OK) == 0)
			return known[i].line;
	return NULL;
}

/* Could the folder be made? By its nearest parent that is there. */
static void check_parent(const char *path, struct err *err)
{
	_cleanup_(freep) char *dir = strdup(path);

	for (char *slash; dir && (slash = strrchr(dir, '/')) && slash != dir;) {
		*slash = '\0';
		if (access(dir, F_OK) < 0 && errno == ENOENT)
			continue;
		if (access(dir, W_OK) < 0) {
			err_sys(err, -errno, "cannot write to %s", dir);
			err_hint(err, 0, "set XDG_STATE_HOME to a folder of yours");
		}
		return;
	}
}

static void probe_state(const struct context *context, struct err *err)
{
	const char *path = context->workspace.state_dir;
	_cleanup_(fd_closep) int fd = -1;

	if (!path) {
		err_set(err, ERR_SYSTEM, -ENOENT, "no home is known");
		err_hint(err, 0, "set HOME or XDG_STATE_HOME to an absolute path");
		return;
	}
	fd = state_dir_open(&context->workspace, false, err);
	if (fd == -ENOENT)
		check_parent(path, err);
	else if (fd >= 0 && faccessat(fd, ".", W_OK, 0) < 0) {
		err_sys(err, -errno, "cannot write to %s", path);
		err_hint_word(err, 0, "chmod u+w ", path, "");
	}
}

void patient_probe(const struct context *context, const struct posture *posture,
		   struct patient *ret)
{
	static const char *const bwrap[] = {"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap",
					    NULL};
	static const char *const git[] = {"/usr/bin/git", "/usr/local/bin/git", "/bin/git", NULL};
	struct cgroup_site site = {0};
	struct statvfs fs;
	struct stat resolv_conf;
	struct err err;

	*ret = (struct patient){.uid = geteuid(), .posture = posture};
	facts_read("", ret->uid, &ret->facts);
	ret->landlock = sys_landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (cgroup_site_probe(ret->uid, &site, &err) == 0) {
		ret->rung = site.rung;
		ret->is_blind = site.is_blind;
	}
	cgroup_site_release(&site);
	ret->has_clone3 = has_call(SYS_clone3);
	ret->has_openat2 = has_call(SYS_openat2);
	ret->has_pidfd = has_pidfd();
	ret->has_systemd_run = access(SYSTEMD_RUN, X_OK) == 0;
	ret->cgroup_is_readonly = statvfs("/sys/fs/cgroup", &fs) == 0 &&
				  (fs.f_flag & ST_RDONLY) != 0;
	ret->bwrap = find_program(bwrap);
	ret->git = find_program(git);
	ret->has_resolv_conf = lstat("/etc/resolv.conf", &resolv_conf) == 0;
	ret->install = find_installer();
	trial_run(context ? context->workspace.root : "/", &ret->trial);
	if (!context)
		return;
	ret->user = context->user.name;
	for (int layer = 0; layer < LAYER_COUNT_; layer++)
		ret->config_files += context->config.files[layer].path != NULL;
	probe_state(context, &ret->state);
}
