/* SPDX-License-Identifier: MIT */
/* The journal of a txn: written in its order, read with its end torn off. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "stage/lines.h"
#include "stage/txn.h"

static const char *const state_names[] = {
	[TXN_BEGUN] = "begun",     [TXN_DECIDED] = "decided", [TXN_DONE] = "done",
	[TXN_BACKING] = "backing", [TXN_UNDOING] = "undoing", [TXN_UNDONE] = "undone",
};

static int append(struct txn *txn, const struct str *text, bool sync, struct err *err)
{
	int r = fd_write_all(txn->journal_fd, str_text(text), text->len);

	while (r == 0 && sync && fdatasync(txn->journal_fd) < 0)
		if (errno != EINTR)
			r = -errno;
	if (r == 0) {
		txn->journal_len += text->len;
		return 0;
	}
	/* A line that is not known to be there must not be there. */
	if (ftruncate(txn->journal_fd, (off_t)txn->journal_len) < 0)
		return err_sys(err, -errno, "cut the journal of %s", txn->id);
	err_sys(err, r, "write the journal of %s", txn->id);
	if (r != -ENOSPC && r != -EDQUOT)
		return r;
	return err_hint(err, r,
			"make room on the disk of %s; to give up all that is staged: "
			"pale stages rm --force %s",
			txn->state_dir, txn->stage_name);
}

static int put_head(const struct txn *txn, struct str *out)
{
	struct line line = {0};
	int r;

	line_text(&line, "apply");
	line_number(&line, 1);
	line_text(&line, txn->is_discard ? "discard" : "apply");
	line_text(&line, txn->stage_name);
	r = line_end(&line, out);
	for (size_t i = 0; i < txn->n_roots && r == 0; i++) {
		line_text(&line, "root");
		line_text(&line, txn->roots[i].path);
		line_number(&line, txn->roots[i].is_apart);
		line_node(&line, &txn->roots[i].base);
		r = line_end(&line, out);
	}
	return r;
}

static int put_list(const struct strv *list, const char *word, struct str *out)
{
	struct line line = {0};
	int r = 0;

	for (size_t i = 0; i < list->len && r == 0; i++) {
		line_text(&line, word);
		line_text(&line, list->items[i]);
		r = line_end(&line, out);
	}
	return r;
}

static int put_items(const struct txn *txn, struct str *out)
{
	struct line line = {0};
	int r = 0;

	for (size_t i = 0; i < txn->n_items && r == 0; i++) {
		const struct txn_item *item = &txn->items[i];

		line_text(&line, "item");
		line_number(&line, item->root);
		line_text(&line, item->path);
		line_number(&line, item->kind);
		line_number(&line, item->action);
		line_number(&line, item->settles);
		line_node(&line, &item->old);
		line_node(&line, &item->staged);
		r = line_end(&line, out);
	}
	for (size_t i = 0; i < txn->n_dirs && r == 0; i++) {
		const struct txn_dir *dir = &txn->dirs[i];

		line_text(&line, "dir");
		line_number(&line, dir->root);
		line_text(&line, dir->path);
		line_number(&line, dir->mode);
		line_number(&line, dir->sets_time);
		line_time(&line, dir->mtime);
		line_node(&line, &dir->before);
		r = line_end(&line, out);
	}
	if (r == 0)
		r = put_list(&txn->calm, "calm", out);
	return r < 0 ? r : put_list(&txn->deleted, "deleted", out);
}

int txn_write_plan(struct txn *txn, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	int r = put_head(txn, &text);

	if (r == 0)
		r = put_items(txn, &text);
	if (r == 0 && txn->index.len > 0)
		r = str_append_bytes(&text, txn->index.data, txn->index.len);
	return r < 0 ? err_oom(err) : append(txn, &text, false, err);
}

/* One line per item that has a node there. */
static int write_nodes(struct txn *txn, const char *word, size_t offset, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	struct line line = {0};
	int r = 0;

	for (size_t i = 0; i < txn->n_items && r == 0; i++) {
		const struct node *node = (const struct node *)((const char *)&txn->items[i] +
								offset);

		if (node->type == NODE_ABSENT)
			continue;
		line_text(&line, word);
		line_number(&line, i);
		line_node(&line, node);
		r = line_end(&line, &text);
	}
	return r < 0 ? err_oom(err) : append(txn, &text, false, err);
}

