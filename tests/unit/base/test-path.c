/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include <errno.h>
#include <limits.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "scratch.h"
#include "tap.h"

typedef int open_fn(int dirfd, const char *relative, int flags, mode_t mode);

/* Below the scratch folder: outside/secret, and inside/ with links into it. */
static int make_tree(void)
{
	int dirfd;

	if (mkdir("outside", 0755) < 0 || mkdir("inside", 0755) < 0 || mkdir("inside/d", 0755) < 0)
		return -1;
	scratch_write("outside/secret", "secret");
	scratch_write("inside/f", "content");
	scratch_write("inside/d/g", "deep");
	dirfd = open("inside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (symlinkat("f", dirfd, "good") < 0 || symlinkat("../f", dirfd, "d/up") < 0 ||
	    symlinkat("../outside/secret", dirfd, "out") < 0 ||
	    symlinkat("/d/g", dirfd, "absolute") < 0 || symlinkat("d", dirfd, "dlink") < 0 ||
	    symlinkat("loop", dirfd, "loop") < 0 || symlinkat("../outside", dirfd, "outdir") < 0)
		return -1;
	return dirfd;
}

static int try_open(open_fn *fn, int dirfd, const char *path, int flags)
{
	int fd = fn(dirfd, path, flags, 0640);

	if (fd < 0)
		return fd;
	if (!(fcntl(fd, F_GETFD) & FD_CLOEXEC))
		tap_ok(false, "%s is not close-on-exec", path);
	close(fd);
	return 0;
}

static void test_resolution(int dirfd)
{
	static const struct {
		const char *path;
		int beneath, nolink, in_root;
	} cases[] = {
		{"f", 0, 0, 0},
		{".", 0, 0, 0},
		{"d/g", 0, 0, 0},
		{"d/../f", 0, 0, 0},
		{"d//g", 0, 0, 0},
		{"good", 0, -ELOOP, 0},
		{"d/up", 0, -ELOOP, 0},
		{"dlink/g", 0, -ELOOP, 0},
		{"loop", -ELOOP, -ELOOP, -ELOOP},
		{"out", -EXDEV, -ELOOP, -ENOENT},
		{"outdir/secret", -EXDEV, -ELOOP, -ENOENT},
		{"absolute", -EXDEV, -ELOOP, 0},
		{"..", -EXDEV, -EXDEV, 0},
		{"../outside/secret", -EXDEV, -EXDEV, -ENOENT},
		{"../f", -EXDEV, -EXDEV, 0},
		{"d/../../outside/secret", -EXDEV, -EXDEV, -ENOENT},
		{"/etc/passwd", -EXDEV, -EXDEV, -ENOENT},
		{"/f", -EXDEV, -EXDEV, 0},
		{"missing", -ENOENT, -ENOENT, -ENOENT},
		{"f/x", -ENOTDIR, -ENOTDIR, -ENOTDIR},
		{"", -ENOENT, -ENOENT, -ENOENT},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		const char *path = cases[i].path;

		tap_eq_int(try_open(path_open_beneath, dirfd, path, O_RDONLY), cases[i].beneath,
			   "beneath \"%s\"", path);
		tap_eq_int(try_open(path_open_nolink, dirfd, path, O_RDONLY), cases[i].nolink,
			   "nolink \"%s\"", path);
		tap_eq_int(try_open(path_open_in_root, dirfd, path, O_RDONLY), cases[i].in_root,
			   "in_root \"%s\"", path);
	}
}

static int plain_open(int dirfd, const char *path, int flags, mode_t mode)
{
	return openat(dirfd, path, flags | O_CLOEXEC, mode);
}

