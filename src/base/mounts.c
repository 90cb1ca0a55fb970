/* SPDX-License-Identifier: MIT */
#include "base/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sys.h"

#define MOUNTINFO "/proc/self/mountinfo"
enum { TEXT_MAX = 16 << 20, DEVICE = 2, ROOT, POINT, WORDS /* of a line, as far as we read it */ };
enum { ASKED_MAX = 256 }; /* beyond that the text is read */

static bool is_octal(const char *text)
{
	return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7' &&
	       text[2] >= '0' && text[2] <= '7';
}

/* Blanks, newlines and backslashes are \NNN there. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (*text == '\\' && is_octal(text + 1)) {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static bool parse_line(char *line, struct mount_entry *ret)
{
	char *words[WORDS], *word, *next = NULL;

	for (int i = 0; i < WORDS; i++) {
		words[i] = strtok_r(i ? NULL : line, " ", &next);
		if (!words[i])
			return false;
	}
	unescape(words[ROOT]);
	unescape(words[POINT]);
	/* What comes before the dash differs in number. */
	do
		word = strtok_r(NULL, " ", &next);
	while (word && strcmp(word, "-") != 0);
	word = word ? strtok_r(NULL, " ", &next) : NULL;
	*ret = (struct mount_entry){words[DEVICE], words[ROOT], words[POINT], word ? word : ""};
	return true;
}

int mounts_parse(char *text, struct mounts *ret)
{
	struct mounts mounts = {.text = text};
	size_t lines = 1;
	char *next = NULL;

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	mounts.items = calloc(lines, sizeof(*mounts.items));
	if (!mounts.items) {
		free(text);
		return -ENOMEM;
	}
	for (char *line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next))
		mounts.len += parse_line(line, &mounts.items[mounts.len]);
	*ret = mounts;
	return 0;
}

int mounts_read(struct mounts *ret, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	int r = file_read(AT_FDCWD, MOUNTINFO, TEXT_MAX, &text, err);

	if (r < 0)
		return r;
	if (!text.data && str_append(&text, "") < 0)
		return err_oom(err);
	return mounts_parse(take_ptr(text.data), ret) < 0 ? err_oom(err) : 0;
}

void mounts_release(struct mounts *mounts)
{
	free(mounts->items);
	free(mounts->text);
	*mounts = (struct mounts){0};
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each mount of /proc is a filesystem of its own, with the same in it. */
static const char *filesystem(const struct mount_entry *entry)
{
	return strcmp(entry->type, "proc") == 0 ? entry->type : entry->device;
}

/* A machine with many containers has thousands of them. */
int mounts_have_twins(const struct mounts *mounts)
{
	_cleanup_(freep) const char **devices = calloc(mounts->len + 1, sizeof(*devices));

	if (!devices)
		return -ENOMEM;
	for (size_t i = 0; i < mounts->len; i++)
		devices[i] = filesystem(&mounts->items[i]);
	qsort(devices, mounts->len, sizeof(*devices), compare_text);
	for (size_t i = 1; i < mounts->len; i++)
		if (strcmp(devices[i], devices[i - 1]) == 0)
			return 1;
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

bool mounts_may_have_twins(void)
{
	uint64_t ids[ASKED_MAX], devices[ASKED_MAX];
	int n = sys_listmount(0, ids, ASKED_MAX);

	if (n <= 0 || n == ASKED_MAX)
		return true;
	for (int i = 0; i < n; i++) {
		struct sys_statmount mount = {0};

		if (sys_statmount(ids[i], &mount) < 0 || !(mount.mask & SYS_STATMOUNT_SB))
			return true;
		devices[i] = (uint64_t)mount.dev_major << 32 | mount.dev_minor;
		if (mount.magic == PROC_SUPER_MAGIC)
			devices[i] = UINT64_MAX; /* see filesystem() */
	}
	qsort(devices, (size_t)n, sizeof(*devices), compare_numbers);
	for (int i = 1; i < n; i++)
		if (devices[i] == devices[i - 1])
			return true;
	return false;
}

static const struct mount_entry *mount_of(const struct mounts *mounts, const char *path)
{
	const struct mount_entry *found = NULL;

	for (size_t i = 0; i < mounts->len; i++) {
		const struct mount_entry *entry = &mounts->items[i];

		if (path_covers(entry->point, path) &&
		    (!found || path_covers(found->point, entry->point)))
			found = entry;
	}
	return found;
}

/* What is at PATH below FROM, below TO. */
static char *transfer(const char *path, const char *from, const char *to)
{
	const char *rest = path + (strcmp(from, "/") == 0 ? 0 : strlen(from));

	return *rest && strcmp(rest, "/") != 0 ? path_join(to, rest) : strdup(to);
}

/* The name that ENTRY gives IN_FS, or what is in it; NULL and 0: none. */
static int name_by(const struct mount_entry *entry, const char *in_fs, char **ret)
{
	*ret = NULL;
	if (path_covers(entry->root, in_fs))
		*ret = transfer(in_fs, entry->root, entry->point);
	else if (path_covers(in_fs, entry->root))
		*ret = strdup(entry->point);
	else
		return 0;
	return *ret ? 0 : -ENOMEM;
}

int mounts_mirrors(const struct mounts *mounts, const char *path, struct strv *ret)
{
	const struct mount_entry *own = mount_of(mounts, path);
	_cleanup_(freep) char *in_fs = own ? transfer(path, own->point, own->root) : NULL;
	int r = 0;

	if (own && !in_fs)
		return -ENOMEM;
	for (size_t i = 0; own && i < mounts->len && r == 0; i++) {
		const struct mount_entry *entry = &mounts->items[i];
		_cleanup_(freep) char *name = NULL;

		if (entry == own || strcmp(entry->device, own->device) != 0)
			continue;
		r = name_by(entry, in_fs, &name);
		/* Not where something else is mounted over it. */
		if (name && strcmp(name, path) != 0 && mount_of(mounts, name) == entry)
			r = strv_add(ret, name);
	}
	return r;
}

/* As the kernel names them. */
static bool is_of_kernel(const char *type)
{
	static const char *const types[] = {"proc", "sysfs", "cgroup", "cgroup2"};

	for (size_t i = 0; i < array_len(types); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

int mounts_of_kernel(const struct mounts *mounts, struct strv *ret)
{
	int r = 0;

	for (size_t i = 0; i < mounts->len && r == 0; i++) {
		const struct mount_entry *entry = &mounts->items[i];

		if (!is_of_kernel(entry->type) || path_covers("/proc", entry->point) ||
		    path_covers("/sys", entry->point))
			continue;
		if (mount_of(mounts, entry->point) == entry)
			r = strv_add(ret, entry->point);
	}
	return r;
}
