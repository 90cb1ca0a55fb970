/* SPDX-License-Identifier: MIT */
/*
 * least - asks the kernel for what a run of pale asks for, and does nothing else.
 *
 *     least [--staged FOLDER] COMMAND [ARG...]
 *     least --filter
 *
 * Namespaces, mounts, Landlock, a filter, no capabilities, loopback, and cgroups (v1) where it may
 * make them: but no policy, no record, nobody who watches, and nothing that is looked at twice.
 * No sandbox of this kind costs less. Staged, what is written in the working directory goes to
 * FOLDER/upper; FOLDER/work is the overlay's own. --filter writes the filter to standard output.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#include "confine/filters.h"
#pragma GCC diagnostic pop

enum { GROUPS = 2, CAPABILITIES = 41, ALL_OF_FILES = 0x1fff, READS = 0xd };

static const char *const controllers[GROUPS] = {"memory", "pids"};
static char groups[GROUPS][128];
static const char *stage; /* NULL: not staged */

static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
static const char *const links[][2] = {
	{"usr/bin", "bin"},     {"usr/sbin", "sbin"},        {"usr/lib", "lib"},
	{"usr/lib64", "lib64"}, {"/proc/self/fd", "dev/fd"},
};
static const char *const shown[] = {"usr", "etc", "opt", "sys/devices/system"};
static const char *const own[] = {"tmp", "run", "var/tmp", "root", "dev/shm"};
static const char *const folders[] = {
	"usr",  "etc", "opt",     "sys",     "sys/devices", "sys/devices/system",
	"tmp",  "run", "var",     "var/tmp", "root",        "proc",
	"work", "dev", "dev/pts", "dev/shm"};

static int must(int r, const char *what)
{
	if (r >= 0)
		return r;
	perror(what);
	_exit(125);
}

static void put(const char *path, const char *text)
{
	int fd = must(open(path, O_WRONLY | O_CLOEXEC), path);

	must((int)write(fd, text, strlen(text)), path);
	close(fd);
}

static void make_groups(void)
{
	for (int i = 0; i < GROUPS; i++) {
		snprintf(groups[i], sizeof(groups[i]), "/sys/fs/cgroup/%s/pale-least-%d",
			 controllers[i], (int)getpid());
		if (mkdir(groups[i], 0755) < 0)
			groups[i][0] = '\0';
	}
}

/* -- In the sandbox ------------------------------------------------------- */

static void join_groups(void)
{
	char tasks[160];

	for (int i = 0; i < GROUPS; i++) {
		snprintf(tasks, sizeof(tasks), "%s/tasks", groups[i]);
		if (groups[i][0])
			put(tasks, "0");
	}
}

static int make_fs(const char *type)
{
	int fs = must(sys_fsopen(type), type), fd;

	must(sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL), type);
	fd = must(sys_fsmount(fs, MOUNT_ATTR_NOSUID), type);
	close(fs);
	return fd;
}

static void attach(int fd, int root, const char *at)
{
	must(sys_move_mount_to(fd, root, at), at);
	close(fd);
}

static void show(int from, const char *path, int root, const char *at, bool writable)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID |
					      (writable ? 0 : MOUNT_ATTR_RDONLY),
				  .propagation = SYS_MS_PRIVATE};
	int fd = must(sys_open_tree(from, path, OPEN_TREE_CLONE | AT_EMPTY_PATH | SYS_AT_RECURSIVE),
		      path);

	must(sys_mount_setattr(fd, SYS_AT_RECURSIVE, &attr), path);
	attach(fd, root, at);
}

static void set(int fs, const char *key, const char *value)
{
	must(sys_fsconfig(fs, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, key, value), key);
}

static int make_overlay(void)
{
	int fs = must(sys_fsopen("overlay"), "overlay"), fd;
	char upper[PATH_MAX], work[PATH_MAX];

	snprintf(upper, sizeof(upper), "%s/upper", stage);
	snprintf(work, sizeof(work), "%s/work", stage);
	set(fs, "lowerdir", ".");
	set(fs, "upperdir", upper);
	set(fs, "workdir", work);
	set(fs, "userxattr", NULL);
	must(sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL), "overlay");
	fd = must(sys_fsmount(fs, MOUNT_ATTR_NOSUID), "overlay");
	close(fs);
	return fd;
}