static void test_twins(int dirfd)
{
	_cleanup_(fd_closep) int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	tap_eq_int(try_open(plain_open, dirfd, "out", O_RDONLY), 0, "twin: openat follows out");
	tap_eq_int(try_open(plain_open, dirfd, "../outside/secret", O_RDONLY), 0,
		   "twin: openat follows \"..\"");
	tap_eq_int(try_open(plain_open, self, "cwd/inside/f", O_RDONLY), 0,
		   "twin: openat follows a magic link");
	tap_ok(try_open(path_open_beneath, self, "cwd/inside/f", O_RDONLY) < 0,
	       "beneath refuses a magic link");
	tap_ok(try_open(path_open_in_root, self, "cwd/inside/f", O_RDONLY) < 0,
	       "in_root refuses a magic link");
	tap_eq_int(try_open(path_open_nolink, dirfd, "out", O_PATH | O_NOFOLLOW), 0,
		   "nolink opens a link itself when asked to");
}

static void test_create(int dirfd)
{
	struct stat st = {0};
	mode_t old = umask(0);

	tap_eq_int(try_open(path_open_beneath, dirfd, "new", O_WRONLY | O_CREAT | O_EXCL), 0,
		   "beneath creates");
	fstatat(dirfd, "new", &st, 0);
	tap_eq_int(st.st_mode & 07777, 0640, "with the mode");
	tap_eq_int(try_open(path_open_beneath, dirfd, "new", O_WRONLY | O_CREAT | O_EXCL), -EEXIST,
		   "but not twice");
	tap_eq_int(try_open(path_open_beneath, dirfd, "outdir/new", O_WRONLY | O_CREAT), -EXDEV,
		   "and not outside");
	tap_ok(access("outside/new", F_OK) < 0, "nothing was created outside");
	unlinkat(dirfd, "new", 0);
	umask(old);
}

static void test_mkdir(int dirfd)
{
	static const struct {
		const char *path;
		int r;
	} cases[] = {
		{"m", 0},
		{"m/n/o", 0},
		{"m//n/./p/", 0},
		{"d/q", 0},
		{"", 0},
		{".", 0},
		{"../m", -EXDEV},
		{"m/../x", -EXDEV},
		{"/m", -EXDEV},
		{"dlink/x", -ELOOP},
		{"f", -ENOTDIR},
		{"f/x", -ENOTDIR},
		{"outdir", -ELOOP},
		{"outdir/x", -ELOOP},
	};
	char big[NAME_MAX + 2];
	struct stat st = {0};

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(fd_closep) int fd = path_mkdir_beneath(dirfd, cases[i].path, 0700);

		tap_eq_int(fd < 0 ? fd : 0, cases[i].r, "mkdir \"%s\"", cases[i].path);
		if (fd >= 0)
			tap_ok((fcntl(fd, F_GETFL) & O_PATH) && (fcntl(fd, F_GETFD) & FD_CLOEXEC),
			       "gives a descriptor");
	}
	tap_ok(fstatat(dirfd, "m/n/o", &st, 0) == 0 && (st.st_mode & 07777) == 0700,
	       "the folder is there, with its mode");
	tap_ok(fstatat(dirfd, "m/n/p", &st, 0) == 0, "and the other");
	tap_ok(access("outside/x", F_OK) < 0 && access("m", F_OK) < 0, "and nothing outside");
	memset(big, 'n', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	tap_eq_int(path_mkdir_beneath(dirfd, big, 0700), -ENAMETOOLONG, "a name of 256 bytes");
	tap_eq_int(path_mkdir_beneath(-1, "x", 0700), -EBADF, "no directory");
}