static int write_digests(struct txn *txn, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	struct line line = {0};
	int r = 0;

	for (size_t i = 0; i < txn->n_items && r == 0; i++) {
		if (!txn->items[i].digest[0])
			continue;
		line_text(&line, "digest");
		line_number(&line, i);
		line_text(&line, txn->items[i].digest);
		r = line_end(&line, &text);
	}
	return r < 0 ? err_oom(err) : append(txn, &text, false, err);
}

int txn_write_made(struct txn *txn, struct err *err)
{
	int r = write_nodes(txn, "made", offsetof(struct txn_item, made), err);

	return r < 0 ? r : write_digests(txn, err);
}

int txn_write_left(struct txn *txn, struct err *err)
{
	return write_nodes(txn, "left", offsetof(struct txn_item, left), err);
}

int txn_write_undo(struct txn *txn, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	struct line line = {0};

	line_text(&line, "undo");
	return line_end(&line, &text) < 0 ? err_oom(err) : append(txn, &text, false, err);
}

/* And, where the store had to be loaded again, what is in it now. */
int txn_write_stays(struct txn *txn, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	struct line line = {0};
	int r = 0;

	for (size_t i = 0; i < txn->n_items && r == 0; i++) {
		const struct txn_item *item = &txn->items[i];

		line_text(&line, item->stays ? "stays" : "goes");
		line_number(&line, i);
		line_node(&line, &item->old);
		r = line_end(&line, &text);
	}
	return r < 0 ? err_oom(err) : append(txn, &text, false, err);
}

static int note_upper(void *data, unsigned root, const char *path, mode_t mode)
{
	_cleanup_(str_release) struct str text = {0};
	struct line line = {0};
	int r;

	line_text(&line, "upper");
	line_number(&line, root);
	line_text(&line, path);
	line_number(&line, mode);
	r = line_end(&line, &text);
	return r < 0 ? r : append(data, &text, false, NULL);
}

struct relaxed txn_relaxed(struct txn *txn, unsigned root)
{
	return (struct relaxed){.note = note_upper, .data = txn, .root = root};
}

int txn_mark(struct txn *txn, enum txn_state state, bool sync, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	struct line line = {0};
	int r;

	line_text(&line, "state");
	line_text(&line, state_names[state]);
	r = line_end(&line, &text);
	r = r < 0 ? err_oom(err) : append(txn, &text, sync, err);
	if (r == 0)
		txn->state = state;
	return r;
}

static int take_head(struct txn *txn, struct fields *fields)
{
	if (fields_number(fields, 1000) != 1)
		return -EBADMSG;
	txn->is_discard = str_eq(fields_text(fields), "discard");
	free(txn->stage_name);
	txn->stage_name = strdup(fields_text(fields));
	return txn->stage_name ? (fields->is_bad ? -EBADMSG : 0) : -ENOMEM;
}

static int take_root(struct txn *txn, struct fields *fields)
{
	struct txn_root *grown = reallocarray(txn->roots, txn->n_roots + 1, sizeof(*grown));
	struct txn_root root = {.base_fd = -1, .upper_fd = -1, .store_fd = -1};
	int r;

	if (!grown)
		return -ENOMEM;
	txn->roots = grown;
	root.path = strdup(fields_text(fields));
	root.is_apart = fields_number(fields, 1);
	if (!root.path)
		return -ENOMEM;
	r = fields_node(fields, &root.base);
	if (r < 0) {
		free(root.path);
		return r;
	}
	free(root.base.target);
	root.base.target = NULL;
	grown[txn->n_roots++] = root;
	return 0;
}

