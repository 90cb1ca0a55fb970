/* SPDX-License-Identifier: MIT */
#include "stage/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "stage/access.h"
#include "stage/changes.h"
#include "stage/lines.h"
#include "stage/stage.h"

enum { INDEX_MAX = 1 << 30 };

static int compare(const void *a, const void *b)
{
	const struct index_entry *x = a, *y = b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return change_path_compare(x->path, y->path);
}

struct index_entry *index_find(const struct index *index, unsigned root, const char *path)
{
	struct index_entry key = {.root = root, .path = (char *)path};

	if (index->sorted == 0)
		return NULL;
	return bsearch(&key, index->items, index->sorted, sizeof(key), compare);
}

static void entry_release(struct index_entry *entry)
{
	free(entry->path);
	free(entry->run);
	node_release(&entry->base);
}

int index_add(struct index *index, struct index_entry *entry)
{
	if (index->n == index->cap) {
		size_t cap = index->cap ? index->cap * 2 : 64;
		struct index_entry *grown = reallocarray(index->items, cap, sizeof(*grown));

		if (!grown) {
			entry_release(entry);
			return -ENOMEM;
		}
		index->items = grown;
		index->cap = cap;
	}
	index->items[index->n++] = *entry;
	return 0;
}

void index_drop(struct index *index, struct index_entry *entry)
{
	(void)index;
	free(entry->run);
	entry->run = NULL;
	entry->root = UINT32_MAX; /* sorts behind all others */
}

void index_sort(struct index *index)
{
	size_t kept = 0;

	if (index->n > 1)
		qsort(index->items, index->n, sizeof(*index->items), compare);
	for (size_t i = 0; i < index->n; i++) {
		struct index_entry *entry = &index->items[i];

		if (entry->root == UINT32_MAX ||
		    (kept > 0 && compare(&index->items[kept - 1], entry) == 0)) {
			entry_release(entry);
			continue;
		}
		if (kept != i)
			index->items[kept] = *entry;
		kept++;
	}
	index->n = index->sorted = kept;
}

struct index *index_free(struct index *index)
{
	for (size_t i = 0; index && i < index->n; i++)
		entry_release(&index->items[i]);
	if (index)
		free(index->items);
	free(index);
	return NULL;
}

static bool is_digest(const char *text)
{
	return strlen(text) == SHA256_HEX - 1 && strspn(text, "0123456789abcdef") == SHA256_HEX - 1;
}

static int parse_entry(struct fields *fields, struct index *index)
{
	struct index_entry entry = {.root = (unsigned)fields_number(fields, 65535)};
	const char *digest;
	int r;

	entry.path = strdup(fields_text(fields));
	entry.t0 = fields_time(fields);
	entry.is_conflict = fields_number(fields, 1);
	entry.upper_ino = (ino_t)fields_number(fields, UINT64_MAX);
	entry.upper_ctime = fields_time(fields);
	entry.run = strdup(fields_text(fields));
	digest = fields_text(fields);
	if (is_digest(digest))
		memcpy(entry.digest, digest, SHA256_HEX);
	r = entry.path && entry.run ? fields_node(fields, &entry.base) : -ENOMEM;
	if (r < 0) {
		entry_release(&entry);
		return r == -EBADMSG ? 0 : r;
	}
	return index_add(index, &entry);
}

int index_parse(const char *text, size_t len, struct index *index)
{
	const char *at = text, *end = text + len;
	int r;

	for (;;) {
		_cleanup_(fields_release) struct fields fields = {0};
		const char *word;

		r = fields_read(&at, end, &fields);
		if (r == -EBADMSG)
			continue;
		if (r <= 0)
			break;
		word = fields_text(&fields);
		if (str_eq(word, "since"))
			index->since = fields_time(&fields);
		else if (str_eq(word, "path"))
			r = parse_entry(&fields, index);
		if (r < 0)
			break;
	}
	index_sort(index);
	return r;
}

int index_load(const struct stage *stage, struct index **ret, struct err *err)
{
	_cleanup_(index_freep) struct index *index = NULL;
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(fd_closep) int fd = open_file(stage->dir_fd, "index", 0);
	int r = 0;

	if (fd < 0 && fd != -ENOENT)
		return err_sys(err, fd, "open the index of stage %s", stage->name);
	index = calloc(1, sizeof(*index));
	if (!index)
		return err_oom(err);
	if (fd >= 0)
		r = fd_read_all(fd, INDEX_MAX, &text);
	if (r == 0 && fd >= 0)
		r = index_parse(str_text(&text), text.len, index);
	if (r < 0)
		return err_sys(err, r, "read the index of stage %s", stage->name);
	*ret = take_ptr(index);
	return 0;
}

