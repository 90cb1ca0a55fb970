/* SPDX-License-Identifier: MIT */
/* Whatever is in a journal or an index: what is read of it has paths that lead
 * nowhere else and numbers in their ranges, and printing it again changes nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "stage/index.h"
#include "stage/lines.h"
#include "stage/txn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A checksum is hard to guess: the input is the lines without theirs. */
static int add_sums(const uint8_t *data, size_t size, struct str *out)
{
	const char *at = (const char *)data, *end = at + size;
	int r = 0;

	while (at < end && r == 0) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);
		uint64_t sum = UINT64_C(0xcbf29ce484222325);

		for (size_t i = 0; i < len; i++)
			sum = (sum ^ (unsigned char)at[i]) * UINT64_C(0x100000001b3);
		r = str_appendf(out, "%016llx ", (unsigned long long)sum);
		if (r == 0)
			r = str_append_bytes(out, at, len);
		if (r == 0 && stop)
			r = str_append_char(out, '\n');
		at += len + 1;
	}
	return r;
}

static void check_path(const char *path)
{
	if (path[0] == '/' || strcmp(path, "..") == 0 || strncmp(path, "../", 3) == 0 ||
	    strstr(path, "/../") ||
	    (strlen(path) > 2 && strcmp(path + strlen(path) - 3, "/..") == 0))
		abort();
}

static void read_journal(const char *text, size_t len)
{
	_cleanup_(txn_freep) struct txn *txn = calloc(1, sizeof(*txn));

	if (!txn)
		return;
	txn->applies_fd = txn->lock_fd = txn->dir_fd = txn->journal_fd = txn->staged_fd = -1;
	txn_parse(txn, text, len);
	for (size_t i = 0; i < txn->n_items; i++) {
		check_path(txn->items[i].path);
		if (txn->items[i].root >= txn->n_roots || txn->items[i].action > TXN_SWAP)
			abort();
	}
	for (size_t i = 0; i < txn->n_dirs; i++)
		check_path(txn->dirs[i].path);
	if (txn->journal_len > len)
		abort();
}

static void read_index(const char *text, size_t len)
{
	_cleanup_(index_freep) struct index *index = calloc(1, sizeof(*index));
	_cleanup_(index_freep) struct index *again = calloc(1, sizeof(*again));
	_cleanup_(str_release) struct str printed = {0};

	if (!index || !again || index_parse(text, len, index) < 0)
		return;
	for (size_t i = 0; i < index->n; i++)
		if (index_print_entry(&index->items[i], &printed) < 0)
			return;
	if (index_parse(str_text(&printed), printed.len, again) < 0)
		return;
	if (again->n != index->n)
		abort();
	for (size_t i = 0; i < index->n; i++)
		if (!str_eq(index->items[i].path, again->items[i].path) ||
		    !node_is_same(&index->items[i].base, &again->items[i].base) ||
		    !index_find(index, index->items[i].root, index->items[i].path))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(str_release) struct str text = {0};

	if (add_sums(data, size, &text) < 0)
		return 0;
	read_journal(str_text(&text), text.len);
	read_index(str_text(&text), text.len);
	/* And as it is: damaged. */
	read_journal((const char *)data, size);
	read_index((const char *)data, size);
	return 0;
}
