/* SPDX-License-Identifier: MIT */
/*
 * probe - one hostile attempt per word. Prints "WORD=ok" or "WORD=ERRNO" and
 * ends with 0 or 1. What it says is never the verdict: that is the host's.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *word;

static int say(long r)
{
	if (r < 0)
		printf("%s=%s\n", word, strerrorname_np(errno));
	else
		printf("%s=ok\n", word);
	fflush(stdout);
	return r < 0;
}

static int connect_tcp(const char *address, int port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct timeval limit = {.tv_sec = 2};
	int fd, six = strchr(address, ':') != NULL;

	if (six ? inet_pton(AF_INET6, address, &in6.sin6_addr) != 1
		: inet_pton(AF_INET, address, &in.sin_addr) != 1) {
		errno = EINVAL;
		return -1;
	}
	fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return connect(fd, six ? (void *)&in6 : (void *)&in, six ? sizeof(in6) : sizeof(in));
}

static int send_udp(const char *address, int port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	inet_pton(AF_INET, address, &in.sin_addr);
	return fd < 0 ? -1 : (int)sendto(fd, "x", 1, 0, (void *)&in, sizeof(in));
}

/* "@name" is abstract. */
static int connect_unix(const char *name)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(un.sun_path, name, strlen(name));
	if (name[0] == '@')
		un.sun_path[0] = 0;
	return fd < 0 ? -1 : connect(fd, (void *)&un, len + (name[0] != '@'));
}

static int own_loopback(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (void *)&in, len) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (void *)&in, &len) < 0)
		return -1;
	return connect_tcp("127.0.0.1", ntohs(in.sin_port));
}

static int new_mount_api(void)
{
	int fd = (int)syscall(SYS_fsopen, "tmpfs", 0);

	if (fd < 0)
		return -1;
	return (int)syscall(SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

static int remount_writable(const char *path)
{
	struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};

	return (int)syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &attr, sizeof(attr));
}

static int by_handle(const char *path)
{
	struct {
		struct file_handle head;
		char bytes[128];
	} h = {.head.handle_bytes = 128};
	int dir = open(path, O_RDONLY | O_DIRECTORY), id;

	if (name_to_handle_at(AT_FDCWD, path, &h.head, &id, 0) < 0)
		return -1;
	return open_by_handle_at(dir, &h.head, O_RDONLY);
}

/* Write through a shared mapping of what can only be read. */
static int map_shared(const char *path)
{
	int fd = open(path, O_RDONLY);
	char *p;

	if (fd < 0)
		return -1;
	p = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -1;
	p[0] = 'X';
	return 0;
}

static int tmpfile_link(const char *dir)
{
	char from[64], to[4096];
	int fd = open(dir, O_TMPFILE | O_WRONLY, 0644);

	if (fd < 0)
		return -1;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	snprintf(to, sizeof(to), "%s/planted", dir);
	return linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
}

static int list_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	int extra = 0;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.' && atoi(e->d_name) > 2 && atoi(e->d_name) != dirfd(dir)) {
			printf("fd %s\n", e->d_name);
			extra++;
		}
	printf("fds=%d\n", extra);
	return !dir || extra;
}

/* A daemon as they are made: two forks and a session of its own. It says its
 * name on the command line that it inherits. */
static void daemonise(void)
{
	if (fork() > 0)
		_exit(0);
	setsid();
	if (fork() > 0)
		_exit(0);
}

