/* SPDX-License-Identifier: MIT */
/*
 * The domain alone, without any namespace or mount. Each check runs in a process
 * of its own, twice: free, where the deed must work, and in the domain.
 */
#include "confine/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/sys.h"
#include "confine/confine.h"
#include "scratch.h"
#include "tap.h"

#define ABSTRACT "pale-test-landlock"

static int abi;
static pid_t bystander;

/* "in" may be written, "read" read; "out" has no rule. */
static const char *const folders[] = {"in", "in/a", "in/b", "read", "out", "out/d"};
static const char *const files[] = {"in/f", "in/a/f", "in/open", "read/f", "out/f", "out/one"};

static int value_of(long r)
{
	return r < 0 ? errno : 0;
}

static int open_as(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static void make_tree(void)
{
	for (size_t i = 0; i < array_len(folders); i++)
		if (mkdir(folders[i], 0700) < 0)
			abort();
	for (size_t i = 0; i < array_len(files); i++)
		if (open_as(files[i], O_CREAT | O_WRONLY))
			abort();
}

static int allow(const struct landlock *landlock, const char *path, unsigned flags)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	int r = fd < 0 ? -errno : landlock_allow(landlock, fd, flags, NULL);

	close(fd);
	return r;
}

static int enter(unsigned about)
{
	struct landlock landlock = LANDLOCK_NONE;
	int r = landlock_init(&landlock, about, NULL);

	if (r == 0 && about & LANDLOCK_FILES) {
		r = allow(&landlock, "in", ALLOW_WRITE);
		if (r == 0)
			r = allow(&landlock, "read", 0);
		if (r == 0)
			r = allow(&landlock, "out/one", ALLOW_WRITE | ALLOW_FILE);
		if (r == 0)
			r = allow(&landlock, "/dev/zero", ALLOW_WRITE | ALLOW_FILE | ALLOW_DEVICES);
		if (r == 0)
			r = allow(&landlock, "/dev/urandom", ALLOW_WRITE | ALLOW_FILE);
		if (r == 0)
			r = allow(&landlock, "/proc", 0);
	}
	if (r == 0)
		r = confine_no_new_privs(NULL);
	if (r == 0)
		r = landlock_enter(&landlock, NULL);
	landlock_release(&landlock);
	return r;
}

/* -- Deeds: 0 or the errno of the refusal -------------------------------- */

static int read_out(void)
{
	return open_as("out/f", O_RDONLY);
}
static int list_out(void)
{
	return open_as("out", O_RDONLY | O_DIRECTORY);
}
static int write_out(void)
{
	return open_as("out/f", O_WRONLY);
}
static int make_out(void)
{
	return open_as("out/new", O_WRONLY | O_CREAT);
}
static int remove_out(void)
{
	return value_of(unlink("out/f"));
}
static int mkdir_out(void)
{
	return value_of(mkdir("out/new", 0700));
}
static int rmdir_out(void)
{
	return value_of(rmdir("out/d"));
}
static int link_out(void)
{
	return value_of(symlink("x", "out/new"));
}
static int fifo_out(void)
{
	return value_of(mkfifo("out/new", 0600));
}
static int truncate_out(void)
{
	return value_of(truncate("out/f", 0));
}
static int write_read(void)
{
	return open_as("read/f", O_WRONLY);
}
static int truncate_read(void)
{
	return value_of(truncate("read/f", 0));
}
static int move_out(void)
{
	return value_of(rename("in/f", "out/f2"));
}
static int move_in(void)
{
	return value_of(rename("out/f", "in/f2"));
}
static int hard_link_in(void)
{
	return value_of(link("read/f", "in/f2"));
}
static int exec_out(void)
{
	static char *argv[] = {NULL}, *env[] = {NULL};

	if (chmod("out/f", 0700) < 0)
		return EIO;
	execve("out/f", argv, env);
	return errno == ENOEXEC ? 0 : errno; /* it is empty */
}
static int read_inside(void)
{
	return open_as("read/f", O_RDONLY) ?: open_as("read", O_RDONLY | O_DIRECTORY);
}
static int work_inside(void)
{
	return open_as("in/new", O_RDWR | O_CREAT) ?: open_as("in/f", O_WRONLY | O_TRUNC)
		?: value_of(truncate("in/f", 3)) ?: value_of(mkdir("in/d", 0700))
		?: value_of(rmdir("in/d")) ?: value_of(mkfifo("in/p", 0600))
		?: value_of(symlink("x", "in/l")) ?: value_of(unlink("in/l"))
		?: open_as("out/one", O_RDWR | O_TRUNC);
}
static int move_inside(void)
{
	return value_of(rename("in/a/f", "in/b/f")) ?: value_of(link("in/b/f", "in/a/f"))
		?: value_of(rename("in/a", "in/b/a"));
}
static int signal_out(void)
{
	return value_of(kill(bystander, 0));
}
static int trace_out(void)
{
	return value_of(ptrace(PTRACE_SEIZE, bystander, NULL, NULL));
}
static int signal_inside(void)
{
	pid_t child = fork();
	int r;

	if (child == 0)
		for (;;)
			pause();
	r = value_of(kill(child, SIGKILL));
	waitpid(child, NULL, 0);
	return r;
}
static int trace_inside(void)
{
	pid_t child = fork();
	int r;

	if (child == 0)
		for (;;)
			pause();
	r = value_of(ptrace(PTRACE_SEIZE, child, NULL, NULL));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return r;
}