/* Relative, and nothing that leads up. */
static bool is_path(const char *path)
{
	if (!*path)
		return true;
	for (;;) {
		size_t len = strcspn(path, "/");

		if (len == 0 || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (!path[len])
			return true;
		path += len + 1;
	}
}

static int take_item(struct txn *txn, struct fields *fields)
{
	unsigned root = (unsigned)fields_number(fields, 65535);
	const char *path = fields_text(fields);
	struct txn_item *item;
	int r;

	if (fields->is_bad || !is_path(path) || root >= txn->n_roots)
		return -EBADMSG;
	item = txn_add_item(txn, root, path);
	if (!item)
		return -ENOMEM;
	item->kind = (enum change_kind)fields_number(fields, CHANGE_TYPE);
	item->action = (enum txn_action)fields_number(fields, TXN_SWAP);
	item->settles = fields_number(fields, 1);
	r = fields_node(fields, &item->old);
	return r < 0 ? r : fields_node(fields, &item->staged);
}

static int take_dir(struct txn *txn, struct fields *fields)
{
	unsigned root = (unsigned)fields_number(fields, 65535);
	const char *path = fields_text(fields);
	struct txn_dir *dir;
	int r;

	if (fields->is_bad || !is_path(path) || root >= txn->n_roots)
		return -EBADMSG;
	dir = txn_add_dir(txn, root, path);
	if (!dir)
		return -ENOMEM;
	dir->mode = (mode_t)fields_number(fields, 07777);
	dir->sets_time = fields_number(fields, 1);
	dir->mtime = fields_time(fields);
	r = fields_node(fields, &dir->before);
	free(dir->before.target);
	dir->before.target = NULL;
	return r;
}

static int take_upper(struct txn *txn, struct fields *fields)
{
	struct txn_upper *grown = reallocarray(txn->uppers, txn->n_uppers + 1, sizeof(*grown));
	struct txn_upper upper = {.root = (unsigned)fields_number(fields, 65535)};
	const char *path = fields_text(fields);

	if (!grown)
		return -ENOMEM;
	txn->uppers = grown;
	upper.mode = (mode_t)fields_number(fields, 07777);
	if (fields->is_bad || !is_path(path))
		return -EBADMSG;
	upper.path = strdup(path);
	if (!upper.path)
		return -ENOMEM;
	grown[txn->n_uppers++] = upper;
	return 0;
}

static struct txn_item *item_of(struct txn *txn, struct fields *fields)
{
	size_t i = (size_t)fields_number(fields, SIZE_MAX);

	return !fields->is_bad && i < txn->n_items ? &txn->items[i] : NULL;
}

static int take_node(struct fields *fields, struct node *node)
{
	struct node read = {0};
	int r = fields_node(fields, &read);

	if (r < 0)
		return r;
	node_release(node);
	*node = read;
	return 0;
}

static int take_numbered(struct txn *txn, struct fields *fields, const char *word)
{
	struct txn_item *item = item_of(txn, fields);

	if (!item)
		return -EBADMSG;
	if (str_eq(word, "made"))
		return take_node(fields, &item->made);
	if (str_eq(word, "left"))
		return take_node(fields, &item->left);
	if (str_eq(word, "digest")) {
		snprintf(item->digest, sizeof(item->digest), "%s", fields_text(fields));
		return 0;
	}
	item->stays = str_eq(word, "stays");
	return take_node(fields, &item->old);
}

static int take_state(struct txn *txn, struct fields *fields)
{
	const char *name = fields_text(fields);

	for (size_t i = 0; i < array_len(state_names); i++)
		if (str_eq(name, state_names[i])) {
			txn->state = (enum txn_state)i;
			txn->is_undo_begun = false;
			return 0;
		}
	return -EBADMSG;
}

static int take_line(struct txn *txn, struct fields *fields)
{
	const char *word = fields_text(fields);

	if (str_eq(word, "apply"))
		return take_head(txn, fields);
	if (str_eq(word, "root"))
		return take_root(txn, fields);
	if (str_eq(word, "item"))
		return take_item(txn, fields);
	if (str_eq(word, "dir"))
		return take_dir(txn, fields);
	if (str_eq(word, "upper"))
		return take_upper(txn, fields);
	if (str_eq(word, "undo")) {
		txn->is_undo_begun = true;
		return 0;
	}
	if (str_eq(word, "calm"))
		return strv_add(&txn->calm, fields_text(fields));
	if (str_eq(word, "deleted"))
		return strv_add(&txn->deleted, fields_text(fields));
	if (str_eq(word, "state"))
		return take_state(txn, fields);
	if (str_eq(word, "made") || str_eq(word, "left") || str_eq(word, "digest") ||
	    str_eq(word, "stays") || str_eq(word, "goes"))
		return take_numbered(txn, fields, word);
	return 0;
}

/* What stands behind a damaged line cannot be relied on. A damaged end was being
 * written when everything stopped: it never counted. */
int txn_parse(struct txn *txn, const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	int r;

	for (;;) {
		_cleanup_(fields_release) struct fields fields = {0};
		const char *line = at;

		r = fields_read(&at, end, &fields);
		if (r <= 0)
			break;
		if (str_starts(fields.text, "path ") &&
		    str_append_bytes(&txn->index, line, (size_t)(at - line)) < 0)
			return -ENOMEM;
		r = take_line(txn, &fields);
		if (r < 0)
			break;
		txn->journal_len = (size_t)(at - text);
	}
	if (r == -ENOMEM)
		return r;
	return txn->stage_name ? 0 : -EBADMSG;
}
