/* SPDX-License-Identifier: MIT */
/*
 * driver-patch - diff, patch and merge for a script: requests on stdin, answers on
 * stdout, many per process.
 *
 *     NAME NUMBER COUNT\n          then COUNT times   LENGTH\n BYTES
 *
 * and back STATUS CPU_US LENGTH\n BYTES. A LENGTH of -1 is nothing at all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/diff.h"
#include "base/str.h"
#include "stage/merge.h"
#include "stage/patch-zlib.h"
#include "stage/patch.h"
#include "stage/similar.h"

#define BLOBS_MAX 8

struct blob {
	char *data; /* NULL: nothing at all */
	size_t len;
};

struct request {
	char name[16];
	unsigned number;
	size_t n;
	struct blob blobs[BLOBS_MAX];
};

static bool read_blob(struct blob *blob)
{
	long len;

	if (scanf("%ld", &len) != 1 || getchar() != '\n')
		return false;
	*blob = (struct blob){0};
	if (len < 0)
		return true;
	blob->len = (size_t)len;
	blob->data = malloc(blob->len + 1); /* exact, so that sanitizers see one too many */
	if (!blob->data || fread(blob->data, 1, blob->len, stdin) != blob->len)
		return false;
	blob->data[blob->len] = '\0';
	return true;
}

static bool read_request(struct request *q)
{
	*q = (struct request){0};
	if (scanf("%15s %u %zu", q->name, &q->number, &q->n) != 3 || getchar() != '\n' ||
	    q->n > BLOBS_MAX)
		return false;
	for (size_t i = 0; i < q->n; i++)
		if (!read_blob(&q->blobs[i]))
			return false;
	return true;
}

/* Blobs: path, mode (octal), content; twice. The number is the context. */
static int do_patch(const struct request *q, struct str *out)
{
	const struct blob *b = q->blobs;
	struct patch_side sides[2];
	struct patch_options options = {.context = q->number, .deflate = patch_deflate_zlib};

	for (int i = 0; i < 2; i++, b += 3)
		sides[i] = (struct patch_side){
			.path = b[0].data,
			.mode = b[1].data ? (mode_t)strtoul(b[1].data, NULL, 8) : 0,
			.data = b[2].data,
			.len = b[2].len,
		};
	return patch_write(out, &sides[0], &sides[1], &options);
}

/* "old_line old_count new_line new_count\n" per edit. The number is the style. */
static int do_diff(const struct request *q, struct str *out)
{
	_cleanup_(diff_release) struct diff d = {0};
	const struct blob *b = q->blobs;
	int r = diff_compute(b[0].data, b[0].len, b[1].data, b[1].len, (enum diff_style)q->number,
			     &d);

	for (size_t i = 0; r == 0 && i < d.len; i++)
		r = str_appendf(out, "%zu %zu %zu %zu\n", d.edits[i].old_line, d.edits[i].old_count,
				d.edits[i].new_line, d.edits[i].new_count);
	return r;
}

/* The third blob is a '0' or '1' per hunk (more are left over); "split" asks for
 * one per edit. The number is the context. */
static int do_choose(const struct request *q, struct str *out)
{
	_cleanup_(diff_release) struct diff d = {0};
	_cleanup_(freep) struct diff_hunk *hunks = NULL, *all = NULL;
	_cleanup_(freep) bool *chosen = NULL;
	const struct blob *b = q->blobs;
	size_t n = 0, total = 0;
	int r = diff_compute(b[0].data, b[0].len, b[1].data, b[1].len, DIFF_NATURAL, &d);

	if (r == 0)
		r = diff_hunks(&d, q->number, &hunks, &n);
	all = calloc(d.len + 1, sizeof(*all));
	chosen = calloc(d.len + 1, sizeof(*chosen));
	if (r < 0 || !all || !chosen)
		return -1;
	for (size_t i = 0; i < n; i++) {
		_cleanup_(freep) struct diff_hunk *parts = NULL;
		size_t len = 1;

		if (b[3].data && diff_hunk_split(&d, &hunks[i], q->number, &parts, &len) < 0)
			return -1;
		memcpy(&all[total], parts ? parts : &hunks[i], len * sizeof(*all));
		total += len;
	}
	for (size_t i = 0; i < total; i++)
		chosen[i] = i < b[2].len && b[2].data[i] == '1';
	return patch_apply_hunks(&d, all, total, chosen, out);
}

/* Base, ours, theirs. The status is the number of conflicts. */
static int do_merge(const struct request *q, struct str *out)
{
	static const struct merge_names names = {"ours", "base", "theirs"};
	const struct blob *b = q->blobs;
	struct merge_text base = {b[0].data, b[0].len}, ours = {b[1].data, b[1].len};
	struct merge_text theirs = {b[2].data, b[2].len};
	_cleanup_(merge_release) struct merge m = {0};
	int r = merge_compute(base, ours, theirs, &m);

	if (r == 0)
		r = merge_write(&m, &names, out);
	return r < 0 ? r : (int)m.conflicts;
}

static int do_similar(const struct request *q, struct str *out)
{
	const struct blob *b = q->blobs;

	(void)out;
	return similar_percent(b[0].data, b[0].len, b[1].data, b[1].len);
}

static int answer(const struct request *q, struct str *out)
{
	static const struct {
		const char *name;
		size_t blobs;
		int (*function)(const struct request *, struct str *);
	} commands[] = {
		{"patch", 6, do_patch}, {"diff", 2, do_diff},       {"choose", 4, do_choose},
		{"merge", 3, do_merge}, {"similar", 2, do_similar},
	};

	for (size_t i = 0; i < array_len(commands); i++)
		if (strcmp(q->name, commands[i].name) == 0 && q->n == commands[i].blobs)
			return commands[i].function(q, out);
	return -1000;
}

int main(void)
{
	struct request q;

	while (read_request(&q)) {
		_cleanup_(str_release) struct str out = {0};
		clock_t begin = clock();
		int r = answer(&q, &out);

		printf("%d %ld %zu\n", r, (long)((clock() - begin) * 1000000 / CLOCKS_PER_SEC),
		       out.len);
		fwrite(str_text(&out), 1, out.len, stdout);
		fflush(stdout);
		for (size_t i = 0; i < q.n; i++)
			free(q.blobs[i].data);
	}
	return 0;
}