static socklen_t abstract(struct sockaddr_un *at, const char *name)
{
	*at = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(at->sun_path + 1, sizeof(at->sun_path) - 1, "%s-%d", name, (int)getsid(0));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(at->sun_path + 1));
}
static int listen_abstract(const char *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	socklen_t len = abstract(&at, name);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 8) < 0)
		abort();
	return fd;
}
static int connect_abstract(const char *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	socklen_t len = abstract(&at, name);
	int r = value_of(connect(fd, (struct sockaddr *)&at, len));

	close(fd);
	return r;
}
static int socket_out(void)
{
	return connect_abstract(ABSTRACT);
}
static int socket_inside(void)
{
	int fd = listen_abstract(ABSTRACT "-inside");
	int r = connect_abstract(ABSTRACT "-inside");

	close(fd);
	return r;
}

/* FIONREAD and such are the kernel's own; this one goes to the driver. */
static int ioctl_on(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;
	struct winsize size;

	if (fd < 0)
		return EIO;
	r = value_of(ioctl(fd, TIOCGWINSZ, &size));
	close(fd);
	return r == ENOTTY || r == EINVAL ? 0 : r; /* asked, and not understood */
}
static int ioctl_denied(void)
{
	return ioctl_on("/dev/urandom");
}
static int ioctl_allowed(void)
{
	return ioctl_on("/dev/zero");
}

/* -- Descriptors, reopened --------------------------------------------- */

static int again(int fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open_as(path, flags);
}
static int stdin_read(void)
{
	return again(0, O_RDONLY);
}
static int stdin_write(void)
{
	return again(0, O_WRONLY);
}
static int stdin_truncate(void)
{
	return value_of(truncate("/proc/self/fd/0", 0));
}
static int stdout_write(void)
{
	return again(1, O_WRONLY | O_TRUNC);
}
static int stdout_read(void)
{
	return again(1, O_RDONLY);
}
static int stderr_both(void)
{
	return again(2, O_RDWR);
}
static int pipe_again(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return EIO;
	return again(ends[0], O_RDONLY) ?: again(ends[1], O_WRONLY);
}

static void give(int fd, int at)
{
	if (fd < 0 || dup2(fd, at) < 0)
		abort();
	close(fd);
}