static void test_long(int dirfd)
{
	_cleanup_(str_release) struct str path = {0};
	_cleanup_(freep) char *name = NULL;
	size_t dirs;
	int fd;

	for (int i = 0; i < 40; i++)
		str_appendf(&path, "%s%0240d", i ? "/" : "", i);
	fd = path_mkdir_beneath(dirfd, path.data, 0700);
	tap_ok(fd >= 0, "mkdir of a path of %zu bytes", path.len);
	tap_eq_int(path_of_fd(fd, &name), -ENAMETOOLONG, "its name is too long to tell");
	if (symlinkat("/", fd, "root") < 0 || symlinkat("../../../..", fd, "above") < 0)
		tap_ok(false, "links in the depth");
	fd_close(fd);
	dirs = path.len;

	tap_eq_int(try_open(plain_open, dirfd, path.data, O_RDONLY), -1, "twin: openat cannot");
	str_append(&path, "/deep");
	tap_eq_int(try_open(path_open_beneath, dirfd, path.data, O_WRONLY | O_CREAT), 0,
		   "beneath creates in the depth");
	tap_eq_int(try_open(path_open_nolink, dirfd, path.data, O_RDONLY), 0, "nolink opens there");
	tap_eq_int(try_open(path_open_in_root, dirfd, path.data, O_RDONLY), -ENAMETOOLONG,
		   "in_root does not");
	str_append(&path, "/");
	tap_eq_int(try_open(path_open_beneath, dirfd, path.data, O_RDONLY), -ENOTDIR,
		   "a file is no folder there either");
	str_truncate(&path, dirs);
	str_append(&path, "////");
	tap_eq_int(try_open(path_open_beneath, dirfd, path.data, O_RDONLY), 0,
		   "slashes at the end");
	str_append(&path, "root/etc");
	tap_eq_int(try_open(path_open_beneath, dirfd, path.data, O_RDONLY), -EXDEV,
		   "an absolute link in the depth is refused");
	tap_eq_int(try_open(path_open_nolink, dirfd, path.data, O_RDONLY), -ELOOP, "and as a link");
	str_truncate(&path, dirs);
	str_append(&path, "/..");
	tap_eq_int(try_open(path_open_beneath, dirfd, path.data, O_RDONLY), -ENAMETOOLONG,
		   "\"..\" in a long path is refused");

	str_truncate(&path, 0);
	for (int i = 0; i < 2 * PATH_MAX; i++)
		str_append_char(&path, 'x');
	tap_eq_int(try_open(path_open_beneath, dirfd, path.data, O_RDONLY), -ENAMETOOLONG,
		   "one name of 8192 bytes is refused");
	path.data[0] = '/';
	tap_ok(try_open(path_open_beneath, dirfd, path.data, O_RDONLY) < 0, "also an absolute one");
}

static void test_boundaries(int dirfd)
{
	_cleanup_(str_release) struct str path = {0};
	bool ok = true;

	/* "./././…/f" and ".///…/f" around every length near PATH_MAX. */
	for (size_t len = PATH_MAX - 4; len < PATH_MAX + 5; len++) {
		str_truncate(&path, 0);
		while (path.len < len - 1)
			str_append(&path, path.len % 2 ? "/" : ".");
		if (path.data[path.len - 1] != '/')
			path.data[path.len - 1] = '/';
		str_append(&path, "f");
		ok = ok && path.len == len &&
		     try_open(path_open_beneath, dirfd, path.data, O_RDONLY) == 0;
	}
	tap_ok(ok, "lengths around PATH_MAX");
}

static void check_name(int fd, const char *suffix, const char *what)
{
	_cleanup_(freep) char *got = NULL;
	_cleanup_(freep) char *cwd = getcwd(NULL, 0);
	_cleanup_(freep) char *want = str_printf("%s%s", cwd, suffix);
	int r = path_of_fd(fd, &got);

	tap_ok(r == 0 && str_eq(got, want), "%s", what);
}

