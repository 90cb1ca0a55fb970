/* SPDX-License-Identifier: MIT */
#include "engine/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/quick.h"
#include "base/sys.h"
#include "engine/bwrap-args.h"
#include "plan/plan.h"
#include "warden/job.h"
#include "warden/main.h"

enum { TRIAL_MS = 1000, SAID_MAX = 400, FD_TEXT_MAX = 12 };

const char *bwrap_find(struct err *err)
{
	static const char *const places[] = {"/usr/bin/bwrap", "/usr/local/bin/bwrap",
					     "/bin/bwrap"};
	struct stat st;

	for (size_t i = 0; i < array_len(places); i++)
		if (stat(places[i], &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
		    !(st.st_mode & 022) && access(places[i], X_OK) == 0)
			return places[i];
	err_set(err, ERR_UNSUPPORTED, -ENOENT,
		"no bubblewrap that is root's alone in /usr/bin, /usr/local/bin or /bin");
	err_hint(err, 0, "install it (the package is called bubblewrap), or use --engine native");
	return NULL;
}

int bwrap_try(const char *program, struct err *err)
{
	/* What is executed inside is bwrap itself: it is there for sure. */
	char *argv[] = {
		"bwrap",
		"--unshare-user",
		"--unshare-pid",
		"--as-pid-1",
		"--die-with-parent",
		"--ro-bind",
		"/",
		"/",
		"--bind-fd",
		"0",
		"/dev/null",
		"--proc",
		"/proc",
		"--disable-userns",
		"--",
		NULL,
		"--version",
		NULL,
	};
	struct child child = {.path = program, .argv = argv, .timeout_ms = TRIAL_MS};
	int r;

	argv[array_len(argv) - 3] = (char *)program;
	r = child_run(&child, NULL, err);
	if (r < 0)
		return r;
	if (child.status != 0)
		return err_set(err, ERR_UNSUPPORTED, -EPERM, "%s does not work here", program);
	return 0;
}

/* Keeps FD, or closes it and fails. */
static int keep(struct bwrap *b, int fd, struct err *err)
{
	if (b->fds_len == b->fds_cap) {
		size_t cap = b->fds_cap ? b->fds_cap * 2 : 32;
		int *fds = reallocarray(b->fds, cap, sizeof(*fds));

		if (!fds) {
			fd_close(fd);
			return err_oom(err);
		}
		b->fds = fds;
		b->fds_cap = cap;
	}
	b->fds[b->fds_len++] = fd;
	return fd;
}

static int open_source(void *data, const char *path, const struct file_id *id, struct err *err)
{
	_cleanup_(fd_closep) int root = fd_open("/", O_PATH | O_DIRECTORY);
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;

	if (root < 0)
		return err_sys(err, -errno, "open /");
	fd = path_open_nolink(root, path[1] ? path + 1 : ".", O_PATH | O_NOFOLLOW, 0);
	if (fd < 0)
		return err_sys(err, fd, "open %s", path);
	if (fstat(fd, &st) < 0)
		return err_sys(err, -errno, "stat %s", path);
	if (id->ino && (st.st_dev != id->dev || st.st_ino != id->ino))
		return err_set(err, ERR_SYSTEM, -ESTALE,
			       "%s was replaced while the run was prepared", path);
	return keep(data, take_fd(fd), err);
}

static int open_empty(void *data, struct err *err)
{
	int fd = fd_open("/dev/null", O_RDONLY);

	return fd < 0 ? err_sys(err, -errno, "open /dev/null") : keep(data, fd, err);
}

static enum bwrap_type type_of(void *data, const char *path)
{
	_cleanup_(fd_closep) int root = fd_open("/", O_PATH | O_DIRECTORY);
	_cleanup_(fd_closep) int fd = root < 0 ? -1
					       : path_open_nolink(root, path[1] ? path + 1 : ".",
								  O_PATH | O_NOFOLLOW, 0);
	struct stat st;

	(void)data;
	/* Where we may not look, the command, which is no other user, may not either. */
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -EACCES)
		return BWRAP_ABSENT;
	if (fd < 0 || fstat(fd, &st) < 0)
		return BWRAP_UNKNOWN;
	if (S_ISLNK(st.st_mode))
		return BWRAP_ABSENT;
	return S_ISDIR(st.st_mode) ? BWRAP_DIR : BWRAP_FILE;
}

/* A file without a name that holds TEXT. */
static int text_fd(struct bwrap *b, const char *name, const struct str *text, struct err *err)
{
	int fd = memfd_create(name, MFD_CLOEXEC), r;

	if (fd < 0)
		return err_sys(err, -errno, "memfd_create");
	r = fd_write_all(fd, text->data, text->len);
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		return keep(b, fd, err);
	fd_close(fd);
	return err_sys(err, r, "write the arguments of bwrap");
}

static int open_text(void *data, const char *text, struct err *err)
{
	const struct str whole = {.data = (char *)text, .len = strlen(text)};

	return text_fd(data, "note", &whole, err);
}

static int args_fd(struct bwrap *b, struct err *err)
{
	const struct bwrap_host host = {open_source, open_empty, open_text, type_of, b};
	_cleanup_(strv_release) struct strv args = {0};
	_cleanup_(str_release) struct str text = {0};
	int r = bwrap_args(b->plan, &host, &args, err);

	for (size_t i = 0; i < args.len && r == 0; i++)
		if (str_append_bytes(&text, args.items[i], strlen(args.items[i]) + 1) < 0)
			r = err_oom(err);
	return r < 0 ? r : text_fd(b, "bwrap-args", &text, err);
}

