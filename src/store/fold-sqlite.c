/* SPDX-License-Identifier: MIT */
/*
 * From the spool into the database, so that a kill at any step neither loses nor
 * doubles: the spool is renamed under a lock that writers share, all renamed ones are
 * read in the order of their numbers, in one transaction keyed by what records say
 * they are, and removed once that has lasted.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "store/fold-impl.h"
#include "store/spool.h"

#define BAD_NAME SPOOL_NAME ".bad"

enum { CHUNK = 256 * 1024, BAD_MAX = 1 << 20, BAD_LINE_MAX = 4096, FILES_MAX = 4096 };

/* --- lines --- */

/* For a person to look at; a full disk or file is no reason to stop. */
static void keep_bad(struct store *store, const char *line, size_t len)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;

	store->bad++;
	if (store->in_memory || store->state < 0)
		return;
	fd = openat(store->state, BAD_NAME,
		    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > BAD_MAX)
		return;
	(void)fd_write_all(fd, line, len > BAD_LINE_MAX ? BAD_LINE_MAX : len);
	(void)fd_write_all(fd, "\n", 1);
}

static int fold_line(struct fold *f, const char *line, size_t len, struct err *err)
{
	const char *json;
	size_t json_len;
	int r;

	if (len == 0)
		return 0;
	if (!spool_line_open(line, len, &json, &json_len)) {
		keep_bad(f->store, line, len);
		return 0;
	}
	r = fold_record(f, json, json_len, err);
	if (r != -EBADMSG)
		return r;
	keep_bad(f->store, line, len);
	return 0;
}

/* Lines that come in pieces. */
struct lines {
	struct fold *fold;
	struct str begun; /* of a line whose end has not come yet */
	bool skipping;    /* it is longer than any record */
};

static void lines_release(struct lines *lines)
{
	str_release(&lines->begun);
}

/* N bytes of the line at hand, the last ones if it ENDS. */
static int lines_add(struct lines *lines, const char *text, size_t n, bool ends, struct err *err)
{
	struct str *begun = &lines->begun;
	int r;

	if (lines->skipping)
		return 0;
	if (begun->len + n > SPOOL_RECORD_MAX) {
		keep_bad(lines->fold->store, begun->len ? begun->data : text,
			 begun->len ? begun->len : n);
		lines->skipping = true;
		str_truncate(begun, 0);
		return 0;
	}
	if (ends && begun->len == 0)
		return fold_line(lines->fold, text, n, err);
	if (str_append_bytes(begun, text, n) < 0)
		return err_oom(err);
	if (!ends)
		return 0;
	r = fold_line(lines->fold, begun->data, begun->len, err);
	str_truncate(begun, 0);
	return r;
}

static int lines_feed(struct lines *lines, const char *text, size_t len, struct err *err)
{
	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;
		int r = lines_add(lines, text, n, end != NULL, err);

		if (r < 0)
			return r;
		if (end)
			lines->skipping = false;
		n += end != NULL;
		text += n;
		len -= n;
	}
	return 0;
}

/* The last line need not end. */
static int lines_end(struct lines *lines, struct err *err)
{
	return lines->begun.len > 0
		       ? fold_line(lines->fold, lines->begun.data, lines->begun.len, err)
		       : 0;
}

int fold_text(struct store *store, const char *text, size_t len, struct err *err)
{
	_cleanup_(fold_release) struct fold f = {.store = store};
	_cleanup_(lines_release) struct lines lines = {.fold = &f};
	int r = fold_init(&f, err);

	if (r == 0)
		r = lines_feed(&lines, text, len, err);
	return r < 0 ? r : lines_end(&lines, err);
}

static int fold_fd(struct fold *f, int fd, struct err *err)
{
	_cleanup_(lines_release) struct lines lines = {.fold = f};
	_cleanup_(freep) char *buf = malloc(CHUNK);

	if (!buf)
		return err_oom(err);
	for (;;) {
		ssize_t n = read(fd, buf, CHUNK);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, -errno, "read the spool");
		if (n == 0)
			return lines_end(&lines, err);
		r = lines_feed(&lines, buf, (size_t)n, err);
		if (r < 0)
			return r;
	}
}

/* --- files --- */

struct files {
	unsigned *numbers; /* sorted */
	size_t len;
};

static void files_release(struct files *files)
{
	free(files->numbers);
}