static void test_of_fd(int dirfd)
{
	char *name = NULL;
	int fds[2];
	int fd;

	check_name(dirfd, "/inside", "the name of a folder");
	fd = openat(dirfd, "dlink/g", O_RDONLY | O_CLOEXEC);
	check_name(fd, "/inside/d/g", "the name of a file has no link in it");
	close(fd);
	fd = openat(dirfd, "x (deleted)", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	check_name(fd, "/inside/x (deleted)", "a name that only looks deleted");
	if (linkat(dirfd, "x (deleted)", dirfd, "x", 0) < 0)
		tap_ok(false, "link");
	unlinkat(dirfd, "x (deleted)", 0);
	tap_eq_int(path_of_fd(fd, &name), -ENOENT, "one of two names is gone");
	unlinkat(dirfd, "x", 0);
	tap_eq_int(path_of_fd(fd, &name), -ENOENT, "the last name is gone");
	close(fd);
	mkdirat(dirfd, "gone", 0700);
	fd = openat(dirfd, "gone", O_PATH | O_CLOEXEC);
	unlinkat(dirfd, "gone", AT_REMOVEDIR);
	tap_eq_int(path_of_fd(fd, &name), -ENOENT, "a removed folder");
	close(fd);
	if (pipe2(fds, O_CLOEXEC) == 0) {
		tap_eq_int(path_of_fd(fds[0], &name), -EINVAL, "a pipe has no name");
		close(fds[0]);
		close(fds[1]);
	}
	tap_eq_int(path_of_fd(-1, &name), -EBADF, "no descriptor");
	tap_ok(!name, "failures leave the result alone");
}

static void test_lexical(void)
{
	static const struct {
		const char *base, *path, *want;
	} cases[] = {
		{"/a", "b", "/a/b"},
		{"/a/", "./b//c/", "/a/b/c"},
		{"/a/b", "../c", "/a/c"},
		{"/a", "../../..", "/"},
		{"/", "x", "/x"},
		{"/", ".", "/"},
		{"/a", "", "/a"},
		{"/a/../b", "c", "/b/c"},
		{NULL, "/x/./y/../z", "/x/z"},
		{"relative", "/x", "/x"},
		{NULL, "//", "/"},
		{NULL, "/..", "/"},
		{NULL, "/a/...", "/a/..."},
		{NULL, "/..a/b..", "/..a/b.."},
	};
	char *got = NULL;

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(freep) char *path = NULL;

		path_normalize(cases[i].base, cases[i].path, &path);
		tap_eq_str(path, cases[i].want, "\"%s\" is %s", cases[i].path, cases[i].want);
	}
	tap_eq_int(path_normalize("a", "b", &got), -EINVAL, "a relative base is refused");
	tap_eq_int(path_normalize(NULL, "b", &got), -EINVAL, "and so is none");
	tap_ok(!got, "without a result");

	tap_ok(path_covers("/a", "/a") && path_covers("/a", "/a/b") && path_covers("/", "/a") &&
		       path_covers("/", "/"),
	       "covers itself and what is below");
	tap_ok(!path_covers("/a", "/ab") && !path_covers("/a/b", "/a") && !path_covers("/a", "/"),
	       "and nothing beside or above");
}

static void test_join(void)
{
	static const struct {
		const char *dir, *name, *want;
	} cases[] = {
		{"/a", "b", "/a/b"}, {"/a/", "b", "/a/b"}, {"/a//", "//b", "/a/b"},
		{"/", "b", "/b"},    {"/", "/", "/"},      {"a", "b/c", "a/b/c"},
		{"", "b", "b"},
	};

	for (size_t i = 0; i < array_len(cases); i++) {
		_cleanup_(freep) char *path = path_join(cases[i].dir, cases[i].name);

		tap_eq_str(path, cases[i].want, "join \"%s\" and \"%s\"", cases[i].dir,
			   cases[i].name);
	}
	tap_eq_str(path_basename("/a/b"), "b", "basename");
	tap_eq_str(path_basename("b"), "b", "basename without a slash");
	tap_eq_str(path_basename("/"), "/", "basename of the root");
}

/* AT and WANT are below the scratch folder. */
static void resolves(const char *at, const char *want)
{
	_cleanup_(freep) char *top = realpath(".", NULL);
	_cleanup_(freep) char *path = path_join(top, at);
	_cleanup_(freep) char *full = path_join(top, want);
	_cleanup_(freep) char *got = NULL;

	tap_eq_int(path_resolve(path, &got), 0, "%s can be resolved", at);
	tap_eq_str(got, full, "%s is %s", at, want);
}

