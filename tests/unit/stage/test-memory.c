/* SPDX-License-Identifier: MIT */
/* Each allocation of diff, patch, merge and similar fails in turn: the answer is
 * -ENOMEM, nothing is left allocated, and what was in the output is still there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/diff.h"
#include "base/str.h"
#include "stage/merge.h"
#include "stage/patch.h"
#include "stage/similar.h"
#include "tap.h"

#ifdef __SANITIZE_ADDRESS__

int main(void)
{
	tap_note("the sanitizer has its own malloc");
	tap_ok(true, "nothing to do here");
	return tap_done();
}

#else

/* glibc's own, under the names that it has for those who replace malloc. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static long fail_at; /* 0: never */
static long live;

static bool fails(void)
{
	return fail_at > 0 && --fail_at == 0;
}

static void *counted(void *p)
{
	live += p != NULL;
	return p;
}

void *malloc(size_t size)
{
	return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
	void *q = fails() ? NULL : __libc_realloc(p, size);

	live += !p && q;
	return q;
}

void free(void *p)
{
	live -= p != NULL;
	__libc_free(p);
}

static const char old[] = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
static const char new[] = "a\nB\nc\nd\ne\nf\ng\nh\nx\ni\nj\n";
static const char third[] = "a\nb\nc\nd\nE\nf\ng\nh\ny\ni\nj\n";

static int try_patch(struct str *out)
{
	static const struct patch_side a = {"o\"ld", PATCH_MODE_FILE, old, sizeof(old) - 1};
	static const struct patch_side b = {"new", PATCH_MODE_PROGRAM, new, sizeof(new) - 1};
	static const struct patch_options options = {.context = 1};

	return patch_write(out, &a, &b, &options);
}

static int try_shown(struct str *out)
{
	static const struct patch_side a = {"f", PATCH_MODE_FILE, old, sizeof(old) - 1};
	static const struct patch_side b = {"f", PATCH_MODE_FILE, new, sizeof(new) - 1};
	static const struct patch_options options = {.context = 1};

	return patch_write_shown(out, &a, &b, &options, true);
}

/* Pretends to pack. */
static int pack(const void *data, size_t len, struct str *out)
{
	return str_append_bytes(out, data, len);
}

static int try_binary(struct str *out)
{
	static const struct patch_side a = {"f", PATCH_MODE_FILE, "\0a", 2}, b = {0};
	static const struct patch_options options = {.context = 1, .deflate = pack};

	return patch_write(out, &a, &b, &options);
}

static int try_choice(struct str *out)
{
	_cleanup_(diff_release) struct diff d = {0};
	_cleanup_(freep) struct diff_hunk *hunks = NULL, *parts = NULL;
	size_t n = 0, n_parts = 0;
	int r = diff_compute(old, sizeof(old) - 1, new, sizeof(new) - 1, DIFF_NATURAL, &d);

	if (r == 0)
		r = diff_hunks(&d, 3, &hunks, &n);
	if (r == 0)
		r = diff_hunk_split(&d, &hunks[0], 3, &parts, &n_parts);
	return r < 0 ? r : patch_apply_hunks(&d, parts, n_parts, (const bool[2]){true}, out);
}

static int try_merge(struct str *out)
{
	static const struct merge_names names = {"o", "b", "t"};
	_cleanup_(merge_release) struct merge m = {0};
	int r = merge_compute((struct merge_text){old, sizeof(old) - 1},
			      (struct merge_text){new, sizeof(new) - 1},
			      (struct merge_text){third, sizeof(third) - 1}, &m);

	return r < 0 ? r : merge_write(&m, &names, out);
}

static int try_similar(struct str *out)
{
	static const struct similar_file gone[] = {{"a", 0100644, old, sizeof(old) - 1}};
	static const struct similar_file made[] = {{"b", 0100644, new, sizeof(new) - 1}};
	_cleanup_(freep) struct similar_pair *pairs = NULL;
	size_t n = 0;
	int r = similar_pairs(gone, 1, made, 1, 10, 10, &pairs, &n);

	return r < 0 ? r : str_appendf(out, "%zu", n);
}

static void torture(const char *name, int (*function)(struct str *))
{
	static const char before[] = "before";
	long steps = 0, leaks = 0, changes = 0, others = 0;
	int r = -ENOMEM;

	for (; r == -ENOMEM && steps < 1000; steps++) {
		_cleanup_(str_release) struct str out = {0};
		long live_before;

		str_append(&out, before);
		live_before = live;
		fail_at = steps + 1;
		r = function(&out);
		fail_at = 0;
		leaks += live != live_before;
		changes += r < 0 && strcmp(out.data, before) != 0;
		others += r != 0 && r != -ENOMEM;
		if (r == 0)
			tap_ok(out.len > strlen(before), "%s: works in the end", name);
	}
	tap_ok(r == 0 && steps > 3, "%s: %ld allocations failed", name, steps - 1);
	tap_ok(leaks == 0, "%s: nothing is left allocated", name);
	tap_ok(changes == 0, "%s: what was there is left alone", name);
	tap_ok(others == 0, "%s: no other error", name);
}

int main(void)
{
	if (tap_on_valgrind()) {
		tap_note("valgrind has its own malloc");
		tap_ok(true, "nothing to do here");
		return tap_done();
	}
	torture("patch", try_patch);
	torture("patch, shown", try_shown);
	torture("patch, binary", try_binary);
	torture("chosen hunks", try_choice);
	torture("merge", try_merge);
	torture("renames", try_similar);
	return tap_done();
}

#endif
