/* SPDX-License-Identifier: MIT */
#include "session/fingerprint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/context.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/path.h"
#include "config/ignore.h"

enum { IGNORE_AT = 3 };

/* Of a folder only which one it is: the command works in it. What cannot be looked at is as
 * good as absent, and its coming back is a change. */
void fingerprint_look(struct fingerprint_file *file)
{
	struct stat st;

	file->ino = 0;
	if (!file->path || stat(file->path, &st) < 0)
		return;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	if (S_ISDIR(st.st_mode))
		return;
	file->size = st.st_size;
	file->mtime = st.st_mtim;
	file->ctime = st.st_ctim;
}

int fingerprint_take(const struct context *context, struct fingerprint *ret, struct err *err)
{
	const struct workspace *ws = &context->workspace;
	struct fingerprint print = {0};
	char *const paths[FINGERPRINT_FILES] = {
		strdup(SYSTEM_CONFIG),
		context->user_file ? strdup(context->user_file) : NULL,
		strdup(context->workspace_file),
		[IGNORE_AT] = path_join(ws->root, IGNORE_FILE),
		ws->state_dir ? path_join(ws->state_dir, "trust") : NULL,
		strdup(ws->root),
	};

	for (size_t i = 0; i < FINGERPRINT_FILES; i++) {
		print.files[i].path = paths[i];
		fingerprint_look(&print.files[i]);
	}
	if (!paths[0] || !paths[2] || !paths[3] || !paths[5]) {
		fingerprint_release(&print);
		return err_oom(err);
	}
	*ret = print;
	return 0;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool fingerprint_is_same(const struct fingerprint_file *was)
{
	struct fingerprint_file now = {.path = was->path};

	fingerprint_look(&now);
	return now.ino == was->ino &&
	       (now.ino == 0 ||
		(now.dev == was->dev && now.size == was->size && same_time(now.mtime, was->mtime) &&
		 same_time(now.ctime, was->ctime)));
}

const char *fingerprint_changed(const struct fingerprint *fingerprint)
{
	for (size_t i = 0; i < FINGERPRINT_FILES; i++)
		if (fingerprint->files[i].path && !fingerprint_is_same(&fingerprint->files[i]))
			return fingerprint->files[i].path;
	return NULL;
}

bool fingerprint_has_ignore(const struct fingerprint *fingerprint)
{
	return fingerprint->files[IGNORE_AT].ino != 0;
}

const char *fingerprint_newer(const struct fingerprint *fingerprint, struct timespec t)
{
	for (size_t i = 0; i < FINGERPRINT_FILES; i++) {
		const struct fingerprint_file *f = &fingerprint->files[i];

		if (f->ctime.tv_sec > t.tv_sec ||
		    (f->ctime.tv_sec == t.tv_sec && f->ctime.tv_nsec >= t.tv_nsec))
			return f->path;
	}
	return NULL;
}

void fingerprint_json(const struct fingerprint *fingerprint, struct json *json)
{
	struct sha256 hash;
	char hex[SHA256_HEX];

	sha256_init(&hash);
	for (size_t i = 0; i < FINGERPRINT_FILES; i++) {
		const struct fingerprint_file *f = &fingerprint->files[i];
		const uint64_t n[] = {f->dev,
				      f->ino,
				      (uint64_t)f->size,
				      (uint64_t)f->mtime.tv_sec,
				      (uint64_t)f->mtime.tv_nsec,
				      (uint64_t)f->ctime.tv_sec,
				      (uint64_t)f->ctime.tv_nsec};

		sha256_add(&hash, n, sizeof(n));
	}
	sha256_end_hex(&hash, hex);
	json_add_string(json, "fingerprint", hex);
}

void fingerprint_release(struct fingerprint *fingerprint)
{
	for (size_t i = 0; i < FINGERPRINT_FILES; i++)
		free(fingerprint->files[i].path);
	*fingerprint = (struct fingerprint){0};
}