int index_print_entry(const struct index_entry *entry, struct str *out)
{
	struct line line = {0};

	line_text(&line, "path");
	line_number(&line, entry->root);
	line_text(&line, entry->path);
	line_time(&line, entry->t0);
	line_number(&line, entry->is_conflict);
	line_number(&line, entry->upper_ino);
	line_time(&line, entry->upper_ctime);
	line_text(&line, entry->run);
	line_text(&line, entry->digest[0] ? entry->digest : "-");
	line_node(&line, &entry->base);
	return line_end(&line, out);
}

static int print(const struct index *index, struct str *out)
{
	struct line line = {0};
	int r;

	line_text(&line, "since");
	line_time(&line, index->since);
	r = line_end(&line, out);
	for (size_t i = 0; i < index->n && r == 0; i++)
		if (index->items[i].root != UINT32_MAX)
			r = index_print_entry(&index->items[i], out);
	return r;
}

static int write_file(int dirfd, const char *name, const struct str *text)
{
	_cleanup_(fd_closep) int fd = openat(
		dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd_write_all(fd, str_text(text), text->len);
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Copies that no entry names. Best effort: the next time does it as well. */
static void sweep(const struct stage *stage, const struct index *index)
{
	_cleanup_(fd_closep) int dir = openat(stage->dir_fd, "base",
					      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_(strv_release) struct strv names = {0};
	_cleanup_(freep) const char **used = NULL;
	size_t n = 0;

	if (dir < 0 || dir_names(dir, &names) < 0 || names.len == 0)
		return;
	used = calloc(index->n + 1, sizeof(*used));
	if (!used)
		return;
	for (size_t i = 0; i < index->n; i++)
		if (index->items[i].digest[0] && index->items[i].root != UINT32_MAX)
			used[n++] = index->items[i].digest;
	qsort(used, n, sizeof(*used), compare_text);
	for (size_t i = 0; i < names.len; i++)
		if (!bsearch(&names.items[i], used, n, sizeof(*used), compare_text))
			unlinkat(dir, names.items[i], 0);
}

int index_save(const struct stage *stage, const struct index *index, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	int r = 0;

	if (index->n == 0) {
		if (unlinkat(stage->dir_fd, "index", 0) < 0 && errno != ENOENT)
			r = -errno;
	} else {
		r = print(index, &text);
		if (r == 0)
			r = write_file(stage->dir_fd, "index.new", &text);
		if (r == 0 && renameat(stage->dir_fd, "index.new", stage->dir_fd, "index") < 0)
			r = -errno;
		if (r < 0)
			unlinkat(stage->dir_fd, "index.new", 0);
	}
	if (r < 0)
		return err_sys(err, r, "write the index of stage %s", stage->name);
	sweep(stage, index);
	return 0;
}

int index_keep_copy(const struct stage *stage, const char *digest, const struct str *text,
		    struct err *err)
{
	_cleanup_(fd_closep) int dir = -1;
	struct stat st;
	int r;

	if (mkdirat(stage->dir_fd, "base", 0700) < 0 && errno != EEXIST)
		return err_sys(err, -errno, "make a folder in stage %s", stage->name);
	dir = openat(stage->dir_fd, "base", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_sys(err, -errno, "open a folder of stage %s", stage->name);
	if (fstatat(dir, digest, &st, AT_SYMLINK_NOFOLLOW) == 0 && (size_t)st.st_size == text->len)
		return 0;
	r = write_file(dir, digest, text);
	if (r < 0) {
		unlinkat(dir, digest, 0);
		return err_sys(err, r, "keep a copy in stage %s", stage->name);
	}
	return 0;
}

void index_lend_copy(const struct stage *stage, const char *digest, int dir_fd, bool back)
{
	_cleanup_(fd_closep) int base = -1;

	if (!digest[0])
		return;
	(void)mkdirat(stage->dir_fd, "base", 0700);
	base = openat(stage->dir_fd, "base", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (base < 0 || linkat(back ? dir_fd : base, digest, back ? base : dir_fd, digest, 0) < 0)
		return;
}

int index_read_copy(const struct stage *stage, const char *digest, struct str *ret, struct err *err)
{
	_cleanup_(fd_closep) int dir = -1, fd = -1;
	char now[SHA256_HEX];
	int r;

	if (!digest[0])
		return -ENOENT;
	dir = openat(stage->dir_fd, "base", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -ENOENT;
	fd = open_file(dir, digest, 0);
	if (fd < 0)
		return -ENOENT;
	r = fd_read_all(fd, INDEX_COPY_MAX, ret);
	if (r < 0)
		return err_sys(err, r, "read a copy in stage %s", stage->name);
	/* It may have been cut by a crash. */
	sha256_hex(str_text(ret), ret->len, now);
	return str_eq(now, digest) ? 0 : -ENOENT;
}