static int daemon_run(const char *seconds, int close_output)
{
	pid_t pid = fork();

	if (pid == 0) {
		daemonise();
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		if (close_output)
			close(1), close(2);
		sleep((unsigned)atoi(seconds));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	usleep(100000);
	return 0;
}

/* A process that is never there for long: each one makes the next and ends. */
static int hop(void)
{
	if (fork() > 0) {
		usleep(100000);
		return 0;
	}
	daemonise();
	close(0), close(1), close(2);
	for (;;)
		if (fork() > 0)
			_exit(0);
}

/* Floods of processes that end by themselves: COUNT at once at most, of this user, for
 * ten seconds at most. All of them ignore SIGTERM; each is in a session of its own. */
enum { FLOOD_SECONDS = 10, FLOOD_MOST = 2000 };

static int flood(int count, void next(int i, int count))
{
	struct rlimit limit = {.rlim_cur = (rlim_t)count, .rlim_max = (rlim_t)count};
	time_t end = time(NULL) + FLOOD_SECONDS;

	/* the kernel does not hold root to it */
	if (count > FLOOD_MOST || getuid() == 0 || setrlimit(RLIMIT_NPROC, &limit) < 0)
		return 1;
	signal(SIGTERM, SIG_IGN);
	printf("flood\n");
	fflush(stdout);
	for (int i = 0; time(NULL) < end; i = i < count ? i + 1 : i) {
		alarm(FLOOD_SECONDS);
		if (i >= count) {
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
			usleep(1000);
		} else if (fork() == 0) {
			for (; time(NULL) < end; alarm(FLOOD_SECONDS)) {
				setsid();
				next(i, count);
			}
			_exit(0);
		}
	}
	return 0;
}

/* A third only takes the processors' time; each other makes the next one and ends. */
static void flood_hop(int i, int count)
{
	if (i >= count / 3 && fork() > 0)
		_exit(0);
}

/* Each makes as many as it can. */
static void flood_swell(int i, int count)
{
	(void)i, (void)count;
	fork();
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static int zombies(void)
{
	DIR *dir;
	struct dirent *e;
	int left = 0;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (fork() == 0) {
				usleep(20000);
				_exit(0);
			}
			_exit(0); /* the grandchild is now an orphan */
		}
		waitpid(pid, NULL, 0);
	}
	usleep(200000);
	dir = opendir("/proc");
	while (dir && (e = readdir(dir))) {
		char path[300], text[512] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		f = atoi(e->d_name) > 0 ? fopen(path, "r") : NULL;
		if (!f)
			continue;
		if (fgets(text, sizeof(text), f) && strstr(text, ") Z "))
			left++;
		fclose(f);
	}
	printf("zombies=%d\n", left);
	return left > 0;
}

static int type_into_terminal(void)
{
	const char *text = "echo pwned\n";

	/* Perhaps the terminal can be taken first. */
	(void)ioctl(0, TIOCSCTTY, 1);
	for (; *text; text++)
		if (ioctl(0, TIOCSTI, text) < 0)
			return -1;
	return 0;
}

static int wide_tiocsti(void)
{
	return (int)syscall(SYS_ioctl, 0, 0x100000000ul | TIOCSTI, "x");
}

static int setuid_root(void)
{
	if (setresuid(0, 0, 0) < 0)
		return -1;
	return open("/etc/shadow", O_RDONLY);
}

static int stop_self(const char *a, const char *b)
{
	(void)a, (void)b;
	raise(SIGSTOP);
	return (int)sleep(30);
}

/* The warden, where it can be reached. */
static int stop_parent(const char *a, const char *b)
{
	(void)a, (void)b;
	say(kill(getppid(), SIGSTOP));
	return (int)sleep(30);
}

static int ignore_signals(const char *a, const char *b)
{
	(void)a, (void)b;
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	printf("partial\n");
	fflush(stdout);
	for (int i = 0; i < 60; i++)
		sleep(1);
	return 0;
}

static int print_euid(const char *a, const char *b)
{
	(void)a, (void)b;
	return printf("euid=%d\n", (int)geteuid()) < 0;
}

/* One function per word: ATTEMPT says what the call answered. */
#define ATTEMPT(name, call)                                                                        \
	static int name(const char *a, const char *b)                                              \
	{                                                                                          \
		(void)a, (void)b;                                                                  \
		return say(call);                                                                  \
	}
#define PLAIN(name, call)                                                                          \
	static int name(const char *a, const char *b)                                              \
	{                                                                                          \
		(void)a, (void)b;                                                                  \
		return call;                                                                       \
	}

