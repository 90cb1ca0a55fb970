/* SPDX-License-Identifier: MIT */
/*
 * review-state - decisions and place, kept in the stage:
 *
 *     at ROOT PATH PART
 *     file ROOT PATH DIGEST VERDICTS SPLITS
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "review/review-impl.h"
#include "stage/lines.h"

#define FILE_NAME "review"
enum { STATE_MAX = 64 << 20, ROOT_MAX = 1 << 20 };

static int write_place(const struct review *review, struct str *out)
{
	const struct change *change = review->items[review->at].entry->change;
	struct line line = {0};

	line_text(&line, "at");
	line_number(&line, change->root);
	line_text(&line, change->path);
	line_number(&line, review->part);
	return line_end(&line, out);
}

static int write_item(const struct review_item *item, struct str *out)
{
	const struct change *change = item->entry->change;
	_cleanup_(str_release) struct str splits = {0};
	struct line line = {0};
	int r = 0;

	if (item_verdict(item) == VERDICT_OPEN)
		return 0;
	for (size_t i = 0; i < item->n_hunks && r == 0; i++)
		r = str_append_char(&splits, item->is_split[i] ? '1' : '0');
	if (r < 0)
		return r;
	line_text(&line, "file");
	line_number(&line, change->root);
	line_text(&line, change->path);
	line_text(&line, item->digest);
	line_text(&line, item->verdicts);
	line_text(&line, str_text(&splits));
	return line_end(&line, out);
}

static struct review_item *find(const struct review *review, unsigned root, const char *path)
{
	for (size_t i = 0; i < review->n; i++) {
		const struct change *change = review->items[i].entry->change;

		if (change->root == root && str_eq(change->path, path))
			return &review->items[i];
	}
	return NULL;
}

/* Is the line about something staged that is no part of this review? */
static bool is_of_others(const struct review *review, struct fields *fields)
{
	bool is_file = str_eq(fields_text(fields), "file");
	unsigned root = (unsigned)fields_number(fields, ROOT_MAX);
	const char *path = fields_text(fields);

	return is_file && !fields->is_bad && !find(review, root, path) &&
	       changes_find(review->staged->changes, root, path);
}

/* A review of some paths forgets nothing about the others. */
static int keep_others(const struct review *review, struct str *out)
{
	_cleanup_(str_release) struct str text = {0};
	int r = file_read(review->staged->stage->dir_fd, FILE_NAME, STATE_MAX, &text, NULL), got;
	const char *next = str_text(&text), *end = next + text.len;

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	do {
		struct fields fields = {0};
		const char *line = next;

		got = fields_read(&next, end, &fields);
		r = got == -ENOMEM ? got : 0;
		if (got > 0 && is_of_others(review, &fields))
			r = str_append_bytes(out, line, (size_t)(next - line));
		fields_release(&fields);
	} while (got != 0 && r == 0);
	return r;
}

int review_save(const struct review *review, struct err *err)
{
	_cleanup_(str_release) struct str out = {0};
	int r = review->n > 0 ? write_place(review, &out) : 0;

	if (r == 0)
		r = keep_others(review, &out);
	for (size_t i = 0; i < review->n && r == 0; i++)
		r = write_item(&review->items[i], &out);
	if (r < 0)
		return err_oom(err);
	return file_replace(review->staged->stage->dir_fd, FILE_NAME, str_text(&out), out.len, 0600,
			    err);
}

static bool are_verdicts(const char *text)
{
	return *text && strspn(text, "yn.") == strlen(text);
}

/* As it was written; review_fit() throws it away when it does not fit. */
static int take_item(struct review *review, struct review_item *item, struct fields *fields,
		     struct err *err)
{
	const char *seen = fields_text(fields), *verdicts = fields_text(fields);
	const char *splits = fields_text(fields);
	int r;

	if (fields->is_bad || item->verdicts || strlen(seen) != SHA256_HEX - 1 ||
	    !are_verdicts(verdicts) || strspn(splits, "01") != strlen(splits))
		return 0;
	item->verdicts = strdup(verdicts);
	item->n = strlen(verdicts);
	item->n_hunks = strlen(splits);
	item->is_split = calloc(item->n_hunks + 1, sizeof(*item->is_split));
	if (!item->verdicts || !item->is_split)
		return err_oom(err);
	for (size_t i = 0; i < item->n_hunks; i++)
		item->is_split[i] = splits[i] == '1';
	memcpy(item->digest, seen, SHA256_HEX);
	/* Reading it compares the digest. What cannot be read was not seen. */
	r = review_go(review, (size_t)(item - review->items), 0, NULL);
	if (r < 0)
		review_forget(item);
	return r == -ENOMEM ? err_oom(err) : 0;
}

static int take_line(struct review *review, struct fields *fields, size_t *at, size_t *part,
		     struct err *err)
{
	const char *word = fields_text(fields);
	unsigned root = (unsigned)fields_number(fields, ROOT_MAX);
	struct review_item *item = find(review, root, fields_text(fields));

	if (!item || fields->is_bad)
		return 0;
	if (str_eq(word, "at")) {
		*at = (size_t)(item - review->items);
		*part = (size_t)fields_number(fields, 1 << 30);
		return 0;
	}
	return str_eq(word, "file") ? take_item(review, item, fields, err) : 0;
}

int review_restore(struct review *review, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	size_t at = 0, part = 0;
	const char *next, *end;
	int r = file_read(review->staged->stage->dir_fd, FILE_NAME, STATE_MAX, &text, NULL);

	if (r == -ENOMEM)
		return err_oom(err);
	next = r < 0 ? "" : str_text(&text);
	end = next + (r < 0 ? 0 : text.len);
	for (r = 0; r == 0;) {
		struct fields fields = {0};
		int got = fields_read(&next, end, &fields);

		if (got == -ENOMEM)
			r = err_oom(err);
		if (got == 0 || r < 0)
			break;
		if (got > 0)
			r = take_line(review, &fields, &at, &part, err);
		fields_release(&fields);
	}
	if (r < 0)
		return r;
	r = review_go(review, at, part, err);
	return r == -ESTALE ? 0 : r;
}
