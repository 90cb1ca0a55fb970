/* SPDX-License-Identifier: MIT */
#include "base/dir-names.h"

#include <assert.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/sys.h"

#ifndef F2FS_SUPER_MAGIC
#define F2FS_SUPER_MAGIC 0xf2f52010
#endif
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

enum {
	BUF_SIZE = 8 * 1024,
	ONE_ENTRY = 32, /* or too little for one */
	BEGINNING = 6,  /* of a name: that much tells most of them apart */
};

static bool lists_all(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	switch ((uint32_t)fs.f_type) {
	case EXT4_SUPER_MAGIC: /* ext2 and ext3, too */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case F2FS_SUPER_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/* What would not fit would be read in vain. How a size counts names differs, but not by much. */
static bool fits(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size <= BUF_SIZE;
}

/* Alike for all that differ by the case of ASCII letters; for some others, too, which does no
 * harm. -1: it does not begin with ASCII. What comes later makes no difference. */
static int bit_of(const char *name)
{
	uint32_t hash = 0;
	unsigned char seen = 0;

	for (size_t i = 0; i < BEGINNING && name[i] && name[i] != '/'; i++) {
		seen |= (unsigned char)name[i];
		hash = (hash ^ ((unsigned char)name[i] | 0x20)) * 0x9e3779b1;
	}
	return seen < 0x80 ? (int)(hash >> 20) : -1;
}
static_assert(DIR_NAMES_BITS == 1 << (32 - 20), "a bit for each");

static bool is_ascii(const char *name)
{
	unsigned char seen = 0;

	for (; *name; name++)
		seen |= (unsigned char)*name;
	return seen < 0x80;
}

void dir_names_read(int fd, struct dir_names *ret)
{
	_Alignas(struct sys_dirent) char buf[BUF_SIZE];
	int n;

	ret->is_known = false;
	if (!fits(fd) || !lists_all(fd))
		return;
	n = sys_getdents(fd, buf, sizeof(buf));
	if (n < 0)
		return;
	memset(ret->bits, 0, sizeof(ret->bits));
	for (int at = 0; at < n;) {
		const struct sys_dirent *entry = (const void *)(buf + at);
		int bit = bit_of(entry->name);

		if (bit < 0 || !is_ascii(entry->name))
			return;
		ret->bits[bit / 64] |= 1ull << bit % 64;
		at += entry->len;
	}
	/* Only an empty answer says that this was all. */
	ret->is_known = (n == 0 || sys_getdents(fd, buf, ONE_ENTRY) == 0);
}

bool dir_names_may_have(const struct dir_names *names, const char *name)
{
	int bit = names->is_known ? bit_of(name) : -1;

	return bit < 0 || (names->bits[bit / 64] >> bit % 64 & 1);
}
