/* SPDX-License-Identifier: MIT */
#include "observe/call.h"

#include <asm/unistd.h>
#include <stddef.h>

#include "base/cleanup.h"

#define ROW(call, op, kind, ...)                                                                   \
	{                                                                                          \
		__NR_##call, op, kind, __VA_ARGS__                                                 \
	}

/* clang-format off */
static const struct call calls[] = {
	/*                                          dir name dir2 name2 flags */
	ROW(openat,       "open",     CALL_OPEN,     0,  1,  -1,  -1,   2),
	ROW(mkdirat,      "mkdir",    CALL_MAKE,     0,  1,  -1,  -1,  -1),
	ROW(mknodat,      "mknod",    CALL_MAKE,     0,  1,  -1,  -1,  -1),
	ROW(symlinkat,    "symlink",  CALL_MAKE,     1,  2,  -1,  -1,  -1),
	ROW(unlinkat,     "unlink",   CALL_REMOVE,   0,  1,  -1,  -1,   2),
	ROW(renameat2,    "rename",   CALL_RENAME,   0,  1,   2,   3,  -1),
	ROW(linkat,       "link",     CALL_LINK,     0,  1,   2,   3,  -1),
	ROW(truncate,     "truncate", CALL_CHANGE,  -1,  0,  -1,  -1,  -1),
	ROW(fchmodat,     "chmod",    CALL_CHANGE,   0,  1,  -1,  -1,  -1),
	ROW(fchownat,     "chown",    CALL_CHANGE,   0,  1,  -1,  -1,   4),
	ROW(utimensat,    "utime",    CALL_CHANGE,   0,  1,  -1,  -1,   3),
	ROW(setxattr,     "setxattr", CALL_CHANGE,  -1,  0,  -1,  -1,  -1),
	ROW(lsetxattr,    "setxattr", CALL_CHANGE,  -1,  0,  -1,  -1,  -1),
	ROW(removexattr,  "setxattr", CALL_CHANGE,  -1,  0,  -1,  -1,  -1),
	ROW(lremovexattr, "setxattr", CALL_CHANGE,  -1,  0,  -1,  -1,  -1),
	ROW(connect,      "connect",  CALL_CONNECT, -1,  1,  -1,  -1,  -1),
	ROW(sendto,       "send",     CALL_CONNECT, -1,  4,  -1,  -1,  -1),
	ROW(execve,       "execute",  CALL_EXECUTE, -1,  0,  -1,  -1,  -1),
	ROW(execveat,     "execute",  CALL_EXECUTE,  0,  1,  -1,  -1,   4),
#ifdef __NR_open
	ROW(open,         "open",     CALL_OPEN,    -1,  0,  -1,  -1,   1),
	ROW(creat,        "create",   CALL_OPEN,    -1,  0,  -1,  -1,  -1),
	ROW(mkdir,        "mkdir",    CALL_MAKE,    -1,  0,  -1,  -1,  -1),
	ROW(mknod,        "mknod",    CALL_MAKE,    -1,  0,  -1,  -1,  -1),
	ROW(symlink,      "symlink",  CALL_MAKE,    -1,  1,  -1,  -1,  -1),
	ROW(unlink,       "unlink",   CALL_REMOVE,  -1,  0,  -1,  -1,  -1),
	ROW(rmdir,        "rmdir",    CALL_REMOVE,  -1,  0,  -1,  -1,  -1),
	ROW(rename,       "rename",   CALL_RENAME,  -1,  0,  -1,   1,  -1),
	ROW(link,         "link",     CALL_LINK,    -1,  0,  -1,   1,  -1),
	ROW(chmod,        "chmod",    CALL_CHANGE,  -1,  0,  -1,  -1,  -1),
	ROW(chown,        "chown",    CALL_CHANGE,  -1,  0,  -1,  -1,  -1),
	ROW(lchown,       "chown",    CALL_CHANGE,  -1,  0,  -1,  -1,  -1),
	ROW(utime,        "utime",    CALL_CHANGE,  -1,  0,  -1,  -1,  -1),
	ROW(utimes,       "utime",    CALL_CHANGE,  -1,  0,  -1,  -1,  -1),
	ROW(futimesat,    "utime",    CALL_CHANGE,   0,  1,  -1,  -1,  -1),
#endif
#ifdef __NR_renameat
	ROW(renameat,     "rename",   CALL_RENAME,   0,  1,   2,   3,  -1),
#endif
};
/* clang-format on */

const struct call *call_find(int nr)
{
	for (size_t i = 0; i < array_len(calls); i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}
