/* SPDX-License-Identifier: MIT */
#include "stage/lines.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "stage/node.h"
#include "stage/txn.h"
#include "tap.h"

static void test_round_trip(void)
{
	static const char name[] = "a b\nc%\\\xff\x01";
	struct node node = {.type = NODE_LINK,
			    .mode = 0777,
			    .ino = UINT64_MAX,
			    .size = 7,
			    .mtime = {.tv_sec = -5, .tv_nsec = 999999999},
			    .target = (char *)""};
	_cleanup_(node_release) struct node read = {0};
	_cleanup_(fields_release) struct fields fields = {0};
	_cleanup_(str_release) struct str text = {0};
	struct line line = {0};
	const char *at;

	line_text(&line, name);
	line_text(&line, "");
	line_number(&line, UINT64_MAX);
	line_node(&line, &node);
	tap_eq_int(line_end(&line, &text), 0, "a line is written");
	tap_ok(strchr(text.data, '\n') == text.data + text.len - 1, "it is one");
	at = text.data;
	tap_eq_int(fields_read(&at, text.data + text.len, &fields), 1, "and read");
	tap_eq_str(fields_text(&fields), name, "any bytes");
	tap_eq_str(fields_text(&fields), "", "nothing at all");
	tap_ok(fields_number(&fields, UINT64_MAX) == UINT64_MAX, "a large number");
	tap_ok(fields_node(&fields, &read) == 0 && node_is_same(&node, &read), "a node");
	tap_ok(!fields.is_bad, "all well");
	fields_text(&fields);
	tap_ok(fields.is_bad, "past the end is told");
}

static void test_damage(void)
{
	_cleanup_(str_release) struct str text = {0};
	struct line line = {0};
	size_t wrong = 0;

	line_text(&line, "state");
	line_text(&line, "decided");
	line_end(&line, &text);
	for (size_t len = 0; len < text.len; len++) {
		_cleanup_(fields_release) struct fields fields = {0};
		const char *at = text.data;

		wrong += fields_read(&at, text.data + len, &fields) > 0;
	}
	for (size_t i = 0; i < text.len; i++) {
		_cleanup_(fields_release) struct fields fields = {0};
		const char *at = text.data;

		text.data[i] ^= 1;
		wrong += fields_read(&at, text.data + text.len, &fields) > 0;
		text.data[i] ^= 1;
	}
	tap_eq_int((long long)wrong, 0, "a line that is cut or changed anywhere is none");
}

static int put(struct str *out, const char *a, const char *b, const char *c, const char *d)
{
	struct line line = {0};

	line_text(&line, a);
	for (const char *const *word = (const char *const[]){b, c, d, NULL}; *word; word++)
		line_text(&line, *word);
	return line_end(&line, out);
}

static void test_journal(void)
{
	_cleanup_(txn_freep) struct txn *txn = calloc(1, sizeof(*txn));
	_cleanup_(str_release) struct str text = {0};
	size_t whole;

	txn->applies_fd = txn->lock_fd = txn->dir_fd = txn->journal_fd = txn->staged_fd = -1;
	put(&text, "apply", "1", "discard", "default");
	put(&text, "state", "decided", NULL, NULL);
	whole = text.len;
	put(&text, "state", "done", NULL, NULL);
	str_truncate(&text, text.len - 3);
	tap_eq_int(txn_parse(txn, text.data, text.len), 0, "a journal with its end torn off");
	tap_ok(txn->state == TXN_DECIDED && txn->is_discard, "says what it said before");
	tap_eq_int((long long)txn->journal_len, (long long)whole, "and where that ends");
}

static void test_escape(void)
{
	_cleanup_(txn_freep) struct txn *txn = calloc(1, sizeof(*txn));
	_cleanup_(str_release) struct str text = {0};
	struct node node = {.type = NODE_DIR};
	struct line line = {0};

	txn->applies_fd = txn->lock_fd = txn->dir_fd = txn->journal_fd = txn->staged_fd = -1;
	put(&text, "apply", "1", "apply", "default");
	line_text(&line, "root");
	line_text(&line, "/base");
	line_number(&line, 0);
	line_node(&line, &node);
	line_end(&line, &text);
	line_text(&line, "item");
	line_number(&line, 0);
	line_text(&line, "a/../../etc");
	line_number(&line, 0);
	line_number(&line, 1);
	line_number(&line, 1);
	line_node(&line, &node);
	line_node(&line, &node);
	line_end(&line, &text);
	txn_parse(txn, text.data, text.len);
	tap_eq_int((long long)txn->n_items, 0, "no item leads outside");
	tap_eq_int((long long)txn->n_roots, 1, "twin: what came before is read");
}

int main(void)
{
	test_round_trip();
	test_damage();
	test_journal();
	test_escape();
	return tap_done();
}
