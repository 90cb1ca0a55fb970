/* SPDX-License-Identifier: MIT */
#include "session/session-place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/private-dir.h"
#include "base/str.h"
#include "base/tree-remove.h"
#include "config/workspace.h"

enum { TRIES = 16, BACKLOG = 128 };

bool session_name_is_valid(const char *name)
{
	static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				  "._-";
	size_t len = strnlen(name, SESSION_NAME_MAX + 1);

	return len >= 1 && len <= SESSION_NAME_MAX && strspn(name, all) == len &&
	       !strchr("._-", name[0]);
}

int session_name_check(const char *name, struct err *err)
{
	if (session_name_is_valid(name))
		return 0;
	err_set(err, ERR_USAGE, -EINVAL, "\"%.100s\" is no name of a session", name);
	return err_hint(err, -EINVAL,
			"letters, digits, '.', '_' and '-', at most %d, a letter or digit first",
			SESSION_NAME_MAX);
}

char *session_folder(const char *runtime_dir, const char *root)
{
	return state_name(runtime_dir, root);
}

int session_folder_open(const char *folder, struct err *err)
{
	return private_dir_open(folder, false, err);
}

static int open_dir(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static struct flock whole(short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

/* -EAGAIN: somebody has it. */
static int take_lock(int dir)
{
	_cleanup_(fd_closep) int fd = openat(dir, SESSION_LOCK,
					     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
					     S_IRUSR | S_IWUSR);
	struct flock lock = whole(F_WRLCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return errno == EACCES ? -EAGAIN : -errno;
	/* Somebody may have removed it meanwhile. */
	if (fstat(fd, &st) < 0 || st.st_nlink == 0)
		return -ESTALE;
	return take_fd(fd);
}

static bool is_named(int parent, const char *name, int dir)
{
	struct stat a, b;

	return fstatat(parent, name, &a, AT_SYMLINK_NOFOLLOW) == 0 && fstat(dir, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* All but the lock, which goes last: who finds the folder finds it locked. */
static int empty(int dir)
{
	static const char *const files[] = {SESSION_SOCKET, SESSION_FILE};
	int r;

	for (size_t i = 0; i < array_len(files); i++)
		if (unlinkat(dir, files[i], 0) < 0 && errno != ENOENT)
			return -errno;
	r = tree_remove(dir, SESSION_OUT);
	return r == -ENOENT ? 0 : r;
}

/* The folder and its lock: -EAGAIN when somebody has it, -ESTALE: try again. */
static int lock_folder(int parent, const char *name, int *ret_dir, int *ret_lock)
{
	_cleanup_(fd_closep) int dir = open_dir(parent, name);
	_cleanup_(fd_closep) int lock = -1;

	if (dir < 0)
		return dir;
	lock = take_lock(dir);
	if (lock < 0)
		return lock;
	if (!is_named(parent, name, dir))
		return -ESTALE;
	*ret_dir = take_fd(dir);
	*ret_lock = take_fd(lock);
	return 0;
}

static int take(struct session_place *place)
{
	int r = -ESTALE;

	for (int i = 0; i < TRIES && (r == -ESTALE || r == -ENOENT); i++) {
		if (mkdirat(place->parent, place->name, S_IRWXU) < 0 && errno != EEXIST)
			return -errno;
		r = lock_folder(place->parent, place->name, &place->dir, &place->lock);
	}
	if (r == 0)
		r = empty(place->dir);
	if (r == 0 && mkdirat(place->dir, SESSION_OUT, S_IRWXU) < 0)
		r = -errno;
	return r;
}

int session_place_take(const char *folder, const char *name, struct session_place *ret,
		       struct err *err)
{
	struct session_place place = SESSION_PLACE_NONE;
	int r = session_name_check(name, err);

	if (r < 0)
		return r;
	snprintf(place.name, sizeof(place.name), "%s", name);
	place.parent = private_dir_open(folder, true, err);
	if (place.parent < 0)
		return place.parent;
	r = take(&place);
	if (r == 0) {
		*ret = place;
		return 0;
	}
	session_place_close(&place);
	if (r == -EAGAIN) {
		err_set(err, ERR_USAGE, -EBUSY, "there is a session '%s' already", name);
		return err_hint(err, -EBUSY,
				"pale exec -s %s uses it, pale session stop %s ends it", name,
				name);
	}
	return err_sys(err, r, "make the folder of session '%s'", name);
}

void session_place_close(struct session_place *place)
{
	fd_close(place->parent);
	fd_close(place->dir);
	fd_close(place->lock);
	*place = (struct session_place)SESSION_PLACE_NONE;
}

void session_place_remove(struct session_place *place)
{
	if (place->dir >= 0 && empty(place->dir) == 0 &&
	    is_named(place->parent, place->name, place->dir)) {
		(void)unlinkat(place->dir, SESSION_LOCK, 0);
		(void)unlinkat(place->parent, place->name, AT_REMOVEDIR);
	}
	session_place_close(place);
}

bool session_is_living(int parent, const char *name)
{
	_cleanup_(fd_closep) int dir = open_dir(parent, name);
	_cleanup_(fd_closep) int fd = -1;
	struct flock lock = whole(F_WRLCK);

	if (dir < 0)
		return false;
	fd = openat(dir, SESSION_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool session_sweep(int parent, const char *name)
{
	struct session_place place = {.parent = -1, .dir = -1, .lock = -1};

	if (lock_folder(parent, name, &place.dir, &place.lock) < 0)
		return false;
	snprintf(place.name, sizeof(place.name), "%s", name);
	place.parent = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	session_place_remove(&place);
	return true;
}

int session_names(int parent, struct strv *ret, struct err *err)
{
	int fd = open_dir(parent, ".");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		r = err_sys(err, fd < 0 ? fd : -errno, "look for sessions");
		fd_close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(dir)))
		if (session_name_is_valid(entry->d_name))
			r = strv_add(ret, entry->d_name);
	closedir(dir);
	if (r < 0)
		return err_oom(err);
	strv_sort_unique(ret);
	return 0;
}

/* The address has room for 107 bytes: a longer name goes by a descriptor. */
static int connect_at(int sock, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	return connect(sock, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

static int connect_by_folder(int sock, const char *folder, const char *name)
{
	_cleanup_(fd_closep) int parent = session_folder_open(folder, NULL);
	_cleanup_(fd_closep) int dir = parent < 0 ? parent : open_dir(parent, name);
	char path[64];

	if (dir < 0)
		return dir;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/" SESSION_SOCKET, dir);
	return connect_at(sock, path);
}

/* Whatever the name leads to: what is told there must not go to anybody else. */
static int check_peer(int sock, struct err *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_sys(err, -errno, "ask who answers for the session");
	if (peer.uid == geteuid())
		return 0;
	return err_set(err, ERR_SYSTEM, -EPERM,
		       "the session's socket belongs to uid %u, not to you", (unsigned)peer.uid);
}

int session_connect(const char *folder, const char *name, struct err *err)
{
	_cleanup_(freep) char *path = str_printf("%s/%s/" SESSION_SOCKET, folder, name);
	_cleanup_(fd_closep) int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int r;

	if (!path)
		return err_oom(err);
	if (sock < 0)
		return err_sys(err, -errno, "make a socket");
	r = connect_at(sock, path);
	if (r == -ENAMETOOLONG)
		r = connect_by_folder(sock, folder, name);
	if (r == -ENOENT || r == -ECONNREFUSED || r == -ENOTDIR)
		return r == -ENOTDIR ? -ENOENT : r;
	if (r < 0)
		return err_sys(err, r, "reach session '%s'", name);
	r = check_peer(sock, err);
	return r < 0 ? r : take_fd(sock);
}

int session_listen(const struct session_place *place, struct err *err)
{
	_cleanup_(fd_closep) int sock = socket(AF_UNIX,
					       SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (sock < 0)
		return err_sys(err, -errno, "make a socket");
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SESSION_SOCKET,
		 place->dir);
	if (bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    fchmodat(place->dir, SESSION_SOCKET, S_IRUSR | S_IWUSR, 0) < 0 ||
	    listen(sock, BACKLOG) < 0)
		return err_sys(err, -errno, "listen for the session's commands");
	return take_fd(sock);
}