static void give_files(void)
{
	give(open("out/f", O_RDONLY | O_CLOEXEC), 0);
	give(open("out/f", O_WRONLY | O_CLOEXEC), 1);
	give(open("out/d/both", O_RDWR | O_CREAT | O_CLOEXEC, 0600), 2);
}
static void give_other_files(void)
{
	give(open("out/f", O_RDONLY | O_CLOEXEC), 0);
	give(open("out/d/w", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 1);
}
static void give_terminal(void)
{
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0)
		abort();
	give(slave, 0);
	give(dup(0), 1);
	give(dup(0), 2);
}
static void give_pipes(void)
{
	int ends[2];

	if (pipe(ends) < 0 || dup2(ends[0], 0) < 0 || dup2(ends[1], 1) < 0 || dup2(ends[1], 2) < 0)
		abort();
}
static void give_sockets(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || dup2(ends[0], 0) < 0 ||
	    dup2(ends[0], 1) < 0 || dup2(ends[1], 2) < 0)
		abort();
}
static int terminal_again(void)
{
	int fd = open("/proc/self/fd/0", O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct winsize size;

	return fd < 0 ? errno : value_of(ioctl(fd, TIOCGWINSZ, &size));
}
static int both_again(void)
{
	return again(0, O_RDONLY) ?: again(1, O_WRONLY);
}
static int nothing(void)
{
	return 0;
}

struct check {
	const char *name;
	int (*deed)(void);
	int refusal; /* 0: works in the domain, too */
	int abi;     /* from which it holds */
	void (*give)(void);
	int free; /* what the deed gives outside of a domain */
};

static const struct check checks[] = {
	{"a file without a rule is not read", read_out, EACCES},
	{"a folder without a rule is not listed", list_out, EACCES},
	{"nor written", write_out, EACCES},
	{"nothing is made there", make_out, EACCES},
	{"nor removed", remove_out, EACCES},
	{"no folder is made", mkdir_out, EACCES},
	{"nor removed", rmdir_out, EACCES},
	{"no link is made", link_out, EACCES},
	{"no pipe is made", fifo_out, EACCES},
	{"nothing is cut by name", truncate_out, EACCES, 3},
	{"nothing is executed", exec_out, EACCES},
	{"what can be read is not written", write_read, EACCES},
	{"nor cut", truncate_read, EACCES, 3},
	{"nothing is moved out", move_out, EACCES, 2},
	{"nor in", move_in, EACCES, 2},
	{"nor gains rights by a hard link", hard_link_in, EXDEV, 2},
	{"reading works where it may", read_inside},
	{"everything works where writing may be done", work_inside},
	{"moves between its folders, too", move_inside, 0, 2},
	{"no requests to a device without that right", ioctl_denied, EACCES, 5},
	{"requests with it", ioctl_allowed},
	{"signals stay inside", signal_out, EPERM, 6},
	{"and work there", signal_inside},
	{"nobody outside is traced", trace_out, EPERM},
	{"somebody inside is", trace_inside},
	{"abstract sockets outside are out of reach", socket_out, EPERM, 6},
	{"those inside are not", socket_inside},
	{"stdin for reading is read again", stdin_read, 0, 0, give_other_files},
	{"and not written", stdin_write, EACCES, 0, give_other_files},
	{"nor cut", stdin_truncate, EACCES, 3, give_other_files},
	{"stdout for writing is written again", stdout_write, 0, 0, give_other_files},
	{"and not read", stdout_read, EACCES, 0, give_other_files},
	{"what is open in both ways can be both", stderr_both, 0, 0, give_files},
	{"one file for two: both ways", stdin_write, 0, 0, give_files},
	{"a terminal, with its requests", terminal_again, 0, 0, give_terminal},
	{"pipes", both_again, 0, 0, give_pipes},
	{"pipes made inside", pipe_again},
	{"sockets as 0, 1, 2 are no obstacle", nothing, 0, 0, give_sockets},
};

static int in_child(const struct check *c, bool confined)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		abort();
	if (pid == 0) {
		char work[] = "XXXXXX";

		if (!mkdtemp(work) || chdir(work) < 0)
			_exit(255);
		make_tree();
		if (c->give)
			c->give();
		if (confined && enter(LANDLOCK_FILES |
				      (abi >= 6 ? LANDLOCK_SIGNALS | LANDLOCK_ABSTRACT : 0)) < 0)
			_exit(254);
		_exit(c->deed());
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 253;
}

static void run(const struct check *c)
{
	int outside = in_child(c, false), inside;

	if (abi < c->abi) {
		tap_skip("%s: Landlock ABI %d is too old", c->name, abi);
		return;
	}
	inside = in_child(c, true);
	if (!tap_ok(outside == c->free && inside == c->refusal, "%s", c->name))
		tap_note("free: %s, in the domain: %s", strerror(outside), strerror(inside));
}

static void check_rights(void)
{
	uint64_t before = 0;
	bool grows = true;

	for (int i = 1; i <= 9; i++) {
		grows = grows && (landlock_rights(i) & before) == before;
		before = landlock_rights(i);
	}
	tap_ok(landlock_rights(0) == 0, "without Landlock there are no rights");
	tap_ok(grows && before == (1ull << 16) - 1, "each version has those of the one before");
	tap_ok(landlock_rights(1) == (1ull << 13) - 1 && landlock_rights(2) == (1ull << 14) - 1 &&
		       landlock_rights(3) == (1ull << 15) - 1 &&
		       landlock_rights(4) == landlock_rights(3),
	       "they are the kernel's, version by version");
}

/* A domain about scopes alone leaves files as they are. */
static int only_scopes(void)
{
	if (enter(LANDLOCK_SIGNALS) < 0)
		return EIO;
	return write_out() ?: (signal_out() == EPERM ? 0 : EPROTO);
}

int main(void)
{
	static const struct check scopes = {"a domain without files is about signals only",
					    only_scopes};
	int listener;

	check_rights();
	abi = landlock_abi();
	if (tap_on_valgrind() || abi == 0) {
		tap_skip("the domain: valgrind does not know these calls, or no Landlock here");
		return tap_done();
	}
	scratch_enter();
	listener = listen_abstract(ABSTRACT);
	bystander = fork();
	if (bystander == 0) {
		close(listener);
		for (;;)
			pause();
	}
	for (size_t i = 0; i < array_len(checks); i++)
		run(&checks[i]);
	if (abi >= 6)
		tap_ok(in_child(&scopes, false) == 0, "%s", scopes.name);
	kill(bystander, SIGKILL);
	waitpid(bystander, NULL, 0);
	scratch_leave();
	return tap_done();
}
