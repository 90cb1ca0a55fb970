/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "scratch.h"
#include "tap.h"

#define OTHER_ID 12345 /* nobody in particular */

static bool has_content(const char *path, const char *want)
{
	_cleanup_(str_release) struct str got = {0};

	return file_read(AT_FDCWD, path, 100000, &got, NULL) == 0 && str_eq(got.data, want);
}

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 2;
}

static void test_types(void)
{
	static const struct {
		const char *path;
		int r;
		const char *message;
	} cases[] = {
		{"fifo", -EINVAL, "fifo is a fifo, not a regular file"},
		{"socket", -EINVAL, "socket is a socket, not a regular file"},
		{".", -EINVAL, ". is a directory, not a regular file"},
		{"/dev/null", -EINVAL, "/dev/null is a character device, not a regular file"},
		{"missing", -ENOENT, "open missing: No such file or directory"},
		{"dangling", -ENOENT, "open dangling: No such file or directory"},
	};
	struct sockaddr_un addr = {.sun_family = AF_UNIX, .sun_path = "socket"};
	_cleanup_(fd_closep) int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (mkfifo("fifo", 0600) < 0 || symlink("nowhere", "dangling") < 0 ||
	    bind(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		tap_ok(false, "set-up");
	for (size_t i = 0; i < array_len(cases); i++) {
		struct stat st = {.st_size = 77};
		struct err err = {0};

		tap_eq_int(file_open_regular(AT_FDCWD, cases[i].path, &st, &err), cases[i].r,
			   "%s is refused", cases[i].path);
		tap_eq_str(err.message, cases[i].message, "and named");
		tap_eq_int(st.st_size, 77, "and nothing given");
	}
}

static void test_read(void)
{
	_cleanup_(str_release) struct str text = {0};
	struct err err = {.message = "untouched"};
	struct stat st;
	int fd;

	scratch_write("ten", "0123456789");
	if (symlink("ten", "link") < 0)
		tap_ok(false, "set-up");
	fd = file_open_regular(AT_FDCWD, "link", &st, &err);
	tap_ok(fd >= 0 && st.st_size == 10, "a link to a regular file is opened");
	tap_ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "close-on-exec");
	fd_close(fd);
	tap_eq_int(file_read(AT_FDCWD, "ten", 10, &text, &err), 0, "ten bytes fit ten");
	tap_eq_str(text.data, "0123456789", "and are the right ones");
	tap_eq_str(err.message, "untouched", "success leaves err alone");
	tap_eq_int(file_read(AT_FDCWD, "ten", 9, &text, &err), -EFBIG, "ten do not fit nine");
	tap_eq_str(err.message, "ten is larger than 9 bytes", "and the message says so");
	tap_eq_str(text.data, "0123456789", "and the old text stays");
	tap_eq_int(file_read(AT_FDCWD, "/proc/self/status", 3, &text, &err), -EFBIG,
		   "a file without a size is bounded too");
	tap_eq_int(file_read(AT_FDCWD, "/proc/self/status", 65536, &text, &err), 0,
		   "and read within bounds");
	tap_ok(str_starts(text.data, "Name:"), "to its content");
	tap_eq_int(file_read(AT_FDCWD, "missing", 9, &text, &err), -ENOENT, "a missing file");
}

static void test_replace(void)
{
	char name[NAME_MAX + 2];
	struct stat st = {0};
	struct err err = {.message = "untouched"};
	mode_t old = umask(077);
	int dir;

	mkdir("r", 0755);
	dir = open("r", O_PATH | O_DIRECTORY | O_CLOEXEC);
	tap_eq_int(file_replace(dir, "new", "one", 3, 0644, &err), 0, "a new file");
	fstatat(dir, "new", &st, 0);
	tap_eq_int(st.st_mode & 07777, 0644, "gets the mode, whatever the umask");
	tap_ok(has_content("r/new", "one"), "and the content");
	tap_ok(chmod("r/new", 0751) == 0, "another mode");
	tap_eq_int(file_replace(dir, "new", "two", 3, 0644, &err), 0, "replaced");
	fstatat(dir, "new", &st, 0);
	tap_eq_int(st.st_mode & 07777, 0751, "keeps its mode");
	tap_ok(has_content("r/new", "two"), "and has the new content");
	tap_eq_int(file_replace(dir, "new", NULL, 0, 0644, &err), 0, "replaced by nothing");
	tap_ok(has_content("r/new", ""), "is empty");
	tap_eq_str(err.message, "untouched", "success leaves err alone");

	memset(name, 'n', sizeof(name));
	name[NAME_MAX] = '\0';
	tap_eq_int(file_replace(dir, name, "x", 1, 0600, &err), 0, "a name of 255 bytes");
	for (int i = 0; i + 1 < NAME_MAX; i += 2)
		memcpy(name + i, "\xc3\xa4", 2);
	tap_eq_int(file_replace(dir, name, "x", 1, 0600, &err), 0, "and of two-byte characters");
	name[NAME_MAX] = 'n';
	name[NAME_MAX + 1] = '\0';
	tap_eq_int(file_replace(dir, name, "x", 1, 0600, &err), -ENAMETOOLONG, "256 are too many");
	tap_eq_int(count_entries("r"), 3, "no temporary file is left");
	close(dir);
	umask(old);
}

static void test_refusals(void)
{
	static const struct {
		const char *name;
		int r;
	} cases[] = {
		{"", -EINVAL},  {".", -EINVAL},   {"..", -EINVAL},      {"r/x", -EINVAL},
		{"r", -EINVAL}, {"link", -ELOOP}, {"dangling", -ELOOP}, {"fifo", -EINVAL},
	};
	int before = count_entries(".");
	int dir;

	for (size_t i = 0; i < array_len(cases); i++) {
		struct err err = {0};

		tap_eq_int(file_replace(AT_FDCWD, cases[i].name, "x", 1, 0644, &err), cases[i].r,
			   "\"%s\" cannot be replaced", cases[i].name);
		tap_ok(err.message[0], "which says: %s", err.message);
	}
	tap_ok(has_content("ten", "0123456789"), "the target of the link is untouched");
	tap_eq_int(count_entries("."), before, "and nothing was added");

	mkdir("removed", 0700);
	dir = open("removed", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rmdir("removed");
	tap_eq_int(file_replace(dir, "x", "x", 1, 0644, NULL), -ENOENT, "a removed directory");
	close(dir);
}

/* A file-size limit fails the write half way, as a full disk does. */
static void test_failed_write(void)
{
	struct rlimit old, small;
	struct err err = {0};
	char data[8192];
	int r;

	memset(data, 'd', sizeof(data));
	mkdir("w", 0755);
	scratch_write("w/keep", "old content");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 4096;
	setrlimit(RLIMIT_FSIZE, &small);
	r = file_replace(AT_FDCWD, "keep", data, sizeof(data), 0644, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	tap_eq_int(r, -EFBIG, "a new file that cannot be written");
	tap_ok(access("keep", F_OK) < 0, "does not appear");

	if (chdir("w") < 0)
		tap_ok(false, "set-up");
	setrlimit(RLIMIT_FSIZE, &small);
	r = file_replace(AT_FDCWD, "keep", data, sizeof(data), 0644, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	tap_eq_int(r, -EFBIG, "an old file that cannot be rewritten");
	tap_ok(has_content("keep", "old content"), "keeps its content");
	tap_eq_int(count_entries("."), 1, "and no temporary file is left");
	tap_eq_int(file_replace(AT_FDCWD, "keep", data, sizeof(data), 0644, &err), 0,
		   "twin: without the limit it is replaced");
	if (chdir("..") < 0)
		tap_ok(false, "back");
}

static int replace_as_other(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (setresgid(OTHER_ID, OTHER_ID, OTHER_ID) < 0 ||
		    setresuid(OTHER_ID, OTHER_ID, OTHER_ID) < 0)
			_exit(99);
		_exit(-file_replace(AT_FDCWD, "o/f", "x", 1, 0644, NULL) == EINVAL &&
				      chdir("o") == 0
			      ? -file_replace(AT_FDCWD, "f", "theirs", 6, 0644, NULL)
			      : 98);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -1000;
}

static void test_owner(void)
{
	struct stat st = {0};

	if (geteuid() != 0) {
		tap_skip("keeping another's file his own needs root");
		return;
	}
	if (chmod(".", 0755) < 0 || mkdir("o", 0755) < 0)
		tap_ok(false, "set-up");
	scratch_write("o/f", "root's");
	if (chown("o/f", OTHER_ID, OTHER_ID + 1) < 0 || chmod("o/f", 06755) < 0)
		tap_ok(false, "set-up");
	int dir = open("o", O_PATH | O_CLOEXEC);
	tap_eq_int(file_replace(dir, "f", "x", 1, 0600, NULL), 0, "root replaces another's file");
	stat("o/f", &st);
	tap_ok(st.st_uid == OTHER_ID && st.st_gid == OTHER_ID + 1, "which stays his");
	tap_eq_int(st.st_mode & 07777, 06755, "with its set-id bits");
	close(dir);

	if (chown("o/f", 0, 0) < 0 || chmod("o/f", 06755) < 0)
		tap_ok(false, "set-up");
	tap_eq_int(replace_as_other(), -EACCES, "one who may not write there cannot replace");
	stat("o/f", &st);
	tap_ok(st.st_uid == 0 && (st.st_mode & 07777) == 06755 && count_entries("o") == 1,
	       "and leaves it as it was");
	if (chown("o", OTHER_ID, OTHER_ID) < 0)
		tap_ok(false, "set-up");
	tap_eq_int(replace_as_other(), 0, "the owner of the folder can");
	stat("o/f", &st);
	tap_ok(st.st_uid == OTHER_ID && st.st_gid == OTHER_ID, "but the file becomes his");
	tap_eq_int(st.st_mode & 07777, 0755, "and loses its set-id bits");
}

/* Version 2, little endian: owner, one user more, group, mask, others. */
static const unsigned char access_list[] = {2,   0,   0,   0,   1,   0,   6,  0,   255, 255, 255,
					    255, 2,   0,   6,   0,   57,  48, 0,   0,   4,   0,
					    0,   0,   255, 255, 255, 255, 16, 0,   6,   0,   255,
					    255, 255, 255, 32,  0,   0,   0,  255, 255, 255, 255};
#define ACL         "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"

static bool has(const char *path, const char *name, const void *value, size_t len)
{
	char got[128];

	return getxattr(path, name, got, sizeof(got)) == (ssize_t)len &&
	       memcmp(got, value, len) == 0;
}

static void test_attributes(void)
{
	int dir;

	scratch_write("a-plain", "x");
	scratch_write("a-rich", "x");
	if (setxattr("a-rich", "user.note", "n", 1, 0) < 0 ||
	    setxattr("a-rich", ACL, access_list, sizeof(access_list), 0) < 0) {
		tap_skip("no attributes on this filesystem");
		return;
	}
	if (geteuid() == 0)
		setxattr("a-rich", "trusted.pale", "t", 1, 0);
	dir = open(".", O_PATH | O_CLOEXEC);
	tap_eq_int(file_replace(dir, "a-rich", "y", 1, 0600, NULL), 0, "one with attributes");
	tap_ok(has("a-rich", "user.note", "n", 1), "keeps its own");
	tap_ok(has("a-rich", ACL, access_list, sizeof(access_list)), "and its access list");
	tap_ok(getxattr("a-rich", "trusted.pale", NULL, 0) < 0, "but none that takes privileges");

	tap_ok(setxattr(".", ACL_DEFAULT, access_list, sizeof(access_list), 0) == 0 &&
		       chmod("a-plain", 0640) == 0,
	       "a folder that gives new files an access list");
	tap_eq_int(file_replace(dir, "a-plain", "y", 1, 0600, NULL), 0, "one without attributes");
	tap_ok(getxattr("a-plain", ACL, NULL, 0) < 0 && errno == ENODATA, "has none afterwards");
	tap_eq_int(file_replace(dir, "a-new", "y", 1, 0660, NULL), 0, "a new one");
	tap_ok(has("a-new", ACL, access_list, sizeof(access_list)), "twin: gets that list");
	removexattr(".", ACL_DEFAULT);
	close(dir);
}

int main(void)
{
	scratch_enter();
	test_attributes();
	test_types();
	test_read();
	test_replace();
	test_refusals();
	test_failed_write();
	test_owner();
	scratch_leave();
	return tap_done();
}
