/* SPDX-License-Identifier: MIT */
/* fold-impl - records of the spool as rows. */
#pragma once
#include <jansson.h>

#include "store/store-impl.h"

struct fold {
	struct store *store;
	sqlite3_stmt *start, *end, *event;
};

int fold_init(struct fold *f, struct err *err);
void fold_release(struct fold *f);
/* One record. The same again changes nothing. -EBADMSG: it is none. */
int fold_record(struct fold *f, const char *json, size_t len, struct err *err);
/* The text KEY, or what KEY_hex stands for; new, ends in NUL. NULL: neither. */
char *record_bytes(const json_t *record, const char *key, size_t *ret_len);
