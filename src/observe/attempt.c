/* SPDX-License-Identifier: MIT */
#include "observe/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/socket.h>

#include "observe/call.h"
#include "observe/profile.h"
#include "observe/task.h"

/* O_ACCMODE has O_PATH in it for some C libraries. */
enum { WRITES = O_WRONLY | O_RDWR };

static int dir_of(const struct seccomp_data *data, int arg)
{
	return arg < 0 ? AT_FDCWD : (int)data->args[arg];
}

static const char *read_name(pid_t pid, const struct seccomp_data *data, int dir, int name,
			     char ret[PATH_MAX])
{
	char text[PATH_MAX];

	if (name < 0 || task_read_name(pid, data->args[name], text) < 0)
		return NULL;
	return task_resolve(pid, dir_of(data, dir), text, ret) < 0 ? NULL : ret;
}

/* An open as what it does; one for reading alone is of use to a profile only. */
static void read_open(const struct seccomp_data *data, struct attempt *a)
{
	const struct call *call = a->call;

	a->flags = call->flags < 0 ? O_WRONLY | O_CREAT | O_TRUNC
				   : (unsigned)data->args[call->flags];
	a->no_follow = a->flags & O_NOFOLLOW;
	if (a->flags & O_PATH)
		a->flags = O_RDONLY; /* the kernel takes no notice of the others */
	/* O_TMPFILE has no name: the folder is what matters, and it must take writes. */
	if ((a->flags & O_TMPFILE) == O_TMPFILE)
		a->uses[0].use = NAME_CHANGES;
	else if (a->flags & O_CREAT)
		a->uses[0].use = a->flags & O_EXCL ? NAME_MADE : NAME_OPENED;
	else if (a->flags & (WRITES | O_TRUNC))
		a->uses[0].use = NAME_CHANGES;
	else
		a->uses[0].use = NAME_USED;
	if (a->flags & O_CREAT)
		a->op = "create";
}

static void read_address(uint64_t address, size_t len, struct attempt *a)
{
	struct sockaddr_storage bytes = {0};

	if (len > sizeof(bytes))
		len = sizeof(bytes);
	if (address && task_read(a->pid, address, &bytes, len) == (ssize_t)len)
		address_parse(&bytes, len, &a->address);
	if ((a->address.kind == ADDRESS_INTERNET || a->address.kind == ADDRESS_LOOPBACK) &&
	    !endpoint_read(&bytes, len, &a->to))
		a->address.kind = ADDRESS_OTHER;
	if (a->address.kind == ADDRESS_PATH &&
	    task_resolve(a->pid, AT_FDCWD, a->address.text, a->path) < 0)
		a->address.kind = ADDRESS_OTHER;
}

static const enum name_use uses[][2] = {
	[CALL_OPEN] = {NAME_OPENED},
	[CALL_MAKE] = {NAME_MADE},
	[CALL_REMOVE] = {NAME_GOES},
	[CALL_CHANGE] = {NAME_CHANGES},
	[CALL_RENAME] = {NAME_GOES, NAME_TAKEN},
	[CALL_LINK] = {NAME_USED, NAME_MADE},
	[CALL_EXECUTE] = {NAME_USED},
};

void attempt_read(pid_t pid, const struct seccomp_data *data, struct attempt *a)
{
	const struct call *call = call_find(data->nr);

	a->pid = pid;
	a->call = call;
	a->op = call ? call->op : NULL;
	a->flags = 0;
	a->no_follow = false;
	a->uses[0].path = a->uses[1].path = NULL;
	a->address.kind = ADDRESS_OTHER;
	if (!call)
		return;
	if (call->kind == CALL_CONNECT) {
		read_address(data->args[call->name], (size_t)(uint32_t)data->args[call->name + 1],
			     a);
		return;
	}
	a->uses[0].path = read_name(pid, data, call->dir, call->name, a->path);
	a->uses[0].use = uses[call->kind][0];
	a->uses[1].path = read_name(pid, data, call->dir2, call->name2, a->path2);
	a->uses[1].use = uses[call->kind][1];
	if (call->kind == CALL_OPEN)
		read_open(data, a);
	else if (call->flags >= 0 && call->kind == CALL_CHANGE)
		a->no_follow = data->args[call->flags] & AT_SYMLINK_NOFOLLOW;
	else if (call->flags >= 0 && call->kind == CALL_REMOVE &&
		 data->args[call->flags] & AT_REMOVEDIR)
		a->op = "rmdir";
}

static unsigned open_profile(unsigned flags)
{
	unsigned mode = flags & WRITES, what = 0;

	if (mode == O_RDONLY || mode == O_RDWR)
		what |= PROFILE_READ;
	if (mode != O_RDONLY || flags & O_TRUNC)
		what |= PROFILE_WRITE;
	return flags & O_CREAT ? what | PROFILE_CREATE : what;
}

/* Where there is no memory for it, it is counted as dropped. */
void attempt_profile(const struct attempt *a, struct profile *profile)
{
	static const unsigned what[][2] = {
		[CALL_MAKE] = {PROFILE_CREATE},
		[CALL_REMOVE] = {PROFILE_REMOVE},
		[CALL_CHANGE] = {PROFILE_WRITE},
		[CALL_RENAME] = {PROFILE_REMOVE, PROFILE_CREATE},
		[CALL_LINK] = {PROFILE_READ, PROFILE_CREATE},
		[CALL_EXECUTE] = {PROFILE_EXECUTE},
	};

	if (!a->call)
		return;
	if (a->call->kind == CALL_CONNECT) {
		if (a->address.kind == ADDRESS_PATH)
			(void)profile_add_connection(profile, a->path, 0);
		else if (a->address.kind != ADDRESS_OTHER)
			(void)profile_add_connection(profile, a->address.text, a->address.port);
		return;
	}
	for (size_t i = 0; i < 2; i++)
		if (a->uses[i].path)
			(void)profile_add_path(profile, a->uses[i].path,
					       a->call->kind == CALL_OPEN ? open_profile(a->flags)
									  : what[a->call->kind][i]);
}