static int job_fd(struct bwrap *b, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};

	if (job_pack(b->plan, b->stands, &text) < 0)
		return err_oom(err);
	if (text.len > JOB_SIZE_MAX)
		return err_set(err, ERR_UNSUPPORTED, -E2BIG, "the command line is too long");
	return text_fd(b, "pale-job", &text, err);
}

static int open_pipes(struct bwrap *b, struct err *err)
{
	int pair[2];

	/* The reader asks once everybody is gone; the writers never wait for it. */
	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, -errno, "pipe");
	b->stderr_read = pair[0];
	b->stderr_write = pair[1];
	b->null = fd_open("/dev/null", O_RDWR);
	return b->null < 0 ? err_sys(err, -errno, "open /dev/null") : 0;
}

/* bwrap --args N -- /proc/self/fd/N --warden CHANNEL JOB IN OUT ERR */
static int build_argv(struct bwrap *b, const struct stdio *stdio, struct err *err)
{
	int args = args_fd(b, err), self, job, fd, r;

	if (args < 0)
		return args;
	self = fd_open("/proc/self/exe", O_PATH);
	if (self < 0)
		return err_sys(err, -errno, "open /proc/self/exe");
	self = keep(b, self, err);
	if (self < 0)
		return self;
	job = job_fd(b, err);
	if (job < 0)
		return job;
	r = strv_add(&b->argv, "bwrap");
	if (r == 0)
		r = strv_add(&b->argv, "--args");
	if (r == 0)
		r = strv_addf(&b->argv, "%d", args);
	if (r == 0)
		r = strv_add(&b->argv, "--");
	if (r == 0)
		r = strv_addf(&b->argv, "/proc/self/fd/%d", self);
	if (r == 0)
		r = strv_add(&b->argv, WARDEN_OPTION);
	b->channel_slot = (int)b->argv.len;
	if (r == 0) /* room for the number, which is known later */
		r = strv_addf(&b->argv, "%*s", FD_TEXT_MAX, "");
	if (r == 0)
		r = strv_addf(&b->argv, "%d", job);
	for (int i = 0; i < 3 && r == 0; i++) {
		fd = fcntl(stdio->fd[i], F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			return err_sys(err, -errno, "copy descriptor %d", i);
		fd = keep(b, fd, err);
		r = fd < 0 ? fd : strv_addf(&b->argv, "%d", fd);
	}
	return r < 0 ? err_oom(err) : 0;
}

int bwrap_prepare(const struct plan *plan, const struct stdio *stdio, bool stands,
		  struct bwrap *ret, struct err *err)
{
	struct bwrap b = {.plan = plan,
			  .stands = stands,
			  .program = bwrap_find(err),
			  .stderr_read = -1,
			  .stderr_write = -1,
			  .null = -1};
	int r;

	if (!b.program)
		return -ENOENT;
	r = open_pipes(&b, err);
	if (r == 0)
		r = build_argv(&b, stdio, err);
	if (r < 0) {
		bwrap_release(&b);
		return r;
	}
	*ret = b;
	return 0;
}

void bwrap_release(struct bwrap *bwrap)
{
	for (size_t i = 0; i < bwrap->fds_len; i++)
		fd_close(bwrap->fds[i]);
	free(bwrap->fds);
	strv_release(&bwrap->argv);
	fd_close(bwrap->stderr_read);
	fd_close(bwrap->stderr_write);
	fd_close(bwrap->null);
	*bwrap = (struct bwrap){.stderr_read = -1, .stderr_write = -1, .null = -1};
}

static int pass(int fd)
{
	return fcntl(fd, F_SETFD, 0) < 0 ? -errno : 0;
}

/* Nothing but what is meant to be inherited. */
static int pass_descriptors(const struct bwrap *b, int channel)
{
	int r = sys_close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);

	if (r == 0)
		r = pass(channel);
	for (size_t i = 0; i < b->fds_len && r == 0; i++)
		r = pass(b->fds[i]);
	if (r < 0)
		return r;
	if (dup2(b->null, 0) < 0 || dup2(b->null, 1) < 0 || dup2(b->stderr_write, 2) < 0)
		return -errno;
	return 0;
}

/* Started by root: nothing of root is left before bwrap begins. */
static int leave_root(const struct plan *plan)
{
	if (geteuid() != 0)
		return 0;
	if (syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, plan->gid, plan->gid, plan->gid) < 0 ||
	    syscall(SYS_setresuid, plan->uid, plan->uid, plan->uid) < 0)
		return -errno;
	return geteuid() == 0 ? -EPERM : 0;
}

int bwrap_exec(const struct bwrap *b, int channel, struct err *err)
{
	char *const none[] = {NULL};
	int r;

	snprintf(b->argv.items[b->channel_slot], FD_TEXT_MAX, "%d", channel);
	if (setsid() < 0)
		return err_sys(err, -errno, "leave the supervisor's session");
	r = leave_root(b->plan);
	if (r < 0)
		return err_sys(err, r, "become user %u", b->plan->uid);
	r = pass_descriptors(b, channel);
	if (r < 0)
		return err_sys(err, r, "pass descriptors to bwrap");
	be_usual();
	execve(b->program, b->argv.items, none);
	return err_sys(err, -errno, "execute %s", b->program);
}

void bwrap_explain(const struct bwrap *b, struct err *err)
{
	char said[SAID_MAX];
	const char *text = said;
	ssize_t n = read(b->stderr_read, said, sizeof(said) - 1);

	if (n <= 0)
		return;
	said[n] = '\0';
	said[strcspn(said, "\n")] = '\0';
	if (strncmp(text, "bwrap: ", strlen("bwrap: ")) == 0)
		text += strlen("bwrap: ");
	err_set(err, ERR_SYSTEM, -EPERM, "bubblewrap could not build the sandbox: %s", text);
}