static void test_resolve(void)
{
	_cleanup_(freep) char *got = NULL;

	if (mkdir("real", 0755) < 0 || mkdir("real/sub", 0755) < 0 ||
	    symlink("real", "alias") < 0 || symlink("nowhere", "broken") < 0)
		abort();
	resolves("real/sub", "real/sub");
	resolves("alias/sub", "real/sub");
	resolves("alias/gone/deeper", "real/gone/deeper");
	resolves("gone", "gone");
	resolves("broken/x", "broken/x");
	tap_ok(path_resolve("/", &got) == 0 && str_eq(got, "/"), "the root is itself");
}

static void test_fold(void)
{
	static const char *const given[] = {"/a/b", "/a",    "/a-b", "/a-b/c", "/a",      "/a.c",
					    "/b/c", "/b/cd", "/b",   "/c/d",   "/c/d/e/f"};
	static const char *const want[] = {"/a", "/a-b", "/a.c", "/b", "/c/d"};
	_cleanup_(strv_release) struct strv paths = {0};
	bool same;

	paths_fold(&paths);
	tap_eq_int((long long)paths.len, 0, "nothing folds to nothing");
	for (size_t i = 0; i < array_len(given); i++)
		if (strv_add(&paths, given[i]) < 0)
			abort();
	paths_fold(&paths);
	same = paths.len == array_len(want) && !paths.items[paths.len];
	for (size_t i = 0; i < array_len(want) && same; i++)
		same = str_eq(paths.items[i], want[i]);
	tap_ok(same, "what is below another path goes, also behind a neighbour, and twins go");
	while (paths.len)
		free(paths.items[--paths.len]);
	if (strv_add(&paths, "/x") < 0 || strv_add(&paths, "/") < 0)
		abort();
	paths_fold(&paths);
	tap_ok(paths.len == 1 && str_eq(paths.items[0], "/"), "the root covers all");
}

/* A path of up to four names, some of which begin like others. */
static char *some_path(unsigned *seed)
{
	static const char *const names[] = {"a", "a-b", "a.b", "ab", "b", "\xc3\xa4"};
	struct str path = {0};

	do {
		*seed = *seed * 1103515245 + 12345;
		if (str_appendf(&path, "/%s", names[(*seed >> 16) % array_len(names)]) < 0)
			abort();
	} while (path.len < 14 && *seed >> 24 & 3);
	return path.data;
}

static void test_cover(void)
{
	unsigned seed = 7, wrong = 0, covered = 0, trials = 0;
	struct strv none = {0}, root = {.items = (char *[]){"/", NULL}, .len = 1};

	for (int round = 0; round < 300; round++) {
		_cleanup_(strv_release) struct strv folded = {0};

		for (int i = 0; i < round % 23; i++)
			if (strv_take(&folded, some_path(&seed)) < 0)
				abort();
		paths_fold(&folded);
		for (int i = 0; i < 50; i++, trials++) {
			_cleanup_(freep) char *path = some_path(&seed);
			bool want = false;

			for (size_t k = 0; k < folded.len; k++)
				want |= path_covers(folded.items[k], path);
			covered += want;
			wrong += paths_cover(&folded, path) != want;
		}
	}
	tap_ok(wrong == 0 && covered > trials / 10 && covered < trials,
	       "as each by itself: %u wrong, %u of %u covered", wrong, covered, trials);
	tap_ok(paths_cover(&root, "/") && paths_cover(&root, "/a/b"), "the root covers all");
	tap_ok(!paths_cover(&none, "/") && !paths_cover(&none, "/a"), "nothing covers nothing");
}

int main(void)
{
	int dirfd;

	scratch_enter();
	dirfd = make_tree();
	test_resolve();
	if (tap_ok(dirfd >= 0, "the tree is made")) {
		if (tap_on_valgrind()) {
			tap_note("valgrind knows no openat2: lexical parts only");
		} else {
			test_resolution(dirfd);
			test_twins(dirfd);
			test_create(dirfd);
			test_mkdir(dirfd);
			test_long(dirfd);
			test_boundaries(dirfd);
		}
		test_of_fd(dirfd);
		close(dirfd);
	}
	test_lexical();
	test_join();
	test_fold();
	test_cover();
	scratch_leave();
	return tap_done();
}