ATTEMPT(do_tcp, connect_tcp(a, atoi(b)))
ATTEMPT(do_udp, send_udp(a, atoi(b)))
ATTEMPT(do_unix, connect_unix(a))
ATTEMPT(do_loopback, own_loopback())
ATTEMPT(do_socket, socket(atoi(a), atoi(b), 0))
ATTEMPT(do_mount, mount("none", a, "tmpfs", 0, NULL))
ATTEMPT(do_umount, umount2(a, MNT_DETACH))
ATTEMPT(do_fsopen, new_mount_api())
ATTEMPT(do_remount, remount_writable(a))
ATTEMPT(do_unshare_user, unshare(CLONE_NEWUSER))
ATTEMPT(do_unshare_mount, unshare(CLONE_NEWNS))
ATTEMPT(do_unshare_net, unshare(CLONE_NEWNET))
ATTEMPT(do_chroot, chroot(a))
ATTEMPT(do_pivot, syscall(SYS_pivot_root, a, a))
ATTEMPT(do_mknod, mknod(a, S_IFBLK | 0600, makedev(254, 0)))
ATTEMPT(do_mkchar, mknod(a, S_IFCHR | 0600, makedev(1, 1)))
ATTEMPT(do_handle, by_handle(a))
ATTEMPT(do_mmap, map_shared(a))
ATTEMPT(do_tmpfile, tmpfile_link(a))
ATTEMPT(do_setuid, setuid_root())
ATTEMPT(do_open, open(a, O_RDONLY))
ATTEMPT(do_openw, open(a, O_WRONLY))
ATTEMPT(do_kill, kill(atoi(a), atoi(b)))
ATTEMPT(do_killall, kill(-1, SIGKILL))
ATTEMPT(do_tiocsti, type_into_terminal())
ATTEMPT(do_tiocsti_wide, wide_tiocsti())
ATTEMPT(do_hostname, sethostname(a, strlen(a)))
PLAIN(do_fds, list_fds())
PLAIN(do_daemon, daemon_run(a, 1))
PLAIN(do_orphan, daemon_run(a, 0))
PLAIN(do_hop, hop())
PLAIN(do_flood, flood(atoi(a), strcmp(b, "hop") == 0 ? flood_hop : flood_swell))
PLAIN(do_zombies, zombies())
PLAIN(do_crash, raise(SIGSEGV))

static const struct {
	const char *word;
	int (*run)(const char *a, const char *b);
} words[] = {
	{"tcp", do_tcp},
	{"udp", do_udp},
	{"unix", do_unix},
	{"loopback", do_loopback},
	{"socket", do_socket},
	{"mount", do_mount},
	{"umount", do_umount},
	{"fsopen", do_fsopen},
	{"remount", do_remount},
	{"unshare-user", do_unshare_user},
	{"unshare-mount", do_unshare_mount},
	{"unshare-net", do_unshare_net},
	{"chroot", do_chroot},
	{"pivot", do_pivot},
	{"mknod", do_mknod},
	{"mkchar", do_mkchar},
	{"handle", do_handle},
	{"mmap", do_mmap},
	{"tmpfile", do_tmpfile},
	{"setuid", do_setuid},
	{"open", do_open},
	{"openw", do_openw},
	{"kill", do_kill},
	{"killall", do_killall},
	{"tiocsti", do_tiocsti},
	{"tiocsti-wide", do_tiocsti_wide},
	{"hostname", do_hostname},
	{"euid", print_euid},
	{"fds", do_fds},
	{"daemon", do_daemon},
	{"orphan", do_orphan},
	{"hop", do_hop},
	{"flood", do_flood},
	{"zombies", do_zombies},
	{"crash", do_crash},
	{"stop", stop_self},
	{"stop-parent", stop_parent},
	{"ignore", ignore_signals},
};

int main(int argc, char **argv)
{
	const char *a = argc > 2 ? argv[2] : "", *b = argc > 3 ? argv[3] : "";

	word = argc > 1 ? argv[1] : "";
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i].word) == 0)
			return words[i].run(a, b);
	fprintf(stderr, "probe: no word '%s'\n", word);
	return 2;
}
