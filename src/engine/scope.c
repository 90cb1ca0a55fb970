/* SPDX-License-Identifier: MIT */
#include "engine/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "plan/rung.h"

#define CMDLINE_MAX (8u << 20)
enum { FDS_MAX = 64 };

static int add_all(struct strv *argv, const char *const *items)
{
	int r = 0;

	for (; *items && r == 0; items++)
		r = strv_add(argv, *items);
	return r;
}

/* Our own arguments, as the kernel keeps them, without the first. */
static int add_own(struct strv *argv)
{
	_cleanup_(fd_closep) int fd = fd_open("/proc/self/cmdline", O_RDONLY);
	_cleanup_(str_release) struct str text = {0};
	int r = fd < 0 ? -errno : fd_read_all(fd, CMDLINE_MAX, &text);

	for (size_t at = r == 0 ? strlen(str_text(&text)) + 1 : 0; r == 0 && at < text.len;) {
		r = strv_add(argv, text.data + at);
		at += strlen(text.data + at) + 1;
	}
	return r;
}

static int make_argv(struct strv *argv)
{
	static const char *const user[] = {SYSTEMD_RUN, "--user", NULL};
	static const char *const system[] = {SYSTEMD_RUN, NULL};
	static const char *const rest[] = {"--scope",      "--quiet", "--collect", "-p",
					   "Delegate=yes", "--",      NULL};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int r = n < 0 ? -errno : 0;

	if (r < 0)
		return r;
	self[n] = '\0';
	r = add_all(argv, geteuid() == 0 ? system : user);
	if (r == 0)
		r = add_all(argv, rest);
	if (r == 0)
		r = strv_add(argv, self);
	return r < 0 ? r : add_own(argv);
}

/* What pale was started with must be there again. */
static void keep_descriptors(void)
{
	for (int fd = 3; fd < FDS_MAX; fd++)
		(void)fcntl(fd, F_SETFD, 0);
}

int scope_enter(struct err *err)
{
	_cleanup_(strv_release) struct strv argv = {0};
	char runtime[64];
	int r = make_argv(&argv);

	if (r < 0)
		return err_sys(err, r, "prepare a systemd scope");
	/* systemd-run looks for the user's manager there. */
	snprintf(runtime, sizeof(runtime), "/run/user/%u", geteuid());
	if (setenv(IN_SCOPE, "1", 1) < 0 || setenv("XDG_RUNTIME_DIR", runtime, 0) < 0)
		return err_oom(err);
	keep_descriptors();
	execv(SYSTEMD_RUN, argv.items);
	return err_sys(err, -errno, "start " SYSTEMD_RUN);
}