/* The number in "spool.N", or 0. */
static unsigned number_of(const char *name)
{
	unsigned long n;
	char *end;

	if (!str_starts(name, SPOOL_NAME ".") || name[6] < '1' || name[6] > '9')
		return 0;
	errno = 0;
	n = strtoul(name + 6, &end, 10);
	return *end || errno || n > 1u << 30 ? 0 : (unsigned)n;
}

static int by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

static void dir_closep(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int files_list(int state, struct files *files, struct err *err)
{
	_cleanup_(dir_closep) DIR *dir = NULL;
	int fd = openat(state, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		fd_close(fd);
		return err_sys(err, -errno, "read the state folder");
	}
	while ((entry = readdir(dir)) && files->len < FILES_MAX) {
		unsigned n = number_of(entry->d_name);
		unsigned *grown = n ? reallocarray(files->numbers, files->len + 1, sizeof(n))
				    : NULL;

		if (n && !grown)
			return err_oom(err);
		if (!n)
			continue;
		files->numbers = grown;
		files->numbers[files->len++] = n;
	}
	if (files->len > 0)
		qsort(files->numbers, files->len, sizeof(*files->numbers), by_number);
	return 0;
}

static void file_name(unsigned number, char name[32])
{
	snprintf(name, 32, SPOOL_NAME ".%u", number);
}

/* Put the spool behind those that were renamed before. Nobody writes to it from then
 * on: who waits for the lock finds that the name leads elsewhere. */
static int take_spool(int state, struct files *files, struct err *err)
{
	_cleanup_(fd_closep) int fd = spool_lock(state, LOCK_EX, false, err);
	unsigned next = files->len > 0 ? files->numbers[files->len - 1] + 1 : 1;
	unsigned *grown;
	char name[32];
	struct stat st;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && st.st_size == 0)
		return 0;
	grown = reallocarray(files->numbers, files->len + 1, sizeof(next));
	if (!grown)
		return err_oom(err);
	files->numbers = grown;
	file_name(next, name);
	if (renameat2(state, SPOOL_NAME, state, name, RENAME_NOREPLACE) < 0)
		return err_sys(err, -errno, "rename the spool");
	files->numbers[files->len++] = next;
	return 0;
}

static int fold_file(struct fold *f, const char *name, struct err *err)
{
	_cleanup_(fd_closep) int fd = openat(f->store->state, name,
					     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, -errno, "open %s", name);
	return fold_fd(f, fd, err);
}

static int fold_files(struct store *store, const struct files *files, struct err *err)
{
	_cleanup_(fold_release) struct fold f = {.store = store};
	char name[32];
	int r = fold_init(&f, err);

	for (size_t i = 0; i < files->len && r == 0; i++) {
		file_name(files->numbers[i], name);
		r = fold_file(&f, name, err);
	}
	/* Nothing can be renamed where nothing can be written. */
	if (r == 0 && store->in_memory)
		r = fold_file(&f, SPOOL_NAME, err);
	return r;
}

bool fold_is_due(int state)
{
	_cleanup_(files_release) struct files files = {0};
	struct stat st;

	if (fstatat(state, SPOOL_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0)
		return true;
	return files_list(state, &files, NULL) == 0 && files.len > 0;
}

static void remove_files(int state, const struct files *files)
{
	char name[32];

	for (size_t i = 0; i < files->len; i++) {
		file_name(files->numbers[i], name);
		(void)unlinkat(state, name, 0);
	}
}

/* What goes into one that was set aside, or removed, nobody would find again. */
static int check_current(struct store *store, struct err *err)
{
	return db_is_current(store) ? 0
				    : err_set(err, ERR_SYSTEM, -ESTALE,
					      "the history was replaced by another one");
}

int fold(struct store *store, struct err *err)
{
	_cleanup_(files_release) struct files files = {0};
	uint64_t bad = store->bad;
	int r;

	if (!fold_is_due(store->state))
		return 0;
	/* The write lock keeps other folds away from the files, too. */
	r = db_exec(store, "BEGIN IMMEDIATE", err);
	if (r < 0)
		return r;
	r = check_current(store, err);
	if (r == 0)
		r = files_list(store->state, &files, err);
	if (r == 0 && !store->in_memory)
		r = take_spool(store->state, &files, err);
	if (r == 0)
		r = fold_files(store, &files, err);
	if (r == 0)
		r = db_exec(store, "COMMIT", err);
	if (r < 0) {
		store->bad = bad;
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
		return r;
	}
	r = check_current(store, err);
	if (r == 0 && !store->in_memory)
		remove_files(store->state, &files);
	return r;
}
