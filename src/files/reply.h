/* SPDX-License-Identifier: MIT */
/*
 * reply - what a file tool hands back through the boundary.
 *
 * A heading, then fields, each `KEY LENGTH:BYTES` and a newline, then "end 0:". Whoever
 * reads it must not trust it: reply_next() accepts that and nothing else, and the values
 * may be any bytes at all.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define REPLY_MAX     ((size_t)4 << 20)
#define REPLY_KEY_MAX 16

/* Why a tool did not do what it was asked. Stable: their names appear in JSON. */
enum file_code {
	FILE_OK,
	FILE_NOT_FOUND,
	FILE_BAD_PATH,    /* no name that a file could have here */
	FILE_OUTSIDE,     /* not in the workspace, nor in a path that the spec names */
	FILE_DENIED,      /* there, but not to be read */
	FILE_READONLY,    /* there, but not to be written */
	FILE_PROTECTED,   /* a name that programs of the host act on */
	FILE_NOT_REGULAR, /* a folder, fifo, device or socket */
	FILE_BINARY,
	FILE_TOO_LARGE,
	FILE_CHANGED,   /* not what it was when its digest was taken */
	FILE_NO_MATCH,  /* grep, glob: nothing; edit: the text is not there */
	FILE_AMBIGUOUS, /* edit: the text is there more than once */
	FILE_BAD_TEXT,  /* edit: nothing to look for, or nothing to change */
	FILE_BAD_PATTERN,
	FILE_FAILED, /* the kernel said no, or memory ran out */
	FILE_CODE_COUNT_
};

const char *file_code_name(enum file_code code);
/* FILE_CODE_COUNT_: it is none. */
enum file_code file_code_by_name(const char *name, size_t len);

struct reply {
	struct str fields;
	enum file_code code;
	char message[1024];
	char hint[512];
	bool broken; /* no memory, or too much of it */
};

void reply_bytes(struct reply *a, const char *key, const void *data, size_t len);
void reply_text(struct reply *a, const char *key, const char *text);
void reply_number(struct reply *a, const char *key, uint64_t number);
/* Fields that are made already. */
void reply_fields(struct reply *a, const char *fields, size_t len);
/* Give up; fields that are there stay. Returns 1, the tool's exit status. */
int reply_fail(struct reply *a, enum file_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void reply_hint(struct reply *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The whole text. 0 or -ENOMEM. */
int reply_finish(const struct reply *a, struct str *out);
void reply_release(struct reply *a);

/* Borrows the text. */
struct reply_reader {
	const char *at, *end;
};

struct reply_field {
	char key[REPLY_KEY_MAX + 1];
	const char *value;
	size_t len;
};

/* False: this is no answer. */
bool reply_begin(struct reply_reader *reader, const char *text, size_t len);
/* Fields alone, which the caller made itself. */
void reply_begin_fields(struct reply_reader *reader, const char *fields, size_t len);
/* 1: RET is the next field; 0: that was all; -EBADMSG. */
int reply_next(struct reply_reader *reader, struct reply_field *ret);
/* False: the value is no number. */
bool reply_get_number(const struct reply_field *field, uint64_t *ret);