static int build(void)
{
	int host = must(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/"), root = make_fs("tmpfs");
	int work = must(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), ".");
	int staged = stage ? make_overlay() : -1;
	char path[32];

	must(sys_move_mount(root, host), "/");
	for (size_t i = 0; i < array_len(folders); i++)
		must(mkdirat(root, folders[i], 0755), folders[i]);
	for (size_t i = 0; i < array_len(links); i++)
		must(symlinkat(links[i][0], root, links[i][1]), links[i][1]);
	attach(make_fs("proc"), root, "proc");
	attach(make_fs("devpts"), root, "dev/pts");
	for (size_t i = 0; i < array_len(devices); i++) {
		snprintf(path, sizeof(path), "dev/%s", devices[i]);
		must(mknodat(root, path, S_IFREG | 0644, 0), path);
		show(host, path, root, path, false);
	}
	for (size_t i = 0; i < array_len(shown); i++)
		show(host, shown[i], root, shown[i], false);
	for (size_t i = 0; i < array_len(own); i++)
		show(root, own[i], root, own[i], true);
	must(sys_mount_setattr(root, 0, &(struct mount_attr){.attr_set = MOUNT_ATTR_RDONLY}), "/");
	if (staged >= 0)
		attach(staged, root, "work");
	else
		show(work, "", root, "work", true);
	return root;
}

static void loopback_up(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int sock = must(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");

	must(ioctl(sock, SIOCSIFFLAGS, &lo), "lo");
	close(sock);
}

static void confine(void)
{
	static const char *const rules[] = {"/", "/dev", "/proc", "/run", "/tmp", "/work"};
	struct sys_landlock_ruleset attr = {.handled_access_fs = ALL_OF_FILES};
	int set = must(sys_landlock_create_ruleset(&attr, sizeof(attr), 0), "Landlock");

	for (size_t i = 0; i < array_len(rules); i++) {
		struct landlock_path_beneath_attr rule = {
			.allowed_access = i == 0 ? READS : ALL_OF_FILES,
			.parent_fd = must(open(rules[i], O_PATH | O_CLOEXEC), rules[i])};

		must(sys_landlock_add_rule(set, &rule), rules[i]);
		close(rule.parent_fd);
	}
	for (unsigned long i = 0; i < CAPABILITIES; i++)
		(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	must(sys_landlock_restrict_self(set, 0), "Landlock");
	must((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
			  &filters[0]),
	     "seccomp");
}

_Noreturn static void become_first(char **argv)
{
	int root, status;
	pid_t pid;

	join_groups();
	root = build();
	must(fchdir(root), "/");
	must(sys_pivot_root(".", "."), "pivot_root");
	must(umount2(".", MNT_DETACH), "umount");
	must(chdir("/work"), "/work");
	loopback_up();
	confine();
	pid = must(vfork(), "vfork");
	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	must(waitpid(pid, &status, 0), "waitpid");
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* -- Outside --------------------------------------------------------------- */

static void put_map(pid_t pid, const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	put(path, text);
}

int main(int argc, char **argv)
{
	struct sys_clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS |
					       CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS,
				      .exit_signal = SIGCHLD};
	char map[64], go;
	int pair[2], status;
	pid_t pid;

	if (argc > 1 && strcmp(argv[1], "--filter") == 0)
		return write(1, filters_0, sizeof(filters_0)) == sizeof(filters_0) ? 0 : 1;
	if (argc > 3 && strcmp(argv[1], "--staged") == 0) {
		stage = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc < 2)
		return 125;
	make_groups();
	must(pipe2(pair, O_CLOEXEC), "pipe");
	pid = must(sys_clone3(&args), "clone3");
	if (pid == 0) {
		close(pair[1]);
		if (read(pair[0], &go, 1) != 1)
			return 125;
		become_first(argv + 1);
	}
	snprintf(map, sizeof(map), "0 %d 1\n", (int)geteuid());
	put_map(pid, "uid_map", map);
	put_map(pid, "setgroups", "deny");
	snprintf(map, sizeof(map), "0 %d 1\n", (int)getegid());
	put_map(pid, "gid_map", map);
	must((int)write(pair[1], "", 1), "write");
	must(waitpid(pid, &status, 0), "waitpid");
	for (int i = 0; i < GROUPS; i++)
		if (groups[i][0])
			(void)rmdir(groups[i]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
